"""A runner that lives and does nothing: stopped by somebody, or held up by an exec that does not come back."""

import contextlib
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobctl.client.transport import Request, UnixTransport
from kit.daemon import Json, RealDaemon, kill, real_daemon
from kit.gate import Gates

pytestmark = pytest.mark.long

#: More than the time after which a runner that owes an answer is silent, and less than a test may take.
SILENCE_S = 20


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        try:
            yield made
        finally:
            for pid in made._runners:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


def stop(pid: int) -> None:
    """Returns when it has been stopped."""
    os.kill(pid, signal.SIGSTOP)
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        pass


def told(daemon: RealDaemon, words: str) -> str:
    """The warning with these words, once it is there."""
    end = time.monotonic() + SILENCE_S
    while time.monotonic() < end:
        for warning in daemon.client.status()["warnings"]:
            if words in warning:
                return str(warning)
        time.sleep(0.1)
    raise AssertionError((daemon.client.status()["warnings"], daemon.log()))


def untold(daemon: RealDaemon, words: str) -> None:
    end = time.monotonic() + SILENCE_S
    while any(words in warning for warning in daemon.client.status()["warnings"]):
        assert time.monotonic() < end, daemon.client.status()["warnings"]
        time.sleep(0.1)


def runner_of(daemon: RealDaemon, pid: int) -> Json:
    return next(one for one in daemon.client.status()["runners"] if one["pid"] == pid)


def holder(daemon: RealDaemon, pids: list[int], command: int) -> int:
    """Which of the runners is the parent of the command."""
    parent = int(Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[1])
    assert parent in pids
    return parent


def test_a_stopped_runner_is_told_of_and_when_it_continues_all_is_as_if_nothing_had_been(
    daemon: RealDaemon, gates: Gates
) -> None:
    runs = {name: daemon.until_says(daemon.run(gates.command(name, "exit 7")), b"begin") for name in "abcd"}
    pids = daemon.runners()
    stopped = holder(daemon, pids, gates.pid("a"))
    (other,) = {*pids} - {stopped}
    its = [name for name in runs if holder(daemon, pids, gates.pid(name)) == stopped]
    stop(stopped)
    began = time.monotonic()
    status = daemon.client.status()
    took_s = time.monotonic() - began
    quick = [daemon.finished(daemon.run(["/bin/true"])) for _ in range(6)]
    cancels = daemon.jobctl("cancel", str(runs["a"]["id"])).stdout
    warning = told(daemon, "has not answered for")
    later = daemon.finished(daemon.run(["/bin/echo", "later"]))
    for name in its:
        assert Path(f"/proc/{gates.pid(name)}").exists()
    during = [daemon.client.run(runs[name]["id"])["state"] for name in its]
    ready = daemon.jobctl("status").stdout
    os.kill(stopped, signal.SIGCONT)
    untold(daemon, "has not answered for")
    cancelled = daemon.finished(runs["a"])
    for name in runs.keys() - {"a"}:
        gates.open(name)
    ended = [daemon.finished(runs[name]) for name in sorted(runs.keys() - {"a"})]

    assert took_s < 1.5
    assert [run["state"] for run in quick] == ["succeeded"] * 6
    assert f"(pid {stopped})" in warning
    assert f"it is stopped, kill -CONT {stopped} continues it" in warning
    assert f"to be stopped when it answers: run {runs['a']['id']}" in warning
    assert f"kill -CONT {stopped}" in ready
    assert "will be stopped: its runner" in cancels
    assert runner_of(daemon, other)["silent_s"] is None
    assert next(one for one in status["runners"] if one["pid"] == stopped)["silent_s"] >= 0.2
    assert later["state"] == "succeeded"
    assert during == ["running"] * len(its)
    assert (cancelled["state"], cancelled["class"]) == ("cancelled", "cancelled")
    assert [run["exit_code"] for run in ended] == [7] * 3
    assert sorted(gates.starts()) == sorted(runs)


