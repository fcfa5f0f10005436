"""A start message, checked once at the door."""

from __future__ import annotations

import binascii
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Invalid(Exception):
    """A start message that cannot be meant."""


class User:
    """Whom a command runs as."""

    __slots__ = ("gid", "groups", "name", "uid")

    def __init__(self, name: str, uid: int, gid: int, groups: list[int]) -> None:
        self.name = name
        self.uid = uid
        self.gid = gid
        self.groups = groups

    @property
    def is_me(self) -> bool:
        """Tell whether there is nothing to switch: then the fast way to start is open."""
        mine = os.getuid(), os.getgid(), set(os.getgroups()) | {os.getgid()}
        return mine == (self.uid, self.gid, set(self.groups) | {self.gid})


class Order:
    """One attempt to start. Texts are bytes here: what the job was given, byte for byte."""

    __slots__ = (
        "argv", "attempt", "cwd", "cwd_else", "env", "env_file", "fence", "grace_ms", "id", "key", "log", "log_max",
        "nice", "returned", "run_id", "stdin_bytes", "stdin_file", "stdin_own", "timeout_ms", "trusted", "umask",
        "user",
    )  # fmt: skip

    def __init__(self, message: dict[str, Any]) -> None:
        """Read a message; raises Invalid, which says what is wrong with it."""
        self.run_id = _number(message, "run_id", 0)
        self.fence = _number(message, "fence", 0)
        self.id = f"{self.run_id}-{self.fence}"
        if message.get("id") != self.id:
            raise Invalid(f"id is not {self.id}")
        self.attempt = _number(message, "attempt", 0)
        self.returned = _number(message, "returned", 0, default=0)
        self.key = _bytes(message.get("key"), "key")
        argv = message.get("argv")
        if not isinstance(argv, list) or not argv:
            raise Invalid("argv is not a list with a program")
        self.argv = [_bytes(word, "argv") for word in argv]
        self.cwd = _path(message, "cwd")
        self.cwd_else = _path(message, "cwd_else") if message.get("cwd_else") is not None else None
        self.env = self._environment(message)
        self.env_file = _path(message, "env_file") if message.get("env_file") is not None else None
        self.umask = _number(message, "umask", 0, 0o777, default=0o022)
        self.nice = _number(message, "nice", -20, 19, default=0)
        self.user = _user(message.get("user"))
        self.trusted = _trusted(message.get("trusted"))
        self.stdin_bytes, self.stdin_file, self.stdin_own = _stdin(message.get("stdin"))
        self.log = _path(message, "log")
        self.log_max = _number(message, "log_max", 4096, default=10_000_000)
        self.timeout_ms = _number(message, "timeout_ms", 0) if message.get("timeout_ms") is not None else None
        self.grace_ms = _number(message, "grace_ms", 0, default=10_000)

    def _environment(self, message: dict[str, Any]) -> dict[bytes, bytes]:
        given = message.get("env")
        if not isinstance(given, dict):
            raise Invalid("env is not an object")
        env = {_name(name): _bytes(value, "env") for name, value in given.items()}
        return {**env, **self.marks}

    @property
    def needs_child(self) -> bool:
        """Tell whether something must be done between fork and exec that nobody else may have to wait for."""
        named = self.env_file is not None or self.stdin_file is not None or self.trusted is not None
        return named or (self.user is not None and not self.user.is_me)

    def homeless(self, number: int) -> str:
        """Return the remark on a home that cannot be entered."""
        home, instead = (path.decode("utf-8", "backslashreplace") for path in (self.cwd, self.cwd_else or b"/"))
        return f"its home {home} cannot be entered ({os.strerror(number)}), so it runs in {instead}"

    @property
    def marks(self) -> dict[bytes, bytes]:
        """Return what the kill looks for: ours, whatever the message or a file says."""
        return {
            b"JOBCTL_RUN_KEY": self.key,
            b"JOBCTL_RUN_ID": b"%d" % self.run_id,
            b"JOBCTL_FENCE": b"%d" % self.fence,
        }


def _number(message: dict[str, Any], name: str, least: int, most: int = 1 << 62, default: int | None = None) -> int:
    value = message.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Invalid(f"{name} is not a number from {least} to {most}")
    return value


def _bytes(value: object, name: str) -> bytes:
    if not isinstance(value, str) or "\0" in value:
        raise Invalid(f"{name} is not text without NUL")
    return _encoded(value, name)


def _encoded(value: str, name: str) -> bytes:
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Invalid(f"{name} has a surrogate that stands for no byte") from None


def _name(value: object) -> bytes:
    name = _bytes(value, "env")
    if not name or b"=" in name:
        raise Invalid("env has a name that is empty or contains =")
    return name


def _path(message: dict[str, Any], name: str) -> bytes:
    path = _bytes(message.get(name), name)
    if not path.startswith(b"/"):
        raise Invalid(f"{name} is not an absolute path")
    return path


def _user(value: object) -> User | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Invalid("user is not an object")
    name = value.get("name", "")
    if not isinstance(name, str):
        raise Invalid("the name of the user is not text")
    most = (1 << 32) - 2
    return User(name, _number(value, "uid", 0, most), _number(value, "gid", 0, most), _numbers(value, "groups"))


def _trusted(value: object) -> tuple[frozenset[int], frozenset[int]] | None:
    """Return the users and groups that may be able to change what runs; None: that is not asked."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Invalid("trusted is not an object")
    return frozenset(_numbers(value, "uids")), frozenset(_numbers(value, "gids"))


def _numbers(value: dict[str, Any], name: str) -> list[int]:
    numbers = value.get(name, [])
    if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
        raise Invalid(f"{name} is not a list of numbers")
    return numbers


def _stdin(value: object) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Return what is given itself, or the file to open as the job's user, or the one that jobd has made."""
    if value is None:
        return None, None, None
    if isinstance(value, dict) and len(value) == 1:
        if isinstance(value.get("text"), str):
            return _encoded(value["text"], "stdin"), None, None
        if isinstance(value.get("base64"), str):
            return _decoded(value["base64"]), None, None
        if "file" in value:
            return None, _path(value, "file"), None
        if "own" in value:
            return None, None, _path(value, "own")
    raise Invalid("stdin is not one of text, base64, file, own")


def _decoded(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise Invalid("stdin is not base64") from None
