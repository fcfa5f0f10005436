"""Jobs and runs in a few words, the same in every verb."""

from collections.abc import Sequence
from signal import Signals
from typing import Any

from jobctl.cli.table import Cell
from jobctl.cli.times import Clock, Viewer, duration, milliseconds, span, took

_STATE_STYLES = {
    "failed": "bad", "dead": "bad", "parked": "bad", "succeeded": "good", "running": "good", "paused": "warn",
    "skipped": "warn", "cancelled": "warn", "discarded": "warn",
}  # fmt: skip
_CLASS_WORDS = {"timed_out": "timed out", "oom": "out of memory", "spawn_error": "could not start"}
#: Without a word here a failure is told by its exit code or signal.
_NAMED_CLASSES = (*_CLASS_WORDS, "lost", "interrupted", "cancelled")
#: Ends that nobody saw: they are outside the budget of retries.
_UNSEEN = ("lost", "interrupted")
#: So many occurrences skipped in a row are a habit, of which the daemon tells too.
_HABIT = 3


def state(word: str, *, loud: bool = False) -> Cell:
    """The state of a job or a run; trouble in capitals where the eye should stop."""
    style = _STATE_STYLES.get(word, "")
    return Cell(word.upper() if loud and style == "bad" else word, style=style)


def job_state(job: dict[str, Any]) -> Cell:
    """The state of a job. One that has not run yet is `new`: nothing says that it is ok."""
    if job["quarantined"]:
        return Cell("QUARANTINED", "QUARANT.", "bad")
    if job["state"] == "ok" and job["retrying"]:
        return Cell("retrying", style="warn")
    fresh = job["state"] == "ok" and not job["last_run"]
    return Cell("new") if fresh else state(job["state"], loud=True)


def keeps_skipping(job: dict[str, Any]) -> bool:
    """Whether its occurrences are skipped again and again."""
    return int(job["skipping"]) >= _HABIT


def signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def failure(run: dict[str, Any]) -> str:
    """How a run or an attempt failed: `exit 1`, `SIGKILL`, `timed out`."""
    kind = str(run.get("class") or run.get("outcome") or "")
    if kind in _NAMED_CLASSES:
        return _CLASS_WORDS.get(kind, kind)
    if run.get("signal") is not None:
        return signal_name(int(run["signal"]))
    if run.get("exit_code") is not None:
        return f"exit {run['exit_code']}"
    said = str(run.get("reason") or "").partition(";")[0]
    if kind == "exit_code" and said.startswith("exit "):
        return said
    if kind == "signal" and said.endswith(")"):  # ended by signal 9 (SIGKILL)
        return said.rpartition("(")[2].removesuffix(")")
    return kind.replace("_", " ") or "failed"


def outcome(run: dict[str, Any]) -> str:
    """How a run went: `ok`, `exit 1`, `dead: exit 1`, `skipped: overlap`, or its state while it is active."""
    word = str(run["state"])
    if word == "succeeded":
        return "ok"
    if word == "skipped":
        reason = run.get("reason") or run.get("outcome")
        return f"skipped: {reason}" if reason and reason != "skipped" else "skipped"
    if word in ("dead", "discarded"):
        return f"{word}: {failure(run)}"
    if waits_for_retry(run):
        return "retrying"
    if word == "running" and str(run.get("reason") or "").startswith("stopped"):
        return "stopped"
    return failure(run) if word == "failed" else word


def waits_for_retry(run: dict[str, Any]) -> bool:
    """An attempt failed, and the next one has its time. A pause makes a waiting retry *scheduled* again."""
    if run["state"] not in ("ready", "scheduled") or not run.get("attempt") or not run.get("class"):
        return False
    return not run.get("replays") or int(run["attempt"]) > int(run["uncounted"]) or run["class"] in _UNSEEN


def waits_for_replay(run: dict[str, Any]) -> bool:
    """It was a dead letter, and is to run again: when the pace says so, or what is before it has ended."""
    waits = run["state"] in ("ready", "scheduled") and bool(run.get("replays")) and bool(run.get("class"))
    return waits and not waits_for_retry(run)


