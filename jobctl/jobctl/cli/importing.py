"""What every import needs: where its record is, what the daemon has, and who carries it out."""

from typing import Any

from jobctl.cli.session import Session
from jobctl.errors import DaemonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobctl.client.sync import Client
    from jobctl.crontabs.handover import Handover
    from jobctl.crontabs.record import Records
    from jobctl.crontabs.takeover import Takeover

Json = dict[str, Any]


def state_dir(session: Session) -> str:
    from jobctl.paths import daemon_places

    return daemon_places(session.world.environ, session.world.uid).state_dir


def takeover_of(session: Session, client: Any, records: Any) -> "Takeover":
    from jobctl.crontabs.takeover import Takeover

    return Takeover(client, records, session.world.environ)


def handover_of(session: Session, client: "Client", records: "Records") -> "Handover":
    """Says each step on stderr as it is done."""
    from jobctl.crontabs.handover import Handover
    from jobctl.crontabs.host_cron import HostCron

    world = session.world
    return Handover(client, records, HostCron(world.environ), world.clock, session.render.word)


def new_record(session: Session) -> Any:
    import secrets

    from jobctl.crontabs.record import Record
    from jobctl.reading.times import rfc3339

    now = rfc3339(session.world.clock.now_ms() // 1000 * 1000)
    stamp = now.replace("-", "").replace(":", "").lower().removesuffix("z")
    return Record(f"{stamp}-{secrets.token_hex(2)}", now)


def jobs_if_any(session: Session) -> list[Json]:
    """A report needs no daemon: without one nothing has been imported."""
    try:
        return list(session.reader().jobs(done=True))
    except DaemonError:
        return []
