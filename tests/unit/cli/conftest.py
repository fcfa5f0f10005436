"""One verb in this process against a daemon of the documented API, at a time that stands still."""

import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jobctl.cli.main import run as run_cli
from jobctl.cli.world import World
from unit.client.fake_daemon import FakeDaemon, job, run

#: Sun 29 Nov 2026, 03:12:41 in Berlin.
NOW_MS = 1_795_918_361_000


class StandingClock:
    """Wall time stands; boot time moves a little at each look, so that deadlines pass."""

    def __init__(self, step_ms: int = 10) -> None:
        self._boot_ms = 0
        self._step_ms = step_ms

    def now_ms(self) -> int:
        return NOW_MS

    def boot_ms(self) -> int:
        self._boot_ms += self._step_ms
        return self._boot_ms


class Stream(io.TextIOWrapper):
    """A stream that remembers its bytes, and may say that it is a terminal."""

    def __init__(self, data: bytes = b"", *, terminal: bool = False, encoding: str = "utf-8") -> None:
        self.raw_bytes = io.BytesIO(data)
        super().__init__(self.raw_bytes, encoding=encoding)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Result(NamedTuple):
    code: int
    out: str
    err: str
    raw: bytes

    def json(self) -> Any:
        return json.loads(self.out)

    def error(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.err)["error"]
        return found


class Cli:
    """`cli("ls", "--json")` runs one command line."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.step_ms = 10

    def __call__(
        self, *argv: str, terminal: bool = False, stdin: str = "", encoding: str = "utf-8", **environ: str
    ) -> Result:
        out = Stream(terminal=terminal, encoding=encoding)
        err = Stream(terminal=terminal, encoding=encoding)
        world = World(
            {**self.environ, **environ},
            Stream(stdin.encode(), terminal=terminal),
            out,
            err,
            StandingClock(self.step_ms),
            1000,
        )
        code = run_cli(list(argv), world)
        out.flush()
        err.flush()
        raw = out.raw_bytes.getvalue()
        return Result(code, raw.decode(encoding, "replace"), err.raw_bytes.getvalue().decode(encoding, "replace"), raw)


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The viewer's zone."""
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def texts_kept(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What was written in an editor for nothing is kept in a file: in a folder that goes, with a name of one line."""
    tmp_path_factory.getbasetemp()  # which is made where files are kept, and must not go with them
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield
        monkeypatch.undo()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    """Three jobs and a few runs."""
    fake = FakeDaemon(tmp_path / "jobd.sock")
    last = {"id": 101, "state": "failed", "finished_at": "2026-11-29T02:00:41Z", "outcome": "exit_code",
            "class": "exit_code", "exit_code": 1, "signal": None}  # fmt: skip
    backup = job(1, "backup", state="failed", last_run=last, tags=["nightly"])
    sync = job(
        2,
        "sync",
        running=1,
        state="running",
        schedule={"timezone": "UTC", "words": "every 15 minutes", "cron": "*/15 * * * *"},
    )
    hand = job(3, "hand", schedule=None, next_run_at=None)
    fake.jobs = [backup, sync, hand]
    fake.runs = [
        run(
            103,
            sync,
            state="running",
            started_at="2026-11-29T02:10:00Z",
            finished_at=None,
            outcome=None,
            exit_code=None,
        ),
        run(102, sync),
        run(
            101,
            backup,
            state="failed",
            outcome="exit_code",
            exit_code=1,
            reason="exit 1",
            late=True,
            **{"class": "exit_code"},
        ),
    ]
    fake.logs = {101: b"one\ntwo\nthree\n", 102: b"fine\n", 103: b"so far\n"}
    yield fake
    fake.close()


@pytest.fixture
def cli(daemon: FakeDaemon) -> Cli:
    """Against the daemon above."""
    return Cli({"JOBCTL_SOCKET": daemon.path, "HOME": "/nonexistent", "PATH": os.environ["PATH"]})


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    """Without a daemon anywhere."""
    return Cli({"JOBCTL_HOME": str(tmp_path / "home"), "HOME": "/nonexistent", "PATH": os.environ["PATH"]})
