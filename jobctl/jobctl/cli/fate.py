"""What became of a job's occurrences, from its ledger and its runs, in words; and what is to come."""

import re
from collections.abc import Iterable
from typing import Any, Final

from jobctl.cli import describe, outdated, unset
from jobctl.cli.upstream import starts_after
from jobctl.client.sync import Client
from jobctl.errors import NotFound
from jobctl.reading import spawning
from jobctl.reading.times import Viewer, milliseconds, of_fire, rfc3339, span

_SHOWN: Final = 10
_WEEK_MS: Final = 7 * 86_400_000
_MINUTE_MS: Final = 60_000
_WINDOWS_MS: Final = (3_600_000, 86_400_000, 35 * 86_400_000, 20_000 * 86_400_000)
_ALWAYS: Final = "1970-01-01T00:00:00Z"
#: So many of what a pause swallows are counted.
_COUNTED_MAX: Final = 1000
#: More runs than this are asked for together.
_SINGLY_MAX: Final = 20
#: What each word of `jobctl.states.SkipReason` means, where the ledger has no detail.
REASONS: Final = {
    "overlap": "an earlier run was still active",
    "limit": "as many of its runs as may be were active",
    "misfire": "it was too late, and its misfire policy did not make it up",
    "down": "no daemon was running",
    "clock": "the clock was set, or the machine slept",
    "paused": "the job was paused",
    "quarantined": "the job was paused after too many dead letters in a row",
    "coalesced": "one run stood for all",
    "edited": "its schedule was edited",
    "asked": "somebody asked to leave it out",
    "deleted": "the job was removed",
    "restored": "a backup was restored: whether it ran is unknown",
}
#: Before outcomes that are sentences already.
_ENDED: Final = {"could not start": "", "cancelled": "was ", "superseded": "was "}
#: States of runs for which the ledger has the reason.
_NEVER_BEGUN: Final = ("skipped", "superseded", "cancelled")
_NO_RECORD: Final = (
    "today's schedule was due then, but nothing is recorded: it had another one, or the record is no longer kept"
)
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
#: What a sentence that counts the attempts itself leaves out of a reason.
_COUNTED: Final = re.compile(r"; \d+ attempts have failed$")

Entry = dict[str, Any]


