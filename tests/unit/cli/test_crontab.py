"""`crontab` against the documented API: what is sent, what is said, and what a daemon in trouble costs."""

import base64
import errno
import getpass
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli.crontab_sheet import Sheet, editor_of
from jobctl.cli.crontab_table import Said
from jobctl.cli.crontab_told import Told, told_to_end
from jobctl.cli.main import run as run_cli
from jobctl.cli.render import Render
from jobctl.cli.world import World
from kit.clock import ManualClock
from unit.cli.conftest import Cli, Result, StandingClock, Stream
from unit.cli.test_startup import COUNT, HEAVY
from unit.client.fake_daemon import Answer, FakeDaemon, problem

TABLE = b"# mine\n0 3 * * * true\n"


def crontab(daemon: FakeDaemon, *argv: str, data: bytes = b"", terminal: bool = False, **environ: str) -> Result:
    """One command line of the program, in this process."""
    out, err = Stream(terminal=terminal), Stream(terminal=terminal)
    env = {"JOBCTL_SOCKET": daemon.path, "HOME": "/nonexistent", "PATH": os.environ["PATH"], **environ}
    code = run_cli(list(argv), World(env, Stream(data), out, err, StandingClock(), os.getuid()), "crontab")
    out.flush()
    err.flush()
    raw = out.raw_bytes.getvalue()
    return Result(code, raw.decode("utf-8", "replace"), err.raw_bytes.getvalue().decode(), raw)


def has(daemon: FakeDaemon, data: bytes = TABLE) -> None:
    body = {"user": "ana", "path": "/p", "base64": base64.b64encode(data).decode(), "problems": []}
    daemon.override("GET", "/v1/crontab", Answer(200, body, {"ETag": '"1"'}))


def takes(daemon: FakeDaemon, **changed: Any) -> None:
    body = {"user": "ana", "path": "/p", "jobs": 1, "problems": [], "loaded": True, "why": None, **changed}
    daemon.override("PUT", "/v1/crontab", Answer(200, body))


def sent(daemon: FakeDaemon) -> list[bytes]:
    return [base64.b64decode(asked.body["base64"]) for asked in daemon.asked if asked.method == "PUT"]


def test_a_listing_is_bytes(daemon: FakeDaemon) -> None:
    has(daemon, b"\xff\r\x1b[0m\0\n")
    assert crontab(daemon, "-l").raw == b"\xff\r\x1b[0m\0\n"
    shown = crontab(daemon, "-l", terminal=True).out
    assert "\x1b" not in shown
    assert "\0" not in shown


def test_installing_sends_the_bytes_and_says_nothing(daemon: FakeDaemon) -> None:
    takes(daemon)
    done = crontab(daemon, "-", data=b"\xff\n")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert sent(daemon) == [b"\xff\n"]


def test_what_does_not_run_and_what_is_not_loaded_is_said(daemon: FakeDaemon) -> None:
    takes(daemon, loaded=False, why="the disk is full",
          problems=[{"line": 3, "text": "22-2 * * * * x", "reason": "it does not run", "kind": "line"}])  # fmt: skip
    done = crontab(daemon, "-", data=b"#\n")
    assert done.code == 0
    assert done.err.splitlines() == [
        '"-":3: it does not run',
        "    22-2 * * * * x",
        "crontab: it is installed, but not taken over yet: the disk is full; the daemon goes on trying",
    ]


def test_of_a_table_that_is_all_wrong_so_much_is_shown(daemon: FakeDaemon) -> None:
    problems = [{"line": line, "text": "", "reason": "bad", "kind": "line"} for line in range(1, 61)]
    problems.append({"line": 61, "text": "x", "reason": "no newline", "kind": "newline"})
    refused = problem(400, "bad_request", "errors")
    daemon.override("PUT", "/v1/crontab", refused._replace(body=refused.body | {"problems": problems}))
    done = crontab(daemon, "-", data=b"x")
    lines = done.err.splitlines()
    assert (done.code, len(lines)) == (1, 53)
    assert lines[50:] == ["and 10 lines more", "new crontab file is missing newline before EOF, can't install.",
                          "errors in crontab file, can't install."]  # fmt: skip