def test_when_all_runners_are_stopped_another_one_works(daemon: RealDaemon, gates: Gates) -> None:
    run = daemon.until_says(daemon.run(gates.command("a")), b"begin")
    pids = daemon.runners()
    for pid in pids:
        stop(pid)
    asked = [daemon.run(["/bin/true"]) for _ in range(12)]
    told(daemon, "has not answered for")
    later = daemon.finished(daemon.run(["/bin/true"]))
    while len(daemon.runners()) <= len(pids):
        pass
    during = daemon.client.run(run["id"])["state"]
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    ended = [daemon.finished(one) for one in asked]
    gates.open("a")

    assert later["state"] == "succeeded"
    assert during == "running"
    assert [(one["state"], one["attempt"]) for one in ended] == [("succeeded", 1)] * 12
    assert daemon.finished(run)["state"] == "succeeded"
    assert gates.starts() == ["a"]


def test_a_stopped_runner_that_is_killed_leaves_its_commands_to_another_and_they_are_lost(
    daemon: RealDaemon, gates: Gates
) -> None:
    names = [str(number) for number in range(4)]
    runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in names]
    pids = daemon.runners()
    stopped = holder(daemon, pids, gates.pid("0"))
    its = {name for name in names if holder(daemon, pids, gates.pid(name)) == stopped}
    stop(stopped)
    daemon.client.kill_run(runs[0]["id"])
    kill(stopped)
    killed = daemon.finished(runs[0])
    for name in names[1:]:
        gates.open(name)
    ended = [daemon.finished(run) for run in runs[1:]]

    assert killed["state"] == "cancelled"
    assert [run["class"] for run in ended] == ["lost" if name in its else None for name in names[1:]]
    assert sorted(gates.starts()) == names


def test_a_daemon_that_starts_beside_a_stopped_runner_comes_up_and_starts_nothing_twice(
    daemon: RealDaemon, gates: Gates
) -> None:
    daemon.add("gated", gates.command("gated"), overlap="skip")
    names = [str(number) for number in range(4)]
    runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in names]
    runs.append(daemon.until_says(daemon.triggered("gated"), b"begin"))
    names.append("gated")
    pids = daemon.runners()
    stopped = holder(daemon, pids, gates.pid("gated"))
    its = [name for name in names if holder(daemon, pids, gates.pid(name)) == stopped]
    stop(stopped)
    daemon.kill9()
    began = time.monotonic()
    daemon.start()
    up_s = time.monotonic() - began
    quick = [daemon.finished(daemon.run(["/bin/true"])) for _ in range(4)]
    warning = told(daemon, f"(pid {stopped})")
    refused = daemon.jobctl("run", "gated").returncode
    during = [daemon.client.run(run["id"])["state"] for run in runs]
    os.kill(stopped, signal.SIGCONT)
    untold(daemon, "has not answered")
    for name in names:
        gates.open(name)
    ended = [daemon.finished(run) for run in runs]

    assert up_s < 8
    assert [run["state"] for run in quick] == ["succeeded"] * 4
    assert f"{len(its)} run" in warning
    assert refused == 5
    assert during == ["running"] * 5
    assert [run["state"] for run in ended] == ["succeeded"] * 5
    assert sorted(gates.starts()) == sorted(names)


def test_a_daemon_that_starts_beside_a_stopped_runner_hears_of_its_death(daemon: RealDaemon, gates: Gates) -> None:
    names = [str(number) for number in range(4)]
    runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in names]
    pids = daemon.runners()
    stopped = holder(daemon, pids, gates.pid("0"))
    stop(stopped)
    daemon.restart()
    during = [daemon.client.run(run["id"])["state"] for run in runs]
    kill(stopped)
    for name in names:
        gates.open(name)
    ended = [daemon.finished(run) for run in runs]

    assert during == ["running"] * 4
    assert ended[0]["class"] == "lost"
    assert {run["class"] for run in ended} <= {"lost", None}
    assert sorted(gates.starts()) == names


def test_a_timeout_that_nobody_enforces_is_told(daemon: RealDaemon, tmp_path: Path) -> None:
    run = daemon.until_says(daemon.run("echo begin; exec tail -f /dev/null", timeout=1, grace=0.5), b"begin")
    pids = daemon.runners()
    (stopped,) = [one["pid"] for one in daemon.client.status()["runners"] if one["running"]]
    assert stopped in pids
    stop(stopped)
    warning = told(daemon, "over the timeout")
    os.kill(stopped, signal.SIGCONT)
    ended = daemon.finished(run)

    assert f"over the timeout: run {run['id']}" in warning
    assert (ended["class"], ended["signal"]) == ("timed_out", 15)