class Fate:
    """Tells of one job. An entry is one of the ledger's, with `state` of its run and `words` for a person."""

    def __init__(self, client: Client, job: dict[str, Any], viewer: Viewer) -> None:
        self._client = client
        self._job = job
        self._viewer = viewer
        self._runs: dict[int, Entry] = {}

    def since(self, begin: str | None, *, together: bool) -> list[Entry]:
        """The ledger since `begin`; without it its last ten entries, of a week if that has any.

        `together`: occurrences that follow each other and did not run for the same reason are one entry.
        """
        start = begin or rfc3339(self._viewer.now_ms - _WEEK_MS)
        entries = list(self._client.ledger(self._job["id"], start, None))
        if not entries and begin is None:
            entries = list(self._client.ledger(self._job["id"], _ALWAYS, None, limit=1000))
        if together:
            entries = _together(entries)
        if begin is None:
            entries = entries[-_SHOWN:]
        self._fetch(entry["run_id"] for entry in entries)
        return [*map(self._told, entries), *self._held_back(begin)]

    def around(self, moment: str) -> list[Entry]:
        """What became of one instant, or what will; when nothing was due then, also of those before and after it."""
        asked = self.at(moment)
        at_ms = milliseconds(moment)
        if asked["reason"] != "not_due" or not self._job["schedule"] or at_ms > self._viewer.now_ms:
            return [asked]
        found = [asked]
        for window_ms in _WINDOWS_MS:
            begin = rfc3339(max(0, at_ms - window_ms))
            before = [entry for entry in self._client.ledger(self._job["id"], begin, moment) if entry["from"] != moment]
            if before:
                found.append({**self._told(before[-1]), "place": "before"})
                break
        after = [entry for entry in self._client.ledger(self._job["id"], moment, None, limit=2)
                 if milliseconds(entry["from"]) > at_ms]  # fmt: skip
        if after:
            found.append({**self._told(after[0]), "place": "after"})
        return found

    def run(self, run: Entry) -> Entry:
        """What became of one run, as an entry."""
        words = f"{self._ran(run)}" if run["state"] != "skipped" else f"run {run['id']} was {describe.outcome(run)}"
        return _entry(run["due_at"], run["reason"], words) | {"run_id": run["id"], "state": run["state"], "count": 1}

    def at(self, moment: str) -> Entry:
        """What became of one instant, or what will."""
        at_ms = milliseconds(moment)
        around = self._client.ledger(self._job["id"], rfc3339(at_ms - _MINUTE_MS), rfc3339(at_ms + _MINUTE_MS))
        covering = sorted((entry for entry in around if _covers(entry, at_ms)), key=_width_ms)
        if covering:
            return self._inside(moment, covering[0])
        if at_ms > self._viewer.now_ms:
            return self._to_come(moment)
        return self._swallowed(moment) or self._not_recorded(moment)

    def _inside(self, moment: str, entry: Entry) -> Entry:
        """Of a single occurrence what is recorded; of one inside a range that it is one of many."""
        told = self._told(entry)
        if not _width_ms(entry):
            return told
        first, last = self._viewer.full(entry["from"]), self._viewer.full(entry["to"])
        of_many = f"one of {entry['count']} from {first} to {last}"
        if self._due(moment) or moment in (entry["from"], entry["to"]):
            return {**told, "from": moment, "to": moment, "words": f"{told['words']}; {of_many}"}
        words = f"not due then by today's schedule; inside a range: {told['words']}; {of_many.removeprefix('one of ')}"
        return {**told, "from": moment, "to": moment, "words": words}

    def _fetch(self, ids: Iterable[int | None]) -> None:
        """Many runs by one list instead of one by one."""
        wanted = {ident for ident in ids if ident is not None}
        if len(wanted) <= _SINGLY_MAX:
            return
        oldest = min(wanted)
        for run in self._client.job_runs(self._job["id"]):
            if run["id"] in wanted:
                self._runs[run["id"]] = run
            if run["id"] <= oldest or len(self._runs) == len(wanted):
                return

    def _told(self, entry: Entry) -> Entry:
        run = self._runs.get(entry["run_id"]) if entry.get("run_id") is not None else None
        if run is None and entry.get("run_id") is not None:
            try:
                run = self._client.run(entry["run_id"])
            except NotFound:
                run = None
        return {**entry, "state": run["state"] if run else None, "words": self._words(entry, run)}

    def _words(self, entry: Entry, run: Entry | None) -> str:
        reason, detail = entry.get("reason"), self.local(str(entry.get("detail") or ""))
        if run is not None and not (reason and run["state"] in _NEVER_BEGUN and not run["started_at"]):
            text = self._ran(run)
            return f"{text} ({detail})" if detail and detail not in text else text
        if reason:
            ahead = milliseconds(entry["to"] or entry["from"]) > self._viewer.now_ms
            done = "left out" if ahead and run is None else run["state"] if run is not None else "skipped"
            done = "not run by itself" if reason == "coalesced" else done
            return f"{done} ({reason}): {detail or REASONS.get(str(reason), 'for no known reason')}"
        if entry.get("run_id") is not None:
            return f"ran as run {entry['run_id']}, which is no longer kept"
        return f"recorded ({detail})" if detail else "recorded"

    def local(self, text: str) -> str:
        """A text of the daemon, with its instants as the reader sees others."""
        return _INSTANT.sub(lambda match: self._viewer.full(match[0]), text)

    def _ran(self, run: Entry) -> str:
        name, state = f"run {run['id']}", run["state"]
        if describe.waits_for_retry(run):
            number, most = describe.attempts_of_budget(run)
            which = f"attempt {number} of {most}" if number > 0 else f"attempt {run['attempt']}"
            tried = f"{name} failed: {describe.failure(run)}, {which}"
            return f"{tried}; {describe.retry(run, self._viewer)}"
        if state in ("scheduled", "ready"):
            before = f"failed: {describe.failure(run)}; replayed, it " if describe.waits_for_replay(run) else ""
            return f"{name} {before}{self._waits(run)}"
        if state == "running":
            attempt = f", attempt {run['attempt']}" if run["attempt"] > 1 else ""
            return f"{name} is running, {describe.run_time(run, self._viewer)}{attempt}"
        if state in ("dead", "discarded"):
            return self._died(run)
        outcome, ended = describe.outcome(run), describe.ended(run)
        words = [f"{name} {_ENDED.get(outcome, 'ended ')}{ended}"]
        said = outcome != ended or outcome in ("could not start", "cancelled")
        if run.get("reason") and not said and run["reason"] not in words[0]:
            words[0] += f": {self.local(run['reason'])}"
        if run["attempt"] > 1:
            words.append(f"after {run['attempt']} attempts")
        words += self._started(run)
        if run["trigger"] == "catch_up":
            words.append("made up later")
        error = describe.first_line(run["error"]) if state == "failed" else ""
        hint = unset.hint(run) if error else ""
        return "; ".join(text for text in (", ".join(words), error, hint) if text)

    def _started(self, run: Entry) -> list[str]:
        if not run["started_at"]:
            return []
        words = [f"started {self._viewer.clock(run['started_at'])}"]
        if run["late"]:
            late_ms = milliseconds(run["started_at"]) - milliseconds(run["scheduled_at"])
            words.append(f"late by {span(late_ms / 1000)}")
        return words

    def _died(self, run: Entry) -> str:
        times = "once" if run["attempt"] <= 1 else f"{run['attempt']} times"
        reason = spawning.in_words(_COUNTED.sub("", str(run["reason"] or describe.failure(run))))
        error = describe.first_line(run["error"])
        text = f"run {run['id']} failed {times}: {self.local(reason)}" + (f"; {error}" if error else "")
        hint = unset.hint(run)
        text += f"; {hint}" if hint else ""
        if run["state"] == "discarded":
            return f"{text}; discarded {self._viewer.clock(run['finished_at'])}"
        older = outdated.words(run, self._job)
        replay = f"jobctl dlq replay {run['id']}" + (f" ({older})" if older else "")
        return f"{text}; dead letter since {self._viewer.clock(run['finished_at'])}; replay: {replay}"

    def _waits(self, run: Entry) -> str:
        """For what a run waits that has not started: its time, another run, a pause."""
        reason = str(run["reason"] or "")
        if reason.startswith("waits for an earlier run"):
            blocking = self._blocking(run)
            reason = f"waits for run {blocking} to end" if blocking else reason
        held = describe.held(self._job, self._viewer) if "paused" in self._job else ""
        if reason.startswith("held") and held:
            reason = f"is held: the job is {held.removeprefix('held: ')}" if self._job["paused"] else f"is {held}"
        if not reason.startswith(("waits", "is held", "held")) and run["state"] == "ready":
            reason = self._in_queue(run)
        if reason.startswith(("waits", "is held", "held")):
            return f"{reason}, due {self._viewer.both(run['due_at'])}"
        return f"is waiting to start, due {self._viewer.both(run['due_at'])}"

    def _in_queue(self, run: Entry) -> str:
        """What a limited queue has to do with a run that could start; empty: nothing."""
        if milliseconds(run["due_at"]) > self._viewer.now_ms:
            return ""
        queue = next((queue for queue in self._client.queues() if queue["name"] == run["queue"]), None)
        if queue is None or queue["concurrency"] is None:
            return ""
        most, running, ready = queue["concurrency"], queue["running"], queue["ready"]
        return f"waits for its place in queue {queue['name']}: limit {most}, {running} running, {ready} ready"

    def _blocking(self, run: Entry) -> int | None:
        """The oldest run of its job that is active."""
        active = self._client.job_runs(run["job_id"], state="ready,running")
        return min((other["id"] for other in active if other["id"] != run["id"]), default=None)

    def _holding(self) -> tuple[str, str] | None:
        """Since when and in which words the job is held now."""
        words, job = describe.held(self._job, self._viewer), self._job
        if not words:
            return None
        since = job["suspended_since"] or job["paused_since"]
        return since, f"the job is {words}" if job["paused"] else words.removeprefix("held: ")

    def _held_back(self, begin: str | None) -> list[Entry]:
        """What the pause of now has swallowed so far: it gets its rows when the pause ends."""
        holding = self._holding() if self._job["schedule"] else None
        if holding is None or not holding[0]:
            return []
        start = max(begin or holding[0], holding[0], key=milliseconds)
        until = rfc3339(self._viewer.now_ms)
        if milliseconds(start) >= self._viewer.now_ms:
            return []
        asked = [entry for entry in self._client.ledger(self._job["id"], start, until) if entry["reason"] == "asked"]
        fires = [
            fire
            for fire in self._client.job_next(self._job["id"], _COUNTED_MAX, start, until)["items"]
            if not any(_has(entry, milliseconds(fire["at"])) for entry in asked)
        ]
        if not fires:
            return []
        least = "at least " if len(fires) == _COUNTED_MAX else ""
        words = f"not started: {holding[1]}" + (f"; {least}{len(fires)} so far" if len(fires) > 1 else "")
        reason = "quarantined" if self._job["quarantined"] else "paused"
        held = _entry(fires[0]["at"], reason, words)
        return [{**held, "to": fires[-1]["at"], "count": len(fires)}]

    def _swallowed(self, moment: str) -> Entry | None:
        """An instant inside the pause of now."""
        holding = self._holding() if self._job["schedule"] else None
        if holding is None or not holding[0] or milliseconds(moment) < milliseconds(holding[0]):
            return None
        if not self._due(moment):
            return None
        reason = "quarantined" if self._job["quarantined"] else "paused"
        return _entry(moment, reason, f"not started: {holding[1]}") | {"count": 1}

    def _to_come(self, moment: str) -> Entry:
        holding = self._holding()
        paused = f"; {holding[1]}" if holding else ""
        if self._due(moment):
            return _entry(moment, "future", f"due then, in the future{paused}")
        coming = self._job["next_run_at"]  # what is left out before it does not come
        ahead = coming and milliseconds(coming) > milliseconds(moment)
        following = self._following(rfc3339(milliseconds(coming) - 1) if ahead else moment)
        upstream = starts_after(self._client, self._job, self._viewer)
        words = f"; the next is {following}" if following else f"; {upstream or 'it has no time to come'}"
        return _entry(moment, "not_due", f"not due then{words}{paused}")

    def _not_recorded(self, moment: str) -> Entry:
        if milliseconds(moment) < milliseconds(self._job["created_at"]):
            added = self._viewer.full(self._job["created_at"])
            return _entry(moment, "unknown", f"not known: the job was added {added}")
        if not self._job["schedule"]:
            return _entry(moment, "not_due", "not due then: it runs by hand only")
        if upstream := starts_after(self._client, self._job, self._viewer):
            return _entry(moment, "not_due", f"not due then: {upstream}")
        if self._due(moment):
            return _entry(moment, "unknown", _NO_RECORD)
        following = self._following(moment)
        return _entry(moment, "not_due", "not due then" + (f"; the next after it is {following}" if following else ""))

    def _due(self, moment: str) -> bool:
        at_ms = milliseconds(moment)
        until = rfc3339(at_ms + _span_ms(at_ms) - 1)
        return bool(self._client.job_next(self._job["id"], 1, rfc3339(at_ms - 1), until)["items"])

    def _following(self, moment: str) -> str:
        fires = self._client.job_next(self._job["id"], 1, moment)["items"]
        return of_fire(fires[0]) if fires else ""


