"""Real users and groups of the host: made for a test, and gone after it, whatever happens.

Only root can make them: a test file says `pytestmark = needs_root`. Their names (`jt<pid of the tests><letters>`) are
nobody else's, also with several test processes at once, and what a killed test process has left the next one removes.
"""

import contextlib
import fcntl
import itertools
import os
import pwd
import re
import select
import shutil
import signal
import string
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make users")

_LOCK: Final = "/run/lock/jobctl-test-accounts"
_OURS: Final = re.compile(r"jt(\d+)[a-z]+")
_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_numbers = itertools.count()


@dataclass(frozen=True)
class Account:
    """A user of this host, with a group of the same name, a home and /bin/sh unless asked otherwise."""

    name: str
    uid: int
    gid: int
    home: Path

    @property
    def environ(self) -> dict[str, str]:
        """What a login gives."""
        return {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, "SHELL": "/bin/sh", "PATH": _PATH}

    def command(self, words: Sequence[str], *options: str) -> list[str]:
        """The command as this user, with all groups that the host gives it. Options go to setpriv(1)."""
        ids = [f"--reuid={self.uid}", f"--regid={self.gid}", "--init-groups"]
        return ["setpriv", *ids, *options, "--", *words]

    def run(
        self, *words: str, env: Mapping[str, str] | None = None, **options: Any
    ) -> "subprocess.CompletedProcess[str]":
        """Runs a command as this user, and waits for its end. `env` comes on top of a login's."""
        with_defaults = {"cwd": "/", "stdin": subprocess.DEVNULL, "timeout": 60, **options}
        if "input" in options:
            del with_defaults["stdin"]
        return subprocess.run(
            self.command(words),
            env={**self.environ, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            **with_defaults,
        )


class Accounts:
    """Makes users and groups; `close` removes them, with their processes, homes and mailboxes."""

    def __init__(self) -> None:
        self._users: dict[str, int] = {}
        self._groups: list[str] = []

    def user(self, *options: str, name: str | None = None, groups: Sequence[str] = ()) -> Account:
        """A new user. Options go to useradd(8) after `-m -s /bin/sh`, so they may say otherwise."""
        made = name or _new_name()
        also = ["-G", ",".join(groups)] if groups else []
        with _alone():
            _do("useradd", "-m", "-s", "/bin/sh", "-l", "-U", *also, *options, made)
            entry = pwd.getpwnam(made)
        self._users[made] = entry.pw_uid
        return Account(made, entry.pw_uid, entry.pw_gid, Path(entry.pw_dir))

    def users(self, count: int, *options: str, groups: Sequence[str] = ()) -> list[Account]:
        """Several of them."""
        return [self.user(*options, groups=groups) for _ in range(count)]

    def group(self, *members: Account) -> str:
        """The name of a new group."""
        made = _new_name()
        with _alone():
            _do("groupadd", made)
        self._groups.append(made)
        for member in members:
            self.join(member, made)
        return made

    def join(self, member: Account, group: str) -> None:
        """From now on the user is in the group; processes that it has keep the groups they have."""
        with _alone():
            _do("gpasswd", "-a", member.name, group)

    def leave(self, member: Account, group: str) -> None:
        """The opposite."""
        with _alone():
            _do("gpasswd", "-d", member.name, group)

    def modify(self, member: Account, *options: str) -> None:
        """usermod(8). A new name is given as `rename`."""
        with _alone():
            _do("usermod", *options, member.name)

    def rename(self, member: Account) -> Account:
        """The same account under a new name."""
        name = _new_name()
        self.modify(member, "-l", name)
        self._users[name] = self._users.pop(member.name)
        return Account(name, member.uid, member.gid, member.home)

    def remove(self, member: Account) -> None:
        """Before the end; its number may be given to another one then: `user("-u", str(old.uid))`."""
        self._users.pop(member.name, None)
        with _alone():
            _remove_user(member.name, member.uid)

    def close(self) -> None:
        """Everything that was made."""
        with _alone():
            for name, uid in self._users.items():
                _remove_user(name, uid)
            for name in self._groups:
                _remove_group(name)
        self._users.clear()
        self._groups.clear()


@contextlib.contextmanager
def accounts() -> Iterator[Accounts]:
    """For the time of a test, or of a file of tests: a fixture of the scope that is wanted yields it."""
    made = Accounts()
    with _alone():
        _remove_leftovers()
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def public_folder() -> Iterator[Path]:
    """A folder that every user can enter and read; those of pytest are private."""
    made = Path(tempfile.mkdtemp(prefix="jt"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _new_name() -> str:
    number, letters = next(_numbers), ""
    while True:
        number, place = divmod(number, 26)
        letters = string.ascii_lowercase[place] + letters
        if number == 0:
            return f"jt{os.getpid()}{letters}"
        number -= 1


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """useradd(8) and the like give up when another one is at work."""
    descriptor = os.open(_LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _do(*words: str) -> None:
    done = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (words, done.stderr)


def _remove_user(name: str, uid: int) -> None:
    _end_processes(uid)
    with contextlib.suppress(KeyError):
        home = pwd.getpwnam(name).pw_dir
        # -f: a line in utmp, or a process that has not gone yet, is no reason to keep it
        subprocess.run(["userdel", "-f", "-r", name], check=False, stdin=subprocess.DEVNULL, capture_output=True)
        if home.startswith("/home/jt"):
            shutil.rmtree(home, ignore_errors=True)
    _remove_group(name)


def _remove_group(name: str) -> None:
    """userdel has removed that of the user's name, unless it has other members."""
    subprocess.run(["groupdel", "-f", name], check=False, stdin=subprocess.DEVNULL, capture_output=True)


def _end_processes(uid: int) -> None:
    """By their ids, until none is left: one may have begun another one."""
    for _ in range(20):
        found = [pid for pid in _processes() if _uid_of(pid) == uid]
        if not found:
            return
        for pid in found:
            _kill(pid, uid)
    raise AssertionError(f"processes of uid {uid} do not end: {found}")


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _uid_of(pid: int) -> int | None:
    """None for one that is gone or only waits for its parent."""
    try:
        fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    found = dict(line.split(":\t", 1) for line in fields if ":\t" in line)
    return None if found["State"][0] in "ZX" else int(found["Uid"].split()[0])


def _kill(pid: int, uid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _uid_of(pid) == uid:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], 10)
    finally:
        os.close(handle)


def _remove_leftovers() -> None:
    """Of test processes that are no more."""
    for entry in pwd.getpwall():
        found = _OURS.fullmatch(entry.pw_name)
        if found is not None and not Path("/proc", found[1]).exists():
            _remove_user(entry.pw_name, entry.pw_uid)
    with contextlib.suppress(OSError):
        lines = Path("/etc/group").read_text().splitlines()
        for name in [line.partition(":")[0] for line in lines]:
            found = _OURS.fullmatch(name)
            if found is not None and not Path("/proc", found[1]).exists():
                _remove_group(name)
