"""A run as the cells of its row, and as what stands above its log. Made of a RunLine or a Run (docs/api.md).

A cell is its text and the name of its style. What a job wrote is made safe where the texts are put together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl.reading import runs
from jobctl.reading.safe import cell
from jobctl.reading.spawning import in_words
from jobctl.reading.times import milliseconds, span, took
from jobctl_tui.words.bars import progress
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.job import coarse
from jobctl_tui.words.when import When

Json = dict[str, Any]
Words = tuple[str, str]

#: Nothing happens by itself any more (`jobctl.states.ENDED`); the others are active.
ACTIVE: Final = frozenset({"scheduled", "ready", "running"})
#: Cells of the bar that shows how much of what is usual has passed.
_BAR_CELLS: Final = 10
_TRIGGERS: Final = {
    "schedule": "by schedule", "catch_up": "caught up", "manual": "by hand", "boot": "at boot",
    "start": "at the daemon's start", "after": "after another job", "notice": "to tell somebody",
}  # fmt: skip


class Look(NamedTuple):
    """How a phase is shown: its glyph's name in `Glyphs`, its word, its style. Trouble is in capitals."""

    glyph: str
    word: str
    style: str


LOOKS: Final[Mapping[str, Look]] = {
    "running": Look("running", "running", "-running"),
    "stopping": Look("killed", "stopping", "-late"),
    "retrying": Look("retry", "retry", "-retry"),
    "replaying": Look("retry", "replay", "-retry"),
    "waiting": Look("queued", "waiting", "-late"),
    "to come": Look("queued", "to come", "-dim"),
    "succeeded": Look("ok", "ok", "-ok"),
    "failed": Look("failed", "FAILED", "-failed"),
    "dead": Look("failed", "DEAD", "-failed"),
    "discarded": Look("killed", "discarded", "-dim"),
    "cancelled": Look("killed", "cancelled", "-late"),
    "killed": Look("killed", "killed", "-late"),
    "skipped": Look("skipped", "skipped", "-dim"),
    "superseded": Look("skipped", "superseded", "-dim"),
}


def is_active(run: Json) -> bool:
    return run["state"] in ACTIVE


def phase(run: Json, now_ms: int) -> str:
    """Which of `LOOKS` it is: its state, told apart where one state means several things to a person."""
    state, reason = str(run["state"]), str(run.get("reason") or "")
    if state == "running":
        return "stopping" if reason.startswith("stopped") else "running"
    if state == "cancelled" and "killed" in reason:
        return "killed"
    if state not in ACTIVE:
        return state
    if runs.waits_for_retry(run):
        return "retrying"
    if runs.waits_for_replay(run):
        return "replaying"
    return "to come" if milliseconds(run["due_at"]) > now_ms else "waiting"


def look(run: Json, now_ms: int) -> Look:
    """A state that this version has no word for is shown as the daemon says it."""
    return LOOKS.get(phase(run, now_ms)) or Look("manual", cell(run["state"]), "-dim")


def elapsed_s(run: Json, now_ms: int) -> float | None:
    """How long it ran, or has been running; None when it never began."""
    if not run.get("started_at") or run["state"] == "discarded":
        return None
    end_ms = milliseconds(run["finished_at"]) if run.get("finished_at") else now_ms
    return max(0, end_ms - milliseconds(run["started_at"])) / 1000


def is_slow(run: Json, now_ms: int) -> bool:
    """Whether it has been running for longer than 19 of 20 of its job's runs take."""
    p95 = run.get("p95")
    ran_s = elapsed_s(run, now_ms)
    return run["state"] == "running" and bool(p95) and (ran_s or 0) > float(p95 or 0)


# ── cells of a row ──────────────────────────────────────────────


def glyph(run: Json, glyphs: Glyphs, now_ms: int) -> Words:
    seen = look(run, now_ms)
    return str(getattr(glyphs, seen.glyph)), seen.style


def number(run: Json) -> Words:
    return str(run["id"]), ""


def job(run: Json, now_ms: int) -> Words:
    """What is loud in its state is so in its name."""
    style = look(run, now_ms).style
    return cell(run["job"]), style if style == "-failed" else ""


