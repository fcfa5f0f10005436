"""Jobs and runs in a few words, the same in every verb."""

from collections.abc import Sequence
from typing import Any

from jobctl.cli.table import Cell
from jobctl.reading.runs import (
    attempts_of_budget,
    ended,
    failure,
    first_line,
    outcome,
    result,
    retry,
    run_age,
    run_time,
    signal_name,
    size,
    target,
    waits_for_replay,
    waits_for_retry,
)
from jobctl.reading.times import Clock, Viewer, duration, milliseconds

__all__ = [
    "attempts_of_budget",
    "ended",
    "failure",
    "first_line",
    "held",
    "held_and_ended",
    "held_then",
    "job_state",
    "keeps_skipping",
    "last_run",
    "next_run",
    "origin",
    "outcome",
    "paused",
    "result",
    "retry",
    "run_age",
    "run_time",
    "schedule",
    "signal_name",
    "size",
    "state",
    "target",
    "waits_for_replay",
    "waits_for_retry",
]

_STATE_STYLES = {
    "failed": "bad", "dead": "bad", "parked": "bad", "succeeded": "good", "running": "good", "paused": "warn",
    "skipped": "warn", "cancelled": "warn", "discarded": "warn",
}  # fmt: skip
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


def origin(job: dict[str, Any]) -> str:
    """Where a job comes from: the place in the file that owns it, else who made it."""
    kind, _, rest = str(job["source"]).partition(":")
    declared = job.get("declared")
    if not declared:
        return kind
    parts = rest.split(":", 2)
    if kind != "crontab" or len(parts) != 3:
        return str(declared)
    return parts[2] if parts[1] == "0" else f"{declared}, line {parts[1]}"  # 0: a script of a folder


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
