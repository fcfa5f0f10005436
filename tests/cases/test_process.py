"""Processes: what they inherit, what they leave behind, and how their ends are told apart."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from jobctl.reading.times import milliseconds
from kit.carriers import Carriers
from kit.daemon import RealDaemon, kill
from kit.gate import Gates
from kit.memory import kills_of_ours_alone
from kit.terminal import on_a_terminal

MEMORY = Path("/sys/fs/cgroup/memory")


@pytest.mark.case("F001")
def test_a_child_that_holds_the_output_open_holds_neither_its_run_nor_the_next_slot(daemon: RealDaemon) -> None:
    carriers = Carriers()
    daemon.add("holder", "sleep 300 & echo done", env=carriers.env, schedule={"every": 1}, overlap="skip")
    daemon.until(lambda: len(daemon.runs_of("holder", state="succeeded")) >= 3)
    daemon.client.pause_job("holder")
    runs = daemon.runs_of("holder", state="succeeded")
    left = carriers.pids()
    for pid in left:
        kill(pid)

    for run in runs:
        assert (run["exit_code"], daemon.output(run)) == (0, b"done\n")
        assert milliseconds(run["finished_at"]) - milliseconds(run["started_at"]) < 2000
    slots = [milliseconds(run["scheduled_at"]) for run in runs]
    assert slots == list(range(slots[0], slots[0] + 1000 * len(slots), 1000))
    assert [pid for run in runs for pid in daemon.client.attempts(run["id"])[0]["left_behind"]] == left
    assert [row for row in daemon.ledger("holder") if row["reason"] == "overlap"] == []


@pytest.mark.case("F009")
@kills_of_ours_alone()
def test_deaths_by_a_signal_are_no_exit_codes_and_each_is_tried_again(daemon: RealDaemon) -> None:
    retry = {"max": 1, "backoff": 0.05}
    itself = daemon.run("kill -9 $$", retry=retry)
    code = daemon.run("exit 137", retry=retry)
    carriers = Carriers()
    outside = daemon.run("echo up; exec sleep 300", env=carriers.env, retry=retry)
    for number in (1, 2):
        daemon.until_says(daemon.state(outside, "running", attempt=number), b"up")
        (pid,) = carriers.pids()
        os.kill(pid, signal.SIGSEGV)
    ended = [daemon.finished(run) for run in (itself, outside, code)]

    assert [(run["outcome"], run["signal"], run["exit_code"]) for run in ended] == [
        ("signal", 9, None),
        ("signal", 11, None),
        ("exit_code", None, 137),
    ]
    for run in ended:
        assert [attempt["class"] for attempt in daemon.client.attempts(run["id"])] == [run["class"]] * 2


@pytest.mark.case("F009")
@pytest.mark.skipif(not os.access(MEMORY, os.W_OK) or os.geteuid() != 0, reason="no memory controller to write to")
@kills_of_ours_alone()
def test_a_death_for_want_of_memory_is_told_from_a_kill_and_tried_again(daemon: RealDaemon) -> None:
    group = MEMORY / f"jobctl-case-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text("20000000")
        greedy = f"echo $$ >{group}/cgroup.procs; exec {sys.executable} -I -S -c 'bytearray(80 << 20)'"
        run = daemon.finished(daemon.run(greedy, retry={"max": 1, "backoff": 0.05}))
    finally:
        group.rmdir()

    assert (run["outcome"], run["class"], run["signal"], run["exit_code"]) == ("oom", "oom", 9, None)
    assert [attempt["class"] for attempt in daemon.client.attempts(run["id"])] == ["oom", "oom"]


@pytest.mark.case("F010")
def test_a_command_finds_nobody_to_ask_though_its_daemon_has_a_terminal(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "h")
    with on_a_terminal(daemon):
        assert daemon.process is not None
        daemons = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()[5]
        runs = [
            daemon.run("cat; echo after"),
            daemon.run("(read x </dev/tty) 2>&1; echo $?"),
            daemon.run("tty"),
            daemon.run("sed 's/.*) //' /proc/$$/stat | cut -d' ' -f6"),
        ]
        ended = [daemon.finished(run) for run in runs]
        said = [daemon.output(run).decode() for run in ended]

    assert int(daemons) > 0
    assert (said[0], said[2], said[3]) == ("after\n", "not a tty\n", "-1\n")
    assert "/dev/tty" in said[1]
    assert not said[1].endswith("\n0\n")
    for run in ended:
        assert milliseconds(run["finished_at"]) - milliseconds(run["started_at"]) < 1000


@pytest.mark.case("F011")
def test_a_survivor_holds_neither_lock_nor_socket_nor_database(daemon: RealDaemon, gates: Gates) -> None:
    listing = daemon.output(daemon.finished(daemon.run("ls -l /proc/self/fd")))
    survivor = daemon.until_says(daemon.run(gates.command("survivor")), b"begin")
    began = time.monotonic()
    daemon.restart()
    took = time.monotonic() - began
    held = Path(f"/proc/{gates.pid('survivor')}/fd").iterdir()
    open_files = {os.readlink(link) for link in held}
    state = daemon.client.run(survivor["id"])["state"]
    gates.open("survivor")

    assert sorted(re.findall(rb" (\d+) -> (?!/proc/)", listing)) == [b"0", b"1", b"2"]
    assert not [name for name in open_files if "jobctl.db" in name or ".lock" in name or "socket" in name]
    assert (state, daemon.finished(survivor)["state"]) == ("running", "succeeded")
    assert took < 10  # as long as the survivor lives, if it held anything


@pytest.mark.case("F012")
def test_no_script_that_was_just_written_is_too_busy_to_run(daemon: RealDaemon, tmp_path: Path) -> None:
    runs = []
    for number in range(64):
        script = tmp_path / f"script-{number}"
        script.write_text(f"#!/bin/sh\necho {number}\n")
        script.chmod(0o700)
        runs += [daemon.run([str(script)]), daemon.run(f"echo {number}")]
    ended = [daemon.finished(run) for run in runs]

    assert {run["state"] for run in ended} == {"succeeded"}
    assert [daemon.output(run) for run in ended] == [b"%d\n" % (index // 2) for index in range(128)]
    assert {len(daemon.client.attempts(run["id"])) for run in ended} == {1}


@pytest.mark.case("F014")
def test_what_cannot_be_started_is_a_failure_with_its_reason_and_no_exit_code(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    plain, empty, orphan = tmp_path / "plain", tmp_path / "empty", tmp_path / "orphan"
    plain.write_text("#!/bin/sh\n")
    empty.touch(0o700)
    orphan.write_text("#!/no/such/interpreter\n")
    orphan.chmod(0o700)
    programs = {
        "missing": ("/no/such/program", "ENOENT"),
        "no-x": (str(plain), "EACCES"),
        "empty": (str(empty), "ENOEXEC"),
        "folder": (str(tmp_path), "EACCES"),
        "orphan": (str(orphan), "ENOENT"),
    }
    for name, (program, _) in programs.items():
        daemon.add(name, [program], retry={"max": 3})
    daemon.add("shell", "exit 127", retry={"max": 3})
    daemon.add("unknown", "nosuchcmd", retry={"max": 3})
    names = [*programs, "shell", "unknown"]
    ended = {name: daemon.finished(daemon.triggered(name)) for name in names}
    listed = daemon.jobctl("runs", "--state", "dead", "-o", "csv").stdout

    for name, (_, errno) in programs.items():
        run = ended[name]
        assert (run["class"], run["exit_code"], run["signal"], run["attempt"]) == ("spawn_error", None, None, 1), name
        assert errno in run["reason"], run["reason"]
    assert [(ended[name]["class"], ended[name]["exit_code"]) for name in ("shell", "unknown")] == [
        ("exit_code", 127)
    ] * 2
    assert {run["state"] for run in ended.values()} == {"dead"}
    assert all(f"{run['id']}," in listed and run["job"] in listed for run in ended.values())
    assert daemon.client.status()["jobs"]["failed"] == len(names)


class FirstProcess(RealDaemon):
    """The first process of a container, as far as processes go."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-m", "jobctl_daemon"]
        self.program = ["-c", f"import os; os.execvp('unshare', [*{words!r}, '--foreground'])"]

    def runners(self) -> list[int]:
        """None: their numbers are others' out here, and they go with their first process."""
        return []

    def close(self) -> None:
        self.kill9()


