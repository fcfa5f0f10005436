"""The pages for people: the blocks of commands in them, how each is tested, and somebody who types them.

Before each block of commands a comment says how it is tested, and in words what that does not tell:

    <!-- tested: daemon -->      typed into a shell beside a daemon of whoever runs the tests
    <!-- tested: root -->        typed by root on a host of its own, whose daemon is the system's
    <!-- tested: shown, why -->  not carried out here; read by the shell and by the parser of jobctl all the same

The blocks of a page that are typed in the same place are typed one after another into one shell at a terminal, in which
the first command that fails ends the page. A block of `text` behind one of commands is what they print.
"""

import fcntl
import io
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typer._click.exceptions import MissingParameter, UsageError

from jobctl.cli.build import command_of
from jobctl.cli.session import Session
from jobctl.cli.verbs import ALIASES, BY_WORDS, GROUPS
from jobctl.cli.world import World
from jobctl.clock import SystemClock
from kit.daemon import CLI

CHECKOUT: Final = Path(__file__).parents[2]
#: So wide is the terminal at which pages are typed.
COLUMNS: Final = 100
PLACES: Final = ("daemon", "root", "shown")

_FENCE: Final = re.compile(
    r"(?:^<!-- tested: (?P<how>[^>]*?) -->\n)?^(?P<indent> *)```sh\n(?P<text>.*?)^ *```\n"
    r"(?:\n*^ *```text\n(?P<prints>.*?)^ *```\n)?",
    re.MULTILINE | re.DOTALL,
)
_SPAN: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_BETWEEN: Final = "\x1e"


@dataclass(frozen=True)
class Block:
    """Commands as they stand in a page."""

    page: str
    line: int
    how: str | None
    """None where the page does not say it."""
    why: str
    text: str
    prints: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """All of them, by their paths in the checkout."""
    found = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
    return [str(path.relative_to(CHECKOUT)) for path in found]


def text_of(page: str) -> str:
    return (CHECKOUT / page).read_text("utf-8")


def blocks(page: str) -> Iterator[Block]:
    """Its blocks of commands, from the top."""
    return blocks_of(page, text_of(page))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """The same of a text."""
    for found in _FENCE.finditer(text):
        how, _, why = (found["how"] or "").partition(", ")
        line = text.count("\n", 0, found.start("text")) + 1
        indent = len(found["indent"])
        plain = "".join(each[indent:] for each in found["text"].splitlines(keepends=True))
        yield Block(page, line, how or None, why, plain, found["prints"])


def sentences(page: str) -> str:
    """It without its blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def spans(page: str) -> list[str]:
    """What stands between backquotes in its sentences."""
    return _SPAN.findall(sentences(page))


# ── typing ───────────────────────────────────────────────────────
@dataclass(frozen=True)
class Typed:
    """What came of it: what each block has printed, and how the shell ended."""

    printed: Sequence[str]
    code: int

    def must_be_as_told(self, told: Sequence[Block], names: Mapping[str, str]) -> None:
        """Every command has done its work, and what pages say that they print is what they print."""
        assert self.code == 0, f"{told[len(self.printed) - 1]}: exit code {self.code}: …{self.printed[-1][-2000:]}"
        assert len(self.printed) == len(told)
        for block, printed in zip(told, self.printed, strict=True):
            if block.prints is not None:
                ours, theirs = alike(printed, names), alike(block.prints, {})
                assert _pattern(theirs).fullmatch(ours), f"{block} tells\n{theirs}\nbut it is\n{ours}\n({printed})"


def typed(
    command: Sequence[str], told: Sequence[Block], environ: Mapping[str, str], cwd: Path, within_s: int = 110
) -> Typed:
    """At a terminal. `command` starts whatever is named behind it where they are to be typed."""
    script = f"set -e\ncd '{cwd}'\n" + "".join(f"echo '{_BETWEEN}'\n{block.text}" for block in told)
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        with subprocess.Popen(
            [*command, "sh", "-c", script],
            env={**environ, "TERM": "xterm", "NO_COLOR": "1", "MANPAGER": "cat"},
            stdin=theirs, stdout=theirs, stderr=theirs,
        ) as shell:  # fmt: skip
            said = _all_of(ours, shell, within_s)
    finally:
        os.close(ours)
        os.close(theirs)
    first, *printed = said.decode("utf-8", "replace").replace("\r\n", "\n").split(f"{_BETWEEN}\n")
    assert first == "", first
    return Typed(printed, shell.returncode)


def _all_of(terminal: int, shell: "subprocess.Popen[bytes]", within_s: int) -> bytes:
    """All that comes until the shell has ended. It is killed when its time is over, and that is its exit code."""
    said, until = b"", time.monotonic() + within_s
    while True:
        ended = shell.poll() is not None
        if select.select([terminal], [], [], 0 if ended else 0.1)[0]:
            said += os.read(terminal, 65536)
        elif ended:
            return said
        if not ended and time.monotonic() > until:
            shell.kill()


def stand_in(folder: Path, name: str, text: str) -> None:
    """A program of that name, which everybody may run."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / name
    made.write_text(text)
    made.chmod(0o755)


