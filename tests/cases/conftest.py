"""One daemon for the cases of a file; each has jobs of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.gate import Gates
from kit.marks import Marks


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("c") / "h") as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> Iterator[RealDaemon]:
    """Of which no job is left behind a test."""
    daemon = shared.up()
    yield daemon
    for job in list(daemon.up().client.jobs()):
        daemon.client.delete_job(job["id"], cancel_runs=True)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RealDaemon]:
    """For a test that does to it what would be in the way of others."""
    with real_daemon(tmp_path / "h") as made:
        yield made


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")
