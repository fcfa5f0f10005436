"""Makes the pictures of the README: `python docs/draw_screens.py` fills docs/pictures.

A real daemon runs real jobs in a folder of its own; the screens are driven by keys, and drawn as they are. What is
other than on a host: its name, and that nothing says that it is a trial.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("jobctl", "daemon", "tui", "tests")]

from jobctl.client.sync import Client  # noqa: E402
from kit.daemon import AnyonesTransport, RealDaemon, real_daemon  # noqa: E402
from kit.screens import Shown, screens  # noqa: E402

PICTURES: Final = Path(__file__).parent / "pictures"
SIZE: Final = (120, 34)
Json = dict[str, Any]

FULL: Final = """\
: /opt/bin/backup.sh --full --to s3
echo "backup.sh: starting full backup to s3://bk/prod-db1"
echo "pg_dump: last built-in OID is 16383"; echo "pg_dump: reading extensions"
for table in customers invoices orders_2025 orders_2026; do echo "pg_dump: dumping contents of table \\"$table\\""; done
echo 'pg_dump: error: query failed: could not write to file "base/pgsql_tmp/t3_0": No space left on device'; exit 1
"""
LOAD: Final = 'n=0; while n=$((n+1)); do echo "INFO  chunk $n/900  10 000 rows"; sleep 1; done'


class OfAnotherName(Client):
    """What a trial says of itself, as a host's daemon says it."""

    def status(self) -> Json:
        return {**super().status(), "host": "prod-db1", "home": None}


def staged(daemon: RealDaemon) -> None:
    """A night on which something went wrong."""

    def every(name: str, command: str, cron: str, **more: Any) -> None:
        daemon.add(name, command, schedule={"cron": cron, "timezone": "Europe/Berlin"}, **more)

    every("backup-db", FULL, "0 3 * * *", retry={"max": 2, "backoff": 0.2}, tags=["pg", "nightly"])
    every("sync-crm", "echo GET /v2/contacts page 88; sleep 30", "*/15 * * * *", retry={"max": 0}, timeout=1)
    every("push-metrics", "echo connection refused; exit 7", "*/2 * * * *", retry={"max": 4, "backoff": 600})
    every("etl-orders", LOAD, "30 2 * * *")
    every("vacuum-pg", "echo 'INFO:  vacuuming \"public.orders\"'; sleep 600", "0 2 * * 0")
    every("heartbeat", "exit 0", "* * * * *")
    every("rotate-logs", "exit 0", "17 * * * *")
    every("certbot-renew", "echo no renewals due", "23 4 * * *")
    every("invoice-mail", "exit 0", "0 7 1 * *")
    every("fetch-rates", "exit 0", "*/10 * * * *")
    daemon.add("reindex-all", "exit 0")
    for name in ("heartbeat", "rotate-logs", "certbot-renew", "invoice-mail", "fetch-rates", "reindex-all",
                 "sync-crm", "backup-db", "backup-db"):  # fmt: skip
        daemon.finished(daemon.triggered(name))
    for name in ("push-metrics", "etl-orders", "vacuum-pg"):
        daemon.triggered(name)
    daemon.client.pause_job("fetch-rates", None, "the provider is down until Tuesday")
    daemon.until(lambda: daemon.client.status()["retrying"] == 1)


class Artist:
    """One who looks at screens and draws them."""

    def __init__(self, ui: Shown) -> None:
        self.ui = ui

    async def sees(self, words: str, *keys: str) -> None:
        await self.ui.press(*keys)
        await self.ui.shows(words)

    def draw(self, name: str) -> None:
        PICTURES.mkdir(exist_ok=True)
        (PICTURES / f"{name}.svg").write_text(self.ui.app.export_screenshot(title="jobctl ui"), encoding="utf-8")


async def drawn(daemon: RealDaemon) -> None:
    def connect() -> Client:
        return OfAnotherName(AnyonesTransport(daemon.socket))

    async with screens(connect, SIZE) as ui:
        artist = Artist(ui)
        await artist.sees("backup-db")
        await artist.sees("No space left", "g")
        await ui.until(lambda: "POLICY" in ui.text())
        artist.draw("jobs")
        await artist.sees("jobctl pause -q tag:pg", "colon", *"pause", "space", *"tag:pg")
        artist.draw("commands")
        await artist.sees("? Help", "escape")
        await artist.sees("exit 1 after", "l")
        artist.draw("log")
        await artist.sees("[2 Runs]", "escape", "escape", "2")
        await artist.sees("INFO  chunk")
        artist.draw("runs")
        await artist.sees("[3 Upcoming]", "3")
        await artist.sees("heartbeat")
        artist.draw("upcoming")
        await artist.sees("[4 Dead", "4")
        await artist.sees("No space left")
        await artist.sees("Same as", "R")
        artist.draw("dead")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="pictures") as folder, real_daemon(Path(folder) / "h") as daemon:
        staged(daemon)
        asyncio.run(drawn(daemon))


if __name__ == "__main__":
    main()