def test_errors_of_the_daemon(daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/crontab", problem(409, "conflict", "this daemon does not", "take over", "crontabs"))
    done = crontab(daemon, "-l")
    assert (done.code, done.err) == (1, "crontab: this daemon does not\n  take over\n")
    daemon.override(
        "GET", "/v1/crontab", problem(403, "forbidden", "ana may not use the system's daemon: /x lists ana")
    )
    assert crontab(daemon, "-l").err.startswith("You (ana) are not allowed to use this program (crontab)\n")
    daemon.close()
    gone = crontab(daemon, "-l")
    assert (gone.code, gone.err.startswith("crontab: cannot reach the daemon: ")) == (1, True)


def test_another_user_is_named_to_the_daemon(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    has(daemon)
    crontab(daemon, "-l", "-u", getpass.getuser())
    assert daemon.asked[-1].query == {}
    if os.getuid() == 0:
        crontab(daemon, "-ludaemon")
        assert daemon.asked[-1].query == {"user": "daemon"}


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (("-r",), [("GET", "/v1/crontab"), ("DELETE", "/v1/crontab")]),
        (("-ir",), [("GET", "/v1/crontab")]),
        (("-n", "-"), []),
        (("-h",), []),
        (("-e", "-n"), []),
    ],
)
def test_what_is_asked_for(daemon: FakeDaemon, argv: tuple[str, ...], asked: list[tuple[str, str]]) -> None:
    has(daemon)
    daemon.override("DELETE", "/v1/crontab", Answer(204))
    crontab(daemon, *argv, data=b"n\n")
    assert [one[:2] for one in daemon.asked if one.path == "/v1/crontab"] == asked


def test_the_verb_and_its_json(daemon: FakeDaemon, cli: Cli) -> None:
    has(daemon)
    assert cli("crontab", "-l").out.encode() == TABLE
    assert cli("--json", "crontab", "-l").json()["etag"] == '"1"'
    takes(daemon)
    assert cli("crontab", "-", "--json", stdin="#\n").json()["loaded"] is True
    checked = cli("crontab", "-n", "-", "--json", stdin="61 * * * * x\n")
    assert (checked.code, checked.json()["installable"], checked.json()["problems"][0]["line"]) == (1, False, 1)
    daemon.override("DELETE", "/v1/crontab", Answer(204))
    assert cli("crontab", "-r", "--json").json()["removed"] is True
    daemon.override("GET", "/v1/crontab", problem(404, "not_found", "no crontab for ana"))
    assert cli("crontab", "-l").code == 1
    assert cli("crontab", "-l", "--json").error()["code"] == "not_found"
    for argv in ((), ("-l", "-e"), ("-l", "x"), ("x", "y"), ("-n",)):
        assert cli("crontab", *argv).code == 2


