"""An older jobctl with a newer daemon, and the reverse, as real processes: each verb works, or says so and ends with 8.

The other installation is a copy of the checkout with a Python of its own; it differs in its version and its protocol.
"""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl import __version__
from jobctl.cli.verbs import VERBS
from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from kit.builds import another_build, replaced
from kit.daemon import CLI, RealDaemon
from kit.screens import screens

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

#: One command line after the other, in one process: what each said, and how it ended.
MANY = """
import json, sys
from jobctl.cli.main import run
from jobctl.cli.world import real_world
told = []
for words in json.load(sys.stdin):
    print("\\x1e", flush=True)
    told.append(run(words, real_world()))
    sys.stdout.flush()
print("\\x1e" + json.dumps(told))
"""
#: Each verb with words that would do something, and what a daemon of another protocol makes of it.
REFUSED = 8
WORDS: dict[str, tuple[list[str], int]] = {
    "add": (["x", "--", "true"], REFUSED),
    "run": (["--", "true"], REFUSED),
    "ls": ([], REFUSED),
    "show": (["kept"], REFUSED),
    "edit": (["kept", "--timeout", "5m"], REFUSED),
    "pause": (["kept"], REFUSED),
    "resume": (["kept"], REFUSED),
    "skip": (["kept"], REFUSED),
    "rm": (["kept", "--yes"], REFUSED),
    "runs": ([], REFUSED),
    "log": (["1"], REFUSED),
    "wait": (["1"], REFUSED),
    "retry": (["1"], REFUSED),
    "kill": (["1"], REFUSED),
    "cancel": (["1"], REFUSED),
    "why": (["kept"], REFUSED),
    "dlq ls": ([], REFUSED),
    "dlq show": (["1"], REFUSED),
    "dlq replay": (["1", "--yes"], REFUSED),
    "dlq discard": (["1", "--yes"], REFUSED),
    "queue ls": ([], REFUSED),
    "queue set": (["night", "--concurrency", "1"], REFUSED),
    "queue pause": (["night"], REFUSED),
    "queue resume": (["night"], REFUSED),
    "next": (["kept"], REFUSED),
    "explain": (["kept"], REFUSED),
    "status": ([], REFUSED),
    "events": ([], REFUSED),
    "doctor": ([], REFUSED),
    "import crontab": (["crontab", "--apply"], REFUSED),
    "export crontab": ([], REFUSED),
    "export jobs": ([], REFUSED),
    "apply": (["jobs.toml"], REFUSED),
    "diff": (["jobs.toml"], REFUSED),
    "crontab": (["crontab"], 1),  # as crontab(1) ends
    "daemon start": ([], REFUSED),
    "daemon log": ([], REFUSED),
    "daemon pause": ([], REFUSED),
    "daemon resume": ([], REFUSED),
    "owner ls": ([], REFUSED),
    "owner rename": (["ada", "grace"], REFUSED),
    "backup": (["copy.db"], REFUSED),
    # They ask no daemon, or what every daemon answers.
    "daemon status": ([], 0),
    "version": ([], 0),
    "restore": (["copy.db"], 3),
    "validate": (["jobs.toml"], 0),
    "completion": (["bash"], 0),
    "help": ([], 0),
}
#: `ui` is a program of its own, `daemon run` is the daemon, and `daemon stop` works: it ends what the others need.
ELSEWHERE = {"ui", "daemon run", "daemon stop"}


