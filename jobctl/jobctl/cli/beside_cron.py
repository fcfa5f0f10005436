"""A cron beside a jobd that runs the host's tables, where every line runs twice; and takeovers that were cut short."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from jobctl.cli.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobctl.crontabs.crond import Cron
    from jobctl.crontabs.record import Record

Json = dict[str, Any]

_STOP: Final = "jobctl import crontab --system --apply stops it; --rollback gives the tables back to it"
_AGAIN: Final = "jobctl import crontab --system --apply finishes it; --rollback undoes it"
_BACK: Final = "jobctl import crontab --rollback finishes it"


class Beside(NamedTuple):
    """`bad`: it happens now; else it will after the next boot."""

    bad: bool
    text: str
    hint: str


def beside_cron(session: Session, status: Json) -> list[Beside]:
    """What is wrong between jobd and cron on this host. Looks at /proc, at services, and for root at the imports."""
    found: list[Beside] = []
    if live_lines(status) is not None:
        from jobctl.crontabs.crond import find

        found += judged(status, find(session.world.environ))
    return found + list(cut_short(_imports(session, status)))


def live_lines(status: Json) -> int | None:
    """How many lines of the host's tables jobd runs, as far as the caller may see; None when it runs none of them."""
    tables = [table for table in status.get("tables", ()) if table["kind"] == "crontab"]
    return sum(int(table["jobs"]) for table in tables) if status["system"] and tables else None


def judged(status: Json, cron: "Cron") -> Iterator[Beside]:
    """Of a daemon that runs the host's tables."""
    lines = live_lines(status) or 0
    count = f"{lines} {'line' if lines == 1 else 'lines'}"
    if cron.processes:
        words = ", ".join(process.words for process in cron.processes)
        yield Beside(True, f"{words}, runs beside jobd: {count} of this host's tables run twice", _STOP)
    elif cron.returns:
        names = ", ".join(service.name for service in cron.returns)
        yield Beside(
            False, f"{names} is started at the next boot: {count} of this host's tables would run twice", _STOP
        )


def cut_short(records: "Iterable[Record]") -> Iterator[Beside]:
    """Takeovers of the host that are neither done nor undone."""
    for record in records:
        if record.host is not None and record.unfinished:
            back = record.state == "undoing"
            what = "giving the host back to cron" if back else "taking the host over"
            text = f"{what} was cut short ({record.id}): its lines may be run by nobody"
            yield Beside(True, text, _BACK if back else _AGAIN)


def _imports(session: Session, status: Json) -> "list[Record]":
    if session.world.uid != 0 or not status["system"]:
        return []
    from jobctl.crontabs.record import Records

    try:
        return Records(str(status["state_dir"])).all()
    except (OSError, ValueError, KeyError, TypeError):
        return []
