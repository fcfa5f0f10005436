"""What the manual tells people to type works: every line of every EXAMPLES section, against one real daemon.

What needs a terminal, another host, root's own daemon or an end that never comes is read by the verb that it names,
with all of its options, and not run.
"""

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from jobctl.cli.build import command_of
from jobctl.cli.session import Session
from jobctl.cli.verbs import BY_WORDS
from jobctl.cli.world import real_world
from jobctl.manual import read
from jobctl.manual.read import HYPHEN
from jobctl_daemon.settings import checked
from kit.daemon import RealDaemon, real_daemon

MAN: Final = Path(__file__).parents[2] / "man"


class Example(NamedTuple):
    """One line to type, and the page that has it."""

    page: str
    line: str


def blocks(page: Path) -> Iterator[tuple[str, ...]]:
    title = ""
    for block in read(page.read_text(encoding="utf-8")):
        if block.kind == "heading":
            title = block.lines[0]
        elif title == "EXAMPLES" and block.kind == "lines":
            yield block.lines


def examples() -> Iterator[Example]:
    for page in sorted(MAN.glob("*.[158]")):
        if page.name in ("jobd.toml.5", "jobs.toml.5") or page.read_text().startswith(".so "):
            continue
        for lines in blocks(page):
            text = "\n".join(lines).replace(HYPHEN, "-").replace(" \\\n    ", " ")
            yield from (Example(page.name, line) for line in text.split("\n") if line and not line.startswith("#"))


EXAMPLES: Final = list(examples())
#: Why an example is only read.
ONLY_READ: Final = {
    r"(^| )ssh ": "another host",
    r"--system|owner rename|/etc/jobctl/jobd.toml|/var/lib/jobctl|jobctl crontab (-l|-e|- )": "the host's own daemon",
    r"jobctl ui(?! --print-keys)|replay .* --edit|^jobctl (edit|rm) backup$": "a terminal",
    r" -f( |$)|--watch|daemon run|--foreground": "no end",
    r"daemon stop|restore|--standby": "the daemon that all others ask",
}


def only_read(line: str) -> bool:
    return any(re.search(pattern, line) for pattern in ONLY_READ)


def test_there_is_something_to_try() -> None:
    assert len(EXAMPLES) > 150
    assert sum(only_read(example.line) for example in EXAMPLES) < len(EXAMPLES) / 5
    for pattern in ONLY_READ:
        assert any(re.search(pattern, example.line) for example in EXAMPLES), pattern


