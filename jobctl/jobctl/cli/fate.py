"""What became of a job's occurrences, from its ledger and its runs, in words; and what is to come."""

from typing import Any, Final

from jobctl.cli import describe
from jobctl.cli.times import Viewer, milliseconds, of_fire, rfc3339, span
from jobctl.client.sync import Client
from jobctl.errors import NotFound

_SHOWN: Final = 10
_WEEK_MS: Final = 7 * 86_400_000
_MINUTE_MS: Final = 60_000
_WINDOWS_MS: Final = (3_600_000, 86_400_000, 35 * 86_400_000, 20_000 * 86_400_000)
_ALWAYS: Final = "1970-01-01T00:00:00Z"
_REASONS: Final = {
    "overlap": "skipped: an earlier run was still active",
    "misfire": "skipped: too late, its misfire policy did not make it up",
    "paused": "skipped: the job was paused",
    "coalesced": "not run by itself: one run stood for all",
    "deleted": "skipped: the job was removed",
}
#: Before outcomes that are sentences already.
_ENDED: Final = {"could not start": "", "cancelled": "was "}
_NO_RECORD: Final = (
    "today's schedule was due then, but nothing is recorded: it had another one, or the record is no longer kept"
)

Entry = dict[str, Any]


class Fate:
    """Tells of one job. An entry is one of the ledger's, with `state` of its run and `words` for a person."""

    def __init__(self, client: Client, job: dict[str, Any], viewer: Viewer) -> None:
        self._client = client
        self._job = job
        self._viewer = viewer

    def since(self, begin: str | None) -> list[Entry]:
        """The ledger since `begin`; without it its last ten entries, of a week if that has any."""
        start = begin or rfc3339(self._viewer.now_ms - _WEEK_MS)
        entries = list(self._client.ledger(self._job["id"], start, None))
        if not entries and begin is None:
            entries = list(self._client.ledger(self._job["id"], _ALWAYS, None, limit=1000))
        return [self._told(entry) for entry in (entries if begin else entries[-_SHOWN:])]

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
        covering = [entry for entry in around if _covers(entry, at_ms)]
        if covering:
            return self._told(covering[0])
        return self._to_come(moment) if at_ms > self._viewer.now_ms else self._not_recorded(moment)

    def _told(self, entry: Entry) -> Entry:
        run = None
        if entry.get("run_id") is not None:
            try:
                run = self._client.run(entry["run_id"])
            except NotFound:
                run = None
        return {**entry, "state": run["state"] if run else None, "words": self._words(entry, run)}

    def _words(self, entry: Entry, run: Entry | None) -> str:
        reason, detail = entry.get("reason"), entry.get("detail")
        if run is not None and run["state"] != "skipped":
            text = self._ran(run)
        elif reason:
            text = _REASONS.get(str(reason), f"skipped: {reason}")
        elif entry.get("run_id") is not None:
            text = f"ran as run {entry['run_id']}, which is no longer kept"
        else:
            text = "recorded"
        return f"{text} ({detail})" if detail and str(detail) not in text else text

    def _ran(self, run: Entry) -> str:
        name, state = f"run {run['id']}", run["state"]
        if state in ("scheduled", "ready"):
            return f"{name} is waiting to start, due {self._viewer.both(run['due_at'])}"
        if state == "running":
            return f"{name} is running, {describe.run_time(run, self._viewer)}"
        outcome, ended = describe.outcome(run), describe.ended(run)
        words = [f"{name} {_ENDED.get(outcome, 'ended ')}{ended}"]
        said = outcome != ended or outcome in _ENDED
        if run.get("reason") and not said and run["reason"] not in words[0]:
            words[0] += f": {run['reason']}"
        if run["started_at"]:
            words.append(f"started {self._viewer.clock(run['started_at'])}")
            if run["late"]:
                late_ms = milliseconds(run["started_at"]) - milliseconds(run["scheduled_at"])
                words.append(f"late by {span(late_ms / 1000)}")
        if run["trigger"] == "catch_up":
            words.append("made up later")
        return ", ".join(words)

    def _to_come(self, moment: str) -> Entry:
        paused = f"; the job is paused {describe.paused(self._job, self._viewer)}" if self._job["paused"] else ""
        if self._due(moment):
            return _entry(moment, "future", f"due then, in the future{paused}")
        following = self._following(moment)
        words = f"; the next is {following}" if following else "; it has no time to come"
        return _entry(moment, "not_due", f"not due then{words}{paused}")

    def _not_recorded(self, moment: str) -> Entry:
        if milliseconds(moment) < milliseconds(self._job["created_at"]):
            added = self._viewer.full(self._job["created_at"])
            return _entry(moment, "unknown", f"not known: the job was added {added}")
        if not self._job["schedule"]:
            return _entry(moment, "not_due", "not due then: it runs by hand only")
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


def _covers(entry: Entry, at_ms: int) -> bool:
    first, last = milliseconds(entry["from"]), milliseconds(entry["to"] or entry["from"])
    return first < at_ms + _span_ms(at_ms) and last >= at_ms


def _span_ms(at_ms: int) -> int:
    """An instant without seconds means its whole minute, any other its second."""
    return _MINUTE_MS if at_ms % _MINUTE_MS == 0 else 1000


def _entry(moment: str, reason: str, words: str) -> Entry:
    """As one of the ledger, for an instant that has none there."""
    return {"from": moment, "to": moment, "count": 0, "run_id": None, "reason": reason, "detail": None,
            "recorded_at": None, "state": None, "words": words}  # fmt: skip