def started(run: Json, when: When, now_ms: int) -> Words:
    """When it started; of what has not, when it is due or was."""
    at = run.get("started_at")
    if at:
        return _clock(at, when, now_ms), ""
    return _clock(str(run.get("due_at") or run["scheduled_at"]), when, now_ms), "-dim"


def _clock(at: str, when: When, now_ms: int) -> str:
    """`03:12:33`, `Sat 04:23`, `20 Nov`: without the zone, which stands on the status line."""
    parts = when.viewer(now_ms).clock(at, exact=True).split(" ")
    if len(parts) == 2:
        return parts[0]
    if len(parts) == 3:
        return f"{parts[0]} {parts[1][:5]}"
    return " ".join(parts[:-2])


def lasted(run: Json, glyphs: Glyphs, now_ms: int) -> Words:
    """How long it took, has been running, or waits for its turn."""
    ran_s = elapsed_s(run, now_ms)
    if ran_s is not None:
        return (took if run.get("finished_at") else span)(ran_s), "-late" if is_slow(run, now_ms) else ""
    if phase(run, now_ms) == "waiting":
        return f"wait {coarse((now_ms - milliseconds(run['due_at'])) / 1000)}", "-late"
    return glyphs.dash, "-dim"


def tries(run: Json) -> Words:
    """Attempts it has had, of how many it may have."""
    return f"{run['attempt']}/{run['max_attempts']}", "" if int(run["attempt"]) <= 1 else "-retry"


def result(run: Json, glyphs: Glyphs, now_ms: int) -> Words:
    """How far it is, or how it ended: a bar against what is usual, `retry in 18s`, `exit 1`, `skipped`."""
    seen, kind = look(run, now_ms), phase(run, now_ms)
    if kind == "running":
        bar = progress(elapsed_s(run, now_ms) or 0, run.get("p50"), _BAR_CELLS, glyphs.eighths, glyphs.running)
        return bar or "running", "-late" if is_slow(run, now_ms) else "-running"
    if kind in ("retrying", "replaying", "to come"):
        left_s = (milliseconds(run["due_at"]) - now_ms) / 1000
        what = "due" if kind == "to come" else seen.word
        return f"{what} in {span(left_s)}" if left_s > 0 else f"{what} now", seen.style
    if kind in ("failed", "dead", "discarded"):
        text = runs.failure(run)
        return cell(text if kind == "failed" else f"{kind}: {text}"), seen.style
    if kind == "waiting":
        return cell(str(run.get("reason") or "").partition(" ")[0].strip(":") or "queued"), seen.style
    return seen.word, seen.style


def note(run: Json, now_ms: int) -> Words:
    """The line that says more: the last thing it printed when it failed, why it waits, who stopped it."""
    kind, reason = phase(run, now_ms), cell(run.get("reason") or "")
    error = cell(runs.first_line(run.get("error")))
    if kind == "running":
        return (f"slower than usual: p95 {took(run['p95'])}", "-late") if is_slow(run, now_ms) else ("", "")
    if kind == "retrying":
        return f"{cell(runs.failure(run))}{f': {error}' if error else ''}", "-retry"
    if kind in ("failed", "dead", "discarded"):
        return error or reason, ""
    if kind in ("waiting", "to come"):
        return cell(run.get("waits_for") or "") or reason, "-dim"
    if kind == "succeeded":
        return (f"in attempt {run['attempt']}", "-dim") if int(run["attempt"]) > 1 else ("", "")
    if kind == "skipped":
        return reason or cell(run.get("outcome") or ""), "-dim"
    return reason.removeprefix("it was ").removeprefix(f"{kind} "), "-dim"


def cells(run: Json, glyphs: Glyphs, when: When, now_ms: int) -> tuple[Words, ...]:
    """Glyph, RUN, JOB, STARTED, TOOK, TRY, RESULT, LAST LINE; behind them TRIGGER and QUEUE, for wide screens."""
    return (
        glyph(run, glyphs, now_ms),
        number(run),
        job(run, now_ms),
        started(run, when, now_ms),
        lasted(run, glyphs, now_ms),
        tries(run),
        result(run, glyphs, now_ms),
        note(run, now_ms),
        (cell(run["trigger"]).replace("_", " "), "-dim"),
        (cell(run["queue"]), "-dim"),
    )


