"""What stands beside the list and below it, of the job under the cursor. Of its row at once; more when it has come."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final, NamedTuple

from jobctl.reading.runs import first_line, target
from jobctl.reading.safe import LogFilter, cell
from jobctl.reading.times import of_fire, took
from jobctl.reading.width import cut
from jobctl_tui.words import job as words
from jobctl_tui.words import strip
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.spark import spark
from jobctl_tui.words.timeline import left_out_words
from jobctl_tui.words.when import When

Json = dict[str, Any]
Words = tuple[str, str]
Line = list[Words]

_LABEL: Final = 9
#: Of the end of a log: enough for the few lines that are shown, whatever their length.
TAIL_BYTES: Final = 4096


class Details(NamedTuple):
    """What is asked for once the cursor rests on a job."""

    job: Json
    fires: Sequence[Json]
    durations: Json | None
    """None: this daemon does not say."""
    tail: tuple[str, ...]
    """The last lines of the log of its newest run."""


def tail_lines(data: bytes, *, whole: bool) -> tuple[str, ...]:
    """The last lines that say something. Without its beginning the first is a piece of a line, and is left out."""
    lines = LogFilter().feed(data, final=True).splitlines()
    return tuple(cell(line) for line in (lines if whole else lines[1:]) if line.strip())


def newest_run(job: Json) -> int | None:
    """The run that is going on, else the one that ended last."""
    found = job.get("active") or job.get("last")
    started = found and (found.get("started_at") or found.get("finished_at") or found.get("attempt"))
    if found and not started and job.get("last"):
        found = job["last"]
    return int(found["id"]) if found else None


# ── below the list ──────────────────────────────────────────────


def title(job: Json, glyphs: Glyphs) -> str:
    """`backup-db · run 4812 · attempt 3/3 · 2 dead letters`."""
    active = job.get("active")
    parts = [str(words.name(job)[0])]
    run = newest_run(job)
    if run is not None:
        parts.append(f"run {run}")
    if active and int(active.get("attempt") or 0) and int(active.get("max_attempts") or 1) > 1:
        parts.append(f"attempt {active['attempt']}/{active['max_attempts']}")
    if words.dead(job):
        parts.append(words.dead(job))
    return f" {glyphs.dot} ".join(parts)


def below(job: Json, when: When, now_ms: int, glyphs: Glyphs, tail: Sequence[str] = (), room: int = 2) -> list[Line]:
    """Its schedule in words and its next time; then why it is in trouble, else the end of its log."""
    lines: list[Line] = [_plan(job, when, now_ms, glyphs)]
    why = words.trouble(job)
    if why:
        lines.append([(why, "-failed" if words.look(job).style == "-failed" else "-late")])
    held = words.held(job)
    if held:
        lines.append([(held, "-paused")])
    if len(lines) < room:
        lines += [[(line, "-dim")] for line in tail[-(room - len(lines)) :] if line != why]
    return lines[:room]


def _plan(job: Json, when: When, now_ms: int, glyphs: Glyphs) -> Line:
    text = str(job.get("words") or "by hand")
    zone = str(job.get("timezone") or "")
    line: Line = [(cell(text), "")]
    if zone and job.get("next_run_at"):
        line.append((f" {cell(zone)}", "-dim"))
    if job.get("next_run_at"):
        viewer = when.viewer(now_ms, zone)
        line.append((f" {glyphs.arrow} next {viewer.both(str(job['next_run_at']))}", ""))
    left_out = left_out_words(job, when.viewer(now_ms, zone).clock)
    line += [(f" {glyphs.dot} {left_out}", "-late")] if left_out else []
    usual = words.usual(job)
    return [*line, (f" {glyphs.dot} {usual}", "-dim")] if usual else line


# ── beside the list ──────────────────────────────────────────────


def beside(job: Json, more: Details | None, when: When, now_ms: int, glyphs: Glyphs, columns: int) -> list[Line]:
    """All of it, from what matters most to what matters least; `columns` wide."""
    state, style = words.state(job, glyphs, columns // 2)
    name = cut(words.name(job)[0], max(4, columns - len(state) - 1))
    lines: list[Line] = [[(name.ljust(columns - len(state)), "-bold"), (state, style)]]
    if more is not None:
        lines.append([(cell(first_line(target(more.job))), "-dim")])
    lines += [_pair(cell(job.get("expression") or "by hand"), cell(job.get("timezone") or "")), []]
    lines += _next(job, more, when, now_ms)
    lines += _last(job, when, now_ms)
    lines += _why(job, columns)
    lines += _usual(job, more, glyphs, columns)
    if more is not None:
        lines += [*_labelled("POLICY", [[(text, "")] for text in words.policy(more.job)]), []]
    lines += _origin(job, more)
    lines.append(_label("CLI", [(f"jobctl show {cell(job['name'])}", "-key")]))
    return lines


def _pair(first: str, second: str) -> Line:
    return [(first, ""), (f"   {second}" if second else "", "-dim")]


def _label(label: str, line: Line) -> Line:
    return [(label.ljust(_LABEL), "-dim"), *line]


def _labelled(label: str, lines: Sequence[Line]) -> list[Line]:
    return [_label(label if not at else "", line) for at, line in enumerate(lines)]


def _next(job: Json, more: Details | None, when: When, now_ms: int) -> list[Line]:
    text, style = words.next_time(job, when, now_ms)
    fires = [[(cell(of_fire(fire)), "" if not at else "-dim")] for at, fire in enumerate(more.fires)] if more else []
    if words.held(job):
        return [*_labelled("HELD", [[(words.held(job), "-paused")], [(text, style)]]), []]
    left_out = left_out_words(job, when.viewer(now_ms, str(job.get("timezone") or "")).clock)
    lines: list[Line] = [[(text, style)], *([[(left_out, "-late")]] if left_out else []), *fires]
    return [*_labelled("NEXT", lines), []]


def _last(job: Json, when: When, now_ms: int) -> list[Line]:
    run = job.get("last")
    if not run:
        return [_label("LAST", [("it has not run yet", "-dim")]), []]
    style = "-failed" if run.get("state") in ("failed", "dead") else ""
    lasted = f" after {took(float(run['duration']))}" if run.get("duration") is not None else ""
    lines: list[Line] = [[(f"run {run['id']}  {words.short_outcome(run)}{lasted}", style)]]
    if run.get("finished_at"):
        lines.append([(when.viewer(now_ms).both(str(run["finished_at"])), "")])
    dead = words.dead(job)
    if dead:
        lines.append([(f"{dead}: tab 4", "-failed")])
    return [*_labelled("LAST", lines), []]


def _why(job: Json, columns: int) -> list[Line]:
    why = words.trouble(job)
    if not why:
        return []
    pieces = wrap(why, max(8, columns - _LABEL), max_lines=3, placeholder=" …")
    return [*_labelled("WHY", [[(piece, "-failed")] for piece in pieces]), []]


def _usual(job: Json, more: Details | None, glyphs: Glyphs, columns: int) -> list[Line]:
    lines: list[Line] = []
    usual = words.usual(job)
    durations = more.durations if more else None
    if usual:
        lines.append(_label("USUALLY", [(usual.removeprefix("usually "), "")]))
    if durations and len(durations.get("items") or ()) > 1:
        values = [item.get("duration") for item in reversed(durations["items"])]
        lines.append(_label("", [(spark(values, glyphs.levels, columns - _LABEL), "-running")]))
    counted = strip.tally(strip.known(job.get("recent"))).words
    if counted:
        lines.append(_label("RESULT", [(counted, "")]))
    return [*lines, []] if lines else []


def _origin(job: Json, more: Details | None) -> list[Line]:
    lines: list[Line] = []
    if job.get("tags"):
        lines.append(_label("TAGS", [(cell(" ".join(job["tags"])), "")]))
    lines.append(
        _label("OWNER", [(cell(job.get("owner", "")), ""), (f"   queue {cell(job.get('queue', ''))}", "-dim")])
    )
    if job.get("declared"):
        lines.append(_label("FILE", [(cell(job["declared"]), "")]))
    if more is not None and more.job.get("note"):
        lines.append(_label("NOTE", [(cell(first_line(more.job["note"])), "")]))
    return [*lines, []]
