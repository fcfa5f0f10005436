"""The daemon on one screen: trouble first, then what runs, what fires next and what is dead, then all the rest.

On a terminal it is as long as that is high: what tells least goes first, and a last line says how to see it.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from jobctl import __version__
from jobctl.cli import describe, files
from jobctl.cli.beside_cron import beside_cron
from jobctl.cli.render import Render
from jobctl.cli.session import Session
from jobctl.cli.trouble import paused_words, pauses_of, troubles
from jobctl.client.sync import Client
from jobctl.errors import JobctlError
from jobctl.reading.times import Viewer, milliseconds, span, took

INDENT: Final = 8
#: So many of what runs, fires next and is dead.
_SHOWN: Final = 5
#: A time without a daemon is told for so long, from so much on: a restart takes some of it.
_LATELY_MS: Final = 86_400_000
_GAP_MS: Final = 10_000
#: How runners end commands where nothing can leave them.
_GROUPS: Final = "cgroup"
_WHOLE: Final = 100.0

Json = dict[str, Any]


class Line(NamedTuple):
    """A label and what it is; what has less `worth` is left out first where there is no room."""

    label: str
    text: str
    worth: float
    style: str = ""


class Look(NamedTuple):
    """What was asked of the daemon at one instant; its parts are of moments that follow each other closely."""

    status: Json
    pauses: list[Json]
    running: list[Json]
    following: list[Json]
    dead: list[Json]
    foreign: tuple[str, ...] = ()
    """Troubles that lie outside the daemon."""


def look(session: Session, client: Client, status: Json) -> Look:
    """Asks for the parts; one that a daemon does not have, or cannot tell now, is left out."""
    return Look(
        status=status,
        pauses=pauses_of(client, status),
        running=_running(client) if status["running"] else [],
        following=_following(client) if status["next_run_at"] else [],
        dead=_dead(client) if status["dead"]["total"] else [],
        foreign=tuple(f"{one.text}: {one.hint}" for one in beside_cron(session, status)),
    )


def _running(client: Client) -> list[Json]:
    with suppress(JobctlError):
        return [run for run in client.runs_window(limit=_SHOWN)["items"] if run["state"] == "running"]
    return []


def _following(client: Client) -> list[Json]:
    with suppress(JobctlError):
        return [job for job in client.jobs_window(sort="next", limit=_SHOWN)["items"] if job["next_run_at"]]
    return []


def _dead(client: Client) -> list[Json]:
    with suppress(JobctlError):
        return client.dead_groups()[:_SHOWN]
    return []


def lines(seen: Look, viewer: Viewer) -> list[Line]:
    """All of it, in the order in which it is read."""
    status = seen.status
    return [
        _daemon(status, viewer),
        *(line for line in _return(status) if line.style),
        *_ranked("trouble", [*troubles(status), *seen.foreign], 95, "bad"),
        *_ranked("paused", paused_words(seen.pauses, viewer), 90, "warn"),
        *_listed("running", _runs_now(seen, viewer), 85),
        *_listed("next", _fires(seen, viewer), 80),
        *_listed("dead", [_group(group, viewer) for group in seen.dead], 82),
        *_rest(status, viewer),
        *(line for line in _return(status) if not line.style),
        *_note(status),
    ]


def fitting(found: Iterable[Line], render: Render, rows: int | None) -> list[str]:
    """The lines as they are printed, at most `rows` of them; None: all."""
    kept = list(found)
    printed = [render.fact_lines(line.label, line.text, INDENT, line.style) for line in kept]
    total = sum(map(len, printed))
    if rows is None or total <= rows:
        return [row for block in printed for row in block]
    left_out = 0
    for index in sorted(range(len(kept)), key=lambda index: kept[index].worth):
        if total <= rows - 1 or kept[index].worth >= _WHOLE:
            break
        total -= len(printed[index])
        left_out += len(printed[index])
        printed[index] = []
    more = render.fact_lines("more", f"{left_out} lines: jobctl status -o wide", INDENT, "dim")
    return [row for block in printed for row in block] + more


# ── the parts ──────────────────────────────────────────────


def _ranked(label: str, texts: Iterable[str], worth: float, style: str = "") -> list[Line]:
    """A line each; the first is worth most."""
    return [Line(label, text, worth - index / 10, style) for index, text in enumerate(texts)]


def _listed(label: str, texts: list[str], worth: float) -> list[Line]:
    """The same under one label: its first line is there for as long as any is."""
    return [Line("" if index else label, text, worth - index * 3) for index, text in enumerate(texts)]


def _daemon(status: Json, viewer: Viewer) -> Line:
    kind = "system" if status["system"] else f"of {status['user']}"
    if status["home"]:
        kind = f"trial of {status['user']} in JOBCTL_HOME {status['home']}"
    up = span(status["uptime_s"]) + _down(status["clock"]["last_down"], viewer)
    installed = "" if status["version"] == __version__ else f" (installed is {__version__}: start it anew)"
    text = f"{status['version']}{installed}, {status['state']} for {up}, pid {status['pid']}, {kind}"
    return Line("jobd", text, _WHOLE)


def _down(down: Json | None, viewer: Viewer) -> str:
    """How long there was no daemon before this one, if that was lately: one that was killed may have been idle."""
    if down is None or viewer.now_ms - milliseconds(down["to"]) > _LATELY_MS:
        return ""
    gap_ms = milliseconds(down["to"]) - milliseconds(down["from"])
    if gap_ms < _GAP_MS:
        return ""
    clock = viewer.alike([down["from"], down["to"]])
    if down["clean"]:
        return f", after {span(gap_ms / 1000)} without a daemon ({clock(down['from'])} to {clock(down['to'])})"
    seen = f"last sign of life {clock(down['from'])}, back {clock(down['to'])}"
    return f", after up to {span(gap_ms / 1000)} without a daemon ({seen})"


def _return(status: Json) -> Iterator[Line]:
    back = status["returns_after_reboot"]
    text = "comes back after a reboot" if back else "will NOT come back after a reboot or logout"
    why = f": {status['returns_after_reboot_why']}" if status.get("returns_after_reboot_why") else ""
    yield Line("reboot", text + why, 28 if back else 97, "" if back else "bad")


def _runs_now(seen: Look, viewer: Viewer) -> list[str]:
    """Those that run, and how many more do."""
    more = int(seen.status["running"]) - len(seen.running)
    texts = [_run(run, viewer) for run in seen.running]
    return [*texts, f"and {more} more: jobctl runs --state running"] if texts and more > 0 else texts


def _run(run: Json, viewer: Viewer) -> str:
    usual = f", usually {took(run['p50'])}" if run["p50"] is not None else ""
    attempt = f", attempt {run['attempt']}" if run["attempt"] > 1 else ""
    return f"{run['job']}: run {run['id']} for {describe.run_age(run, viewer)}{usual}{_slow(run, viewer)}{attempt}"


def _slow(run: Json, viewer: Viewer) -> str:
    if run["p95"] is None or not run["started_at"]:
        return ""
    return "; slower than usual" if viewer.now_ms - milliseconds(run["started_at"]) > run["p95"] * 1000 else ""


def _fires(seen: Look, viewer: Viewer) -> list[str]:
    first = seen.status["next_run_at"]
    if not seen.following:
        return [viewer.both(first)] if first else []
    clock = viewer.alike(job["next_run_at"] for job in seen.following)
    return [f"{clock(job['next_run_at'])}, {viewer.ago(job['next_run_at'])}: {job['name']}" for job in seen.following]


def _group(group: Json, viewer: Viewer) -> str:
    names = ", ".join(group["jobs"][:2]) + (f" and {len(group['jobs']) - 2} more" if len(group["jobs"]) > 2 else "")
    error = describe.first_line(group["error"])
    said = f": {error}" if error else ""
    return f"{names}: {group['count']} × {describe.failure(group)}{said}, the newest {viewer.ago(group['last_at'])}"


def _rest(status: Json, viewer: Viewer) -> Iterator[Line]:
    jobs, lag = status["jobs"], status["start_lag"]
    if status["system"]:
        yield from _you(status.get("caller"))
    counts = [f"{jobs[word]} {word}" for word in ("failed", "parked", "paused") if jobs[word]]
    yield Line("jobs", f"{jobs['total']}" + (f": {', '.join(counts)}" if counts else ""), 66)
    yield Line("runs", _runs(status), 65)
    if lag.get("count"):
        yield Line("starts", ", ".join(
            f"{words} {took(lag[name] / 1000)}"
            for words, name in (("half within", "p50_ms"), ("99 % within", "p99_ms"), ("at most", "max_ms"))
        ), 40)  # fmt: skip
    yield Line("clock", viewer.full(status["now"]) + _clock(status["clock"], viewer), 45)
    yield Line("zone", f"{status['timezone']}, from {status['timezone_from']}; tzdata {status['tzdata']}", 30)
    yield Line("socket", status["socket"], 35)
    if following := files.summary(status):
        yield Line("files", following, 38)
    if told := status.get("syslog"):
        yield Line("syslog", _syslog(told), 20)
    without = sorted({runner["kill_by"] for runner in status["runners"] if runner["kill_by"]} - {_GROUPS})
    if without:
        yield Line("kills", f"by {', '.join(without)}: there is no place for control groups", 15)
    for pid in status.get("standbys", ()):
        yield Line("standby", f"pid {pid} takes over when this one is gone", 26)


def _runs(status: Json) -> str:
    ready = max(0, status["ready"] - status["retrying"])
    retrying = f"{status['retrying']} waiting for a retry, " if status["retrying"] else ""
    waiting = f"{ready} ready, {retrying}{status['scheduled']} scheduled"
    dead = f", {status['dead']['total']} dead" if status["dead"]["total"] else ""
    return f"{status['running']} running in {status['slots']} slots, {waiting}{dead}"


def _syslog(told: Json) -> str:
    """How many of cron's lines were taken, and what became of the others."""
    counted = "1 line" if told["lines"] == 1 else f"{told['lines']} lines"
    dropped = f", {told['dropped']} left out" if told["dropped"] else ""
    return f"{counted} to {told['path']}{dropped}" + (f": {told['why']}" if told["why"] else "")


def _you(caller: Json | None) -> Iterator[Line]:
    """As whom one is served, and what the numbers are of; a daemon of before does not say."""
    if caller is not None:
        everybody = {"root": "jobs of everybody", "admin": "jobs of everybody, as one of its administrators"}
        yield Line("you", f"{caller['name']}: {everybody.get(str(caller['role']), 'your own jobs')}", 55)


def _clock(clock: Json, viewer: Viewer) -> str:
    """What is to be known of the host's clock; nothing when all is well, or nothing is known."""
    parts = ["not synchronised"] if clock["synchronised"] is False else []
    step = clock["last_step"]
    if step:
        moved_s = (milliseconds(step["to"]) - milliseconds(step["from"])) / 1000
        way = "forward" if moved_s >= 0 else "back"
        parts.append(f"stepped {way} by {span(moved_s)} {viewer.ago(step['at'])}")
    return "".join(f"; {part}" for part in parts)


def _note(status: Json) -> Iterator[Line]:
    if status["untold"]:
        number = f"{status['untold']} job" + ("" if status["untold"] == 1 else "s")
        how = "jobctl edit JOB --notify mail, or notify in its file"
        yield Line("note", f"nobody is told of failures of {number}: {how}", 25)