def command_lines(line: str) -> Iterator[list[str]]:
    """The words of each jobctl in a line, without what is the shell's."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= set(";|&<>"):
            words.append(word)
            continue
        if "jobctl" in words:
            yield words[words.index("jobctl") + 1 :]
        words = []


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "jobctl" in each.line], ids=lambda each: each.line)
def test_an_example_is_read_by_its_verb(example: Example) -> None:
    found = [words for words in command_lines(example.line) if words]
    for words in found:
        verb = BY_WORDS.get(" ".join(words[:2])) or BY_WORDS.get(words[0])
        assert verb is not None, words
        arguments = words[len(verb.words.split()) :]
        if "--" in arguments:
            assert verb.command or "help" in words
            arguments = arguments[: arguments.index("--")]
        command_of(verb).make_context(f"jobctl {verb.words}", arguments, obj=Session(real_world()))


def test_the_examples_of_settings_are_settings() -> None:
    import tomllib

    for lines in blocks(MAN / "jobd.toml.5"):
        assert checked(tomllib.loads("\n".join(lines).replace(HYPHEN, "-")), "an example")
    (printed,) = (each.line for each in EXAMPLES if each.line.startswith("printf"))
    text = subprocess.run(["sh", "-c", printed.partition(" > ")[0]], capture_output=True, text=True, check=True).stdout
    assert checked(tomllib.loads(text), "jobd(8)").slots == 16


# ── in a shell ────────────────────────────────────────────

#: A program of the examples: it fails while there is a file `broken`, and does not end while there is a file `slow`.
PROGRAM: Final = """#!/bin/sh
echo "it works on $*"
if [ -e {stage}/slow ]; then exec tail -f /dev/null; fi
if [ -e {stage}/broken ]; then echo 'no route to host' >&2; exit 3; fi
"""
JOBCTL: Final = """#!/bin/sh
exec {python} -c 'from jobctl.cli.main import main; main()' "$@"
"""
CRONTAB: Final = """#!/bin/sh
case "$1" in -l) cat {stage}/table;; -) cat >{stage}/table;; esac
"""
#: Stand in for what the examples pass things on to.
OTHERS: Final = ("mail", "make", "systemctl", "jq", "alert")
TOML: Final = '[job.{name}]\nevery = "1h"\ncommand = ["true"]\n'
#: How the shell's line ends where that is not with 0.
CODES: Final = {
    "jobctl diff web.toml": 1,
    "jobctl diff ~/jobs --prune": 1,
    "jobctl status --check --new 15m": 1,
}


class Shell:
    """Where somebody types the examples: places and programs of theirs are there, below one folder."""

    def __init__(self, daemon: RealDaemon, stage: Path) -> None:
        self._daemon = daemon
        self._stage = stage
        self._bin = stage / "bin"
        for folder in ("bin", "jobs", "srv/backup", "srv/site", "jobs.d", "functions", ".config/fish/completions",
                       ".local/share/bash-completion/completions"):  # fmt: skip
            (stage / folder).mkdir(parents=True)
        for name in (*OTHERS, "backup", "poll", "publish", "pull"):
            self._program(name, PROGRAM if name not in ("jq", "mail") else "#!/bin/sh\nexec cat\n")
        self._program("jobctl", JOBCTL.format(python=sys.executable))
        self._program("crontab", CRONTAB.format(stage=stage))
        (stage / "jobs.d" / "other.toml").write_text(TOML.format(name="other"))
        for name in ("FILE", "jobs.txt", "table"):
            (stage / name).write_text("5 4 * * * true\n")

    def _program(self, name: str, text: str) -> None:
        path = self._bin / name
        path.write_text(text.replace("{stage}", str(self._stage)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def __call__(self, text: str) -> "subprocess.CompletedProcess[str]":
        """As bash does it, with the places of the examples in their stead."""
        for place, here in {"/usr/local/bin/": f"{self._bin}/", "/opt/": f"{self._bin}/", "/srv": f"{self._stage}/srv",
                            "/etc/jobctl/jobs.d": f"{self._stage}/jobs.d",
                            "${fpath[1]}": f"{self._stage}/functions"}.items():  # fmt: skip
            text = text.replace(place, here)
        environ = self._daemon.environ | {"PATH": f"{self._bin}:{os.environ['PATH']}", "HOME": str(self._stage)}
        return subprocess.run(
            ["bash", "-c", text],
            cwd=self._stage,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    # ── what an example finds ─────────────────────────────────
    def given(self, line: str) -> str:
        """Makes what a line is about, and returns the run that it calls 4812."""
        for name in ("old.crontab", "jobs.toml", "srv/backup/jobctl.db", "slow", "broken"):
            (self._stage / name).unlink(missing_ok=True)
        self._jobs_by_hand()
        for name in ("web.toml", "jobs/more.toml"):
            (self._stage / name).write_text(TOML.format(name=Path(name).stem))
        for pattern, make in self._made():
            if re.match(pattern, line):
                return str(make() or 0)
        return "0"

    def _made(self) -> Iterator[tuple[str, Callable[[], object]]]:
        client = self._daemon.client
        yield r"jobctl add (backup|report|poll|pull) ", self._no_jobs
        yield r"jobctl (cancel|kill|rm backup --runs)", self._running
        yield r"jobctl (dlq (show|replay|discard)|retry)", self._dead
        yield r"jobctl status --check --new", self._dead
        yield r"jobctl resume sync", lambda: client.pause_job("sync")
        yield r"jobctl queue resume", lambda: client.pause_queue("mail")
        yield r"jobctl daemon resume", client.pause_daemon
        yield r"jobctl skip backup --undo", lambda: client.skip_next("backup")
        yield r"jobctl import crontab --rollback", lambda: self("jobctl import crontab --apply")
        yield r"jobctl (wait|log|show)", self._finished
        yield r"jobctl export jobs --to web.toml", lambda: (self._stage / "web.toml").unlink()

    def _jobs_by_hand(self) -> None:
        """Those of the scene, as at the beginning; what the examples before have made goes."""
        self._no_jobs()
        program = f"{self._bin}/backup"
        for name, schedule, more in (
            ("backup", {"cron": "0 3 * * *"}, {"tags": ["nightly"]}),
            ("report", {"cron": "30 8 * * 1-5"}, {"tags": ["crontab"]}),
            ("import", None, {}),
            ("sync", {"every": "1h"}, {"queue": "mail"}),
            ("old", None, {"tags": ["old"], "queue": "batch"}),
        ):
            self._daemon.add(name, [program, name], schedule=schedule, retry={"max": 0}, **more)

    def _no_jobs(self) -> None:
        client = self._daemon.client
        declared = [job for job in client.jobs() if job.get("declared")]
        if declared:
            self("for file in web.toml jobs/more.toml; do : >$file; jobctl apply $file --prune; done")
        for job in sorted(client.jobs(), key=lambda job: "after" not in (job["schedule"] or {})):
            client.delete_job(job["id"], cancel_runs=True)

    def _running(self) -> int:
        (self._stage / "slow").touch()
        run = self._daemon.triggered("backup")
        self._daemon.until_says(run, b"it works")
        return int(run["id"])

    def _dead(self) -> int:
        (self._stage / "broken").touch()
        numbers = [int(self._daemon.finished(self._daemon.triggered(name))["id"]) for name in ("import", "backup")]
        (self._stage / "broken").unlink()
        return numbers[-1]

    def _finished(self) -> int:
        return int(self._daemon.finished(self._daemon.triggered("backup"))["id"])


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    place = tmp_path_factory.mktemp("manual")
    with real_daemon(place / "home") as daemon:
        yield Shell(daemon, place / "stage")


@pytest.mark.long
@pytest.mark.parametrize("page", sorted({each.page for each in EXAMPLES}))
def test_the_examples_of_a_page_work(shell: Shell, page: str) -> None:
    for line in (each.line for each in EXAMPLES if each.page == page and not only_read(each.line)):
        number = shell.given(line)
        done = shell(re.sub(r"\b481[23]\b|(?<=show )12\b", number, line))
        assert done.returncode == CODES.get(line, 0), (line, done)
        assert "bug" not in done.stderr, line