class Installed(RealDaemon):
    """A daemon that may be of another installation at its next start."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.python = sys.executable
        self.within = lambda command: [self.python, *command[1:]]

    def becomes(self, python: str) -> "Installed":
        """As an upgrade does it: the old daemon stops, the new one starts."""
        self.stop()
        self.python = python
        self.start()
        return self

    def close(self) -> None:
        self.stop()
        self.python = sys.executable
        super().close()


def changed(package: Path, version: str, protocol: int) -> None:
    ours = package.parents[1] / "jobctl/jobctl"
    replaced(ours / "wire.py", "PROTOCOL: Final = 1", f"PROTOCOL: Final = {protocol}")
    replaced(ours / "client/transport.py", 'PROTOCOL: Final = "1"', f'PROTOCOL: Final = "{protocol}"')
    replaced(ours / "__init__.py", f'__version__ = "{__version__}"', f'__version__ = "{version}"')


def newer(package: Path) -> None:
    """The same protocol; it knows a field of jobs that this version has never heard of."""
    changed(package, "99.0.0", 1)
    sync = package.parents[1] / "jobctl/jobctl/client/sync.py"
    replaced(sync, 'self._post("/v1/jobs", draft, key)', 'self._post("/v1/jobs", {**draft, "colour": "red"}, key)')


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of a later version that speaks as this one does."""
    return another_build(tmp_path_factory.mktemp("another"), newer)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of one with another protocol."""
    return another_build(tmp_path_factory.mktemp("foreign"), lambda package: changed(package, "99.1.0", 2))


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Installed]:
    made = Installed(tmp_path / "home")
    try:
        made.start()
        yield made
    finally:
        made.close()


def many(daemon: Installed, python: str, folder: Path) -> dict[str, tuple[int, str]]:
    """Every verb, by the client of that installation: how it ended, and all that it said."""
    (folder / "jobs.toml").write_text('version = 1\n[job.declared]\nevery = "1h"\nshell = "true"\n')
    (folder / "crontab").write_text("5 4 * * * true\n")
    told = subprocess.run(
        [python, "-c", MANY],
        input=json.dumps([[*verb.split(), *words] for verb, (words, _) in WORDS.items()]),
        env=daemon.environ,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    _, *said, codes = told.split("\x1e")
    assert len(said) == len(WORDS)
    return {verb: (code, text) for verb, code, text in zip(WORDS, json.loads(codes), said, strict=True)}


def test_every_verb_is_named_here() -> None:
    assert {verb.words for verb in VERBS} == WORDS.keys() | ELSEWHERE


@pytest.mark.parametrize(
    ("older", "hint"),
    [(True, "this jobctl is older: call the one"), (False, "restart the daemon, which is older")],
    ids=["an older jobctl", "a newer jobctl"],
)
def test_each_verb_works_with_a_daemon_of_another_protocol_or_says_so_and_changes_nothing(
    daemon: Installed, foreign: str, tmp_path: Path, older: bool, hint: str
) -> None:
    daemon.add("kept", ["/bin/false"], retry={"max": 0})
    daemon.finished(daemon.triggered("kept"))
    before = json.dumps([[*daemon.client.jobs()], [*daemon.client.runs()], [*daemon.client.queues()]])
    if older:
        daemon.becomes(foreign)
    told = many(daemon, sys.executable if older else foreign, tmp_path)
    speak = ("2", "1") if older else ("1", "2")

    assert {verb: code for verb, (code, _) in told.items()} == {verb: code for verb, (_, code) in WORDS.items()}
    for verb, (code, text) in told.items():
        if code == REFUSED or verb in ("crontab", "daemon status"):
            assert "the daemon speaks protocol {}, this jobctl speaks {}".format(*speak) in text, verb
            assert hint in text, verb
    assert "speaks protocol" in told["version"][1]
    assert f"pid {daemon.client.status()['pid']}" in told["status"][1]
    stopped = subprocess.run(
        [sys.executable if older else foreign, *CLI[1:], "daemon", "stop"], env=daemon.environ, check=False
    )
    assert stopped.returncode == 0
    daemon.becomes(sys.executable)
    assert json.dumps([[*daemon.client.jobs()], [*daemon.client.runs()], [*daemon.client.queues()]]) == before


def test_another_version_of_the_same_protocol_works_and_the_difference_is_told(daemon: Installed, another: str) -> None:
    def theirs(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [another, *CLI[1:], *words]
        return subprocess.run(command, env=daemon.environ, capture_output=True, text=True, check=False, timeout=60)

    daemon.add("kept", ["/bin/true"])
    assert "kept" in theirs("ls").stdout
    assert theirs("run", "kept", "--wait").returncode == 0
    assert "(installed is 99.0.0: start it anew)" in theirs("status").stdout
    assert theirs("version").stdout.split() == ["jobctl", "99.0.0", "jobd", __version__]
    unknown = theirs("add", "x", "--", "true")
    assert unknown.returncode == 2
    assert "colour" in unknown.stderr
    assert f"the daemon is {__version__}, this jobctl is 99.0.0" in unknown.stderr

    daemon.becomes(another)
    assert daemon.jobctl("ls").returncode == 0
    assert daemon.jobctl("add", "x", "--", "true").returncode == 0
    assert f"(installed is {__version__}: start it anew)" in daemon.jobctl("status").stdout


@contextlib.contextmanager
def following(daemon: Installed, *words: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*CLI, *words],
        env=daemon.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as follower:
        try:
            yield follower
        finally:
            follower.kill()


def until_line(follower: "subprocess.Popen[str]", words: str) -> None:
    assert follower.stdout is not None
    for line in follower.stdout:
        if words in line:
            return
    raise AssertionError(f"it ended without saying {words!r}")


def test_who_follows_goes_on_over_an_upgrade_and_ends_with_8_when_the_protocol_is_another(
    daemon: Installed, another: str, foreign: str, tmp_path: Path
) -> None:
    gates = [tmp_path / name for name in ("first", "second")]
    for gate in gates:
        os.mkfifo(gate)
    run = daemon.run(f"echo one; read x < {gates[0]}; echo two; read x < {gates[1]}; exit 3")
    daemon.until_says(run, b"one")
    with (
        following(daemon, "log", "-f", str(run["id"])) as log,
        following(daemon, "events", "-f", "--after", "0", "--json") as events,
        following(daemon, "run", "--wait", "--", "/bin/sleep", "600") as waits,
    ):
        until_line(log, "one")
        daemon.add("made-before", ["/bin/true"])
        until_line(events, "made-before")
        daemon.until(lambda: len([*daemon.client.runs()]) == 2)
        daemon.becomes(another)
        gates[0].write_text("go\n")
        until_line(log, "two")
        daemon.add("made-after", ["/bin/true"])
        until_line(events, "made-after")
        assert waits.poll() is None

        daemon.becomes(foreign)
        for follower in (log, events, waits):
            _, said = follower.communicate(timeout=60)
            assert follower.returncode == REFUSED, said
            assert "the daemon speaks protocol 2, this jobctl speaks 1" in said
    daemon.becomes(sys.executable)
    gates[1].write_text("go\n")
    assert daemon.finished(run)["exit_code"] == 3


async def test_screens_go_on_over_an_upgrade_and_say_when_the_protocol_is_another(
    daemon: Installed, another: str, foreign: str
) -> None:
    daemon.add("a-stays", ["/bin/true"])
    async with screens(lambda: Client(UnixTransport(daemon.socket)), (120, 30)) as ui:
        await ui.shows("a-stays")
        await asyncio.to_thread(daemon.becomes, another)
        await asyncio.to_thread(daemon.add, "a-newcomer", ["/bin/true"])
        await ui.shows("a-newcomer")
        await asyncio.to_thread(daemon.becomes, foreign)
        await ui.shows("speaks protocol 2")
        assert "a-stays" in ui.text()


def test_a_caller_who_names_two_protocols_or_asks_for_what_another_may_have_is_told_so(daemon: Installed) -> None:
    def status_of(request: bytes) -> tuple[bytes, bytes]:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(daemon.socket)
            caller.sendall(request + b"Host: jobd\r\nConnection: close\r\n\r\n")
            head, _, body = b"".join(iter(lambda: caller.recv(65_536), b"")).partition(b"\r\n\r\n")
            return head.split()[1], body

    ours, theirs = b"Jobctl-Protocol: 1\r\n", b"Jobctl-Protocol: 2\r\n"
    for headers, path, code, problem in (
        (b"", b"/v1/jobs", b"200", b'"items"'),
        (ours, b"/v1/jobs", b"200", b'"items"'),
        (ours + theirs, b"/v1/jobs", b"400", b'"version_mismatch"'),
        (theirs, b"/v1/unheard", b"400", b'"version_mismatch"'),
        (ours, b"/v1/unheard", b"404", b'"not_found"'),
        (theirs, b"/v1/status", b"200", b'"protocol":1'),
    ):
        found = status_of(b"GET " + path + b" HTTP/1.1\r\n" + headers)
        assert (found[0], problem in found[1]) == (code, True), (headers, path, found)
