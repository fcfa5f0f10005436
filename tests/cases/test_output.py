"""Output: kept to the byte whatever it is and whoever dies, shown without harm, and secrets are nowhere in it."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobctl.errors import InvalidInput
from kit.carriers import Carriers, until_gone
from kit.daemon import CLI, RealDaemon
from kit.gate import Gates
from kit.terminal import shown

SECRET = "Zq81-unique-value"
#: As somebody might print them to act on the terminal of whoever reads it.
HOSTILE = "\x1b]0;pwn\x07\x1b[2J\x1b]52;c;aGk=\x07\x1b[1A\x1b[2KOK \u202e"
ODD = b"ok\xe2\x28\xa1\xff\x00end"


def piped(daemon: RealDaemon, *argv: str) -> bytes:
    """What the command line writes to a pipe."""
    done = subprocess.run([*CLI, *argv], env=daemon.environ, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return done.stdout


def content(path: Path) -> bytes:
    """Of a plain file that is still there."""
    with contextlib.suppress(FileNotFoundError):
        if path.is_file():
            return path.read_bytes()
    return b""


@pytest.mark.case("F028")
def test_a_command_outlives_its_daemon_with_every_line_it_prints(daemon: RealDaemon, tmp_path: Path) -> None:
    finished = tmp_path / "finished"
    lines = "for i in $(seq 50); do echo line $i; sleep 0.03; done"
    run = daemon.until_says(daemon.run(f"{lines}; touch {finished}; exit 7"), b"line 5\n")
    pid = daemon.client.attempts(run["id"])[0]["pid"]
    daemon.kill9()
    until_gone(pid)
    assert finished.exists()
    daemon.start()
    ended = daemon.finished(run)

    assert (ended["exit_code"], ended["class"]) == (7, "exit_code")
    assert piped(daemon, "log", str(run["id"])) == b"".join(b"line %d\n" % number for number in range(1, 51))


@pytest.mark.case("F030")
def test_a_line_of_twenty_megabytes_is_kept_and_followed_to_its_end(daemon: RealDaemon, gates: Gates) -> None:
    long = "head -c 20000000 /dev/zero | tr '\\0' x; echo"
    gated = gates.command("gate", "echo tail")[2]
    run = daemon.run(f"{long}; {gated}", log_max=30_000_000)
    with subprocess.Popen(
        [*CLI, "log", "-f", str(run["id"])], env=daemon.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as follower:
        assert follower.stdout is not None
        seen = hashlib.sha256()
        left = 20_000_001
        while left:
            piece = follower.stdout.read1(min(left, 1 << 20))
            assert piece
            seen.update(piece)
            left -= len(piece)
        gates.open("gate")
        began = time.monotonic()
        rest = follower.stdout.read()
        took = time.monotonic() - began
        seen.update(rest)
        assert follower.wait(20) == 0
    expected = hashlib.sha256(b"x" * 20_000_000 + b"\nbegin\nend\ntail\n").hexdigest()

    assert daemon.finished(run)["state"] == "succeeded"
    assert rest.endswith(b"tail\n")
    assert took < 2
    assert seen.hexdigest() == expected
    assert hashlib.sha256(daemon.output(run)).hexdigest() == expected
    assert "Traceback" not in daemon.log()


@pytest.mark.case("F031")
def test_bytes_that_are_no_text_fail_nothing_and_hide_nothing(daemon: RealDaemon, tmp_path: Path) -> None:
    noise, odd_file = tmp_path / "noise", tmp_path / "odd"
    noise.write_bytes(os.urandom(200_000))
    odd_file.write_bytes(ODD)
    said = {
        daemon.run(["/bin/cat", str(odd_file)])["id"]: ODD,
        daemon.run(["/bin/cat", str(noise)])["id"]: noise.read_bytes(),
    }
    ended = [daemon.client.run(ident, wait_s=20) for ident in said]
    odd, random = said

    assert [(run["state"], run["exit_code"]) for run in ended] == [("succeeded", 0)] * 2
    for ident, text in said.items():
        assert piped(daemon, "log", str(ident)) == text
        whole = json.loads(piped(daemon, "log", str(ident), "--json"))
        assert json.dumps(whole)
    screen = shown(daemon, "log", str(odd)).decode()
    assert screen.startswith("ok\N{REPLACEMENT CHARACTER}(")
    assert "\\x00end\r\n" in screen
    assert shown(daemon, "log", str(random)).decode()


@pytest.mark.case("F031")
def test_a_character_that_is_cut_in_the_middle_is_shown_as_such_also_while_it_is_written(daemon: RealDaemon) -> None:
    text = "é".encode()
    run = daemon.until_says(daemon.run(r"printf 'caf\303'; exec sleep 300"), b"caf")
    open_screen = shown(daemon, "log", str(run["id"]))
    daemon.client.kill_run(run["id"])
    daemon.finished(run)

    assert piped(daemon, "log", str(run["id"])) == b"caf" + text[:1]
    assert open_screen.decode().startswith("caf")
    assert shown(daemon, "log", str(run["id"])).decode().startswith("caf\N{REPLACEMENT CHARACTER}")


@pytest.mark.case("F034")
def test_a_program_of_python_is_read_while_it_runs_and_its_words_outlive_a_kill(daemon: RealDaemon) -> None:
    program = [sys.executable, "-c", 'import time; print("hello"); time.sleep(300)']
    spoken = daemon.run(program)
    began = time.monotonic()
    daemon.until_says(spoken, b"hello\n")
    took = time.monotonic() - began
    held_back = daemon.run(program, env={"PYTHONUNBUFFERED": ""})
    daemon.state(held_back, "running")
    for run in (spoken, held_back):
        daemon.client.kill_run(run["id"])
    ended = [daemon.finished(run) for run in (spoken, held_back)]

    assert took < 2
    assert [run["signal"] for run in ended] == [9, 9]
    assert [daemon.output(run) for run in ended] == [b"hello\n", b""]
    assert "stdbuf" in daemon.jobctl("help", "environment").stdout


@pytest.mark.case("F034")
def test_a_program_that_says_nothing_for_a_while_is_followed_in_peace(daemon: RealDaemon) -> None:
    done = daemon.jobctl("run", "-f", "--", "/bin/sh", "-c", "echo a; sleep 3; echo b")

    assert (done.returncode, done.stdout) == (0, "a\nb\n")
    assert "cannot reach" not in done.stderr


@pytest.mark.case("F038")
def test_nothing_that_a_job_says_acts_on_the_terminal_of_who_reads_it(daemon: RealDaemon, tmp_path: Path) -> None:
    text = tmp_path / "hostile"
    text.write_text(HOSTILE + "\n")
    daemon.add("hostile", f"cat {text} >&2; cat {text}; exit 3", note=HOSTILE, env={"NOTE": HOSTILE}, retry={"max": 0})
    run = daemon.finished(daemon.triggered("hostile"))
    daemon.client.pause_job("hostile", why=HOSTILE)
    for words in (
        ["log", str(run["id"])],
        ["log", "hostile", "--tail", "1"],
        ["ls"],
        ["show", "hostile"],
        ["show", "--run", str(run["id"])],
        ["runs"],
        ["dlq", "ls"],
        ["dlq", "show", str(run["id"])],
        ["why", "hostile"],
        ["status"],
    ):
        screen = shown(daemon, *words, columns=300)
        for harm in (b"\x1b]", b"\x1b[2J", b"\x1b[1A", b"\x1b[2K", b"\x07", "\u202e".encode()):
            assert harm not in screen, (words, screen)
    assert b"OK" in shown(daemon, "log", str(run["id"]))
    raw = shown(daemon, "log", "--raw", str(run["id"]))
    assert HOSTILE.encode() in raw
    assert piped(daemon, "log", str(run["id"])) == (HOSTILE + "\n").encode() * 2
    with pytest.raises(InvalidInput):
        daemon.add(f"name{HOSTILE}", ["/bin/true"])


@pytest.mark.case("F039")
def test_a_value_of_the_environment_is_nowhere_but_in_it(daemon: RealDaemon, gates: Gates) -> None:
    carriers = Carriers()
    gated = gates.command("secret", 'echo "token=$TOKEN mode=$MODE"')
    daemon.add("secret", gated, env=carriers.env | {"TOKEN": SECRET, "MODE": "on"}, retry={"max": 0})
    run = daemon.until_says(daemon.triggered("secret"), b"begin")
    log = f"{run['id']}-{run['fence']}.log"
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in carriers.pids()]
    listings = [
        daemon.jobctl(*words).stdout
        for words in (["ls", "-o", "wide"], ["ls", "--json"], ["runs", "--json"], ["why", "secret"], ["status"])
    ]
    gates.open("secret")
    daemon.finished(run)
    holders = [path for path in daemon.home.rglob("*") if SECRET.encode() in content(path)]

    assert lines
    assert not [line for line in lines if SECRET.encode() in line]
    assert not [text for text in listings if SECRET in text]
    assert SECRET not in daemon.log()
    assert {path.name for path in holders if not path.name.startswith("jobctl.db")} == {log}
    assert not [path for path in holders if path.stat().st_mode & 0o077]
    assert daemon.output(run) == f"begin\nend\ntoken={SECRET} mode=on\n".encode()


@pytest.mark.case("F039")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_gets_nothing_out_of_the_daemon(daemon: RealDaemon) -> None:
    daemon.add("secret", ["/bin/true"], env={"TOKEN": SECRET})
    ask = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({daemon.socket!r})"
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", ask],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "PermissionError" in done.stderr
