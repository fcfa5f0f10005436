"""A readable name for a job from its command: what a person would call it."""

import os
import re
from collections.abc import Container

NAME_CHARS_MAX = 40

_SEGMENT = re.compile(r"&&|\|\||[;|&\n]|\bthen\b|\bdo\b")
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s]+")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_ENDING = re.compile(r"\.(?:sh|bash|py|pl|rb|php|js|cron)$")
#: A command that only looks or prepares: the job is the one after it.
_PREPARES = frozenset({"[", "[[", "test", "if", "cd", "sleep", ".", "source", "export", "set", "umask", "command", "{",
                       "(", "!", "fi", "else", "done", "}", ")", "true", ":"})  # fmt: skip
#: A command that runs the one behind it.
_WRAPS = frozenset({"nice", "ionice", "env", "exec", "sudo", "timeout", "nohup", "time", "chronic", "flock", "setsid",
                    "chrt", "systemd-cat", "then"})  # fmt: skip
#: An interpreter: the script behind it gives the name.
_INTERPRETS = frozenset({"sh", "bash", "dash", "zsh", "python", "python2", "python3", "perl", "ruby", "php", "node"})


def name_for(command: str, fallback: str) -> str:
    """`backup` for `[ -x /opt/backup.sh ] && nice -n 19 /opt/backup.sh --full`; `fallback` when nothing is left."""
    segments = [_WORD.findall(segment) for segment in _SEGMENT.split(command)]
    for words in segments:
        name = _cleaned(_program(words))
        if name and not name.isdecimal():  # digits alone would be an id
            return name
    return fallback


def _program(words: list[str]) -> str:
    """The first word that is the program meant, "" when the segment only prepares."""
    interpreter = ""
    for word in words:
        plain = word.strip("\"'()`")
        base = os.path.basename(plain)
        if _ASSIGNED.match(plain) or not base:
            continue
        if not interpreter and base in _PREPARES:
            return ""
        if base in _WRAPS or plain.startswith("-") or base.isdigit():
            continue
        if base in _INTERPRETS and not interpreter:
            interpreter = base
            continue
        return interpreter if plain.startswith((">", "<", "$(")) and interpreter else base
    return interpreter


def _cleaned(word: str) -> str:
    name = _NOT_IN_NAMES.sub("-", _ENDING.sub("", word)).strip("-._")
    return name[:NAME_CHARS_MAX].strip("-._")


def unique(name: str, taken: Container[str]) -> str:
    """`name`, or `name-2`, `name-3` …: the first that is free where numbers are taken in a row.

    It leaps and then halves: a table may have ten thousand lines with one command.
    """
    if name not in taken:
        return name
    used, free = 1, 2
    while f"{name}-{free}" in taken:
        used, free = free, free * 2
    while free - used > 1:
        middle = (used + free) // 2
        if f"{name}-{middle}" in taken:
            used = middle
        else:
            free = middle
    return f"{name}-{free}"
