"""What outlives a runner, and what its successor makes of it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.runner.harness import ENV, Client, Runner, ended, marked, pidfd, the_marked


@pytest.fixture(params=[True, False], ids=["cgroups", "no cgroups"])
def cgroups(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def runner(tmp_path: Path, cgroups: bool) -> Iterator[Runner]:
    runner = Runner(tmp_path, cgroups=cgroups)
    yield runner
    runner.close()


#: So long a command goes on after it has started another one: in the middle of its exec that one carries no mark.
SETTLED = "sleep 0.2"


def traced(runner: Runner) -> dict[str, str]:
    return {**ENV, "MARK": str(runner.state)}


def test_commands_outlive_a_killed_runner_and_end_lost(runner: Runner) -> None:
    client = runner.start()
    script = "echo first; read line <fifo; echo second"
    os.mkfifo(runner.state / "fifo")
    attempt_id = runner.begin(client, ["/bin/sh", "-c", script], cwd=str(runner.state), env=traced(runner))
    before = the_marked(str(runner.state))
    runner.kill()
    again = runner.start()
    (item,) = again.wait("list")
    assert (item["id"], item["state"], item["adopted"]) == (attempt_id, "running", True)
    assert item["pid"] == before
    # Nothing was started twice, and a second copy is refused as long as the first lives.
    assert marked(str(runner.state)) == [before]
    again.say("start", **runner.order(["/bin/true"], run_id=item["run_id"], fence=2))
    assert "alive" in again.wait("refused")["reason"]
    (runner.state / "fifo").write_text("go\n")
    result = again.wait("ended", attempt_id)
    assert (result["cause"], result["exit_code"], result["signal"]) == ("lost", None, None)
    assert runner.log(attempt_id) == b"first\nsecond\n"
    assert result["log_size"] == 13


@pytest.mark.parametrize("way", ["timeout", "kill"])
def test_an_adopted_command_is_still_timed_out_and_killed(runner: Runner, way: str) -> None:
    client = runner.start()
    argv = ["/bin/sh", "-c", "trap '' TERM; (setsid sleep 1000 &); while :; do sleep 0.1; done"]
    values = {"timeout_ms": 1500} if way == "timeout" else {}
    attempt_id = runner.begin(client, argv, env=traced(runner), grace_ms=200, **values)
    runner.kill()
    again = runner.start()
    if way == "kill":
        again.say("kill", id=attempt_id, mode="kill")
    result = again.wait("ended", attempt_id)
    assert (result["cause"], result["exit_code"]) == ({"timeout": "timed_out", "kill": "killed"}[way], None)
    assert marked(str(runner.state)) == []


def test_a_command_that_ended_without_a_runner_is_lost(runner: Runner) -> None:
    client = runner.start()
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"], env=traced(runner))
    pid = the_marked(str(runner.state))
    runner.kill()
    with pidfd(pid) as descriptor:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        assert ended(descriptor)
    again = runner.start()
    (item,) = again.wait("list")
    assert (item["id"], item["state"], item["result"]["cause"]) == (attempt_id, "ended", "lost")


def test_unread_results_outlive_the_runner_and_ack_removes_them(runner: Runner) -> None:
    client = runner.start()
    result = runner.run(client, ["/bin/sh", "-c", "exit 3"])
    assert f"{result['id']}.result" in runner.records
    with pidfd(runner.pid) as descriptor:
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        assert ended(descriptor)
    assert not (runner.directory / "1.sock").exists()
    assert not (runner.directory / "1.lock").exists()
    again = runner.start()
    (item,) = again.wait("list")
    assert item["result"]["exit_code"] == 3
    assert again.ask("ack", "acked", ids=[result["id"]])["ids"] == [result["id"]]
    assert runner.records == set()
    again.say("list")
    assert again.wait("list") == []


def test_an_intent_without_a_process_is_lost(runner: Runner) -> None:
    runner.start()
    runner.kill()
    write_intent(runner, "77-5", boot_id())
    again = runner.start()
    (item,) = again.wait("list")
    assert (item["result"]["cause"], item["result"]["detail"]) == ("lost", "runner died while starting")


def test_an_intent_whose_command_lives_is_adopted(runner: Runner) -> None:
    runner.start()
    runner.kill()
    write_intent(runner, "78-5", boot_id())
    command = subprocess.Popen(
        ["/bin/sleep", "1000"],
        env={**traced(runner), "JOBCTL_RUN_KEY": "k", "JOBCTL_RUN_ID": "78", "JOBCTL_FENCE": "5"},
        start_new_session=True,
    )
    try:
        again = runner.start()
        (item,) = again.wait("list")
        assert (item["state"], item["pid"]) == ("running", command.pid)
    finally:
        command.kill()
        command.wait()
    assert again.wait("ended", "78-5")["cause"] == "lost"


def test_what_another_boot_started_is_lost(runner: Runner) -> None:
    client = runner.start()
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"], env=traced(runner))
    runner.kill()
    path = runner.directory / "records" / f"{attempt_id}.pid"
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot_id": "another"}))
    again = runner.start()
    (item,) = again.wait("list")
    assert item["result"]["cause"] == "lost"
    os.kill(the_marked(str(runner.state)), signal.SIGKILL)


def test_a_living_runner_takes_over_from_a_dead_one(runner: Runner, tmp_path: Path, cgroups: bool) -> None:
    client = runner.start()
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"], env=traced(runner))
    other = Runner(tmp_path, "2", cgroups=cgroups)
    try:
        second = other.start()
        assert second.wait("list") == []
        assert second.ask("rescan", "rescanned")["adopted"] == 0
        runner.kill()
        assert second.ask("rescan", "rescanned")["adopted"] == 1
        assert second.wait("started", attempt_id)
        # Its old name comes back and finds that it is in good hands.
        first = runner.start()
        assert first.wait("list") == []
        second.say("kill", id=attempt_id, mode="kill")
        assert second.wait("ended", attempt_id)["cause"] == "killed"
        second.ask("ack", "acked", ids=[attempt_id])
        assert runner.records == set()
    finally:
        other.close()


def test_a_retry_waits_for_an_attempt_under_another_runner(runner: Runner, tmp_path: Path, cgroups: bool) -> None:
    client = runner.start()
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"], env=traced(runner), run_id=9)
    other = Runner(tmp_path, "2", cgroups=cgroups)
    try:
        second = other.start()
        second.say("start", **runner.order(["/bin/true"], run_id=9, fence=2, attempt=2))
        assert attempt_id in second.wait("refused")["reason"]
        the_marked(str(runner.state))
    finally:
        other.close()


def test_a_claim_that_came_back_waits_for_an_attempt_nobody_knew_of(
    runner: Runner, tmp_path: Path, cgroups: bool
) -> None:
    """The first attempt of the run as well: when jobd was told too little, the records still say it."""
    client = runner.start()
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"], env=traced(runner), run_id=9)
    other = Runner(tmp_path, "2", cgroups=cgroups)
    try:
        second = other.start()
        second.say("start", **runner.order(["/bin/true"], run_id=9, fence=2, attempt=1, returned=1))
        assert attempt_id in second.wait("refused")["reason"]
        the_marked(str(runner.state))
    finally:
        other.close()


def test_a_runner_that_stops_in_the_middle_of_a_look_stops_no_other(
    runner: Runner, tmp_path: Path, cgroups: bool
) -> None:
    client = runner.start()
    other = Runner(tmp_path, "2", cgroups=cgroups)
    with (runner.directory / "records" / ".adopt").open("w") as looking:
        fcntl.flock(looking, fcntl.LOCK_EX)
        assert client.ask("rescan", "rescanned") == {"adopted": 0, "busy": True}
        assert runner.run(client, ["/bin/true"])["exit_code"] == 0
        # One that has never looked would not know what a dead runner of its own name has left.
        refused = other.launch()
        assert (refused.returncode, "looking" in refused.stderr) == (74, True)
    assert client.ask("rescan", "rescanned") == {"adopted": 0, "busy": False}


def test_records_that_make_no_sense_harm_nobody(runner: Runner) -> None:
    runner.start()
    runner.kill()
    records = runner.directory / "records"
    # Of an attempt whose record cannot be read its processes are known by these numbers: no other test may have them.
    first, second = (f"{os.getpid() * 1_000 + number}-1" for number in (1, 2))
    (records / f"{first}.intent").write_text("{")
    (records / f"{second}.pid").write_text("{}")
    (records / "x-y.result").write_text("{}")
    (records / "3-1.intent~").write_text("")
    again: Client = runner.start()
    # The name of a record proves that there was an attempt: it is lost, and never one that was not started.
    assert {item["id"]: item["result"]["cause"] for item in again.wait("list")} == {first: "lost", second: "lost"}
    assert runner.run(again, ["/bin/true"], run_id=50)["exit_code"] == 0


def test_a_living_command_whose_record_is_damaged_is_followed_by_its_marker(runner: Runner) -> None:
    client = runner.start()
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"], env=traced(runner))
    runner.kill()
    for record in (runner.directory / "records").glob(f"{attempt_id}.*"):
        record.write_text("{")
    again = runner.start()
    (item,) = again.wait("list")
    assert (item["id"], item["state"]) == (attempt_id, "running")
    again.say("kill", id=attempt_id, mode="kill")
    assert again.wait("ended", attempt_id)["cause"] == "killed"
    assert marked(str(runner.state)) == []


def write_intent(runner: Runner, attempt_id: str, boot: str) -> None:
    run_id, fence = attempt_id.split("-")
    intent = {
        "id": attempt_id,
        "run_id": int(run_id),
        "fence": int(fence),
        "key": "k",
        "instance": "1",
        "boot_id": boot,
        "written_at": 0,
        "log": str(runner.logs / attempt_id),
        "log_max": 10_000_000,
        "timeout_ms": None,
        "grace_ms": 1000,
        "cgroup": None,
    }
    (runner.directory / "records" / f"{attempt_id}.intent").write_text(json.dumps(intent))


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_retry_under_another_runner_kills_what_was_left_without_any_marker(
    runner: Runner, tmp_path: Path, cgroups: bool
) -> None:
    """As a server is left that was started through sudo: a session and an environment of its own."""
    client = runner.start()
    mark = {"MARK": str(runner.state)}
    stray = f"env -i MARK={runner.state} setsid -f sleep 1000; {SETTLED}; echo ready"
    result = runner.run(client, ["/bin/sh", "-c", stray], env={**ENV, **mark}, run_id=9)
    left = the_marked(str(runner.state))
    client.ask("ack", "acked", ids=[result["id"]])
    other = Runner(tmp_path, "2", cgroups=cgroups)
    try:
        second = other.start()
        with pidfd(left) as handle:
            again = other.run(second, ["/bin/true"], run_id=9, fence=2, attempt=2)
            gone = ended(handle) if result["left_behind"] else None
        notes = [path.name for path in (runner.directory / "records").glob(".left-*")]
    finally:
        other.close()

    # Without a control group such a process belongs to nobody: then it is not listed either.
    assert (result["left_behind"], gone) == (([left], True) if cgroups else ([], None))
    assert again["exit_code"] == 0
    assert notes == []


def test_notes_of_what_was_left_go_when_nobody_of_it_lives(runner: Runner, cgroups: bool) -> None:
    client = runner.start()
    runner.run(client, ["/bin/sh", "-c", f"sleep 1000 & {SETTLED}; echo ready"], env=traced(runner))
    left = the_marked(str(runner.state))
    notes = runner.directory / "records"
    assert len([*notes.glob(".left-*")]) == 1
    runner.kill()
    again = runner.start()
    kept = len([*notes.glob(".left-*")])
    with pidfd(left) as handle:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        assert ended(handle)
    again.ask("rescan", "rescanned")

    assert kept == 1
    assert not [*notes.glob(".left-*")]
