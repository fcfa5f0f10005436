"""`jobctl status`: is the daemon alive, and what is wrong."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.cli.times import Viewer, span, took

_INDENT = 8
EXAMPLES = (("jobctl status", ""), ("jobctl status --check || alert", "ends with 1 when something is wrong"))


def verb(
    ctx: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="end with 1 when something is wrong")] = False,
) -> None:
    """Show the daemon: alive, keeping up, and what is wrong. `jobctl` alone does the same."""
    session: Session = ctx.obj
    client = session.reader()
    status = client.status()
    trouble = troubles(status)
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.json(status)
    elif render.output in {"name", "csv"}:
        render.names([str(status["state"])])
    else:
        _show(session, status, trouble)
    if check and trouble:
        raise Ended(How.TROUBLE)


def troubles(status: dict[str, Any]) -> list[str]:
    """What makes a daemon unhealthy, one sentence each."""
    found = [str(text) for text in status["warnings"]]
    if status["state"] != "running":
        found.append(f"the daemon is {status['state']}")
    jobs = status["jobs"]
    for word, hint in (("failed", "jobctl ls --state failed"), ("parked", "jobctl ls --state parked")):
        if jobs[word]:
            found.append(f"{jobs[word]} {word}: {hint}")
    for name, service in status["services"].items():
        if service.get("error"):
            found.append(f"{name}: {service['error']}")
    return found


def _show(session: Session, status: dict[str, Any], trouble: list[str]) -> None:
    fact = session.render.fact
    kind = "system" if status["system"] else f"of {status['user']}"
    up = span(status["uptime_s"])
    fact("jobd", f"{status['version']}, {status['state']} for {up}, pid {status['pid']}, {kind}", _INDENT)
    for label, text in _facts(session.viewer, status):
        fact(label, text, _INDENT)
    back = status["returns_after_reboot"]
    text = "comes back after a reboot" if back else "will NOT come back after a reboot or logout"
    why = f": {status['returns_after_reboot_why']}" if status.get("returns_after_reboot_why") else ""
    fact("reboot", text + why, _INDENT, "" if back else "bad")
    for line in trouble:
        fact("trouble", line, _INDENT, "bad")


def _facts(viewer: Viewer, status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    jobs, lag = status["jobs"], status["start_lag"]
    yield "socket", status["socket"]
    yield "clock", viewer.full(status["now"])
    yield "zone", f"{status['timezone']}, from {status['timezone_from']}; tzdata {status['tzdata']}"
    counts = [f"{jobs[word]} {word}" for word in ("failed", "parked", "paused") if jobs[word]]
    yield "jobs", f"{jobs['total']}" + (f": {', '.join(counts)}" if counts else "")
    waiting = f"{status['ready']} ready, {status['scheduled']} scheduled"
    yield "runs", f"{status['running']} running in {status['slots']} slots, {waiting}"
    if lag.get("count"):
        yield (
            "starts",
            ", ".join(
                f"{words} {took(lag[name] / 1000)}"
                for words, name in (("half within", "p50_ms"), ("99 % within", "p99_ms"), ("at most", "max_ms"))
            ),
        )
    if status["next_run_at"]:
        yield "next", viewer.both(status["next_run_at"])