# ── lines between the rows ──────────────────────────────────────────────


def active_line(
    shown: Sequence[Json | None], count: int, slots: tuple[int, int] | None, glyphs: Glyphs, now_ms: int
) -> str:
    """`active 3 · retrying 1 · waiting 1 · slots 3/8`; `shown` are those of the `count` active runs that are known."""
    kinds = [phase(run, now_ms) for run in shown if run is not None]
    retrying = sum(kind in ("retrying", "replaying") for kind in kinds)
    waiting = sum(kind in ("waiting", "to come") for kind in kinds)
    words = [f"active {count}"]
    if len(kinds) == count:
        words = [f"running {count - retrying - waiting}"] + [
            f"{name} {many}" for name, many in (("retrying", retrying), ("waiting", waiting)) if many
        ]
    if slots is not None:
        words.append(f"slots {slots[0]}/{slots[1]}")
    return _dotted(words, glyphs)


def ended_line(today: Mapping[str, int], glyphs: Glyphs) -> str:
    """`ended · newest first · 1 318 today · 7 failed`."""
    total = sum(today.values())
    bad = int(today.get("failed", 0)) + int(today.get("dead", 0))
    words = ["ended", "newest first", f"{total:,}".replace(",", " ") + " today"]
    return _dotted([*words, f"{bad} failed"] if bad else words, glyphs)


# ── above and below a log ──────────────────────────────────────────────


def headline(run: Json, glyphs: Glyphs, now_ms: int) -> Words:
    """`✗ FAILED  exit 1`, `▶ running 42m41s  slower than usual`, `↻ retry in 18s`."""
    seen, kind = look(run, now_ms), phase(run, now_ms)
    sign = getattr(glyphs, seen.glyph)
    if kind in ("running", "stopping"):
        so_far = elapsed_s(run, now_ms)
        slow = "  slower than usual" if is_slow(run, now_ms) else ""
        return f"{sign} {seen.word}{f' {span(so_far)}' if so_far is not None else ''}{slow}", (
            "-late" if slow else seen.style
        )
    if kind in ("failed", "dead", "discarded"):
        return f"{sign} {seen.word}  {cell(runs.failure(run))}", seen.style
    if kind in ("retrying", "replaying", "to come"):
        return f"{sign} {result(run, glyphs, now_ms)[0]}", seen.style
    return f"{sign} {seen.word}", seen.style


def times(run: Json, when: When, now_ms: int, first_at: str | None = None) -> str:
    """`scheduled 03:00:00 CET  started +0.2s  ended 03:00:41  took 41s  by schedule`.

    `first_at`: when its first attempt began; a run knows of the last one only. What a replay took is what its own
    attempt took: before it somebody had to come.
    """
    viewer = when.viewer(now_ms)
    words = [f"scheduled {viewer.clock(run['scheduled_at'], exact=True)}"]
    begun = first_at or run.get("started_at")
    if begun:
        lag_s = (milliseconds(begun) - milliseconds(run["scheduled_at"])) / 1000
        words.append(f"started {_lag(lag_s)}" if lag_s < 3600 else f"started {_clock(begun, when, now_ms)}")
    elif is_active(run):
        words.append(f"due {viewer.ago(run['due_at'])}")
    if run.get("finished_at"):
        words.append(f"ended {_clock(run['finished_at'], when, now_ms)}")
        if begun and run["state"] != "discarded":
            since = run["started_at"] if run.get("replays") and run.get("started_at") else begun
            words.append(f"took {took(max(0, milliseconds(run['finished_at']) - milliseconds(since)) / 1000)}")
            words += [f"replayed {run['replays']}×"] if run.get("replays") else []
    words.append(_TRIGGERS.get(str(run["trigger"]), cell(run["trigger"])))
    return "  ".join(words)


