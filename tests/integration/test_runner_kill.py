"""Timeouts, cancels and kills reach the whole tree, whatever it does to stay."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.runner.kill import Ending
from jobctl_daemon.runner.loop import READ, Loop
from jobctl_daemon.runner.processes import Search
from jobctl_daemon.runner.tree import Tree
from unit.runner.harness import ENV, Client, Runner, ended, marked, pidfd

# Leaves its session twice over, then writes its pid; TERM is ignored everywhere.
ESCAPE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        print("away", os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(1000)
"""
TERM_IGNORED = "trap '' TERM INT HUP; echo up; while :; do sleep 0.1; done"


@pytest.fixture(params=[True, False], ids=["cgroups", "no cgroups"])
def runner(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Runner]:
    runner = Runner(tmp_path, cgroups=request.param)
    yield runner
    runner.close()


@pytest.fixture
def client(runner: Runner) -> Client:
    return runner.start()


def traced(runner: Runner) -> dict[str, str]:
    """Return an environment by which the test finds every process of the job."""
    return {**ENV, "MARK": str(runner.state)}


def test_timeout_takes_grandchildren_that_ignore_term_and_left_the_session(runner: Runner, client: Client) -> None:
    argv = [sys.executable, "-I", "-S", "-c", ESCAPE]
    result = runner.run(client, argv, env=traced(runner), timeout_ms=700, grace_ms=400)
    assert (result["cause"], result["exit_code"], result["signal"]) == ("timed_out", None, 9)
    assert [name for _, name in result["signals"]] == ["TERM", "KILL"]
    assert 400 <= result["signals"][1][0] - result["signals"][0][0] < 2400
    assert 1100 <= result["duration_ms"] < 3100
    assert b"away" in runner.log(result["id"])
    assert result["left_behind"] == []
    assert marked(str(runner.state)) == []


def test_cancel_finds_what_left_after_its_leader(runner: Runner, client: Client) -> None:
    script = "trap 'exit 0' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; echo up; sleep 1000 & wait"
    attempt_id = runner.begin(client, ["/bin/sh", "-c", script], env=traced(runner))
    wait_for_log(runner, attempt_id, b"up")
    client.say("kill", id=attempt_id, mode="cancel", grace_ms=300)
    assert client.wait("killing")["id"] == attempt_id
    result = client.wait("ended", attempt_id)
    assert (result["cause"], result["exit_code"], result["signal"]) == ("cancelled", 0, None)
    assert marked(str(runner.state)) == []


def test_kill_does_not_ask(runner: Runner, client: Client) -> None:
    attempt_id = runner.begin(client, ["/bin/sh", "-c", TERM_IGNORED], env=traced(runner))
    client.say("kill", id=attempt_id, mode="kill")
    result = client.wait("ended", attempt_id)
    assert (result["cause"], result["signal"]) == ("killed", 9)
    assert [name for _, name in result["signals"]] == ["KILL"]
    assert marked(str(runner.state)) == []


def test_kill_overtakes_a_cancel_in_its_grace(runner: Runner, client: Client) -> None:
    attempt_id = runner.begin(client, ["/bin/sh", "-c", TERM_IGNORED], env=traced(runner))
    wait_for_log(runner, attempt_id, b"up")
    client.say("kill", id=attempt_id, mode="cancel", grace_ms=600_000)
    client.say("kill", id=attempt_id, mode="kill")
    result = client.wait("ended", attempt_id)
    assert (result["cause"], [name for _, name in result["signals"]]) == ("cancelled", ["TERM", "KILL"])


def test_a_stopped_command_hears_term(runner: Runner, client: Client) -> None:
    argv = ["/bin/sh", "-c", "kill -STOP $$; echo resumed"]
    result = runner.run(client, argv, timeout_ms=300, grace_ms=5000, env=traced(runner))
    assert result["cause"] == "timed_out"
    assert result["duration_ms"] < 3000
    assert marked(str(runner.state)) == []


def test_a_command_that_exits_well_when_told_to_is_timed_out_all_the_same(runner: Runner, client: Client) -> None:
    argv = ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 100 & wait"]
    result = runner.run(client, argv, timeout_ms=300, grace_ms=2000)
    assert (result["cause"], result["exit_code"]) == ("timed_out", 0)


@pytest.mark.case("F022")
def test_ending_near_the_limit_is_one_or_the_other(runner: Runner, client: Client) -> None:
    orders = [runner.order(["/bin/sleep", "0.2"], timeout_ms=205) for _ in range(40)]
    for order in orders:
        client.say("start", **order)
    for order in orders:
        result = client.wait("ended", order["id"])
        if result["cause"] == "timed_out":
            assert result["duration_ms"] >= 205
        else:
            assert (result["cause"], result["exit_code"]) == (None, 0)


def test_the_children_of_a_dead_shell_die_too(runner: Runner, client: Client) -> None:
    argv = ["/bin/bash", "-c", "set -m; sleep 1000 & sleep 1000 | cat & echo up; wait"]
    attempt_id = runner.begin(client, argv, env=traced(runner))
    wait_for_log(runner, attempt_id, b"up")
    client.say("kill", id=attempt_id, mode="cancel", grace_ms=1000)
    assert client.wait("ended", attempt_id)["cause"] == "cancelled"
    assert marked(str(runner.state)) == []


