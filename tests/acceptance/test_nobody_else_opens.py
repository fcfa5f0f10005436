"""No client opens the database, whatever state the daemon is in; each verb ends soon and says what to do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from jobctl.cli.verbs import VERBS
from kit.daemon import RealDaemon, real_daemon

#: The command line with an ear: every file that is opened, and every database, by whatever way Python knows.
HEARD = """
import os, sys
out = os.open(os.environ["HEARD"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def hear(event, args):
    if event in ("open", "os.open", "sqlite3.connect", "os.rename", "os.remove", "os.truncate", "shutil.copyfile"):
        text = " ".join(repr(arg) for arg in args)
        if "jobctl.db" in text:
            os.write(out, f"{event} {text}\\n".encode())
sys.addaudithook(hear)
from jobctl.cli.main import main
main()
"""
#: What a verb is called with, where it wants something. Times are given so that nothing has to be asked.
ARGUMENTS: dict[str, list[str]] = {
    "add": ["x", "--cron", "0 3 * * *", "--", "true"],
    "run": ["kept"],
    "show": ["kept"],
    "edit": ["kept", "--note", "x"],
    "pause": ["kept"],
    "resume": ["kept"],
    "skip": ["kept"],
    "rm": ["other", "--yes"],
    "log": ["kept"],
    "wait": ["1"],
    "retry": ["1"],
    "kill": ["1"],
    "cancel": ["1"],
    "why": ["kept"],
    "dlq show": ["1"],
    "dlq replay": ["1"],
    "dlq discard": ["1", "--yes"],
    "queue set": ["mail", "--concurrency", "2"],
    "queue pause": ["mail"],
    "queue resume": ["mail"],
    "next": ["kept"],
    "explain": ["kept"],
    "completion": ["bash"],
    "events": ["--kind", "job"],
    "doctor": ["--deep"],
    "crontab": ["-l"],
    "owner rename": ["ada", "bob"],
    "import crontab": ["/dev/null"],
    "backup": ["/proc/nothing"],
}
#: They tell what they can without a daemon, or are no clients of one.
ALONE = {
    "completion",
    "help",
    "version",
    "validate",
    "crontab",
    "import crontab",
    "daemon run",
    "daemon start",
    "restore",
    "backup",
}
WITHIN_S = 5.0
#: What any answer to "how do I get one" has in it.
WAYS = ("jobctl daemon start", "kill -CONT")


class Done(NamedTuple):
    words: str
    code: int
    said: str
    took_s: float


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("n") / "h") as started:
        started.add("kept", "true", schedule={"timezone": "UTC", "cron": "0 0 1 1 *"})
        started.add("other", "true")
        yield started


@pytest.fixture
def without_socket(daemon: RealDaemon) -> Iterator[RealDaemon]:
    away = f"{daemon.socket}.away"
    os.rename(daemon.socket, away)
    yield daemon
    os.rename(away, daemon.socket)


@pytest.fixture
def frozen(daemon: RealDaemon) -> Iterator[RealDaemon]:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    yield daemon
    daemon.process.send_signal(signal.SIGCONT)


@pytest.fixture
def stopped(daemon: RealDaemon) -> Iterator[RealDaemon]:
    daemon.stop()
    yield daemon
    daemon.start()


def every_verb(daemon: RealDaemon, heard: Path, *, but: frozenset[str] = frozenset()) -> list[Done]:
    """All of them, a few at a time; none may start a daemon."""

    def one(words: str) -> Done:
        began_s = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", HEARD, *words.split(), "--no-start", *ARGUMENTS.get(words, [])],
            env=daemon.environ | {"HEARD": str(heard)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip
        return Done(words, done.returncode, done.stdout + done.stderr, time.monotonic() - began_s)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, [verb.words for verb in VERBS if verb.words not in but]))


def opened(heard: Path) -> str:
    return heard.read_text() if heard.exists() else ""


CHANGES = frozenset({"daemon run", "daemon start", "daemon stop", "restore", "backup"})


@pytest.mark.long
@pytest.mark.case("F092")
def test_while_it_runs_no_verb_opens_it(daemon: RealDaemon, tmp_path: Path) -> None:
    found = every_verb(daemon, tmp_path / "heard", but=CHANGES)
    assert opened(tmp_path / "heard") == ""
    assert [done for done in found if done.code in (4, 70)] == []
    backup = subprocess.run(
        [sys.executable, "-c", HEARD, "backup", str(tmp_path / "copy")],
        env=daemon.environ | {"HEARD": str(tmp_path / "heard")}, check=False, timeout=30, capture_output=True,
    )  # fmt: skip
    assert (backup.returncode, opened(tmp_path / "heard")) == (0, "")


@pytest.mark.case("F092")
@pytest.mark.parametrize("state", ["without_socket", "frozen", "stopped"])
@pytest.mark.long
def test_without_an_answer_every_verb_says_how_to_get_one(
    request: pytest.FixtureRequest, tmp_path: Path, state: str
) -> None:
    daemon: RealDaemon = request.getfixturevalue(state)
    but = frozenset({"daemon run", "restore", "ui"}) | (  # the screens need a terminal first
        {"daemon start", "daemon stop"} if state == "stopped" else frozenset()
    )
    found = {done.words: done for done in every_verb(daemon, tmp_path / "heard", but=but)}
    assert opened(tmp_path / "heard") == ""
    assert [done for done in found.values() if done.took_s >= WITHIN_S] == []
    for words, done in found.items():
        if words in ALONE - {"backup", "daemon start"}:
            assert done.code in (0, 1, 4), done
        else:
            assert done.code == 4, done
            assert any(way in done.said for way in WAYS), done


@pytest.mark.case("F092")
@pytest.mark.parametrize("state", ["daemon", "without_socket", "frozen"])
def test_a_restore_waits_for_nobody_and_touches_nothing_while_it_lives(
    request: pytest.FixtureRequest, tmp_path: Path, state: str
) -> None:
    daemon: RealDaemon = request.getfixturevalue(state)
    (tmp_path / "any.db").write_bytes(b"x")
    began_s = time.monotonic()
    done = daemon.jobctl("restore", str(tmp_path / "any.db"))
    assert time.monotonic() - began_s < WITHIN_S
    assert done.returncode == 5, done
    assert daemon.process is not None
    assert f"pid {daemon.process.pid}" in done.stderr


def test_a_verb_that_would_start_a_daemon_does_not_start_a_second_one(frozen: RealDaemon) -> None:
    for words in (["add", "y", "--", "true"], ["run", "kept"], ["daemon", "start"]):
        began_s = time.monotonic()
        done = frozen.jobctl(*words)
        assert time.monotonic() - began_s < WITHIN_S, words
        assert done.returncode == 4, done
    lock = frozen.home / "state" / "jobd.lock"
    assert frozen.process is not None
    assert lock.read_text().strip() == str(frozen.process.pid)
