"""What a command sees, how it ends, and what becomes of what it started."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pause()
        os._exit(0)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture(scope="module", params=["best", "without cgroups"])
def daemon(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    environ = {} if request.param == "best" else {"JOBCTL_NO_CGROUP": "1"}
    with real_daemon(tmp_path_factory.mktemp("commands") / "home", **environ) as made:
        yield made


def _carriers(mark: str) -> list[int]:
    """Processes that carry the mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "environ").read_bytes()
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in text.split(b"\0") and state != b"Z":
            found.append(int(entry.name))
    return found


@pytest.mark.case("F016")
def test_a_stubborn_tree_is_gone_soon_after_its_grace_and_recorded_timed_out(daemon: RealDaemon) -> None:
    mark = f"MARK={os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    run = daemon.run(["/usr/bin/python3", "-c", STUBBORN], env={name: value}, timeout=1.5, grace=1)
    ended = daemon.finished(run)
    (attempt,) = daemon.client.attempts(run["id"])

    assert (ended["state"], ended["outcome"], ended["signal"]) == ("failed", "timed_out", 9)
    assert [name for _, name in attempt["signals"]][:1] == ["TERM"]
    assert [name for _, name in attempt["signals"]][-1] == "KILL"
    assert _carriers(mark) == []


def test_a_background_child_that_holds_the_output_open_does_not_hold_the_run(daemon: RealDaemon) -> None:
    mark = f"MARK={os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    run = daemon.finished(daemon.run("sleep 300 & echo done", env={name: value}))
    left = _carriers(mark)
    for pid in left:
        os.kill(pid, 9)

    assert (run["state"], run["exit_code"]) == ("succeeded", 0)
    assert daemon.output(run) == b"done\n"
    assert len(left) == 1
    assert daemon.client.attempts(run["id"])[0]["left_behind"] == left


@pytest.mark.parametrize(
    ("command", "state", "code", "signal", "outcome"),
    [
        ("exit 0", "succeeded", 0, None, "ok"),
        ("exit 3", "failed", 3, None, "exit_code"),
        ("exit 137", "failed", 137, None, "exit_code"),
        ("kill -9 $$", "failed", None, 9, "signal"),
        (["/no/such/program"], "failed", None, None, "spawn_error"),
        (["/etc/passwd"], "failed", None, None, "spawn_error"),
        (["/"], "failed", None, None, "spawn_error"),
        ("nosuchcmd", "failed", 127, None, "exit_code"),
    ],
)
def test_every_end_is_recorded_exactly(
    daemon: RealDaemon, command: str | list[str], state: str, code: int | None, signal: int | None, outcome: str
) -> None:
    run = daemon.finished(daemon.run(command))

    assert (run["state"], run["exit_code"], run["signal"], run["outcome"]) == (state, code, signal, outcome)


def test_a_command_sees_its_identity_and_nothing_of_the_daemon(daemon: RealDaemon) -> None:
    job = daemon.add("env-job", ["/usr/bin/env"], env={"OWN": "yes"}, schedule={"timezone": "Europe/Berlin"})
    run = daemon.finished(daemon.client.trigger("env-job", {}))
    env = dict(line.split("=", 1) for line in daemon.output(run).decode().splitlines())

    assert env["JOBCTL_RUN_KEY"] == run["key"]
    assert env["JOBCTL_RUN_KEY"].startswith(job["uid"] + "/")
    assert (env["JOBCTL_RUN_ID"], env["JOBCTL_JOB"], env["JOBCTL_ATTEMPT"]) == (str(run["id"]), "env-job", "1")
    assert env["JOBCTL_FENCE"] == str(run["fence"])
    assert env["JOBCTL_TRIGGER"] == "manual"
    assert env["JOBCTL_SCHEDULED_AT"][-6:] in ("+01:00", "+02:00")
    assert (env["OWN"], env["LANG"], env["SHELL"]) == ("yes", "C.UTF-8", "/bin/sh")
    assert not set(env) & {"JOBCTL_HOME", "JOBCTL_NO_CGROUP", "VIRTUAL_ENV", "PYTHONPATH", "OLDPWD", "TERM"}


def test_a_command_has_a_clean_process(daemon: RealDaemon) -> None:
    script = (
        "import json,os;"
        "s=dict(l.split(':',1) for l in open('/proc/self/status') if ':' in l);"
        "print(json.dumps({'fds':sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3],"
        "'count':len(os.listdir('/proc/self/fd')),'ign':s['SigIgn'].strip(),'blk':s['SigBlk'].strip(),"
        "'umask':s['Umask'].strip(),'session':os.getsid(0)==os.getpid(),'stdin':os.readlink('/proc/self/fd/0'),"
        "'nofile':__import__('resource').getrlimit(7)[0]}))"
    )
    run = daemon.finished(daemon.run(["/usr/bin/python3", "-I", "-c", script]))
    seen = json.loads(daemon.output(run))

    assert seen["fds"] == [0, 1, 2]
    assert seen["count"] == 4  # the folder that is being listed
    # CPython itself ignores SIGPIPE (13) and SIGXFSZ (25).
    assert int(seen["ign"], 16) & ~(1 << 12 | 1 << 24) == 0
    assert int(seen["blk"], 16) == 0
    assert (seen["umask"], seen["session"], seen["stdin"]) == ("0022", True, "/dev/null")
    assert seen["nofile"] <= 1024


def test_stdin_is_what_the_job_says(daemon: RealDaemon) -> None:
    run = daemon.finished(daemon.run(["/bin/cat"], stdin="one\ntwo\n"))

    assert daemon.output(run) == b"one\ntwo\n"


def test_cancel_asks_and_kill_does_not(daemon: RealDaemon) -> None:
    polite = daemon.run("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    daemon.until_says(polite, b"up")
    daemon.client.cancel_run(polite["id"])
    rude = daemon.run("trap '' TERM; echo up; while :; do sleep 0.05; done")
    daemon.until_says(rude, b"up")
    daemon.client.kill_run(rude["id"])
    ended, killed = daemon.finished(polite), daemon.finished(rude)

    assert (ended["state"], ended["exit_code"]) == ("cancelled", 0)
    assert daemon.output(ended).endswith(b"bye\n")
    assert (killed["state"], killed["signal"]) == ("cancelled", 9)


def test_two_hundred_megabytes_are_capped_with_head_and_tail(daemon: RealDaemon) -> None:
    run = daemon.finished(daemon.run("echo first; yes | head -c 200000000; echo last", log_max=1_000_000), 60)
    (attempt,) = daemon.client.attempts(run["id"])
    kept = daemon.output(run)

    assert run["state"] == "succeeded"
    assert attempt["log_size"] == 200_000_000 + len("first\nlast\n")
    assert kept.startswith(b"first\ny\n")
    assert kept.endswith(b"y\nlast\n")
    assert len(kept) < 1_200_000
    assert b"were removed by the log limit" in kept


@pytest.mark.long
@pytest.mark.case("F003")
def test_five_hundred_commands_at_once_each_keep_their_own_code(tmp_path: Path) -> None:
    with real_daemon(tmp_path / "home") as daemon:
        runs = [daemon.run(["/bin/sh", "-c", f"exit {number % 256}"]) for number in range(500)]
        codes = [daemon.finished(run)["exit_code"] for run in runs]

    assert codes == [number % 256 for number in range(500)]