def _lag(lag_s: float) -> str:
    """How long after its time it started, to a tenth of a second."""
    return f"+{max(0.0, lag_s):.1f}s" if lag_s < 60 else f"+{span(lag_s)}"


def usual(run: Json, durations: Mapping[str, Any], limit_s: float | None, glyphs: Glyphs, now_ms: int) -> str:
    """`usually 28m00s, p95 31m00s of 30 runs · now 42m41s, slower than usual · timeout in 17m19s`."""
    words: list[str] = []
    if durations.get("p50") is not None:
        p95 = f", p95 {took(durations['p95'])}" if durations.get("p95") is not None else ""
        count = f" of {durations['count']} runs" if durations.get("count") else ""
        words.append(f"usually {took(durations['p50'])}{p95}{count}")
    ran_s = elapsed_s(run, now_ms)
    if run["state"] == "running" and ran_s is not None:
        if durations.get("p95") and ran_s > durations["p95"]:
            words.append(f"now {span(ran_s)}: slower than usual")
        if limit_s is not None:
            left_s = limit_s - ran_s
            words.append(f"timeout in {span(left_s)}" if left_s > 0 else "its time is over")
    return _dotted(words, glyphs)


def why(run: Json, glyphs: Glyphs, now_ms: int) -> Words:
    """One sentence: why it failed, waits, was skipped or is being stopped. Empty when all is well."""
    kind, reason = phase(run, now_ms), cell(run.get("reason") or "")
    error = cell(runs.first_line(run.get("error")))
    if kind in ("failed", "dead", "discarded"):
        return _dotted(filter(None, (reason, error)), glyphs), "-failed"
    if kind == "retrying":
        number, most = runs.attempts_of_budget({"uncounted": 0, **run})
        which = f"retry {number} of {most - 1} comes" if 0 < number < most else "the next attempt comes"
        due_s = (milliseconds(run["due_at"]) - now_ms) / 1000
        return f"{cell(runs.failure(run))}; {which} {f'in {span(due_s)}' if due_s > 0 else 'now'}", "-retry"
    if kind in ("waiting", "to come", "replaying"):
        return cell(run.get("waits_for") or "") or reason, "-late"
    if kind in ("running", "succeeded"):
        return "", ""
    return reason, look(run, now_ms).style


def title(run: Json, glyphs: Glyphs, now_ms: int) -> str:
    """`etl-orders · run 4785 · attempt 1/3 · running`: what the strip below the list is about."""
    parts = [cell(run["job"]), f"run {run['id']}"]
    if int(run["attempt"]):
        parts.append(f"attempt {run['attempt']}/{run['max_attempts']}")
    return _dotted([*parts, look(run, now_ms).word], glyphs)


def identity(run: Json, work: Json | None, glyphs: Glyphs) -> str:
    """`key … · fence 7 · env 12 variables · in /srv/etl · as ana`: what it is known by, and where it ran."""
    words = [f"key {cell(run['key'])}"]
    if run.get("fence"):
        words.append(f"fence {run['fence']}")
    if work is not None:
        count = len(work["env"])
        words.append(f"env {count} variable{'' if count == 1 else 's'}")
        words += [f"in {cell(work['cwd'])}"] if work["cwd"] else []
        words += [f"as {cell(work['user'])}"] if work["user"] else []
    return _dotted(words, glyphs)


def no_log(run: Json, now_ms: int) -> str:
    """Why there is nothing to read, of a run whose log does not exist."""
    kind, reason = phase(run, now_ms), cell(run.get("reason") or "")
    if run.get("class") == "spawn_error":
        return f"The command could not be started, so it printed nothing. {in_words(reason)}".rstrip()
    if int(run["attempt"]) > 0:
        return "Its log is no longer kept: retention has removed it."
    if kind in ("waiting", "to come", "replaying"):
        return f"It has not started, so there is no log yet. {reason}".rstrip()
    why_not = f": {reason}" if reason else ""
    return f"It never started, so there is no log: {LOOKS[kind].word}{why_not}" if kind in LOOKS else "There is no log."


def _dotted(words: Iterable[str], glyphs: Glyphs) -> str:
    return f" {glyphs.dot} ".join(words)