def retry(run: dict[str, Any], viewer: Viewer) -> str:
    """`retry 2 of 3 is due in 12s, 03:00:10 CET`, of a run that waits for one."""
    number, most = attempts_of_budget(run)
    which = f"retry {number} of {most - 1}" if 0 < number < most else "its next retry"  # none of them: it was lost
    if milliseconds(run["due_at"]) <= viewer.now_ms:
        return f"{which} is due now"
    return f"{which} is due {viewer.ago(run['due_at'])}, {viewer.clock(run['due_at'])}"


def attempts_of_budget(run: dict[str, Any]) -> tuple[int, int]:
    """Attempts that count against its retries, and how many of these it may have: a replay begins with none."""
    return int(run["attempt"]) - int(run["uncounted"]), int(run["max_attempts"]) - int(run["uncounted"])


def result(run: dict[str, Any], viewer: Viewer) -> str:
    """As `outcome`, for a table: what has not started says when it is due, what never did when that was decided."""
    if run["state"] in ("scheduled", "ready"):
        return _awaited(run, viewer)
    if run.get("started_at") or not run.get("finished_at"):
        return outcome(run)
    return f"{outcome(run)}, {viewer.ago(run['finished_at'])}"


def _awaited(run: dict[str, Any], viewer: Viewer) -> str:
    """`retry in 5m00s`, `in 5m00s`, `held`, `waits`; else the state."""
    first = str(run.get("reason") or "").partition(" ")[0].strip(":")
    what = "retry" if waits_for_retry(run) else "replay" if waits_for_replay(run) else ""
    kept = first if first in ("held", "waits") else ""
    if milliseconds(run["due_at"]) > viewer.now_ms:
        when = viewer.ago(run["due_at"]) + (f", {kept}" if kept else "")
    else:
        when = kept or ("due now" if what else str(run["state"]))
    return f"{what} {when}".strip()


def ended(run: dict[str, Any]) -> str:
    """As `outcome`, and what a table has no room for: why it could not start, who cancelled it."""
    text, reason = outcome(run), str(run.get("reason") or "")
    if text.endswith(_CLASS_WORDS["spawn_error"]) and reason:
        return f"{text}: {reason.removeprefix('it could not be started: ')}"
    if text == "cancelled" and " by " in reason:  # it was cancelled by ana; it was killed by run 12, which replaces it
        return reason.removeprefix("it was ")
    return text


def target(job: dict[str, Any]) -> str:
    """The command as a person would type it."""
    what = job["target"]
    if what.get("shell") is not None:
        return str(what["shell"])
    from shlex import join

    return join(what.get("command") or [])


def schedule(job: dict[str, Any]) -> str:
    """The schedule as it was given, short enough for a table."""
    plan = job.get("schedule")
    if not plan:
        return "by hand"
    if plan.get("cron"):
        return str(plan["cron"])
    if plan.get("every"):
        return f"every {duration(plan['every'])}"
    if plan.get("at"):
        return "once"
    if plan.get("after"):
        return f"after {plan['after'].removesuffix(':success')}"
    return "on boot" if plan.get("on_boot") else "on start" if plan.get("on_start") else "by hand"


def next_run(job: dict[str, Any], viewer: Viewer, clock: Clock | None = None) -> Cell:
    at = job.get("next_run_at")
    if at is None:
        plan = job.get("schedule") or {}
        waits = job["state"] not in ("paused", "parked")
        event = "next boot" if plan.get("on_boot") else "next start" if plan.get("on_start") else ""
        event = event or (f"after {plan['after'].rpartition(':')[0]}" if plan.get("after") else "")
        return Cell(event or ("never" if plan.get("cron") else "") if waits else "")
    relative = viewer.ago(at)
    if relative.endswith("ago"):
        relative = f"due {relative}"
    return Cell(f"{relative}, {(clock or viewer.clock)(at)}", relative)


