"""The program `crontab` against a real daemon that runs crontabs: bytes, editors of all kinds, terminals, users."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli.crontab_acts import client_of
from jobctl.cli.crontab_table import bytes_of
from jobctl.cli.session import Session
from jobctl.cli.world import World
from jobctl.client.discover import Places
from jobctl.clock import SystemClock
from jobctl.crontabs import read
from jobctl.errors import Conflict, NotFound
from kit.accounts import Account, accounts, needs_root
from kit.daemon import CLI, RealDaemon
from kit.keyboard import Keyboard, keyboard
from kit.release import wait_until

DATA = Path(__file__).parents[1] / "data" / "crontabs"
#: As a link of that name would start it.
PROGRAM = [
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = '/usr/bin/crontab'; from jobctl.cli.main import main; main()",
]
GOOD = b"# mine\n0 3 * * * true\n"
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="module")
def daemon() -> Iterator[RealDaemon]:
    with tempfile.TemporaryDirectory(prefix="jt.", dir="/tmp") as folder:
        os.chmod(folder, 0o755)  # users of the host are to reach the socket
        yield from _daemon(Path(folder) / "home")


def _daemon(home: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(home).settings(f'crontabs = "on"\nhost_root = "{home}"\n')
    made.environ |= {"TMPDIR": str(home), "TERM": "xterm"}
    for name in ("VISUAL", "EDITOR"):
        made.environ.pop(name, None)
    home.mkdir(exist_ok=True)
    try:
        made.start().client.pause_daemon(why="what is in these tables is not to be run")
        yield made
    finally:
        made.close()


@pytest.fixture
def crontab(daemon: RealDaemon) -> Iterator[Run]:
    """Runs it; the table is gone afterwards, and so are edits that were left."""

    def run(*argv: str, data: bytes = b"", **environ: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [*PROGRAM, *argv], env=daemon.environ | environ, input=data, capture_output=True, check=False, timeout=30
        )

    yield run
    daemon.up()
    with suppress(NotFound):
        daemon.client.delete_crontab()
    for path in daemon.home.glob("crontab.*"):
        subprocess.run(["rm", "-rf", str(path)], check=True)


def put(daemon: RealDaemon, data: bytes = GOOD) -> None:
    daemon.client.put_crontab(data)


def table(daemon: RealDaemon) -> bytes | None:
    """What is installed."""
    try:
        return bytes_of(daemon.client.crontab())
    except NotFound:
        return None


def left(daemon: RealDaemon) -> list[bytes]:
    """The edits that were kept."""
    return [path.read_bytes() for path in daemon.home.glob("crontab.*/crontab") if path.is_file()]


def script(daemon: RealDaemon, text: str) -> str:
    """An editor."""
    path = daemon.home / "editor"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


# ── list, install, check, remove ─────────────────────────────────────────────
def test_listing_and_installing_again_is_the_identity_to_the_byte(daemon: RealDaemon, crontab: Run) -> None:
    loads = [path for path in sorted(DATA.glob("*.crontab")) if not read(path.read_bytes()).drops]
    assert len(loads) > 20
    everything = b"".join(path.read_bytes().removesuffix(b"\n") + b"\n" for path in loads)
    odd = b"* * * * * echo \xff\x80\n* * * * * crlf\r\n\t \nA=' x '\n* * * * * a\0* * * * * b\n# end, no newline"
    for data in (everything, odd, b""):
        assert crontab("-", data=data).returncode == 0
        listed = crontab("-l")
        assert (listed.returncode, listed.stdout) == (0, data)
        assert crontab("-", data=listed.stdout).returncode == 0
        assert table(daemon) == data


def test_its_jobs_are_there_when_it_returns_and_unchanged_lines_keep_theirs(daemon: RealDaemon, crontab: Run) -> None:
    assert crontab(data=b"0 3 * * * echo one\n0 4 * * * echo two\n").returncode == 0
    before = {job["schedule"]["cron"]: job["id"] for job in daemon.client.jobs()}
    assert set(before) == {"0 3 * * *", "0 4 * * *"}
    assert crontab("-", data=b"0 5 * * * echo three\n# moved\n0 4 * * * echo two\n").returncode == 0
    after = {job["schedule"]["cron"]: job["id"] for job in daemon.client.jobs()}
    assert set(after) == {"0 5 * * *", "0 4 * * *"}
    assert after["0 4 * * *"] == before["0 4 * * *"]
    assert crontab("-r").returncode == 0
    assert list(daemon.client.jobs()) == []


def test_words_and_codes_are_those_of_debian(daemon: RealDaemon, crontab: Run, tmp_path: Path) -> None:
    me = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    none = f"no crontab for {me}\n".encode()
    for argv in (("-l",), ("-r",), ("-ir",), ("-l", "-u", me), (f"-lu{me}",)):
        done = crontab(*argv)
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", none), argv
    unknown = crontab("-u", "nobody-of-this-name", "-l")
    assert (unknown.returncode, unknown.stderr) == (1, b"crontab:  user `nobody-of-this-name' unknown\n")
    for argv, words in {
        ("-lr",): b"only one operation permitted",
        ("-x",): b"unrecognized option",
        ("-l", "x"): b"no arguments permitted after this option",
        ("-n",): b"file name must be specified for replace",
        ("-nr",): b"-n checks a file",
        ("--version",): b"unrecognized option",
    }.items():
        wrong = crontab(*argv)
        assert wrong.returncode == 1, argv
        assert wrong.stderr.startswith(b"crontab: usage error: " + words), (argv, wrong.stderr)
        assert b"usage:\tcrontab [-u user] [-n] file\n" in wrong.stderr
    usage = crontab("-h")
    assert (usage.returncode, usage.stdout[:7]) == (0, b"usage:\t")
    assert crontab(str(tmp_path / "none")).stderr == f"{tmp_path}/none: No such file or directory\n".encode()
    assert crontab(str(tmp_path)).stderr == f"{tmp_path}: Not a regular file.\n".encode()
    os.mkfifo(tmp_path / "fifo")
    assert b"Not a regular file." in crontab("-n", str(tmp_path / "fifo")).stderr


def test_what_is_refused_is_told_line_by_line_and_nothing_is_installed(
    daemon: RealDaemon, crontab: Run, tmp_path: Path
) -> None:
    put(daemon)
    file = tmp_path / "bad"
    file.write_bytes(b"61 * * * * x\n0 0 * * * fine\n* * *\n")
    for argv in ((str(file),), ("-n", str(file))):
        done = crontab(*argv)
        assert done.returncode == 1
        assert re.findall(rf'^"{file}":(\d+): ', done.stderr.decode(), re.MULTILINE) == ["1", "3"]
        assert done.stderr.endswith(b"errors in crontab file, can't install.\n")
    unended = crontab("-", data=b"* * * * * x")
    assert unended.stderr == b"new crontab file is missing newline before EOF, can't install.\n"
    long = crontab("-", data=b"* * * * * x\n" * 10_001)
    assert long.stderr == b"crontab is too long; maximum number of lines is 10000.\n"
    large = crontab("-", data=b"#" * 750_001)
    assert (large.returncode, b"750000 bytes" in large.stderr) == (1, True)
    assert table(daemon) == GOOD


def test_a_check_needs_no_daemon(daemon: RealDaemon, crontab: Run, tmp_path: Path) -> None:
    done = crontab("-n", "-", data=GOOD, JOBCTL_HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"The syntax of the crontab file was successfully checked.\n")
    odd = crontab("-n", "-", data=b"22-2 * * * * x\n", JOBCTL_HOME=str(tmp_path))
    assert (odd.returncode, b'"-":1: it does not run' in odd.stderr) == (0, True)


def test_the_verb_takes_what_all_verbs_take(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    said = json.loads(daemon.jobctl("crontab", "-l", "--json").stdout)
    assert (said["schema"], said["problems"]) == (1, [])
    assert daemon.jobctl("crontab", "-l").stdout.encode() == GOOD
    assert daemon.jobctl("crontab", "-lr").returncode == 2
    assert daemon.jobctl("crontab", "-r").returncode == 0
    assert daemon.jobctl("crontab", "-l").returncode == 1


# ── editing ──────────────────────────────────────────────────────────────────
def test_an_edit_is_installed_and_keeps_every_byte(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon, GOOD + b"# \xff\t kept \r\n")
    done = crontab("-e", EDITOR="sed -i 's/0 3/0 4/'")
    assert (done.returncode, done.stderr) == (0, b"crontab: installing new crontab\n")
    assert table(daemon) == b"# mine\n0 4 * * * true\n# \xff\t kept \r\n"
    assert list(daemon.home.glob("crontab.*")) == []


def test_the_file_is_private_and_visual_goes_before_editor(daemon: RealDaemon, crontab: Run) -> None:
    editor = script(daemon, f'stat -c "%a %n" "$1" "$(dirname "$1")" > {daemon.home}/seen; cp {daemon.home}/new "$1"')
    (daemon.home / "new").write_bytes(GOOD)
    done = crontab("-e", VISUAL=editor, EDITOR="false")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(b"no crontab for ")
    modes = [line.split()[0] for line in (daemon.home / "seen").read_text().splitlines()]
    assert modes == ["600", "700"]
    assert table(daemon) == GOOD


def test_an_unchanged_text_is_not_installed(daemon: RealDaemon, crontab: Run) -> None:
    done = crontab("-e", EDITOR="touch")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, b"crontab: no changes made to crontab")
    assert table(daemon) is None
    assert list(daemon.home.glob("crontab.*")) == []


@pytest.mark.parametrize(
    ("editor", "words", "kept"),
    [
        ("exit 3", 'exited with status 3; nothing was installed', False),
        ('echo "0 5 * * * x" >> "$1"; exit 1', 'exited with status 1; nothing was installed', True),
        ('kill -9 $$', "nothing was installed", False),
        ('rm "$1"', "the editor has removed the temporary file", False),
        ('rm -r "$(dirname "$1")"', "the editor has removed the temporary file", False),
        (': > "$1"', "the file is empty; nothing was installed", True),
        ('rm "$1"; mkdir "$1"', "must remain a regular file", True),
        ('rm "$1"; ln -s /etc/passwd "$1"', "must remain a regular file", True),
        ('rm "$1"; mkfifo "$1"', "must remain a regular file", True),
        ('echo garbage >> "$1"', "errors in crontab file, can't install.", True),
        ('head -c 1000 /dev/zero >> "$1"', "can't install.", True),
        ('printf "0 5 * * * x" >> "$1"', "missing newline before EOF, can't install.", True),
        ('head -c 800000 /dev/zero | tr "\\0" "#" > "$1"', "crontab is too long", True),
        ('printf "\\357\\273\\277# bom\\n" > "$1"', "byte order mark", True),
    ],
)  # fmt: skip
def test_an_editor_that_breaks_the_file_changes_nothing(
    daemon: RealDaemon, crontab: Run, editor: str, words: str, kept: bool
) -> None:
    put(daemon)
    done = crontab("-e", EDITOR=script(daemon, editor))
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 1, said
    assert words in said
    assert "Traceback" not in said
    assert table(daemon) == GOOD
    folders = list(daemon.home.glob("crontab.*"))
    assert bool(folders) == kept, (said, folders)
    if kept:
        assert f"crontab: edits left in {folders[0]}/crontab\n" in said


def test_no_editor_at_all(crontab: Run) -> None:
    done = crontab("-e", PATH="/nonexistent")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        b"crontab: there is no editor on this host: set EDITOR",
    )
    missing = crontab("-e", EDITOR="/nonexistent/vi")
    assert (missing.returncode, b"could not be started: No such file" in missing.stderr) == (1, True)
    shell = crontab("-e", EDITOR="/nonexistent/vi;")
    assert (shell.returncode, b"exited with status" in shell.stderr) == (1, True)


def test_what_somebody_else_installed_meanwhile_is_not_overwritten(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    inner = " ".join(f"'{word}'" for word in ("-",))
    other = (
        f'printf "0 6 * * * other\\n" | {sys.executable} {daemon.home}/again.py {inner}; echo "0 7 * * * mine" >> "$1"'
    )
    (daemon.home / "again.py").write_text(
        "import sys; sys.argv[0] = 'crontab'; from jobctl.cli.main import main; main()\n"
    )
    done = crontab("-e", EDITOR=script(daemon, other))
    assert done.returncode == 1
    assert b"somebody has changed the crontab" in done.stderr
    assert b"+0 6 * * * other" in done.stderr
    assert table(daemon) == b"0 6 * * * other\n"
    assert left(daemon) == [GOOD + b"0 7 * * * mine\n"]


def test_a_daemon_that_dies_meanwhile_costs_no_edit(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    assert daemon.process is not None
    done = crontab("-e", EDITOR=script(daemon, f'echo "0 7 * * * mine" >> "$1"; kill -9 {daemon.process.pid}'))
    daemon.process.wait(10)
    assert done.returncode == 1
    assert re.search(rb"cannot reach the daemon|the daemon went away", done.stderr)
    (path,) = daemon.home.glob("crontab.*/crontab")
    assert f"crontab: edits left in {path}\n".encode() in done.stderr
    daemon.start()
    assert table(daemon) == GOOD
    assert crontab(str(path)).returncode == 0
    assert table(daemon) == GOOD + b"0 7 * * * mine\n"


# ── on a terminal ────────────────────────────────────────────────────────────
def typed(daemon: RealDaemon, *argv: str, **environ: str) -> Any:
    return keyboard([*PROGRAM, *argv], daemon.environ | environ)


def test_a_removal_asks_until_it_is_answered(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    seat: Keyboard
    with typed(daemon, "-ir") as seat:
        seat.until("'s crontab? (y/n) ")
        seat.type("x\n")
        seat.until("Please enter Y or N: ")
        seat.type("n\n")
        assert seat.end()[0] == 0
    assert table(daemon) == GOOD
    with typed(daemon, "-i", "-r") as seat:
        seat.until("(y/n) ")
        seat.type("Yes\n")
        assert seat.end()[0] == 0
    assert table(daemon) is None
    put(daemon)
    unasked = crontab("-ir")
    assert (unasked.returncode, table(daemon)) == (1, GOOD)


def test_a_refused_edit_is_edited_again(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    editor = script(daemon, 'if grep -q 61 "$1"; then sed -i "s/61/6/" "$1"; else echo "61 * * * * x" >> "$1"; fi')
    with typed(daemon, "-e", EDITOR=editor) as seat:
        said = " ".join(seat.until("Do you want to retry the same edit? (y/n) ").split())
        assert 'crontab":3: minute `61`: 61 is not within 0-59' in said
        seat.type("what\n")
        seat.until("Enter Y or N")
        seat.type("y\n")
        assert seat.end()[0] == 0
    assert table(daemon) == GOOD + b"6 * * * * x\n"


def test_a_refused_edit_that_is_given_up_is_kept(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    with typed(daemon, "-e", EDITOR=script(daemon, 'echo bad >> "$1"')) as seat:
        seat.until("(y/n) ")
        seat.type("n\n")
        code, said = seat.end()
    assert (code, "edits left in" in said) == (1, True)
    assert left(daemon) == [GOOD + b"bad\n"]


def test_a_missing_newline_is_mended_on_request(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    with typed(daemon, "-e", EDITOR=script(daemon, 'printf "0 5 * * * x" >> "$1"')) as seat:
        seat.until("Add the missing newline? (y/n) ")
        seat.type("y\n")
        assert seat.end()[0] == 0
    assert table(daemon) == GOOD + b"0 5 * * * x\n"


def test_two_edits_at_once_ask_the_later_one(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    gate = daemon.home / "gate"
    os.mkfifo(gate)
    slow = script(daemon, f'echo "0 8 * * * slow" >> "$1"; cat {gate} > /dev/null')
    with typed(daemon, "-e", EDITOR=slow) as seat:
        opened = os.open(gate, os.O_WRONLY)  # returns when the editor waits there
        assert crontab("-e", EDITOR="sed -i 's/0 3/0 9/'").returncode == 0
        os.close(opened)
        said = seat.until("Replace it with yours? (y/n) ")
        assert "+0 9 * * * true" in said
        seat.type("y\n")
        assert seat.end()[0] == 0
    gate.unlink()
    assert table(daemon) == GOOD + b"0 8 * * * slow\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_the_edit_and_the_terminal(daemon: RealDaemon, crontab: Run, number: signal.Signals) -> None:
    put(daemon)
    editor = script(daemon, 'stty raw -echo; echo "0 8 * * * half" >> "$1"; echo ready; exec sleep 60')
    with typed(daemon, "-e", EDITOR=editor) as seat:
        seat.until("ready")
        assert seat.settings() != seat.before
        os.kill(seat.process.pid, number)
        said = seat.until("edits left in")
        assert seat.settings() == seat.before
        assert f"told to end by {number.name}" in said
        assert seat.end()[0] == 1
    assert left(daemon) == [GOOD + b"0 8 * * * half\n"]
    assert table(daemon) == GOOD


def test_what_an_editor_saves_beside_the_file_when_it_has_to_end_is_kept(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    editor = script(daemon, 'trap "echo mine > $1.save; exit 1" TERM; echo ready; while :; do sleep 0.1; done')
    with typed(daemon, "-e", EDITOR=editor) as seat:
        seat.until("ready")
        seat.process.terminate()
        code, said = seat.end()
    (folder,) = daemon.home.glob("crontab.*")
    assert (code, f"edits left in {folder}" in " ".join(said.split())) == (1, True)
    assert (folder / "crontab.save").read_bytes() == b"mine\n"
    assert table(daemon) == GOOD


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_second_signal_does_not_break_off_what_the_editor_saves(
    daemon: RealDaemon, crontab: Run, first: signal.Signals, second: signal.Signals
) -> None:
    """An interactive shell passes on the HUP of a connection that drops, which its jobs have from the kernel too."""
    put(daemon)
    again = second.name.removeprefix("SIG")
    saves = f"kill -{again} $PPID; sleep 0.3; echo mine > $1.save; kill -{again} $PPID; exit 1"
    editor = script(daemon, f'trap "{saves}" TERM HUP; echo ready; while :; do sleep 0.1; done')
    with typed(daemon, "-e", EDITOR=editor) as seat:
        seat.until("ready")
        os.kill(seat.process.pid, first)
        code, said = seat.end()
    (folder,) = daemon.home.glob("crontab.*")
    assert (code, f"edits left in {folder}" in " ".join(said.split())) == (1, True), said
    assert (folder / "crontab.save").read_bytes() == b"mine\n"


@pytest.mark.parametrize(
    ("edit", "question"),
    [
        ('echo bad >> "$1"', "retry the same edit? (y/n) "),
        ('printf "0 5 * * * x" >> "$1"', "Add the missing newline? (y/n) "),
    ],
)
def test_a_terminal_that_goes_away_at_a_question_costs_no_edit(
    daemon: RealDaemon, crontab: Run, tmp_path: Path, edit: str, question: str
) -> None:
    put(daemon)
    written = tmp_path / "written"
    telling = ["sh", "-c", f'exec "$@" 2> {tmp_path}/said', "sh", *PROGRAM, "-e"]
    editor = script(daemon, f'{edit}; cp "$1" {written}')
    for _ in range(5):  # what comes first, the end of the terminal or the signal, is as it comes
        with keyboard(telling, daemon.environ | {"EDITOR": editor}) as seat:
            seat.until(question)
            seat.waits()
            code = seat.hangs_up()
        (path,) = daemon.home.glob("crontab.*/crontab")
        said = (tmp_path / "said").read_text()
        assert (code, said.splitlines()[-1]) == (1, f"crontab: edits left in {path}"), said
        assert path.read_bytes() == written.read_bytes()
        subprocess.run(["rm", "-rf", str(path.parent)], check=True)
    assert table(daemon) == GOOD


def test_an_interrupt_is_the_editors_while_it_runs_and_ends_a_question(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    editor = script(daemon, 'trap "echo caught; echo bad >> $1; exit 0" INT; echo ready; while :; do sleep 0.1; done')
    with typed(daemon, "-e", EDITOR=editor) as seat:
        seat.until("ready")
        seat.type("\x03")
        seat.until("caught")
        seat.until("(y/n) ")
        seat.waits()
        seat.type("\x03")
        code, said = seat.end()
    assert (code, "edits left in" in said) == (130, True)
    assert left(daemon) == [GOOD + b"bad\n"]


def test_without_a_file_on_a_terminal_nothing_is_read(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon)
    with typed(daemon) as seat:
        code, said = seat.end()
    assert (code, "file name must be specified" in said) == (1, True)
    assert table(daemon) == GOOD


def test_a_listing_on_a_terminal_controls_it_not(daemon: RealDaemon, crontab: Run) -> None:
    put(daemon, b"# \x1b]0;title\x07\r hidden\n")
    with typed(daemon, "-l") as seat:
        code, said = seat.end()
    assert (code, "\x1b" in said, "hidden" in said) == (0, False, True)


# ── users ────────────────────────────────────────────────────────────────────
@needs_root
def test_root_edits_another_users_crontab_and_they_their_own(daemon: RealDaemon, crontab: Run) -> None:
    with accounts() as people:
        ada, bob = people.users(2)
        assert crontab("-u", ada.name, "-", data=GOOD).returncode == 0
        file = daemon.home / "var" / "spool" / "cron" / "crontabs" / ada.name
        assert (file.stat().st_uid, oct(file.stat().st_mode & 0o777)) == (ada.uid, "0o600")
        (job,) = daemon.client.jobs(owner=ada.name)
        assert job["owner"] == ada.name
        env = {"JOBCTL_SOCKET": daemon.socket, "PYTHONPATH": os.pathsep.join(sys.path)}
        listed = ada.run(*PROGRAM, "-l", env=env)
        assert listed.stdout.encode() == GOOD, listed.stderr
        assert bob.run(*PROGRAM, "-l", env=env).stderr == f"no crontab for {bob.name}\n"
        assert bob.run(*PROGRAM, "-u", ada.name, "-l", env=env).stderr == "must be privileged to use -u\n"
        assert bob.run(*PROGRAM, "-", env=env, input="0 1 * * * true\n").returncode == 0
        edited = ada.run(*PROGRAM, "-e", env={**env, "EDITOR": "sed -i 's/0 3/0 4/'"})
        assert edited.returncode == 0, edited.stderr
        assert crontab("-l", "-u", ada.name).stdout == GOOD.replace(b"0 3", b"0 4")
        assert crontab("-l", f"-u{bob.name}").stdout == b"0 1 * * * true\n"
        deny = daemon.home / "config" / "deny"
        deny.write_text(f"{bob.name}\n")
        refused = bob.run(*PROGRAM, "-l", env=env)
        deny.unlink()
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"You ({bob.name}) are not allowed to use this program (crontab)\n")
        for user in (ada, bob):
            assert crontab("-r", "-u", user.name).returncode == 0


def told(daemon: RealDaemon, person: Account) -> str:
    """All that somebody is told of crontabs."""
    env = {"JOBCTL_SOCKET": daemon.socket, "PYTHONPATH": os.pathsep.join(sys.path), "EDITOR": "cat"}
    asked = [[*PROGRAM, "-l"], [*PROGRAM, "-e"], [*CLI, "crontab", "-l", "--json"], [*CLI, "status"],
             [*CLI, "status", "--json"], [*CLI, "ls", "--json"], [*CLI, "doctor"]]  # fmt: skip
    return "".join(f"{done.stdout}{done.stderr}" for words in asked for done in [person.run(*words, env=env)])


@needs_root
@pytest.mark.case("F122")
def test_who_gets_an_old_name_or_number_sees_nothing_of_the_table_that_was_there(
    daemon: RealDaemon, crontab: Run
) -> None:
    with accounts() as people:
        one, two = (100_000 + os.getpid() * 8 + number for number in (6, 7))  # other tests take the first of them
        ada = people.user("-u", str(one))
        file = daemon.home / "var" / "spool" / "cron" / "crontabs" / ada.name
        assert crontab("-u", ada.name, "-", data=b"0 3 * * * echo secret\n").returncode == 0
        with file.open("ab") as more:  # a table that was written by hand has lines that are refused
            more.write(b"61 3 * * * echo secret too\n")
        wait_until(lambda: "secret too" in json.dumps(daemon.client.status()["tables"]))
        assert "secret too" in told(daemon, ada)
        people.remove(ada)
        new, eve = people.user("-u", str(two), name=ada.name), people.user("-u", str(one))
        daemon.reload()
        wrong = f"it belongs to uid {one}, not to its user (uid {two}): chown it"
        wait_until(lambda: wrong in json.dumps(daemon.client.status()["tables"]))
        for person in (new, eve):
            assert "secret" not in (said := told(daemon, person)), said
        env = {"JOBCTL_SOCKET": daemon.socket, "PYTHONPATH": os.pathsep.join(sys.path)}
        refused = new.run(*PROGRAM, "-l", env=env)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith(f"crontab: {file} belongs to another account\n  root says whose it is")
        assert eve.run(*PROGRAM, "-l", env=env).stderr == f"no crontab for {eve.name}\n"
        assert b"secret too" in crontab("-u", ada.name, "-l").stdout
        assert new.run(*PROGRAM, "-r", env=env).returncode == 0
        assert new.run(*PROGRAM, "-l", env=env).stderr == f"no crontab for {new.name}\n"
        assert new.run(*PROGRAM, "-", env=env, input="0 1 * * * true\n").returncode == 0
        assert [job["owner"] for job in daemon.client.jobs(owner=new.name)] == [new.name]
        assert new.run(*PROGRAM, "-l", env=env).stdout == "0 1 * * * true\n"
        assert crontab("-r", "-u", new.name).returncode == 0


@needs_root
def test_a_user_without_the_systems_daemon_has_their_own(daemon: RealDaemon) -> None:
    with accounts() as people:
        ada = people.user()
        env = {"PYTHONPATH": os.pathsep.join(sys.path), "JOBCTL_HOME": str(ada.home / "own")}
        unread = ada.run(*PROGRAM, "-l", env=env)
        assert (unread.returncode, "cannot reach the daemon" in unread.stderr) == (1, True)
        installed = ada.run(*PROGRAM, "-", env=env, input="0 1 * * * true\n")
        try:
            assert installed.returncode == 0, installed.stderr
            assert "started a daemon" in installed.stderr
            file = ada.home / "own" / "state" / "crontabs" / ada.name
            assert (file.read_text(), oct(file.stat().st_mode & 0o777)) == ("0 1 * * * true\n", "0o600")
            assert ada.run(*PROGRAM, "-l", env=env).stdout == "0 1 * * * true\n"
            assert json.loads(ada.run(*CLI, "ls", "--json", env=env).stdout)["items"][0]["owner"] == ada.name
            assert ada.run(*PROGRAM, "-u", "root", "-l", env=env).stderr == "must be privileged to use -u\n"
            assert ada.run(*PROGRAM, "-r", env=env).returncode == 0
            assert json.loads(ada.run(*CLI, "ls", "--json", env=env).stdout)["items"] == []
        finally:
            ada.run(*CLI, "daemon", "stop", env=env)


def is_off(daemon: RealDaemon) -> bool:
    try:
        daemon.client.crontab()
    except Conflict:
        return True
    except NotFound:
        pass
    return False


@needs_root
def test_the_systems_daemon_is_asked_where_it_runs_crontabs_and_else_the_own_one(daemon: RealDaemon) -> None:
    world = World(daemon.environ, sys.stdin, sys.stdout, sys.stderr, SystemClock(), os.getuid())
    session = Session(world)
    session.__dict__["places"] = Places(["/nonexistent/own.sock", daemon.socket], named=False)
    with pytest.raises(NotFound, match="no crontab for"):
        client_of(session, writes=False).crontab()
    config = daemon.home / "config" / "jobd.toml"
    on = config.read_text()
    config.write_text(on.replace('"on"', '"off"'))
    try:
        daemon.reload()
        wait_until(lambda: is_off(daemon))  # it reloads a moment after it is told
        session.__dict__["places"] = Places(["/nonexistent/own.sock", daemon.socket], named=False)
        with pytest.raises(Conflict):
            client_of(session, writes=False).crontab()
        with pytest.raises(Conflict, match="does not run crontabs"):
            daemon.client.put_crontab(GOOD)
    finally:
        config.write_text(on)
        daemon.reload()
