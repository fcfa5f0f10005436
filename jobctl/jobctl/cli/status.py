"""`jobctl status`: is the daemon alive, and what is wrong."""

from typing import Annotated, Any, Final, NoReturn

import typer

from jobctl import __version__
from jobctl.cli import summary
from jobctl.cli.beside_cron import beside_cron
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.cli.trouble import alarms, is_its_own, paused_words, pauses_of, unready
from jobctl.client.sync import Client
from jobctl.client.transport import PROTOCOL, mismatch, spoken
from jobctl.errors import InvalidInput

EXAMPLES = (
    ("jobctl status", ""),
    ("jobctl status --watch", "again every two seconds, until ctrl-c; --watch 10 every ten"),
    ("jobctl status --check || alert", "a line for each trouble, and then 1"),
    ("jobctl status --check --new 15m", "for a monitor that asks every quarter of an hour"),
)
#: Options whose value may be left out.
BARE: Final = {"--watch": "2", "-w": "2"}
_NEW_MS: Final = 86_400_000
#: The lines that the shell's prompt takes, below what is shown.
_PROMPT: Final = 1
_SHORTEST_S: Final = 0.1


def verb(
    ctx: typer.Context,
    watch: Annotated[
        float | None,
        typer.Option("-w", "--watch", metavar="[SECONDS]", help="show it again and again, every 2 s; ctrl-c ends it"),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="only what is wrong, and end with 1 if anything is")] = False,
    new: Annotated[
        str | None, typer.Option("--new", metavar="DURATION", help="with --check: how long a dead letter is new (24h)")
    ] = None,
) -> None:
    """Show the daemon on one screen: alive, keeping up, and what is wrong. `jobctl` alone does the same.

    Trouble comes first, then what runs, what fires next, what is dead, and the rest as far as the terminal is high:
    all of it with -o wide or in a pipe. With --check it is a line for each trouble: starts that are over 60 s behind,
    dead letters that are new, jobs that are quarantined, are skipped again and again or whose schedule cannot be
    expanded, a service that fails or stalls, a store that takes no write, a warning. What a person has paused is a line
    too, but no trouble.
    """
    session: Session = ctx.obj
    new_ms = _NEW_MS
    if new is not None:
        from jobctl.cli.draft import duration_ms

        new_ms = duration_ms("--new", new)
    if watch is not None:
        _watch(session, watch, check=check)
        return
    client = session.reader()
    status = client.status()
    render = session.render
    if spoken(status) != PROTOCOL:
        _show_foreign(session, status)
    if check:
        _check(session, client, status, new_ms)
    elif render.output in {"json", "ndjson"}:
        render.json(status)
    elif render.output in {"name", "csv"}:
        render.names([str(status["state"])])
    else:
        height = None if render.output == "wide" else render.out.height()
        for row in _rows(session, client, status, None if height is None else height - _PROMPT):
            render.raw_line(row)


def _watch(session: Session, every_s: float, *, check: bool) -> None:
    from jobctl.cli.watch import watch

    if check:
        raise InvalidInput("--watch and --check exclude each other", "for a monitor: --check, by a job of its own")
    if not _SHORTEST_S <= every_s <= 86_400:
        raise InvalidInput("--watch takes seconds, from 0.1 to 86400", "as in --watch 5", field="--watch")
    client, render = session.reader(), session.render
    if render.machine:
        if render.output == "json":
            session.common.output = render.output = "ndjson"
        watch(session, every_s, lambda _: render.json(client.status()))
        return
    watch(session, every_s, lambda rows: _rows(session, client, client.status(), rows))


def _rows(session: Session, client: Client, status: dict[str, Any], rows: int | None) -> list[str]:
    if spoken(status) != PROTOCOL:
        raise mismatch(spoken(status))
    return summary.fitting(summary.lines(summary.look(session, client, status), session.viewer), session.render, rows)


def _show_foreign(session: Session, status: dict[str, Any]) -> NoReturn:
    """What a daemon of another protocol surely says; nothing else is believed."""
    if session.render.machine:
        session.render.json(status)
    else:
        facts = (
            ("jobd", f"{status.get('version')}, {status.get('state')}, pid {status.get('pid')}"),
            ("jobctl", f"{__version__}, this program"),
        )
        for label, text in facts:
            session.render.fact(label, text, summary.INDENT)
    raise mismatch(spoken(status))


def _check(session: Session, client: Client, status: dict[str, Any], new_ms: int) -> None:
    render, pauses = session.render, pauses_of(client, status)
    own = [pause for pause in pauses if is_its_own(pause)]
    others = [pause for pause in pauses if pause not in own]
    found = [*alarms(status, client, session.viewer, new_ms), *_held(session, own)]
    found += [f"{one.text}: {one.hint}" for one in beside_cron(session, status)]
    found += unready(client, found)
    notes = _held(session, others)
    if render.output in {"json", "ndjson"}:
        render.json({**status, "troubles": found, "notes": notes})
    elif render.output in {"name", "csv"}:
        render.names([str(status["state"])])
    else:
        for line in (*found, *notes):
            render.flow(line)
    if found:
        raise Ended(How.TROUBLE)


def _held(session: Session, pauses: list[dict[str, Any]]) -> list[str]:
    return [f"paused: {line}" for line in paused_words(pauses, session.viewer)]