def install_jobctl(folder: Path, home: Path | None) -> None:
    """jobctl and jobd as programs, from this checkout, for the daemon at `home` (None: that of the host).

    What goes on until somebody leaves it is left.
    """
    words = " ".join(f"'{word}'" for word in CLI)
    hands = f"'{sys.executable}' '{Path(__file__).with_name('hands.py')}'"
    paths = os.pathsep.join(path for path in sys.path if path)
    begin = f"#!/bin/sh\nexport PYTHONPATH='{paths}'" + (f" JOBCTL_HOME='{home}'" if home else "") + "\n"
    lasting = f'case " $* " in\n" ui "* | *" -f "* | *" --watch "*) exec {hands} {words} "$@" ;;\nesac\n'
    stand_in(folder, "jobctl", f'{begin}{lasting}exec {words} "$@"\n')
    stand_in(folder, "jobd", f"{begin}exec '{sys.executable}' -m jobctl_daemon \"$@\"\n")


def environ(folder: Path, home: Path, **more: str) -> dict[str, str]:
    """Of somebody who types: with the programs of `folder`, and with nothing of whoever runs the tests."""
    return {
        "PATH": f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        **more,
    }


# ── comparing ────────────────────────────────────────────────────
#: What begins a row of a table is the number of a run or of a line.
_ROW: Final = re.compile(r"^ {0,5}\d+(?=  )", re.MULTILINE)
_DATE: Final = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:\d\d [A-Z][a-z]{2} (?:\d{4} )?)?"
_MASKS: Final = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"\s+", " "),
        (r"waiting for the next run, [^()]* \(ctrl-c to stop\) ?", ""),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"),
        (rf"\b{_DATE}\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?: [A-Z]{{3,4}}\b)?", "TIME"),
        (r"\b(?:Africa|America|Asia|Atlantic|Australia|Etc|Europe|Pacific)/\w+|\bUTC\b", "ZONE"),
        (r"\b(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\b", "SPAN"),
        (r": ok(?: after|,) SPAN", ": ok"),
        (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
        (r"\b[0-9a-f]{16}/\S+", "KEY"),
        (r"\b[0-9a-f]{12}(?:[0-9a-f]{4})?\b", "ID"),
        (r"\b\d+ ID\b", "N ID"),
        (r"\b1\d{12}\b", "FENCE"),
        (r"\bpid \d+", "pid N"),
        (r"\b\d+(?:\.\d+)? [kMG]?B\b", "SIZE"),
        (r"\b(run|log|replay|discard|wait|cancel|dlq show) \d+", r"\1 N"),
        (r"-{3,}", "---"),
    )
)


def alike(text: str, names: Mapping[str, str]) -> str:
    """Without what differs from one time to the next: times, spans, ids, and where a line was broken for them."""
    for ours, theirs in names.items():
        text = text.replace(ours, theirs)
    text = _ROW.sub("N", text)
    for pattern, put in _MASKS:
        text = pattern.sub(put, text)
    return text.strip()


def _pattern(told: str) -> re.Pattern[str]:
    """An ellipsis stands for anything."""
    return re.compile(".*?".join(re.escape(part) for part in re.split(" ?… ?", told)))


# ── reading without carrying out ─────────────────────────────────
_NOT_A_COMMAND: Final = re.compile(
    r"<<-?'?(\w+)'?(?P<line>[^\n]*)\n.*?^\1$|(?:^|(?<=\s))#(?=\s)[^\n]*|\\\n", re.MULTILINE | re.DOTALL
)
_BEFORE: Final = re.compile(r"\w+=.*|sudo|!|if|while|until|do|then|docker|exec|jobs")


def calls(text: str) -> Iterator[list[str]]:
    """The command lines of jobctl in a block, each as its words; what it hands over as a document is none."""
    plain = _NOT_A_COMMAND.sub(lambda found: found["line"] or "", text).replace("\n", " ; ")
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word and set(word) <= set("();<>|&"):
            while words and _BEFORE.fullmatch(words[0]):
                words.pop(0)
            if words[:1] == ["jobctl"]:
                yield words[1:]
            words = []
        else:
            words.append(word)


def must_parse(words: Sequence[str], *, named: bool = False) -> None:
    """As a command line of jobctl; raises what the parser says against it.

    What is only `named` may be without what it is about, and be a group: `jobctl log`, `jobctl add --at`, `jobctl dlq`.
    """
    if not words or words[0] in ("--help", "--version"):
        return
    name, rest = verb_at(words)
    if named and name is None and (tuple(words) in {(group,) for group in GROUPS} or words[0].isupper()):
        return
    assert name is not None, words
    verb = BY_WORDS[name]
    if verb.command and "--" in rest:
        rest = rest[: rest.index("--")]
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(3)]
    session = Session(World({"PATH": "/usr/bin:/bin"}, *streams, SystemClock(), os.getuid()))
    try:
        command_of(verb).make_context(f"jobctl {verb.words}", rest, obj=session)
    except UsageError as error:
        if not named or not (isinstance(error, MissingParameter) or error.message.endswith("requires an argument.")):
            raise


def verb_at(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The verb that a command line of jobctl begins with, and the rest."""
    for count in (2, 1):
        name = " ".join(words[:count])
        if (name := ALIASES.get(name, name)) in BY_WORDS:
            return name, list(words[count:])
    return None, list(words)
