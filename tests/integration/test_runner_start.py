"""What a command sees when the runner starts it, and what is said of one that cannot be started."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.memory import kills_of_ours_alone
from unit.runner.harness import ENV, Client, Runner


@pytest.fixture(params=[True, False], ids=["cgroups", "no cgroups"])
def runner(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Runner]:
    runner = Runner(tmp_path, cgroups=request.param)
    yield runner
    runner.close()


@pytest.fixture
def client(runner: Runner) -> Client:
    return runner.start()


@pytest.mark.parametrize("code", [0, 3, 64, 137, 255])
def test_exit_code(runner: Runner, client: Client, code: int) -> None:
    result = runner.run(client, ["/bin/sh", "-c", f"echo said; exit {code}"])
    assert (result["exit_code"], result["signal"], result["cause"]) == (code, None, None)
    assert runner.log(result["id"]) == b"said\n"
    assert result["log_size"] == 5
    assert result["started_at"] <= result["ended_at"]
    assert result["max_rss_kb"] > 0


@kills_of_ours_alone()
def test_death_by_signal_is_not_an_exit_code(runner: Runner, client: Client) -> None:
    result = runner.run(client, ["/bin/sh", "-c", "kill -SEGV $$"])
    assert (result["exit_code"], result["signal"], result["oom"]) == (None, 11, False)
    result = runner.run(client, ["/bin/sh", "-c", "kill -9 $$"])
    assert (result["exit_code"], result["signal"], result["oom"]) == (None, 9, False)


MEMORY = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK) or os.geteuid() != 0, reason="no memory controller to write to")
@kills_of_ours_alone()
def test_a_kill_for_memory_is_told_from_any_other(runner: Runner, client: Client) -> None:
    group = MEMORY / f"jobctl-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text("20000000")
        script = f"echo $$ >{group}/cgroup.procs; exec {sys.executable} -I -S -c 'bytearray(80 << 20)'"
        result = runner.run(client, ["/bin/sh", "-c", script])
        assert (result["signal"], result["oom"], result["cause"]) == (9, True, None)
        result = runner.run(client, ["/bin/sh", "-c", "kill -9 $$"])
        assert (result["signal"], result["oom"]) == (9, False)
    finally:
        group.rmdir()


def test_spawn_errors_are_told_apart(runner: Runner, client: Client, tmp_path: Path) -> None:
    plain, empty, script = tmp_path / "plain", tmp_path / "empty", tmp_path / "script"
    plain.write_text("x")
    plain.chmod(0o600)
    empty.write_text("")
    empty.chmod(0o700)
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o700)
    windows = tmp_path / "windows"
    windows.write_bytes(b"#!/bin/sh\r\nexit 0\r\n")
    windows.chmod(0o700)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    expected = [
        (["/nonexistent/program"], {}, "ENOENT", "program"),
        (["nosuchprogram"], {}, "ENOENT", "program"),
        ([str(plain)], {}, "EACCES", f"program {plain}: it is not executable: chmod +x {plain}"),
        ([str(windows)], {}, "ENOENT", "interpreter /bin/sh with a carriage return behind it"),
        ([str(empty)], {}, "ENOEXEC", "program"),
        ([str(tmp_path)], {}, "EACCES", f"program {tmp_path}: it is a directory"),
        (["./script"], {"cwd": str(tmp_path)}, "ENOENT", "program ./script: its interpreter /nonexistent/interpreter"),
        (["./plain"], {"cwd": str(tmp_path)}, "EACCES", f"program ./plain: it is not executable: chmod +x {plain}"),
        ([str(plain / "below")], {}, "ENOTDIR", "program"),
        ([str(loop)], {}, "ELOOP", "program"),
        ([str(script)], {}, "ENOENT", f"program {script}: its interpreter /nonexistent/interpreter is missing"),
        (["/bin/true"], {"cwd": "/nonexistent"}, "ENOENT", "working directory"),
        (["/bin/true"], {"cwd": str(plain)}, "ENOTDIR", "working directory"),
        (["/bin/true"], {"log": "/nonexistent/log"}, "ENOENT", "log file"),
        (["/bin/true"], {"log": str(loop)}, "ELOOP", "log file"),
        (["/bin/true"], {"stdin": {"file": "/nonexistent"}}, "ENOENT", "payload file"),
    ]
    for argv, values, errno, detail in expected:
        order = runner.order(argv, **values)
        client.say("start", **order)
        failed = client.wait("failed", order["id"])
        assert (failed["errno"], failed["cause"], failed["transient"]) == (errno, "spawn_error", False), argv
        assert detail in failed["detail"]
        assert failed["exit_code"] is None
    ids = [item["id"] for item in client.ask("list", "list")] or [
        item["id"] for item in client.wait("list") if item["result"]
    ]
    assert ids


def test_a_busy_program_is_transient(runner: Runner, client: Client, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o700)
    with program.open("r+b"):
        order = runner.order([str(program)])
        client.say("start", **order)
        failed = client.wait("failed", order["id"])
    assert (failed["errno"], failed["transient"]) == ("ETXTBSY", True)


@pytest.mark.parametrize("kind", ["text", "base64", "file", "own"])
def test_payload_of_a_megabyte(runner: Runner, client: Client, tmp_path: Path, kind: str) -> None:
    payload = os.urandom(1 << 20) if kind == "base64" else b"0123456789abcdef" * 65536
    (tmp_path / "payload").write_bytes(payload)
    stdin = {
        "text": {"text": payload.decode("ascii", "replace")},
        "base64": {"base64": base64.b64encode(payload).decode()},
        "file": {"file": str(tmp_path / "payload")},
        "own": {"own": str(tmp_path / "payload")},
    }[kind]
    result = runner.run(client, ["/bin/cat"], stdin=stdin)
    assert result["exit_code"] == 0
    assert runner.log(result["id"]) == payload


def test_stdin_is_empty_and_there_is_no_terminal(runner: Runner, client: Client) -> None:
    script = "cat; echo after; tty; (: </dev/tty) 2>/dev/null || echo none; ps -o tpgid= -p $$"
    result = runner.run(client, ["/bin/sh", "-c", script])
    assert runner.log(result["id"]).split() == [b"after", b"not", b"a", b"tty", b"none", b"-1"]


def test_environment_is_exactly_what_was_given(runner: Runner, client: Client) -> None:
    odd = b"\xff\xc3\xa4\xe6\xbc\xa2".decode("utf-8", "surrogateescape")
    result = runner.run(client, ["/usr/bin/env", "-0"], env={**ENV, "ODD": odd, "JOBCTL_FENCE": "forged"}, fence=7)
    run_id = result["run_id"]
    got = dict(line.split(b"=", 1) for line in runner.log(result["id"]).split(b"\0") if line)
    assert got == {
        **{name.encode(): value.encode() for name, value in ENV.items()},
        b"ODD": b"\xff\xc3\xa4\xe6\xbc\xa2",
        b"JOBCTL_RUN_ID": b"%d" % run_id,
        b"JOBCTL_FENCE": b"7",
        b"JOBCTL_RUN_KEY": f"{runner.state}/s:{run_id}".encode(),
    }


def test_variables_from_a_file(runner: Runner, client: Client, tmp_path: Path) -> None:
    path = tmp_path / "env"
    path.write_bytes(b"# a comment\n\nA=1\nexport B=\"two words\"\nHOME=/elsewhere\nC='\xff'\r\nJOBCTL_FENCE=9\nD=\n")
    result = runner.run(client, ["/usr/bin/env", "-0"], env_file=str(path))
    got = dict(line.split(b"=", 1) for line in runner.log(result["id"]).split(b"\0") if line)
    assert {name: got[name] for name in (b"A", b"B", b"C", b"D", b"HOME", b"JOBCTL_FENCE")} == {
        b"A": b"1",
        b"B": b"two words",
        b"C": b"\xff",
        b"D": b"",
        b"HOME": b"/elsewhere",
        b"JOBCTL_FENCE": b"%d" % runner.fence,
    }
    for name, content, errno, detail in (
        ("missing", None, "ENOENT", "environment file"),
        ("wrong", b"A=1\nnonsense\n", "EINVAL", "line 2"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        order = runner.order(["/bin/true"], env_file=str(tmp_path / name))
        client.say("start", **order)
        failed = client.wait("failed", order["id"])
        assert (failed["errno"], failed["transient"]) == (errno, False)
        assert detail in failed["detail"]


def test_arguments_and_directory_keep_their_bytes(runner: Runner, client: Client, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff\xc3\xa4"
    os.mkdir(odd)
    text = odd.decode("utf-8", "surrogateescape")
    result = runner.run(client, ["/bin/sh", "-c", 'printf %s "$1"; pwd', "sh", text], cwd=text)
    assert runner.log(result["id"]) == odd + odd + b"\n"


def test_descriptors_signals_session_and_umask(runner: Runner, client: Client) -> None:
    result = runner.run(client, ["/bin/ls", "/proc/self/fd"])
    assert runner.log(result["id"]).split() == [b"0", b"1", b"2", b"3"]
    result = runner.run(client, ["/bin/grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"])
    assert {line.split()[1] for line in runner.log(result["id"]).splitlines()} == {b"0" * 16}
    result = runner.run(client, ["/bin/sh", "-c", "umask; ps -o sid= -p $$; echo $$; ulimit -Sn; nice"])
    umask, session, pid, files, nice = runner.log(result["id"]).split()
    assert (umask, session, files, nice) == (b"0022", pid, b"1024", b"0")
    result = runner.run(client, ["/bin/bash", "-c", "yes | head -1 >/dev/null; echo ${PIPESTATUS[0]}"])
    assert runner.log(result["id"]) == b"141\n"


def test_niceness_and_umask_of_the_job(runner: Runner, client: Client) -> None:
    # Without the right to go back the niceness is set just after the exec, so the command looks when it is told to.
    os.mkfifo(runner.state / "fifo")
    argv = ["/bin/sh", "-c", "read line <fifo; umask; nice"]
    attempt_id = runner.begin(client, argv, umask=0o077, nice=7, cwd=str(runner.state))
    (runner.state / "fifo").write_text("go\n")
    assert client.wait("ended", attempt_id)["exit_code"] == 0
    assert runner.log(attempt_id).split() == [b"0077", b"7"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a niceness back")
def test_niceness_is_there_from_the_first_instant(runner: Runner, client: Client) -> None:
    for nice in (19, -5, 0):
        result = runner.run(client, ["/usr/bin/nice"], nice=nice)
        assert runner.log(result["id"]) == b"%d\n" % nice


def test_the_log_is_private(runner: Runner, client: Client) -> None:
    result = runner.run(client, ["/bin/true"])
    assert (runner.logs / result["id"]).stat().st_mode & 0o777 == 0o600


def test_a_background_child_does_not_hold_the_run(runner: Runner, client: Client) -> None:
    result = runner.run(client, ["/bin/sh", "-c", "sleep 300 & echo done"])
    assert (result["exit_code"], len(result["left_behind"])) == (0, 1)
    assert runner.log(result["id"]) == b"done\n"
    # A second attempt begins without what the first has left.
    pid = result["left_behind"][0]
    again = runner.run(client, ["/bin/true"], run_id=result["run_id"], fence=2, attempt=2)
    assert again["exit_code"] == 0
    assert not Path(f"/proc/{pid}/status").exists() or "zombie" in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch the user")
def test_user_switch(runner: Runner, client: Client, tmp_path: Path) -> None:
    nobody = {"name": "nobody", "uid": 65534, "gid": 65534, "groups": [65534, 4]}
    result = runner.run(client, ["/bin/sh", "-c", "id -u; id -g; id -G"], user=nobody, cwd="/tmp")
    assert runner.log(result["id"]).split() == [b"65534", b"65534", b"65534", b"4"]
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "payload").write_text("secret")
    for values in (
        {"cwd": str(private)},
        {"stdin": {"file": str(private / "payload")}},
        {"env_file": str(private / "payload")},
    ):
        order = runner.order(["/bin/cat"], user=nobody, **values)
        client.say("start", **order)
        assert client.wait("failed", order["id"])["errno"] == "EACCES"
    own = {"own": str(private / "payload")}
    assert runner.log(runner.run(client, ["/bin/cat"], user=nobody, cwd="/tmp", stdin=own)["id"]) == b"secret"
    (private / "link").symlink_to(private / "payload")
    for name, error in (("link", "ELOOP"), (".", "EINVAL"), ("none", "ENOENT")):
        order = runner.order(["/bin/cat"], user=nobody, cwd="/tmp", stdin={"own": str(private / name)})
        client.say("start", **order)
        assert client.wait("failed", order["id"])["errno"] == error


@pytest.mark.skipif(os.geteuid() == 0, reason="root can switch the user")
def test_user_switch_without_the_right(runner: Runner, client: Client) -> None:
    order = runner.order(["/bin/true"], user={"name": "root", "uid": 0, "gid": 0, "groups": []})
    client.say("start", **order)
    failed = client.wait("failed", order["id"])
    assert (failed["errno"], failed["transient"]) == ("EPERM", False)


def test_a_burst_keeps_every_exit_code(runner: Runner, client: Client) -> None:
    orders = [runner.order(["/bin/sh", "-c", f"exit {number % 256}"]) for number in range(500)]
    for order in orders:
        client.say("start", **order)
    for number, order in enumerate(orders):
        assert client.wait("ended", order["id"])["exit_code"] == number % 256
