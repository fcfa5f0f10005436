"""`python -m jobctl_daemon.fits [--since COPY]`: whether this program could start with what is here. Touches nothing.

install.sh asks it of a version that is to take the place of another one, while that still runs: settings that this one
does not know, and a database that a newer one has changed, would otherwise be found when nobody runs any more. With
--since it tells what the database has recorded after a copy of it was made: that is lost with a way back to the copy.
Like app.py it knows which backend there is. The answer is one JSON object on standard output; an error is one too.
"""

import argparse
import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobctl import __version__, wire
from jobctl.errors import JobctlError, VersionMismatch
from jobctl.paths import daemon_places
from jobctl_daemon import settings
from jobctl_daemon.store.sqlite import before_upgrade
from jobctl_daemon.store.sqlite.migrate import check, shipped

#: What an event that ends a run is called.
_ENDS: Final = frozenset(f"run.{how}" for how in ("succeeded", "failed", "dead", "cancelled"))
#: Of these it is people who made them; the daemon itself makes the others.
_CHANGES: Final = ("job.", "queue.", "owner.", "daemon.", "run.discarded", "run.replayed")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 when it fits, else the one that jobd would end with."""
    parser = argparse.ArgumentParser(prog="python -m jobctl_daemon.fits")
    parser.add_argument("--since", metavar="COPY")
    options = parser.parse_args(arguments)
    places = daemon_places(os.environ, os.geteuid())
    database = Path(places.database)
    answer: dict[str, object] = {"schema": wire.SCHEMA, "version": __version__, "database": str(database)}
    code = 0
    try:
        if options.since is None:
            settings.read(places.config_file)
            check(database, shipped())
        else:
            answer |= _since(database, Path(options.since))
    except JobctlError as error:
        code = error.exit_code
        answer |= {"code": error.code, "message": error.message, "hint": error.hint, "copy": None}
        if isinstance(error, VersionMismatch):
            copy = before_upgrade.newest_up_to(database, len(shipped()))
            answer["copy"] = None if copy is None else str(copy)
    sys.stdout.write(wire.encode(answer).decode() + "\n")
    return code


def _since(database: Path, copy: Path) -> dict[str, object]:
    try:
        counts = before_upgrade.recorded_since(database, copy)
        made_ms = copy.stat().st_mtime_ns // 1_000_000
    except (OSError, sqlite3.Error) as error:
        raise VersionMismatch(f"{copy} and {database} cannot be compared: {error}") from error
    return {
        "copy_of": wire.rfc3339(made_ms),
        "events": sum(counts.values()),
        "ended": sum(count for kind, count in counts.items() if kind in _ENDS),
        "changes": sum(count for kind, count in counts.items() if kind.startswith(_CHANGES)),
    }


if __name__ == "__main__":
    raise SystemExit(main())