def last_run(job: dict[str, Any], viewer: Viewer, active: Sequence[dict[str, Any]] = ()) -> Cell:
    """How it went last; or, of the `active` runs of the job, what it is at instead of its next run."""
    running = min((run for run in active if run["state"] == "running"), key=lambda run: int(run["id"]), default=None)
    if running is not None and job["skipping"]:
        style = "bad" if keeps_skipping(job) else "warn"
        return Cell(f"running {run_age(running, viewer)}, {job['skipping']} skipped", style=style)
    waiting = min(filter(waits_for_retry, active), key=lambda run: str(run["due_at"]), default=None)
    if waiting is not None:
        return Cell(f"{failure(waiting)}, {result(waiting, viewer)}", failure(waiting), "warn")
    last = job.get("last_run")
    if not last:
        return Cell("")
    when = last.get("finished_at")
    style = "bad" if last["state"] in ("failed", "dead") else ""
    short = outcome(last)
    texts = [short, viewer.ago(when) if when else "", f"{job['dead']} dead" if job["dead"] > 1 else ""]
    return Cell(", ".join(text for text in texts if text), short, style)


def run_time(run: dict[str, Any], viewer: Viewer) -> str:
    """How long a run took, or has been running."""
    if not run.get("started_at") or run.get("state") == "discarded":  # it ended long before it was given up
        return ""
    begun_ms = milliseconds(run["started_at"])
    if run.get("finished_at"):
        return took((milliseconds(run["finished_at"]) - begun_ms) / 1000)
    return f"{run_age(run, viewer)} so far"


def run_age(run: dict[str, Any], viewer: Viewer) -> str:
    """How long ago it started."""
    return span((viewer.now_ms - milliseconds(run["started_at"])) / 1000) if run.get("started_at") else "now"


def paused(thing: dict[str, Any], viewer: Viewer) -> str:
    """Of a job, a queue or the daemon: `by ana 2d03h ago until Mon 06:00 CET: provider down`."""
    words = []
    if thing.get("paused_by"):
        words.append(f"by {thing['paused_by']}")
    if thing.get("paused_since"):
        words.append(viewer.ago(thing["paused_since"]))
    if thing.get("paused_until"):
        words.append(f"until {viewer.clock(thing['paused_until'])}")
    why = f": {thing['paused_why']}" if thing.get("paused_why") else ""
    return " ".join(words) + why


def held(job: dict[str, Any], viewer: Viewer) -> str:
    """What keeps a job from being started: `paused by ana …`, `held: the queue mail was paused by root: smtp, until …`;
    empty: nothing."""
    if job["quarantined"]:
        since = f" {viewer.ago(job['paused_since'])}" if job.get("paused_since") else ""
        why = str(job.get("paused_why") or "").removeprefix("quarantined: ")
        return f"quarantined{since}" + (f": {why}" if why else "")
    if job["paused"]:
        return f"paused {paused(job, viewer)}".rstrip()
    if not job["suspended_by"]:
        return ""
    until = f", until {viewer.clock(job['suspended_until'])}" if job["suspended_until"] else ""
    return f"held: {job['suspended_why']}{until}"


def held_and_ended(job: dict[str, Any], viewer: Viewer) -> str:
    """The same with the command that ends it."""
    words = held(job, viewer)
    if not words:
        return ""
    from shlex import quote

    own = job["paused"] or job["quarantined"]
    verb = f"resume {quote(job['name'])}" if own else f"queue resume {quote(job['queue'])}"
    verb = "daemon resume" if not own and job["suspended_by"] == "daemon" else verb
    return f"{words}; jobctl {verb}"


def held_then(job: dict[str, Any] | None, at: str, viewer: Viewer) -> str:
    """Whether what holds a job now still does so at an instant to come: `paused until Mon 06:00 CET`, `paused`."""
    if job is None or not (job["suspended_by"] or job["paused"]):
        return ""
    until = job["suspended_until"]
    if until is None:
        return "paused"
    return f"paused until {viewer.clock(until)}" if milliseconds(at) <= milliseconds(until) else ""


def first_line(text: str | None) -> str:
    """Of what a command printed, for a table."""
    return (text or "").partition("\n")[0].strip()


def size(count: int) -> str:
    """Bytes as `640 B`, `9.5 kB`, `10 MB`: decimal, as in `--log-max 10MB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.4g} TB"
