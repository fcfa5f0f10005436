"""A job as the cells of its row: state, schedule, next, last. Made of a JobLine (docs/api.md), and nothing is asked.

A cell is its text and the name of its style. Texts are those of a job: they are made safe where they are put together.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from jobctl.reading.runs import failure, first_line
from jobctl.reading.safe import cell
from jobctl.reading.times import duration, milliseconds, span, took
from jobctl.reading.width import width
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When

Json = dict[str, Any]
Words = tuple[str, str]

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400
NOTHING: Final = "—"
#: Of the cell that says how the last run went, at least.
LAST_WIDTH: Final = 14
#: Of the cell of the state, where a pause and a failure both have room.
STATE_WIDTH: Final = 11
STATE_WIDE: Final = 16


class Look(NamedTuple):
    """How a state is shown: its glyph's name in `Glyphs`, its word, its style. Trouble is in capitals."""

    glyph: str
    word: str
    style: str


STATES: Final[Mapping[str, Look]] = {
    "dead": Look("failed", "DEAD", "-failed"),
    "failed": Look("failed", "FAILED", "-failed"),
    "parked": Look("failed", "PARKED", "-failed"),
    "quarantined": Look("paused", "QUARANT.", "-failed"),
    "late": Look("late", "LATE", "-late"),
    "retrying": Look("retry", "retry", "-retry"),
    "running": Look("running", "running", "-running"),
    "queued": Look("queued", "queued", "-late"),
    "ok": Look("ok", "ok", "-ok"),
    "new": Look("manual", "new", "-dim"),
    "paused": Look("paused", "paused", "-paused"),
    "manual": Look("manual", "manual", "-dim"),
    "done": Look("ok", "done", "-dim"),
}
_SHORT: Final = {"out of memory": "no memory", "could not start": "no start", "timed out": "timeout"}


def look(job: Json) -> Look:
    """A state that this version has no word for is shown as the daemon says it."""
    word = "quarantined" if job.get("quarantined") else str(job.get("state") or "")
    return STATES.get(word) or Look("manual", cell(word), "-dim")


def glyph(job: Json, glyphs: Glyphs) -> Words:
    """For a screen that has room for one character."""
    seen = look(job)
    return str(getattr(glyphs, seen.glyph)), seen.style


def is_paused(job: Json) -> bool:
    """By a pause of its own, or quarantined: what a resume ends."""
    return job.get("suspended_by") == "job" or bool(job.get("quarantined"))


def has_failed(job: Json) -> bool:
    """Whether its last run failed, whatever it is at now: a pause mends nothing."""
    run = job.get("last")
    return run is not None and run.get("state") in ("failed", "dead")


def state(job: Json, glyphs: Glyphs, room: int = STATE_WIDTH) -> Words:
    """`✗ FAILED`, `! LATE`, `↻ retry 2/5`, `▶ running`; where there is room for it `‖ paused, FAILED`."""
    seen = look(job)
    word = seen.word
    active = job.get("active")
    if seen is STATES["retrying"] and active:
        word = _retry(active)
    if seen is STATES["paused"] and has_failed(job) and room >= STATE_WIDE:
        return f"{getattr(glyphs, seen.glyph)} {word}, {STATES['failed'].word}", "-failed"
    return f"{getattr(glyphs, seen.glyph)} {word}", seen.style


def _retry(active: Json) -> str:
    return f"retry {active['attempt']}/{active['max_attempts']}"


def name(job: Json) -> Words:
    """What is loud in its state is so in its name; others are plain."""
    style = look(job).style
    return cell(job.get("name", "")), style if style in ("-failed", "-late") else ""


def schedule(job: Json) -> Words:
    """As it was given; by hand is nothing."""
    text = str(job.get("expression") or "")
    return (cell(text), "") if text and text != "by hand" else (NOTHING, "-dim")


def next_time(job: Json, when: When, now_ms: int) -> Words:
    """`23h47m`, `23h47m -1` where a time before that is left out, `due 12m ago`, `in 18s` of a retry, `until Mon 06:00
    CET` of a pause, what starts it else."""
    active = job.get("active")
    if job.get("late_since"):
        return f"due {ago(str(job['late_since']), now_ms)} ago", "-late"
    if job.get("state") == "retrying" and active and active.get("due_at"):
        due_at = str(active["due_at"])
        return ("now" if milliseconds(due_at) <= now_ms else when.short(due_at, now_ms)), "-retry"
    if job.get("suspended_by") or job.get("quarantined") or job.get("state") == "paused":
        until = job.get("suspended_until")
        return (f"till {when.short(str(until), now_ms)}", "-paused") if until else (NOTHING, "-dim")
    at = job.get("next_run_at")
    if at:
        left_out = job.get("skips")
        text = when.short(str(at), now_ms)
        return (f"{text} -{left_out['count']}", "-late") if left_out else (text, "")
    return _without_time(str(job.get("words") or "")), "-dim"


def _without_time(words: str) -> str:
    """What starts a job that waits for no time."""
    known = {"on boot": "next boot", "when the daemon starts": "next start"}
    if words.startswith("after "):
        return cell(words)
    return known.get(words, NOTHING)