@pytest.mark.case("F003")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a world of processes")
def test_as_the_first_process_it_collects_orphans_and_takes_no_exit_code_from_anybody(tmp_path: Path) -> None:
    daemon = FirstProcess(tmp_path / "h")
    enough = tmp_path / "enough"
    try:
        daemon.start()
        orphans = daemon.run(f"echo up; while ! [ -e {enough} ]; do (setsid sleep 0.01 &); sleep 0.005; done")
        daemon.until_says(orphans, b"up")
        runs = [daemon.run(["/bin/sh", "-c", f"exit {number % 256}"]) for number in range(300)]
        codes = [daemon.finished(run)["exit_code"] for run in runs]
        enough.touch()
        assert daemon.finished(orphans)["state"] == "succeeded"
        count = "sleep 0.2; grep -l '^State:.*zombie' /proc/[0-9]*/status 2>/dev/null | wc -l"
        zombies = int(daemon.output(daemon.finished(daemon.run(count))))
    finally:
        daemon.close()

    assert codes == [number % 256 for number in range(300)]
    assert zombies == 0
    assert "error" not in daemon.log()


#: Starts the daemon as a careless parent does: without standard streams, with all signals blocked and SIGCHLD ignored.
CARELESS = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.closerange(0, 3)
os.execv(sys.executable, [sys.executable, "-m", "jobctl_daemon", "--foreground"])
"""


@pytest.mark.case("F003", "F011")
def test_what_a_careless_parent_leaves_to_the_daemon_harms_neither_it_nor_its_commands(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "h")
    daemon.program = ["-c", CARELESS]
    try:
        daemon.start()
        assert daemon.process is not None
        streams = [os.readlink(f"/proc/{daemon.process.pid}/fd/{number}") for number in (0, 1, 2)]
        runs = [daemon.finished(daemon.run(f"exit {code}")) for code in (0, 3, 255)]
        masks = daemon.output(daemon.finished(daemon.run("grep -E '^Sig(Blk|Ign)' /proc/self/status"))).split()
        stopped = daemon.stop()
    finally:
        daemon.close()

    assert streams == ["/dev/null"] * 3
    assert [run["exit_code"] for run in runs] == [0, 3, 255]
    assert {int(mask, 16) for mask in masks[1::2]} == {0}
    assert stopped == 0
