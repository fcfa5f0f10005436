"""Who else can change what a command runs: each file and folder on the way to it that others may write to.

What root runs unattended and somebody else may change makes that somebody root. Trusted are root, the user the command
runs as, and that user's own group; a folder with the sticky bit lets nobody touch what belongs to others. Looked at are
the program, its folders and links, its interpreter, a script that an interpreter is given, the programs that a shell
line names plainly, and the files given in `also`. What a program then opens by itself is not known here.

The standard library alone: the runner asks this between fork and exec, and the command line before a job is added.
"""

import os
import re
import shlex
import stat
from collections.abc import Collection, Iterator, Sequence
from typing import Final

_SHELLS: Final = frozenset({"sh", "dash", "bash", "ksh", "zsh", "ash", "busybox"})
_INTERPRETERS: Final = re.compile(r"(?:python|perl|ruby|node|php|lua|tclsh|awk|gawk|mawk)[0-9.]*|env")
#: They run what follows them.
_BEFORE_COMMANDS: Final = frozenset({
    "!", "chronic", "command", "do", "elif", "else", "env", "exec", "if", "ionice", "nice", "nohup", "setsid", "then",
    "time", "until", "while", "{",
})  # fmt: skip
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_LINKS_MAX: Final = 40
_DEPTH_MAX: Final = 4
_SHEBANG_BYTES: Final = 256


def weaknesses(
    argv: Sequence[str],
    cwd: str,
    path: str,
    also: Sequence[str],
    uids: Collection[int],
    gids: Collection[int],
) -> list[str]:
    """One sentence for each place that somebody else can change; none: nobody can, as far as one can see.

    `uids` and `gids` are those that may. What does not exist or may not be looked at is passed over.
    """
    found: dict[str, str] = {}
    for wanted in (*files_of(argv, cwd, path), *also):
        for place, why in _weak_places(wanted, uids, gids):
            found.setdefault(place, f"{place} {why}")
    return list(found.values())


# ── which files ──────────────────────────────────────────────


def files_of(argv: Sequence[str], cwd: str, path: str, depth: int = 0) -> Iterator[str]:
    """Absolute paths of what running this executes, and of the folders in which it is looked for."""
    if not argv or depth > _DEPTH_MAX:
        return
    program = None
    for place in _candidates(argv[0], cwd, path):
        program = place
        yield place
    if program is None or not os.path.isfile(program):
        return
    yield from _interpreter(program, cwd, path, depth)
    name = os.path.basename(argv[0])
    if name in _SHELLS:
        yield from _of_shell(argv[1:], cwd, path, depth)
    elif _INTERPRETERS.fullmatch(name):
        script = next((word for word in argv[1:] if not word.startswith("-") and not _ASSIGNMENT.fullmatch(word)), None)
        if name == "env" and script is not None:
            yield from files_of(argv[list(argv).index(script) :], cwd, path, depth + 1)
        elif script is not None and not _is_given_code(argv[1:]):
            yield os.path.join(cwd, script)


def _candidates(word: str, cwd: str, path: str) -> Iterator[str]:
    """The folders of PATH up to the one that has the program, then the program."""
    if "/" in word:
        yield os.path.join(cwd, word)
        return
    for folder in path.split(":"):
        place = os.path.join(cwd, folder, word)
        if os.path.isfile(place):
            yield place
            return
        if os.path.isdir(os.path.dirname(place)):
            yield os.path.dirname(place)


def _interpreter(program: str, cwd: str, path: str, depth: int) -> Iterator[str]:
    try:
        with open(program, "rb", opener=_without_waiting) as file:
            head = file.read(_SHEBANG_BYTES)
    except OSError:
        return
    if head.startswith(b"#!"):
        words = os.fsdecode(head[2:].split(b"\n")[0]).split()
        yield from files_of(words, cwd, path, depth + 1)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _is_given_code(options: Sequence[str]) -> bool:
    """Whether the program is an argument (-c, -e), or a module (-m) that is looked for elsewhere."""
    return any(re.fullmatch(r"-[A-Za-z]*[cem]|--eval", option) for option in options)


def _of_shell(options: Sequence[str], cwd: str, path: str, depth: int) -> Iterator[str]:
    words = [word for word in options if not word.startswith(("-", "+"))]
    if not words:
        return
    if any(re.fullmatch(r"-[A-Za-z]*c", option) for option in options):
        yield from _of_line(words[0], cwd, path, depth)
    else:
        yield os.path.join(cwd, words[0])


def _of_line(line: str, cwd: str, path: str, depth: int) -> Iterator[str]:
    """What a shell line names plainly where a command stands; `cd` to a folder counts for what comes after it."""
    for command in _commands(line):
        if command[0] == "cd" and len(command) == 2:
            cwd = os.path.join(cwd, command[1])
        elif command[0] in (".", "source") and len(command) > 1:
            yield os.path.join(cwd, command[1])
        elif not set("$`*?[") & set(command[0]):
            yield from files_of(command, cwd, path, depth + 1)


def _commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # an open quote: the shell refuses it as well
        return
    words: list[str] = []
    redirected = False
    for token in [*tokens, ";"]:
        if set(token) <= set("();&|"):
            if words:
                yield words
            words = []
        elif set(token) <= set("<>&"):
            redirected = True
        elif redirected:
            redirected = False
        elif words or not (token in _BEFORE_COMMANDS or token.startswith("-") or _ASSIGNMENT.fullmatch(token)):
            words.append(token)


# ── who may write there ──────────────────────────────────────────────


def _weak_places(path: str, uids: Collection[int], gids: Collection[int]) -> Iterator[tuple[str, str]]:
    """Every component of the path, links followed one by one, that others can change, with the reason."""
    at, links = "/", 0
    waiting = [part for part in path.split("/") if part]
    while waiting:
        part = waiting.pop(0)
        if part in (".", ".."):
            at = at if part == "." else os.path.dirname(at)
            continue
        here = os.path.join(at, part)
        try:
            found = os.lstat(here)
            target = os.readlink(here) if stat.S_ISLNK(found.st_mode) else None
        except OSError:
            return
        if why := _weakness(found, uids, gids):
            yield here, why
        if target is None:
            at = here
            continue
        links += 1
        if links > _LINKS_MAX:
            return
        waiting = [part for part in target.split("/") if part] + waiting
        at = "/" if target.startswith("/") else at


def _weakness(found: os.stat_result, uids: Collection[int], gids: Collection[int]) -> str | None:
    if found.st_uid not in uids:
        return f"belongs to uid {found.st_uid}"
    shielded = stat.S_ISLNK(found.st_mode) or (stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX)
    if shielded or stat.S_ISCHR(found.st_mode):
        return None
    if found.st_mode & stat.S_IWOTH:
        return f"can be written by everybody (mode {stat.S_IMODE(found.st_mode):04o})"
    if found.st_mode & stat.S_IWGRP and found.st_gid not in gids:
        return f"can be written by the group {found.st_gid} (mode {stat.S_IMODE(found.st_mode):04o})"
    return None