def last(job: Json, now_ms: int, room: int = LAST_WIDTH) -> Words:
    """`exit 1 12m ago`, `ok 1d ago`; of what is active `8s so far`, `42m > p95 31m`, `exit 7, retry 2/5`; of what is
    held by whom and why, unless it has failed: nobody is to overlook that."""
    active = job.get("active") or {}
    if active.get("state") == "running" and active.get("started_at"):
        return _running(job, (now_ms - milliseconds(str(active["started_at"]))) / 1000)
    if held(job) and not has_failed(job):
        return held(job), "-paused"
    if active and job.get("state") in ("queued", "late"):
        return _waiting(active, now_ms)
    if active and job.get("state") == "retrying":
        return _fitting(room, failed_attempt(active), short_failure(active), f"failed {active['attempt']}×"), "-retry"
    run = job.get("last")
    if not run:
        return NOTHING, "-dim"
    text, style = short_outcome(run), "-failed" if has_failed(job) else ""
    if not run.get("finished_at"):
        return text, style
    age = ago(str(run["finished_at"]), now_ms)
    return _fitting(room, f"{text} {age} ago", f"{text} · {age}"), style


def _fitting(room: int, *texts: str) -> str:
    """The first that has room, else the last; an empty one is none."""
    said = [text for text in texts if text]
    return next((text for text in said if width(text) <= room), said[-1])


def failed_attempt(active: Json) -> str:
    """`exit 7, retry 2/5`; empty when its last attempt has not failed."""
    how = short_failure(active)
    return f"{how}, {_retry(active)}" if how else ""


def short_failure(run: Json) -> str:
    """How an attempt failed, in one or two words; empty when it did not."""
    if not run.get("class"):
        return ""
    text = failure(run)
    return cell(_SHORT.get(text, text))


def _running(job: Json, elapsed_s: float) -> Words:
    """Beside what is usual: the 95th percentile when it is over it, else the median once half of it has passed."""
    p50, p95 = job.get("p50"), job.get("p95")
    so_far = span(elapsed_s)
    if p95 and elapsed_s > float(p95):
        return f"{coarse(elapsed_s)} > p95 {coarse(float(p95))}", "-late"
    if p50 and elapsed_s > float(p50) / 2:
        return f"{coarse(elapsed_s)} of {coarse(float(p50))}", "-running"
    return f"{so_far} so far", "-running"


def _waiting(active: Json, now_ms: int) -> Words:
    """Why is not in a JobLine; for how long is."""
    since = active.get("due_at")
    return (f"waits {ago(str(since), now_ms)}" if since else "waits"), "-late"


def held(job: Json) -> str:
    """What keeps it from being started, and why; empty: nothing does."""
    by = job.get("suspended_by")
    if not (by or job.get("quarantined") or job.get("state") == "paused"):
        return ""
    why = str(job.get("paused_why") or "").removeprefix("quarantined: ")
    if by in ("queue", "daemon"):
        return cell(why or f"the {by} is paused")
    return cell(why.removeprefix("the job was paused ")) or "paused"


def short_outcome(run: Json) -> str:
    """How a run ended, in one or two words: `ok`, `exit 1`, `timeout`, `skipped`, `killed`."""
    kind = str(run.get("state") or "")
    if kind == "succeeded":
        return "ok"
    if kind in ("failed", "dead", "discarded"):
        text = failure(run)
        return cell(_SHORT.get(text, text))
    return cell(kind)


def trouble(job: Json) -> str:
    """The line that says why, of a job in trouble: what it printed last, else how it ended; empty when all is well."""
    active = job.get("active")
    if job.get("state") == "retrying" and active and failed_attempt(active):
        return failed_attempt(active)
    if job.get("error") and look(job).style in ("-failed", "-retry", "-late", "-paused", "-running"):
        return cell(first_line(str(job["error"])))
    run = job.get("last")
    if run and has_failed(job):
        return f"it ended with {short_outcome(run)}, and printed nothing"
    return ""


def dead(job: Json) -> str:
    """`3 dead letters`; empty: none."""
    count = int(job.get("dead") or 0)
    return f"{count} dead letter{'' if count == 1 else 's'}" if count else ""


def usual(job: Json) -> str:
    """`usually 28m, p95 31m`; empty when too little is known."""
    if job.get("p50") is None:
        return ""
    p95 = f", p95 {took(float(job['p95']))}" if job.get("p95") is not None else ""
    return f"usually {took(float(job['p50']))}{p95}"


def ago(at: str, now_ms: int) -> str:
    """How long ago, in one unit; 0s of what is to come, where clocks differ."""
    return coarse(max(0.0, (now_ms - milliseconds(at)) / 1000))


def coarse(seconds: float) -> str:
    """One unit, rounded down: `8s`, `12m`, `3h`, `28d`, `2y`."""
    whole = int(seconds)
    for size, unit in ((_YEAR, "y"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s" if whole or not seconds else took(seconds)


def policy(job: Json) -> list[str]:
    """Of a whole Job: what happens when it fails, takes too long, overlaps, was missed."""
    retry = job["retry"]
    backoff = f", backoff {duration(retry['backoff'])} ×2" if retry["max"] else ""
    limit = f"timeout {duration(job['timeout'])}" if job["timeout"] else "no timeout"
    return [
        f"retries {retry['max']}{backoff}",
        f"{limit} · overlap {job['overlap']}",
        f"missed: {job['misfire']} within {duration(job['misfire_within'])}",
        "on failure: dead letter" if job["on_failure"] == "dead" else "on failure: recorded",
    ]
