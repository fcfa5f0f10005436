"""The database beside readers of ours that stand still."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from kit.daemon import CLI, Json, RealDaemon
from kit.gate import Gates

LARGEST = 20 << 20
BATCHES = 24
EACH = 500


@contextmanager
def standing(daemon: RealDaemon, *argv: str) -> Iterator[None]:
    """A client that has said something and is then stopped."""
    with subprocess.Popen(
        [*CLI, *argv], env=daemon.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as client:
        assert client.stdout is not None
        assert client.stdout.read(1)
        client.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            client.send_signal(signal.SIGKILL)


@pytest.mark.long
@pytest.mark.case("F087")
def test_no_client_of_ours_that_stands_still_keeps_the_log_of_the_database_from_being_emptied(
    own: RealDaemon, gates: Gates
) -> None:
    talks = own.until_says(own.run(gates.command("talks")), b"begin")
    log = Path(f"{own.home}/state/jobctl.db-wal")
    drafts: list[Json] = [{"target": {"shell": "true"}, "note": "x" * 900} for _ in range(EACH)]
    own.client.import_jobs([{**draft, "name": f"first-{at}"} for at, draft in enumerate(drafts)])
    sizes = [log.stat().st_size]
    with (
        standing(own, "events", "-f", "--after", "0"),
        standing(own, "log", "-f", str(talks["id"])),
        standing(own, "ls", "--json"),
    ):
        for number in range(BATCHES):
            own.client.import_jobs([{**draft, "name": f"job-{number}-{at}"} for at, draft in enumerate(drafts)])
            sizes.append(log.stat().st_size)
    gates.open("talks")

    assert sum(max(0, after - before) for before, after in pairwise(sizes)) > LARGEST
    assert max(sizes) < LARGEST
    assert not [warning for warning in own.client.status()["warnings"] if "emptied" in warning]
