"""The attempts of a run as bars on one scale of time: how long each waited, how long it worked, and how it ended."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl.reading import runs
from jobctl.reading.times import milliseconds, span, took

Json = dict[str, Any]

#: No attempt is drawn shorter, however short it was: one cell can be seen.
_WORK_CELLS_MIN: Final = 1


class Bar(NamedTuple):
    """One attempt. `lead`, `wait` and `work` are cells: empty, waiting and working, from the left."""

    attempt: int
    words: str
    style: str
    took: str
    lead: int
    wait: int
    work: int
    note: str = ""
    """What it waited for, in words."""
    open: bool = False
    """It has not ended."""


class Mark(NamedTuple):
    """A place on the scale."""

    cell: int
    label: str


class Chart(NamedTuple):
    """All bars, and the marks below the attempt that runs."""

    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...] = ()


class _Scale(NamedTuple):
    """Time along the cells."""

    begin_ms: int
    end_ms: int
    cells: int

    def cell(self, at_ms: int) -> int:
        whole = max(1, self.end_ms - self.begin_ms)
        return max(0, min(self.cells, round((at_ms - self.begin_ms) * self.cells / whole)))


class _Part(NamedTuple):
    """When an attempt began to wait, to work, and ended, in milliseconds."""

    wait_ms: int
    work_ms: int
    end_ms: int


def chart(attempts: Sequence[Json], run: Json, durations: Mapping[str, Any], now_ms: int, cells: int) -> Chart:
    """`durations` has `p50` and `p95` in seconds or None: marks, while an attempt runs. `cells`: those of the bars."""
    if not attempts or cells <= 0:
        return Chart(())
    parts = _parts(attempts, now_ms)
    ends_ms = [part.end_ms for part in parts]
    running = not attempts[-1]["ended_at"] and bool(attempts[-1]["started_at"])
    retry_ms = milliseconds(run["due_at"]) if runs.waits_for_retry(run) else None
    if running and durations.get("p95"):
        ends_ms.append(parts[-1].work_ms + round(durations["p95"] * 1000))
    if retry_ms is not None:
        ends_ms.append(max(retry_ms, now_ms))
    scale = _Scale(parts[0].wait_ms, max(ends_ms), cells)
    bars = [
        _bar(attempt, part, scale, state=str(run["state"]) if attempt is attempts[-1] else "")
        for attempt, part in zip(attempts, parts, strict=True)
    ]
    if running and durations.get("p95") and now_ms > parts[-1].work_ms + durations["p95"] * 1000:
        bars[-1] = bars[-1]._replace(style="-late")
    if retry_ms is not None:
        bars.append(_awaited(attempts[-1], parts[-1], scale, retry_ms, now_ms))
    return Chart(tuple(bars), _marks(parts[-1], durations, scale) if running else ())


def _parts(attempts: Sequence[Json], now_ms: int) -> list[_Part]:
    """An attempt waits from the end of the one before; the first one begins with its claim."""
    parts: list[_Part] = []
    for attempt in attempts:
        claimed_ms = milliseconds(attempt["claimed_at"])
        work_ms = milliseconds(attempt["started_at"]) if attempt["started_at"] else claimed_ms
        end_ms = milliseconds(attempt["ended_at"]) if attempt["ended_at"] else max(now_ms, work_ms)
        wait_ms = min(parts[-1].end_ms, work_ms) if parts else min(claimed_ms, work_ms)
        parts.append(_Part(wait_ms, work_ms, max(end_ms, work_ms)))
    return parts


def _bar(attempt: Json, part: _Part, scale: _Scale, *, state: str) -> Bar:
    lead, begin, end = scale.cell(part.wait_ms), scale.cell(part.work_ms), scale.cell(part.end_ms)
    work = max(_WORK_CELLS_MIN, end - begin)
    begin = min(begin, scale.cells - work)
    lead = min(lead, begin)
    waited_s = (part.work_ms - part.wait_ms) / 1000
    words, style = _how(attempt, state)
    return Bar(
        attempt=int(attempt["attempt"]),
        words=words,
        style=style,
        took=took((part.end_ms - part.work_ms) / 1000) if attempt["started_at"] else "",
        lead=lead,
        wait=begin - lead,
        work=work,
        note=f"waited {took(waited_s)}" if lead and waited_s >= 1 else "",
        open=not attempt["ended_at"],
    )


def _how(attempt: Json, state: str) -> tuple[str, str]:
    """In words, and which style that is."""
    if not attempt["ended_at"]:
        return ("running", "-running") if attempt["started_at"] else ("starting", "-running")
    kind = attempt["class"]
    if kind in ("cancelled", "interrupted", "lost"):
        return runs.failure(attempt), "-late" if kind == "lost" else "-dim"
    if kind:
        return runs.failure(attempt), "-failed"
    return ("ok", "-ok") if state in ("", "succeeded") or attempt["exit_code"] == 0 else ("ended", "-dim")


def _awaited(last: Json, part: _Part, scale: _Scale, retry_ms: int, now_ms: int) -> Bar:
    """The attempt that is to come."""
    begin, end = scale.cell(part.end_ms), scale.cell(max(retry_ms, part.end_ms))
    left_s = (retry_ms - now_ms) / 1000
    words = f"retry in {span(left_s)}" if left_s > 0 else "retry due"
    return Bar(int(last["attempt"]) + 1, words, "-retry", "", begin, max(0, end - begin), 0, open=True)


def _marks(part: _Part, durations: Mapping[str, Any], scale: _Scale) -> tuple[Mark, ...]:
    found = [(name, durations.get(name)) for name in ("p50", "p95")]
    return tuple(
        Mark(scale.cell(part.work_ms + round(seconds * 1000)), f"{name} {took(seconds)}")
        for name, seconds in found
        if seconds is not None
    )


def ruler(marks: Sequence[Mark], cells: int, *, line: str, stop: str) -> str:
    """The marks on one line below the bars: each says what it is at the left of its place, or at the right where
    there is no room before it."""
    drawn = [" "] * cells
    free = 0
    for mark in marks:
        at = min(mark.cell, cells - 1)
        before = at - free
        if before >= len(mark.label) + 1:
            text = mark.label + " " + line * (before - len(mark.label) - 1) + stop
            drawn[free : at + 1] = list(text)
            free = at + 1
        elif at >= free and at + 1 + len(mark.label) <= cells:
            drawn[at : at + 1 + len(mark.label)] = list(stop + mark.label)
            free = at + 1 + len(mark.label)
    return "".join(drawn).rstrip()


def progress(elapsed_s: float, p50: float | None, cells: int, blocks: str, over: str) -> str:
    """`██████▎    61%` of what it usually takes; beyond that `██████████▶135%`. Empty where that is not known.

    `blocks` are parts of a cell from the smallest to a whole one; `over` marks a bar that is longer than its room.
    """
    if not p50 or p50 <= 0:
        return ""
    share = elapsed_s / p50
    percent = f"{min(999, round(share * 100))}%"
    if share > 1:
        return blocks[-1] * cells + over + percent
    whole, rest = divmod(share * cells, 1)
    part = blocks[int(rest * len(blocks)) - 1] if int(rest * len(blocks)) else ""
    return (blocks[-1] * int(whole) + part).ljust(cells + 1) + percent
