"""`jobctl status`: is the daemon alive, and what is wrong."""

from typing import Annotated, Any

import typer

from jobctl.cli.ending import Ended, How
from jobctl.cli.safe import cell
from jobctl.cli.session import Session
from jobctl.cli.times import span

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
    render, viewer = session.render, session.viewer
    jobs, lag = status["jobs"], status["start_lag"]
    kind = "system" if status["system"] else f"of {status['user']}"
    render.line(
        f"jobd {status['version']}   {status['state']} for {span(status['uptime_s'])}, pid {status['pid']}, {kind}"
    )
    render.line(f"socket  {status['socket']}")
    zone = f"zone {status['timezone']} ({status['timezone_from']}), tzdata {status['tzdata']}"
    render.line(f"clock   {viewer.full(status['now'])}, {zone}")
    counts = [f"{jobs[word]} {word}" for word in ("failed", "parked", "paused") if jobs[word]]
    render.line(f"jobs    {jobs['total']}" + (f": {', '.join(counts)}" if counts else ""))
    waiting = f"{status['ready']} ready, {status['scheduled']} scheduled"
    render.line(f"runs    {status['running']} running in {status['slots']} slots, {waiting}")
    if lag.get("count"):
        render.line(
            f"starts  half within {lag['p50_ms']} ms, 99 % within {lag['p99_ms']} ms, at most {lag['max_ms']} ms"
        )
    if status["next_run_at"]:
        render.line(f"next    {viewer.both(status['next_run_at'])}")
    back = status["returns_after_reboot"]
    text = "comes back after a reboot" if back else "will NOT come back after a reboot or logout"
    why = f": {status['returns_after_reboot_why']}" if status.get("returns_after_reboot_why") else ""
    render.raw_line("reboot  " + render.painted(cell(text + why), "" if back else "bad"))
    for line in trouble:
        render.raw_line(render.painted("trouble", "bad") + " " + cell(line))
