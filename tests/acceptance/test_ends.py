"""Whatever goes wrong while jobd starts, runs or stops: it ends within three seconds, with a code that is not 0, one
line that says what it was, and neither a traceback nor a complaint of a library."""

import itertools
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.daemon import CLI, kill

pytestmark = pytest.mark.long

#: From the fault, or the signal, to the end of the process.
WITHIN_S = 3.0
#: From its start: a loaded machine takes a while to import everything.
WITH_START_S = 15.0
_COMPLAINTS = ("Traceback", "Event loop is closed", "Task was destroyed", "never awaited", "Exception in thread")
#: Runs jobd with a fault in it: what the first argument says is replaced by something that raises.
FAULTY = """
import importlib, sys
module, _, name = sys.argv.pop(1).partition(":")
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
kind = sys.argv.pop(1)

def fault(*_, **__):
    print("there", flush=True)
    if kind == "oserror": raise OSError(24, "Too many open files")
    if kind == "locked":
        import sqlite3
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error
    raise RuntimeError("on purpose")

setattr(owner, last, fault)
from jobctl_daemon.__main__ import main
raise SystemExit(main())
"""
#: jobd that tells when it has come to a place, and stays there until it is ended.
WAITING = """
import importlib, sys, threading
module, _, name = sys.argv.pop(1).partition(":")
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
real = getattr(owner, last)

def slow(*arguments, **named):
    print("there", flush=True)
    threading.Event().wait(1.5)
    return real(*arguments, **named)

setattr(owner, last, slow)
from jobctl_daemon.__main__ import main
raise SystemExit(main())
"""


_numbers = itertools.count()


@dataclass
class Started:
    """A jobd that was started, or to which something was done, at a moment."""

    process: "subprocess.Popen[str]"
    said: Path
    began_s: float

    def ready(self) -> "Started":
        """When it serves."""
        while "daemon.ready" not in self.said.read_text():
            assert self.process.poll() is None, self.said.read_text()
            time.sleep(0.02)
        return self

    def there(self) -> "Started":
        """When it has come to the place; from then on the time is taken."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "there\n", self.said.read_text()
        self.began_s = time.monotonic()
        return self

    def send(self, number: signal.Signals) -> "Started":
        self.began_s = time.monotonic()
        self.process.send_signal(number)
        return self

    def ends(self, within_s: float = WITHIN_S) -> tuple[int, str]:
        """Code, and what it said beside its log."""
        code = self.process.wait(20)
        took_s = time.monotonic() - self.began_s
        said = self.said.read_text()
        assert took_s < within_s, (took_s, said)
        aloud = "\n".join(line for line in said.splitlines() if not line.startswith("at="))
        assert not [complaint for complaint in _COMPLAINTS if complaint in aloud], said
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code, aloud


@dataclass
class Host:
    """A folder for jobd."""

    home: Path

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "JOBCTL_HOME": str(self.home), "PYTHONWARNINGS": "default"}

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def database(self) -> Path:
        return self.state / "jobctl.db"

    def jobd(self, *program: str) -> "Started":
        """To files: the runners hold on to them, and a pipe would end with these."""
        said = self.home / f"said-{next(_numbers)}"
        with said.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, *(program or ("-m", "jobctl_daemon")), "--foreground"],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        return Started(process, said, time.monotonic())

    def background(self, *program: str, descriptors: int | None = None) -> "subprocess.CompletedProcess[str]":
        """As somebody starts it by hand, with at most so many files open."""
        limit = "" if descriptors is None else f"ulimit -n {descriptors}; "
        return subprocess.run(
            ["/bin/sh", "-c", f'{limit}exec "$@"', "sh", sys.executable, *(program or ("-m", "jobctl_daemon"))],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITH_START_S,
        )

    def made(self) -> None:
        """A database as a daemon leaves it."""
        self.state.mkdir(parents=True, mode=0o700)
        make = "import asyncio, sys; from jobctl_daemon.store.sqlite import SqliteStore; s = SqliteStore(sys.argv[1])\n"
        make += "async def life():\n await s.open()\n await s.close()\nasyncio.run(life())"
        subprocess.run([sys.executable, "-c", make, str(self.database)], check=True)
        self.database.chmod(0o600)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path / "home")
    made.home.mkdir()
    yield made
    for pid in runners_of(made.state):
        kill(pid)


def runners_of(state: Path) -> list[int]:
    """The processes that were started for this state folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(state) in words and b"jobctl_daemon.runner" in words:
                found.append(int(entry))
    return found


def lines_of(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("jobd: ")]


# ── what can be wrong with a host ──────────────────────────────────────────────
def bad_config(host: Host) -> None:
    (host.home / "config").mkdir()
    (host.home / "config" / "jobd.toml").write_text("slots = 'many'\n")


def no_toml(host: Host) -> None:
    (host.home / "config").mkdir()
    (host.home / "config" / "jobd.toml").write_bytes(b"\xff\x00 = [")


def unknown_key(host: Host) -> None:
    (host.home / "config").mkdir()
    (host.home / "config" / "jobd.toml").write_text("slotz = 3\n")


def state_is_a_file(host: Host) -> None:
    host.state.write_text("")


def database_is_a_folder(host: Host) -> None:
    host.database.mkdir(parents=True)


def garbage(host: Host) -> None:
    host.made()
    host.database.write_bytes(b"garbage " * 5000)


def newer_schema(host: Host) -> None:
    host.made()
    with closing(sqlite3.connect(host.database)) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'later', 'x', '9.9')")
        connection.commit()


def foreign_tables(host: Host) -> None:
    host.state.mkdir(mode=0o700)
    with closing(sqlite3.connect(host.database)) as connection:
        connection.execute("CREATE TABLE theirs (x)")