def _has(entry: Entry, at_ms: int) -> bool:
    return milliseconds(entry["from"]) <= at_ms <= milliseconds(entry["to"])


def _covers(entry: Entry, at_ms: int) -> bool:
    first, last = milliseconds(entry["from"]), milliseconds(entry["to"] or entry["from"])
    return first < at_ms + _span_ms(at_ms) and last >= at_ms


def _width_ms(entry: Entry) -> int:
    return milliseconds(entry["to"] or entry["from"]) - milliseconds(entry["from"])


def _together(entries: list[Entry]) -> list[Entry]:
    """Neighbours that did not run for the same reason as one, from the first to the last."""
    found: list[Entry] = []
    for entry in entries:
        last = found[-1] if found else None
        alike = last is not None and entry["reason"] and all(last[name] == entry[name] for name in ("reason", "detail"))
        if last is not None and alike:
            found[-1] = {**entry, "from": last["from"], "count": last["count"] + entry["count"]}
        else:
            found.append(entry)
    return found


def _span_ms(at_ms: int) -> int:
    """An instant without seconds means its whole minute, any other its second."""
    return _MINUTE_MS if at_ms % _MINUTE_MS == 0 else 1000


def _entry(moment: str, reason: str, words: str) -> Entry:
    """As one of the ledger, for an instant that has none there."""
    return {"from": moment, "to": moment, "count": 0, "run_id": None, "reason": reason, "detail": None,
            "recorded_at": None, "state": None, "words": words}  # fmt: skip