def test_a_strangers_death_is_not_ours(runner: Runner, client: Client) -> None:
    order = runner.order(["/bin/sleep", "1000"])
    client.say("start", **order)
    with pidfd(client.wait("started", order["id"])["pid"]) as descriptor:
        signal.pidfd_send_signal(descriptor, signal.SIGSEGV)
        assert ended(descriptor)
    result = client.wait("ended", order["id"])
    assert (result["signal"], result["cause"], result["signals"]) == (11, None, [])


def wait_for_log(runner: Runner, attempt_id: str, text: bytes) -> None:
    """Follow a log until it contains a text; the pytest timeout ends a wait for nothing."""
    while text not in runner.log(attempt_id):
        pass


def test_in_a_control_group_not_even_the_first_child_escapes(tmp_path: Path) -> None:
    # Without its environment, its session and its parent nothing but the group tells whose it is.
    runner = Runner(tmp_path, cgroups=True)
    try:
        client = runner.start()
        if client.ask("hello", "hello", protocol=1, version="0.1.0")["kill_by"] != "cgroup":
            pytest.skip("this host has no place for control groups")
        escape = "env -i setsid sleep 1000 & echo $!; sleep 1000"
        for _ in range(10):
            attempt_id = runner.begin(client, ["/bin/sh", "-c", escape])
            wait_for_log(runner, attempt_id, b"\n")
            escaped = int(runner.log(attempt_id))
            with pidfd(escaped) as handle:
                client.say("kill", id=attempt_id, mode="kill")
                client.wait("ended", attempt_id)
                assert ended(handle)
    finally:
        runner.close()


def test_a_look_without_time_sees_one_process_and_goes_on_with_the_next() -> None:
    with subprocess.Popen(["/bin/sleep", "1000"], env={"MARK": "a-look-in-steps"}) as process:
        try:
            look = Search(lambda _: False, lambda environment: b"\0MARK=a-look-in-steps\0" in environment, None, {})
            steps = 1
            while not look.go_on(0):
                steps += 1
            # More than one: each step ends at the first living process, and this one and its parent are two.
            assert steps > 1
            assert list(look.found) == [process.pid]
        finally:
            process.kill()


@pytest.mark.parametrize("mode", ["kill", "cancel"])
def test_a_child_without_any_mark_is_found_by_its_parent_and_not_forgotten_when_that_ends(
    runner: Runner, client: Client, mode: str
) -> None:
    script = "env -i setsid sh -c 'trap \"\" TERM; echo up; sleep 1000' & echo $!; sleep 1000"
    attempt_id = runner.begin(client, ["/bin/sh", "-c", script])
    wait_for_log(runner, attempt_id, b"up")
    while (lines := runner.log(attempt_id).split(b"\n")) and len(lines) < 3:
        pass
    escaped = next(int(line) for line in lines if line.isdigit())
    with pidfd(escaped) as handle:
        client.say("kill", id=attempt_id, mode=mode, grace_ms=300)
        client.wait("ended", attempt_id)
        assert ended(handle)


def test_a_child_without_any_mark_is_found_also_when_a_look_takes_several_steps() -> None:
    def slowly(environment: bytes) -> bool:
        if b"\0SLOW=1\0" in environment:  # the step is over with it
            select.select([], [], [], 0.2)
        return False

    with contextlib.ExitStack() as stack:
        escapes = "env -i SLOW=1 setsid sleep 1000 & env -i setsid sleep 1000 &"
        argv = ["/bin/sh", "-c", f"{escapes} {escapes} echo up; wait"]
        command = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True))
        stack.callback(command.kill)
        assert command.stdout is not None
        assert command.stdout.readline() == b"up\n"
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        for child in children:  # not a member of its session any more
            while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[3] != child:
                pass
        handles = [stack.enter_context(pidfd(int(child))) for child in children]
        tree = Tree(slowly, command.pid, None)
        while tree.kill() is None:
            pass
        left = [child for child, handle in zip(children, handles, strict=True) if not ended(handle, 1)]
        for child in left:
            os.kill(int(child), signal.SIGKILL)
        assert (len(children), left) == (4, [])


def test_grace_ends_in_time_however_long_a_look_at_all_processes_takes() -> None:
    def slowly(_: bytes) -> bool:
        select.select([], [], [], 0.05)
        return False

    complaints: list[str] = []
    loop = Loop(complaints.append)
    with contextlib.ExitStack() as stack:
        # So many that one whole look takes more than three seconds on any host.
        for _ in range(60):
            other = stack.enter_context(subprocess.Popen(["/bin/sleep", "1000"]))
            stack.callback(other.kill)
        argv = ["/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"]
        command = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True))
        stack.callback(command.kill)
        assert command.stdout is not None
        assert command.stdout.readline() == b"up\n"
        handle = stack.enter_context(pidfd(command.pid))
        ending = Ending(loop, Tree(slowly, command.pid, None), lambda _: None)
        loop.add(handle, READ, lambda _: loop.stop())
        ending.ask(300)
        loop.run()
    (term, _), (kill, _) = ending.signals
    assert [name for _, name in ending.signals] == ["TERM", "KILL"]
    assert 300 <= kill - term < 2000
    assert complaints == []
