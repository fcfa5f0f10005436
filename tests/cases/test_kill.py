"""Whatever a command does to stay: it is gone soon after its grace, and recorded as what was done to it."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.reading.times import milliseconds
from kit.carriers import Carriers
from kit.daemon import Json, RealDaemon, kill, real_daemon
from kit.gate import Gates
from kit.terminal import on_a_terminal

PIPES = "echo up; sleep 1000 & sleep 1000 | cat & wait"
#: Leaves its session twice over and goes on; what the leader then does is its argument.
ESCAPE = """
import os, signal, sys, time
leader = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        print("up", flush=True)
        os.execv("/bin/sleep", ["sleep", "1000"])
    os._exit(0)
os.wait()
if leader == "ignores":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if leader != "leaves":
    time.sleep(1000)
"""
STUBBORN = "trap '' TERM INT HUP; echo up; while :; do sleep 0.2; done"


@pytest.fixture(scope="module", params=["best", "without cgroups"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    environ = {} if request.param == "best" else {"JOBCTL_NO_CGROUP": "1"}
    with real_daemon(tmp_path_factory.mktemp("k") / "h", **environ) as made:
        yield made


def python(script: str, *argv: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script, *argv]


def signals(daemon: RealDaemon, run: Json) -> list[str]:
    return [name for attempt in daemon.client.attempts(run["id"]) for _, name in attempt["signals"]]


def grouped(daemon: RealDaemon) -> bool:
    """Whether each command has a control group of its own."""
    return {runner["kill_by"] for runner in daemon.client.status()["runners"]} == {"cgroup"}


def lasted_ms(run: Json) -> int:
    return milliseconds(run["finished_at"]) - milliseconds(run["started_at"])


@pytest.mark.case("F015")
def test_with_its_shell_everything_that_it_started_is_gone(daemon: RealDaemon) -> None:
    carriers = Carriers()
    bash = ["/bin/bash", "-c", f"set -m; {PIPES}"]
    cancelled = [daemon.run(command, env=carriers.env, grace=1) for command in (PIPES, bash)]
    late = [daemon.run(command, env=carriers.env, grace=1, timeout=0.5) for command in (PIPES, bash)]
    for run in cancelled:
        daemon.until_says(run, b"up")
        daemon.client.cancel_run(run["id"])
    ended = [daemon.finished(run) for run in (*cancelled, *late)]

    assert [(run["state"], run["outcome"]) for run in ended] == [("cancelled", "cancelled")] * 2 + [
        ("failed", "timed_out")
    ] * 2
    assert {run["signal"] for run in ended} == {signal.SIGTERM}
    assert all(signals(daemon, run)[0] == "TERM" for run in ended)
    assert carriers.pids() == []


@pytest.mark.case("F016")
def test_a_child_that_left_its_session_is_gone_too_and_the_slot_is_free(daemon: RealDaemon) -> None:
    carriers = Carriers()
    fields = {"overlap": "skip", "grace": 1, "env": carriers.env, "retry": {"max": 0}}
    runs = {}
    for how in ("cancel", "timeout"):
        for leader in ("sleeps", "ignores"):
            daemon.add(f"{how}-{leader}", python(ESCAPE, leader), timeout=0.5 if how == "timeout" else None, **fields)
            runs[how, leader] = daemon.triggered(f"{how}-{leader}")
    for leader in ("sleeps", "ignores"):
        daemon.client.cancel_run(daemon.until_says(runs["cancel", leader], b"up")["id"])
    ended = {name: daemon.finished(run) for name, run in runs.items()}

    assert {name: run["outcome"] for name, run in ended.items()} == {
        (how, leader): {"cancel": "cancelled", "timeout": "timed_out"}[how] for how, leader in runs
    }
    assert {name: run["signal"] for name, run in ended.items()} == {
        (how, leader): {"sleeps": 15, "ignores": 9}[leader] for how, leader in runs
    }
    assert max(map(lasted_ms, ended.values())) < 3500
    assert carriers.pids() == []
    for name in ("cancel-ignores", "timeout-ignores"):
        again = daemon.until_says(daemon.triggered(name), b"up")  # overlap skip: nothing of before is in its way
        daemon.client.kill_run(again["id"])
        daemon.finished(again)
    assert carriers.pids() == []


@pytest.mark.case("F016")
def test_a_child_that_outlives_its_leader_holds_no_slot_and_is_gone_before_the_next_attempt(
    daemon: RealDaemon,
) -> None:
    carriers = Carriers()
    daemon.add("leaves", python(ESCAPE, "leaves"), overlap="skip", env=carriers.env)
    runs = [daemon.finished(daemon.triggered("leaves")) for _ in range(2)]
    left = carriers.pids()
    listed = [pid for run in runs for pid in daemon.client.attempts(run["id"])[0]["left_behind"]]
    failing = python(ESCAPE + "raise SystemExit(3)", "leaves")
    daemon.finished(daemon.run(failing, env=carriers.env, retry={"max": 2, "backoff": 0.05}))
    living = carriers.pids()
    for pid in living:
        kill(pid)

    assert [run["state"] for run in runs] == ["succeeded"] * 2
    assert len(left) == 2
    assert sorted(listed) == (left if grouped(daemon) else [])  # without groups only what stays in its session is seen
    assert len(set(living) - set(left)) == 1  # of three attempts the last one's


@pytest.mark.case("F016")
def test_how_commands_are_ended_is_said_where_control_groups_are_missing(daemon: RealDaemon) -> None:
    way = "process group, session and environment marker"
    said = daemon.jobctl("status").stdout
    if grouped(daemon):
        assert (way in said, way in daemon.log()) == (False, False)
    else:
        assert f"kills   by {way}" in said
        assert way in daemon.log()


@pytest.mark.case("F017")
def test_a_command_that_ignores_term_is_killed_at_the_end_of_its_grace(daemon: RealDaemon) -> None:
    run = daemon.finished(daemon.run(STUBBORN, timeout=1, grace=1))
    (attempt,) = daemon.client.attempts(run["id"])
    (asked, first), *_, (forced, last) = attempt["signals"]

    assert (run["outcome"], run["signal"], run["exit_code"]) == ("timed_out", 9, None)
    assert 2000 <= lasted_ms(run) <= 4000
    assert (first, last) == ("TERM", "KILL")
    assert 1000 <= milliseconds(forced) - milliseconds(asked) <= 3000
    assert {name for _, name in attempt["signals"]} == {"TERM", "KILL"}


@pytest.mark.case("F018")
def test_a_command_that_stopped_itself_is_ended_by_its_timeout(daemon: RealDaemon) -> None:
    carriers = Carriers()
    heeds = daemon.run("echo up; kill -STOP $$; echo resumed", timeout=4, grace=1, env=carriers.env)
    ignores = daemon.run(
        "trap '' TERM; kill -STOP $$; while :; do kill -STOP $$; done", timeout=4, grace=1, env=carriers.env
    )
    pid = daemon.client.attempts(daemon.until_says(heeds, b"up")["id"])[0]["pid"]
    while (state := carriers.states().get(pid)) != "T":
        assert state is not None, "its time was up before anybody saw it stopped"
    listed = {run["id"]: run["reason"] for run in daemon.client.runs(state="running")}
    shown = daemon.jobctl("runs").stdout
    ended = [daemon.finished(run) for run in (heeds, ignores)]

    assert listed[heeds["id"]] == f"stopped by a signal: kill -CONT {pid} lets it go on"
    assert "stopped" in shown
    assert [run["outcome"] for run in ended] == ["timed_out"] * 2
    assert max(map(lasted_ms, ended)) < 7000
    assert ended[1]["signal"] == 9
    assert carriers.pids() == []


@pytest.mark.case("F022")
def test_a_command_that_exits_well_on_term_has_timed_out_and_is_tried_again(daemon: RealDaemon) -> None:
    run = daemon.finished(
        daemon.run("trap 'exit 0' TERM; sleep 100 & wait", timeout=0.5, retry={"max": 1, "backoff": 0.05})
    )
    attempts = daemon.client.attempts(run["id"])

    assert (run["state"], run["outcome"], run["exit_code"], run["attempt"]) == ("failed", "timed_out", 0, 2)
    assert [(attempt["class"], attempt["exit_code"]) for attempt in attempts] == [("timed_out", 0)] * 2


@pytest.mark.case("F022")
def test_what_ends_at_its_limit_has_timed_out_only_when_the_limit_had_passed(daemon: RealDaemon) -> None:
    runs = [daemon.run(["/bin/sleep", "0.4"], timeout=0.405) for _ in range(100)]
    ended = [daemon.finished(run) for run in runs]

    assert {run["outcome"] for run in ended} <= {"ok", "timed_out"}
    for run in ended:
        if run["outcome"] == "ok":
            assert (run["exit_code"], signals(daemon, run)) == (0, [])
        else:
            assert lasted_ms(run) >= 405


@pytest.mark.case("F026")
def test_a_hang_up_is_a_reload_and_a_closed_terminal_ends_nothing(tmp_path: Path, gates: Gates) -> None:
    daemon = RealDaemon(tmp_path / "h")
    with on_a_terminal(daemon) as terminal:
        assert daemon.process is not None
        runs = [daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in ("a", "b", "c")]
        daemon.settings("slots = 7\n")
        daemon.process.send_signal(signal.SIGHUP)
        while daemon.client.status()["slots"] != 7:
            pass
        daemon.settings("slots = 9\n")
        terminal.close()
        while daemon.client.status()["slots"] != 9:
            pass
        states = [daemon.client.run(run["id"])["state"] for run in runs]
        later = daemon.finished(daemon.run(["/bin/echo", "later"]))
        for name in ("a", "b", "c"):
            gates.open(name)
        ended = [daemon.finished(run) for run in runs]
        alive = daemon.process.poll() is None

    assert states == ["running"] * 3
    assert [run["state"] for run in (*ended, later)] == ["succeeded"] * 4
    assert alive