def test_an_edit_that_cannot_be_stored_is_kept(daemon: FakeDaemon, tmp_path: Any) -> None:
    has(daemon)
    daemon.override("PUT", "/v1/crontab", problem(503, "unavailable", "no room", "make some"))
    done = crontab(daemon, "-e", EDITOR="sed -i s/3/4/", TMPDIR=str(tmp_path))
    (path,) = tmp_path.glob("crontab.*/crontab")
    assert path.read_bytes() == TABLE.replace(b"3", b"4")
    assert (done.code, done.err.splitlines()) == (
        1,
        ["crontab: installing new crontab", "crontab: no room", "  make some", f"crontab: edits left in {path}"],
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_breaks_off_a_question_and_not_the_saving(
    daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The terminal says its end in two ways, and the signal is the later one as often as not."""
    order: list[str] = []

    def read(_: Stream) -> str:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def left(paper: Sheet, begun: bytes) -> str | None:
        signal.raise_signal(number)
        return saved(paper, begun)

    def word(render: Render, text: str, mark: str = "") -> None:
        order.append(text)
        printed(render, text, mark)

    def close(paper: Sheet) -> None:
        order.append("closed")
        closed(paper)

    saved, closed, printed = Sheet.left, Sheet.close, Render.word
    monkeypatch.setattr(Sheet, "close", close)
    monkeypatch.setattr(Render, "word", word)
    monkeypatch.setattr(Stream, "readline", read)
    monkeypatch.setattr(Sheet, "left", left)
    has(daemon)
    refused = problem(400, "bad_request", "errors")
    daemon.override("PUT", "/v1/crontab", refused._replace(body=refused.body | {"problems": []}))
    done = crontab(daemon, "-e", EDITOR="sed -i s/3/4/", TMPDIR=str(tmp_path))
    (path,) = tmp_path.glob("crontab.*/crontab")
    assert path.read_bytes() == TABLE.replace(b"3", b"4")
    assert (done.code, done.err.splitlines()[-1]) == (1, f"crontab: edits left in {path}")
    assert order[-2:] == [f"crontab: edits left in {path}", "closed"]  # what comes after it may be cut short


def test_the_end_is_heard_once_and_where_something_may_be_broken_off() -> None:
    clock = ManualClock(0)
    with told_to_end(clock) as ear:
        signal.raise_signal(signal.SIGHUP)  # before there is anything: heard as soon as somebody listens
        with pytest.raises(Told, match="SIGHUP"), ear.listening():
            raise AssertionError("it goes on")
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
        clock.tick(5_000)
        signal.raise_signal(signal.SIGTERM)
    with told_to_end(clock) as ear:
        with pytest.raises(KeyboardInterrupt), ear.listening():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)


def test_who_tells_a_program_that_hangs_to_end_much_later_is_obeyed() -> None:
    hangs = """
import signal
from jobctl.cli.crontab_told import told_to_end
from kit.clock import ManualClock
clock = ManualClock(0)
with told_to_end(clock) as ear:
    with ear.listening():
        pass
    signal.raise_signal(signal.SIGTERM)
    clock.tick(5_001)
    print("hangs", flush=True)
    signal.raise_signal(signal.SIGTERM)
    print("goes on")
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", hangs], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, b"hangs\n"), done.stderr


def test_the_editor_is_chosen_as_crontab_does_it() -> None:
    assert editor_of({"VISUAL": "a -x", "EDITOR": "b"}) == "a -x"
    assert editor_of({"VISUAL": " ", "EDITOR": "b"}) == "b"
    with pytest.raises(Said, match="no editor"):
        editor_of({"PATH": "/nonexistent"})


@pytest.mark.parametrize("editor", ["cp new", "cp 'new'", "cp $PWD/new", "cat new >", "X=1 cp new", "true; cp new"])
def test_an_editor_may_be_words_or_a_line_for_the_shell(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new").write_bytes(b"new\n")
    paper = Sheet(b"old\n", {"TMPDIR": str(tmp_path), "PATH": os.environ["PATH"], "EDITOR": editor})
    try:
        assert paper.edited() == b"new\n"
    finally:
        paper.close()
    assert not list(tmp_path.glob("crontab.*"))


def test_a_temporary_folder_that_is_not_there(daemon: FakeDaemon) -> None:
    has(daemon)
    done = crontab(daemon, "-e", EDITOR="true", TMPDIR="/nonexistent")
    assert (done.code, "no temporary file can be made: No such file or directory" in done.err) == (1, True)


def test_the_program_is_light(daemon: FakeDaemon) -> None:
    has(daemon)
    script = COUNT.replace('sys.argv[0] = "jobctl"', 'sys.argv[0] = "/usr/bin/crontab"')
    assert script != COUNT
    done = subprocess.run(
        [sys.executable, "-c", script, "-l"],
        env=os.environ | {"JOBCTL_SOCKET": daemon.path},
        capture_output=True,
        check=True,
    )
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert done.stdout == TABLE
    assert not loaded & {*HEAVY, "typer", "jobctl.cli.crontab_edit", "jobctl.cli.dispatch"}
    assert not any(name.startswith(("jobctl.schedule", "jobctl.crontabs")) for name in loaded)


def test_only_the_name_makes_it_crontab(daemon: FakeDaemon) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, "crontab", "-n", "-"],
        env=os.environ | {"JOBCTL_SOCKET": daemon.path},
        input=TABLE,
        capture_output=True,
        check=True,
    )
    assert b"successfully checked" in done.stderr
