"""What is told of the runners: a row for each that lives, and a sentence for each that is not as it should be."""

from collections.abc import Iterator
from typing import Any

from jobctl_daemon.execution.link import RUNNER_PROTOCOL, Link
from jobctl_daemon.execution.pool import Flight, RunnerPool


def rows(pool: RunnerPool) -> list[dict[str, Any]]:
    """Those that answer first, by name; of the others what is known."""
    flights = _by_link(pool)
    known = [_row(name, link, flights.get(id(link), [])) for name, link in sorted(pool.links.items())]
    mute = [_bare(name, link.pid) for name, link in sorted(pool.mute.items())]
    strangers = [
        _bare(name, one.pid) | {"version": one.version, "protocol": one.protocol, "draining": True}
        for name, one in sorted(pool.strangers.items())
    ]
    return [*known, *mute, *strangers]


def troubles(pool: RunnerPool) -> list[str]:
    """One sentence each, with what it means for commands and what can be done."""
    return [*_silent(pool), *_mute(pool), *_strangers(pool), *_locked(pool)]


def without_runner(pool: RunnerPool) -> str | None:
    """Why nothing can be started now: no runner answers. None: one does, or one is being started."""
    links = [*pool.links.values(), *pool.mute.values()]
    if links and all(link.silent for link in links):
        return "no runner answers"
    return None


async def waits_for(pool: RunnerPool, attempt: str) -> str | None:
    """Why what was asked of the runner of an attempt has to wait; None: it has been heard, or nobody holds it."""
    flight = pool.flights.get(attempt)
    if flight is None or flight.link is None or await pool.heard(flight.link):
        return None
    link = flight.link
    words = f"its runner (pid {link.pid}) does not answer"
    return f"{words}: it is stopped, kill -CONT {link.pid} continues it" if is_stopped(link.pid) else words


def _row(name: str, link: Link, flights: list[tuple[str, Flight]]) -> dict[str, Any]:
    hello = link.hello
    return {
        "instance": name,
        "pid": hello.pid,
        "version": hello.version,
        "protocol": str(RUNNER_PROTOCOL),
        "running": len(flights),
        "kill_by": hello.kill_by,
        "draining": link.draining,
        "silent_s": link.waiting_s if link.silent or not link.word.is_set() else None,
    }


def _bare(name: str, pid: int | None) -> dict[str, Any]:
    return {
        "instance": name,
        "pid": pid,
        "version": None,
        "protocol": None,
        "running": None,
        "kill_by": None,
        "draining": False,
        "silent_s": None,
    }


def _silent(pool: RunnerPool) -> Iterator[str]:
    flights = _by_link(pool)
    for name, link in sorted(pool.links.items()):
        if link.silent:
            yield _who(name, link) + "".join(_what_waits(flights.get(id(link), [])))


def _mute(pool: RunnerPool) -> Iterator[str]:
    for name, link in sorted(pool.mute.items()):
        if link.waiting_s is None:
            continue
        waits = f"; {_runs(pool.unjudged)} may be its own and wait for that" if pool.unjudged else ""
        yield f"{_who(name, link)}; its commands go on{waits}"


def _who(name: str, link: Link) -> str:
    words = f"the runner {name} (pid {link.pid}) has not answered for {link.waiting_s or 0:.0f} s"
    return f"{words}: it is stopped, kill -CONT {link.pid} continues it" if is_stopped(link.pid) else words


def _what_waits(flights: list[tuple[str, Flight]]) -> Iterator[str]:
    """Of a runner that has fallen silent. jobd does not do it in its stead: one process acts on a command."""
    running = [attempt for attempt, flight in flights if flight.started and not flight.ended]
    if running:
        yield f"; {_runs(len(running))} of it go on" if len(running) > 1 else "; one run of it goes on"
    if starting := sum(not flight.started for _, flight in flights):
        yield f"; {_runs(starting)} sent to it {'starts' if starting == 1 else 'start'} when it answers"
    for words, chosen in (
        ("to be stopped when it answers", [attempt for attempt, flight in flights if flight.stop_asked]),
        ("over the timeout", [attempt for attempt, flight in flights if flight.overdue and not flight.stop_asked]),
    ):
        if chosen:
            yield f"; {words}: run {', '.join(attempt.partition('-')[0] for attempt in chosen[:5])}"


def _strangers(pool: RunnerPool) -> Iterator[str]:
    for name, one in sorted(pool.strangers.items()):
        yield (
            f"the runner {name} (pid {one.pid}, version {one.version}) speaks protocol {one.protocol}, not "
            f"{RUNNER_PROTOCOL}: "
            "its commands go on, and are recorded when it has ended"
        )


def _locked(pool: RunnerPool) -> Iterator[str]:
    yield from (f"the runner {name} lives and takes no connection" for name in sorted(pool.locked))


def _by_link(pool: RunnerPool) -> dict[int, list[tuple[str, Flight]]]:
    found: dict[int, list[tuple[str, Flight]]] = {}
    for attempt, flight in pool.flights.items():
        if flight.link is not None:
            found.setdefault(id(flight.link), []).append((attempt, flight))
    return found


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def is_stopped(pid: int | None) -> bool:
    """Whether somebody has stopped the process: state T in proc_pid_stat(5)."""
    if pid is None:
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False
