"""What the command line imports, and how it behaves as a process of its own."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from unit.client.fake_daemon import FakeDaemon, job

#: Each costs tens of milliseconds; none is needed to ask a socket and print a table.
HEAVY = {"asyncio", "msgspec", "rich", "textual", "aiohttp", "croniter", "zoneinfo", "ssl", "email", "http.client",
         "logging", "tempfile", "sqlite3", "csv", "dateutil", "pydantic", "click"}  # fmt: skip
PROGRAM = "from jobctl.cli.main import main; main()"
COUNT = """
import json, os, sys
leave = os._exit
os._exit = lambda code: (sys.stderr.write(json.dumps(sorted(sys.modules))), sys.stderr.flush(), leave(code))
from jobctl.cli.main import main
sys.argv[0] = "jobctl"
try:
    main()
except SystemExit:
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def modules(daemon: FakeDaemon, *argv: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *argv],
        env=os.environ | {"JOBCTL_SOCKET": daemon.path},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "argv",
    [("ls",), ("status",), ("runs",), ("show", "backup"), ("pause", "backup"), ("log", "101"), ("run", "backup", "-q"),
     ("dlq", "ls"), ("queue", "ls"), ("retry", "101"), ("skip", "backup"), ("dlq", "replay", "--all", "--yes")],
)  # fmt: skip
def test_the_hot_path_is_light(daemon: FakeDaemon, argv: tuple[str, ...]) -> None:
    loaded = modules(daemon, *argv)
    assert not loaded & HEAVY
    assert not any(name.startswith("jobctl.schedule") for name in loaded)


def test_only_the_verb_in_use_is_loaded(daemon: FakeDaemon) -> None:
    loaded = modules(daemon, "ls")
    assert "jobctl.cli.ls" in loaded
    assert not loaded & {"jobctl.cli.add", "jobctl.cli.run", "jobctl.cli.doctor", "jobctl.cli.topics"}


@pytest.mark.parametrize("argv", [("--help",), ("--version",), ("__complete", "show", "")])
def test_what_needs_no_parser_loads_none(daemon: FakeDaemon, argv: tuple[str, ...]) -> None:
    assert not modules(daemon, *argv) & {"typer", *HEAVY}


def program(daemon: FakeDaemon, *argv: str, **environ: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv],
        env=os.environ | {"JOBCTL_SOCKET": daemon.path} | environ,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
@pytest.mark.parametrize(
    "argv", [("ls",), ("ls", "--json"), ("show", "1"), ("add", "\udcff\u00e9", "--json", "--", "true"), ("nö\udcff",)]
)
def test_no_locale_makes_it_fail(daemon: FakeDaemon, environ: dict[str, str], argv: tuple[str, ...]) -> None:
    daemon.jobs[0] |= {"name": "日本語 é", "note": "é\x1b"}
    done = program(daemon, *argv, **environ)
    assert done.returncode in (0, 2), done.stderr
    assert b"UnicodeE" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"bug" not in done.stderr


def test_the_version(daemon: FakeDaemon) -> None:
    assert program(daemon, "--version").stdout == b"jobctl 0.1.0\n"
    assert program(daemon, "version").stdout == b"jobctl 0.1.0\njobd   0.1.0\n"


def on_a_terminal(daemon: FakeDaemon, *argv: str, columns: int, **environ: str) -> bytes:
    """What a terminal of that width would get on stdout."""
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *argv],
        env=os.environ | {"JOBCTL_SOCKET": daemon.path, "TERM": "xterm", "COLUMNS": ""} | environ,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                data = os.read(ours, 65_536)
            except OSError:
                break
            if not data:
                break
            shown += data
        assert process.wait() == 0
    os.close(ours)
    return shown


@pytest.mark.parametrize("columns", [40, 80])
def test_on_a_real_terminal(daemon: FakeDaemon, columns: int) -> None:
    daemon.jobs += [job(9, "\x1b]52;c;aGk=\x07" + "x" * 300, state="failed")]
    plain = on_a_terminal(daemon, "ls", columns=columns, NO_COLOR="1").decode()
    assert all(len(line) <= columns for line in plain.splitlines())
    assert "\x1b" not in plain
    assert "exit 1" in plain
    coloured = (
        on_a_terminal(daemon, "ls", columns=columns)
        .replace(b"\x1b[31m", b"")
        .replace(b"\x1b[32m", b"")
        .replace(b"\x1b[0m", b"")
    )
    assert b"\x1b" not in coloured


def test_a_log_on_a_real_terminal_is_filtered(daemon: FakeDaemon) -> None:
    daemon.logs[101] = b"\x1b]52;c;aGk=\x07plain\n"
    assert on_a_terminal(daemon, "log", "101", columns=80) == b"plain\r\n"


def test_the_benchmark_runs(tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "benchmarks" / "cli_startup.py"
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, check=True)
    assert "--rounds" in done.stdout
