"""`jobctl daemon status`: whether the daemon runs; exit code 4 when it does not."""

from typing import Any, Final

import typer

from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.client.transport import PROTOCOL, mismatch, spoken
from jobctl.errors import Unreachable
from jobctl.reading.times import span

EXAMPLES = (("jobctl daemon status", ""), ("jobctl daemon status --json | jq .pid", ""))
FIELDS: Final = ("pid", "runner_pid", "version", "state", "uptime_s")
_EXTRA: Final = ("socket", "running", "started_at", "returns_after_reboot", "standbys")


def verb(ctx: typer.Context) -> None:
    """Say whether the daemon runs. Ends with 4 when it does not."""
    session: Session = ctx.obj
    try:
        status = session.reader().status()
    except Unreachable as error:
        stopped = dict.fromkeys(FIELDS) | {"state": "stopped"}
        if session.render.output in {"json", "ndjson"}:
            session.render.json(stopped)
        else:
            session.render.line("stopped")
            session.render.word(f"{error.details.get('why', error.message)}; {error.hint}")
        raise Ended(How.NOT_RUNNING) from error
    print_status(session, status)
    if spoken(status) != PROTOCOL:
        other = mismatch(spoken(status))
        session.render.word(f"{other.message}; {other.hint}")


def print_status(session: Session, status: dict[str, Any]) -> None:
    if session.render.output in {"json", "ndjson"}:
        session.render.json({name: status.get(name) for name in (*FIELDS, *_EXTRA)})
        return
    runner = f", runner pid {status['runner_pid']}" if status.get("runner_pid") else ""
    session.render.line(
        f"{status['state']} for {span(status['uptime_s'])}: jobd {status['version']}, pid {status['pid']}{runner}"
    )