def read_only_file(host: Host) -> None:
    host.made()
    host.database.chmod(0o444)


def socket_is_a_folder(host: Host) -> None:
    (host.home / "run" / "jobd.sock").mkdir(parents=True)


def lock_is_a_folder(host: Host) -> None:
    (host.state / "jobd.lock").mkdir(parents=True)


def runs_is_a_file(host: Host) -> None:
    host.state.mkdir(mode=0o700)
    (host.state / "runs").write_text("")


@pytest.mark.case("F095")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (bad_config, 2), (no_toml, 2), (unknown_key, 2), (state_is_a_file, 2), (database_is_a_folder, 6), (garbage, 9),
        (newer_schema, 8), (foreign_tables, 8), (read_only_file, 6), (socket_is_a_folder, 2), (lock_is_a_folder, 6),
        (runs_is_a_file, 6),
    ],
)  # fmt: skip
def test_a_host_that_is_not_right_is_told_in_one_line(host: Host, wrong: Callable[[Host], None], code: int) -> None:
    wrong(host)
    returned, said = host.jobd().ends(WITH_START_S)

    assert returned == code, said
    assert len(lines_of(said)) == 1, said
    assert not runners_of(host.state) or wrong is socket_is_a_folder


@pytest.mark.parametrize(
    ("wrong", "code"), [(bad_config, 2), (garbage, 9), (newer_schema, 8), (read_only_file, 6), (socket_is_a_folder, 2)]
)
def test_in_the_background_the_starter_ends_with_the_code_and_the_words_of_the_daemon(
    host: Host, wrong: Callable[[Host], None], code: int
) -> None:
    wrong(host)
    done = host.background()

    assert done.returncode == code, done.stderr
    assert len(lines_of(done.stderr)) == 1, done.stderr
    assert "\0" not in done.stderr
    assert not [complaint for complaint in _COMPLAINTS if complaint in done.stderr]


def test_a_bug_at_the_start_reaches_the_starter_from_the_background(host: Host) -> None:
    done = host.background("-c", FAULTY, "jobctl_daemon.app:Dispatch", "error")

    assert done.returncode == 70, done.stderr
    assert "on purpose" in lines_of(done.stderr)[0]


@pytest.mark.parametrize("descriptors", [16, 24, 40, 63])
def test_where_too_few_files_may_be_open_it_says_so_instead_of_never_answering(host: Host, descriptors: int) -> None:
    done = host.background(descriptors=descriptors)

    assert done.returncode == 2, done.stderr
    assert f"only {descriptors} files" in lines_of(done.stderr)[0]
    assert "ulimit -n" in done.stderr
    assert not host.database.exists()


def test_with_as_few_files_as_it_asks_for_it_works(host: Host) -> None:
    done = host.background(descriptors=64)
    assert done.returncode == 0, done.stderr
    pid = int((host.state / "jobd.lock").read_text())
    try:
        ran = subprocess.run(
            [*CLI, "run", "--wait", "--", "echo", "hello"],
            env=host.environ, capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    finally:
        kill(pid)


def test_a_second_daemon_is_told_who_is_the_first(host: Host) -> None:
    first = host.jobd().ready()
    returned, said = host.jobd().ends(WITH_START_S)
    code, _ = first.send(signal.SIGTERM).ends()

    assert (returned, code) == (5, 0)
    assert f"{first.process.pid}" in lines_of(said)[0]


# ── faults in the program ──────────────────────────────────────────────
FAULTS = [
    ("jobctl_daemon.store.sqlite.store:check", "error"),
    ("jobctl_daemon.store.sqlite.store:connect_writer", "oserror"),
    ("jobctl_daemon.store.sqlite.store:connect_writer", "locked"),
    ("jobctl_daemon.store.sqlite.store:connect_reader", "error"),
    ("jobctl_daemon.store.sqlite.store:migrate", "error"),
    ("jobctl_daemon.store.sqlite.meta:take_epoch", "error"),
    ("jobctl_daemon.store.sqlite.meta:take_epoch", "locked"),
    ("jobctl_daemon.app:Dispatch", "error"),
    ("jobctl_daemon.app:Server", "error"),
    ("jobctl_daemon.api.server:listen", "oserror"),
    ("jobctl_daemon.app:Timekeeper.begin", "error"),
    ("jobctl_daemon.app:once.expand_start", "error"),
    ("jobctl_daemon.app:user_by_uid", "oserror"),
]


@pytest.mark.case("F095")
@pytest.mark.parametrize(
    ("place", "kind"), FAULTS, ids=[f"{place.rpartition(':')[2]}-{kind}" for place, kind in FAULTS]
)
def test_a_fault_at_the_start_ends_it_and_is_told_in_one_line(host: Host, place: str, kind: str) -> None:
    returned, said = host.jobd("-c", FAULTY, place, kind).there().ends()

    assert returned not in (0, 1), said
    assert len(lines_of(said)) == 1, said


@pytest.mark.case("F095")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
@pytest.mark.parametrize(
    "place",
    [
        "jobctl_daemon.settings:read",
        "jobctl_daemon.store.sqlite.store:connect_writer",
        "jobctl_daemon.store.sqlite.store:connect_reader",
        "jobctl_daemon.app:once.expand_start",
    ],
)
def test_a_signal_during_the_start_ends_it(host: Host, place: str, number: signal.Signals) -> None:
    returned, said = host.jobd("-c", WAITING, place).there().send(number).ends()

    assert returned in (0, 130, -number), said
    assert not re.search(r"^\s+File ", said, re.M)
    assert host.jobd().ready().send(signal.SIGINT).ends()[0] == 0