# ── an exec that does not come back ───────────────────────────
@contextlib.contextmanager
def slow(program: Path) -> Iterator[Callable[[], None]]:
    """A program whose exec waits while the block lasts, or until it is let go.

    Whoever opens a file under a write lease waits for its holder, exec too: F_SETLEASE in fcntl(2).
    """
    shutil.copy("/bin/sleep", program)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    lease = os.open(program, os.O_RDONLY)
    open_ = [lease]

    def let_go() -> None:
        while open_:
            os.close(open_.pop())

    try:
        try:
            fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            pytest.skip(f"no lease can be had here: {error}")
        yield let_go
    finally:
        let_go()
        signal.signal(signal.SIGIO, before)


@pytest.mark.case("F006")
def test_an_exec_that_hangs_holds_up_its_own_run_alone(daemon: RealDaemon, tmp_path: Path) -> None:
    with slow(tmp_path / "slow") as let_go:
        first = daemon.run([str(tmp_path / "slow"), "0"])
        daemon.state(first, "running")
        began = time.monotonic()
        quick = [daemon.run(["/bin/true"]) for _ in range(20)]
        answers = []
        for _ in range(20):
            asked = time.monotonic()
            list(daemon.client.jobs())
            answers.append(time.monotonic() - asked)
        ended = [daemon.finished(run) for run in quick]
        took_s = time.monotonic() - began
        during = daemon.client.run(first["id"])["state"]
        let_go()
        slow_one = daemon.finished(first)

    assert [run["state"] for run in ended] == ["succeeded"] * 20
    assert took_s < 5
    assert max(answers) < 0.5
    assert during == "running"
    assert (slow_one["state"], slow_one["attempt"]) == ("succeeded", 1)


def test_a_run_is_killed_while_its_start_hangs(daemon: RealDaemon, tmp_path: Path) -> None:
    with slow(tmp_path / "slow") as let_go:
        run = daemon.run([str(tmp_path / "slow"), "1000"])
        daemon.state(run, "running")
        answer = daemon.client.kill_run(run["id"])
        let_go()
        ended = daemon.finished(run)

    assert answer["state"] == "running"
    assert (ended["state"], ended["class"]) == ("cancelled", "cancelled")


@pytest.mark.case("F006")
def test_an_exec_that_does_not_come_back_is_ended_and_recorded(
    daemon: RealDaemon, tmp_path: Path, gates: Gates
) -> None:
    """The kernel takes the lease away after /proc/sys/fs/lease-break-time, 45 s unless somebody has set it."""
    if int(Path("/proc/sys/fs/lease-break-time").read_text()) < 40:
        pytest.skip("the kernel takes leases away too soon here")
    beside = [daemon.until_says(daemon.run(gates.command(name, "exit 4")), b"begin") for name in "ab"]
    with slow(tmp_path / "slow"):
        run = daemon.run([str(tmp_path / "slow"), "1000"])
        ended = daemon.finished(run, 45)
    later = [daemon.finished(daemon.run(["/bin/true"])) for _ in range(4)]
    untold(daemon, "has not answered")
    for name in "ab":
        gates.open(name)
    (attempt,) = daemon.client.attempts(run["id"])

    assert (ended["state"], ended["class"]) == ("failed", "spawn_error")
    assert "spawn_timeout" in ended["reason"]
    assert (attempt["exit_code"], attempt["signal"]) == (None, None)
    assert [run["state"] for run in later] == ["succeeded"] * 4
    assert [daemon.finished(one)["exit_code"] for one in beside] == [4, 4]


def test_who_asks_for_health_only_has_a_stopped_runner_noticed(daemon: RealDaemon) -> None:
    """No command is due of it, and nobody looks at the status: the daemon asks because it is asked."""
    stopped, _ = daemon.runners()
    stop(stopped)
    ready = Request("GET", "/v1/health/ready")
    answers = []
    end = time.monotonic() + SILENCE_S
    while f"pid={stopped}" not in daemon.log() and time.monotonic() < end:
        response = UnixTransport(daemon.socket)(ready)
        response.read()
        answers.append(response.status)
        time.sleep(0.5)

    assert "runner.silent" in daemon.log()
    assert set(answers) == {200}
