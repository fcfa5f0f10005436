"""What a login of this host has in its environment: /etc/environment, then /etc/default/locale.

Debian's cron gives it to its jobs by PAM (/etc/pam.d/cron: pam_env.so, and again with envfile=/etc/default/locale), and
so does jobd to lines of crontabs. The rules are those of pam_env(8), version 1.5: `_assemble_line` and
`_parse_env_file`. Files that others than root (and jobd's own
user) can write are passed over.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from jobctl_daemon.opening import unblocked

FILES: Final = ("etc/environment", "etc/default/locale")
_ROOT: Final = 0
_BYTES_MAX: Final = 1 << 20
#: pam_env reads no further than a line that is longer.
_LINE_MAX: Final = 8192
_BLANKS: Final = " \n\t"
_QUOTES: Final = "\"'"


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: tuple[int, ...]
    lines: tuple[str, ...]


class LoginEnv:
    """Reads a file again when it has become another; `host_root` is where etc/ is."""

    def __init__(self, host_root: str = "/") -> None:
        self._paths = [os.path.join(host_root, name) for name in FILES]
        self._known: dict[str, _Read] = {}

    def variables(self) -> Mapping[str, str]:
        """The variables as they are now. A file that cannot be read counts as an empty one, as with PAM."""
        found: dict[str, str] = {}
        for path in self._paths:
            apply(self._lines(path), found)
        return found

    def _lines(self, path: str) -> tuple[str, ...]:
        try:
            stamp = _stamp(os.stat(path))
            known = self._known.get(path)
            if known is None or known.stamp != stamp:
                known = self._known[path] = _read(path)
        except OSError:
            self._known.pop(path, None)
            return ()
        return known.lines


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: str) -> _Read:
    with open(path, "rb", opener=unblocked) as file:
        found = os.fstat(file.fileno())
        trusted = stat.S_ISREG(found.st_mode) and found.st_uid in (_ROOT, os.geteuid()) and not found.st_mode & 0o022
        text = file.read(_BYTES_MAX) if trusted else b""
    return _Read(_stamp(found), tuple(assembled(text.decode("utf-8", "surrogateescape"))))


def assembled(text: str) -> Iterator[str]:
    """Lines without comments, those that end with a backslash joined with the next. What a file ends in the middle of
    is dropped."""
    begun = ""
    for line in text.split("\n"):
        raw = line + "\n"
        if len(begun) + len(raw) >= _LINE_MAX or "\0" in raw:
            return
        body = raw.lstrip(_BLANKS)
        if not body or body.startswith("#"):
            continue
        kept, mark, _ = raw.partition("#")
        if mark:
            yield begun + kept
            begun = ""
            continue
        bare = raw.rstrip(_BLANKS)
        if bare.endswith("\\"):
            begun += bare[:-1]
            continue
        yield begun + raw
        begun = ""


def apply(lines: tuple[str, ...], found: dict[str, str]) -> None:
    """Takes in NAME=VALUE lines; NAME alone takes a variable away. What is neither is passed over."""
    for line in lines:
        text = line.lstrip(_BLANKS).removeprefix("export ").partition("\n")[0]
        name, equals, value = text.partition("=")
        if not name or not name.isascii() or not name.replace("_", "a").isalnum():
            continue
        if equals:
            found[name] = _unquoted(value)
        else:
            found.pop(name, None)


def _unquoted(value: str) -> str:
    """A value that begins with a quote loses it, and one at its end; others stay where they are."""
    if not value.startswith(tuple(_QUOTES)):
        return value
    rest = value[1:]
    return rest[:-1] if rest.endswith(tuple(_QUOTES)) else rest
