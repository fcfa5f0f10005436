"""The cron daemon of this host: whether one runs, and what starts it at boot.

A process is cron when its program has such a name and it reads the same /etc as we do (one in a container does not).
What starts it at boot is asked of systemd, or of the scripts of System V; without both a process is all there is.
anacron is none of this: where it is installed it goes on (periodic.py).
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .programs import found, run

#: The programs of Debian's cron, cronie and dcron, busybox, fcron and bcron.
PROGRAMS = frozenset({"cron", "crond", "cronie", "fcron", "bcron-sched", "bcron-start"})
#: Units that run what is in crontabs; the last is systemd-cron's, which makes timers of them.
UNITS = ("cron.service", "crond.service", "cronie.service", "dcron.service", "fcron.service", "bcron.service",
         "cron.target")  # fmt: skip
SCRIPTS = ("cron", "crond", "cronie", "fcron", "bcron")
#: Where the daemons write their process id, and lock the file.
PID_FILES = ("run/crond.pid", "run/cron.pid", "run/fcron.pid", "run/bcron.pid")
_SHOW = ("Id", "LoadState", "ActiveState", "UnitFileState")
_AT_BOOT = frozenset({"enabled", "enabled-runtime", "linked", "linked-runtime", "alias"})
_GENERATED = "generated"
_NOT_INSTALLED = frozenset({"not-found", "masked", "error", ""})


@dataclass(frozen=True, slots=True)
class CronProcess:
    """A running cron daemon."""

    pid: int
    name: str
    argv: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"{self.name}, pid {self.pid}"


@dataclass(frozen=True, slots=True)
class CronService:
    """Something that starts cron. `enabled`: at boot; `active`: now."""

    manager: str
    """`systemd`, or `sysv` for a script in /etc/init.d."""
    name: str
    enabled: bool
    active: bool


@dataclass(frozen=True, slots=True)
class Cron:
    """What there is of cron on this host."""

    processes: tuple[CronProcess, ...] = ()
    services: tuple[CronService, ...] = ()

    @property
    def returns(self) -> tuple[CronService, ...]:
        """What would start it at the next boot."""
        return tuple(service for service in self.services if service.enabled)

    @property
    def found(self) -> bool:
        """Whether it runs crontabs, now or after a boot."""
        return bool(self.processes or self.returns or any(service.active for service in self.services))


def find(environ: Mapping[str, str], root: str = "/") -> Cron:
    """Processes and services."""
    return Cron(running(root), services(environ, root))


# ── processes ─────────────────────────────────────────────────────


def running(root: str = "/", proc: str = "/proc") -> tuple[CronProcess, ...]:
    """The cron daemons that run now and read the tables under `root`. Reads /proc only, and never raises."""
    locked = set(_lock_holders(root, proc))
    seen = [one for one in map(_process, _entries(proc)) if one is not None and _is_cron(one, locked)]
    daemons = {one.pid for one in seen}
    # A child that is about to become a job is still called like its parent.
    return tuple(
        CronProcess(one.pid, one.name, one.argv)
        for one in seen
        if one.parent not in daemons and _reads(f"{proc}/{one.pid}", root)
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    pid: int
    parent: int
    uid: int
    name: str
    argv: tuple[str, ...]


def _entries(proc: str) -> Iterator[str]:
    try:
        names = os.listdir(proc)
    except OSError:
        return
    yield from (os.path.join(proc, name) for name in names if name.isdecimal())


def _process(entry: str) -> _Seen | None:
    """None for one that is gone, is a zombie or belongs to the kernel."""
    try:
        with open(os.path.join(entry, "stat"), "rb") as file:
            uid = os.fstat(file.fileno()).st_uid
            before, _, after = file.read().rpartition(b") ")
        with open(os.path.join(entry, "cmdline"), "rb") as file:
            words = file.read(4096).rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    fields = after.split()
    if len(fields) < 2 or fields[0] in (b"Z", b"X") or not words[0]:
        return None
    comm = before.partition(b" (")[2].decode("utf-8", "replace")
    argv = tuple(os.fsdecode(word) for word in words)
    return _Seen(int(os.path.basename(entry)), int(fields[1]), uid, _program(entry, comm), argv)


def _program(entry: str, comm: str) -> str:
    """The name of its file. Of busybox, which is many programs, and where the file may not be seen: its own."""
    try:
        file = os.readlink(os.path.join(entry, "exe")).removesuffix(" (deleted)")
    except OSError:
        return comm
    name = os.path.basename(file)
    return comm if name == "busybox" else name


def _is_cron(one: _Seen, locked: set[int]) -> bool:
    if one.uid != 0 or not (one.name in PROGRAMS or one.pid in locked):
        return False
    # Children that run a job have their name in capitals (do_command.c), and live on when their parent ends.
    called = os.path.basename(one.argv[0].removeprefix("-"))
    return not called.isupper()


def _reads(entry: str, root: str) -> bool:
    """Whether the process has the same /etc; one that may not be looked at counts."""
    try:
        theirs, ours = os.stat(f"{entry}/root/etc"), os.stat(os.path.join(root, "etc"))
    except PermissionError:
        return True
    except OSError:
        return False
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def _lock_holders(root: str, proc: str) -> Iterator[int]:
    """Who holds the lock on a cron's pid file: found without taking it, which would make a starting cron give up."""
    try:
        with open(os.path.join(proc, "locks"), encoding="ascii", errors="replace") as file:
            locks = [line.split() for line in file]
    except OSError:
        return
    for name in PID_FILES:
        try:
            facts = os.stat(os.path.join(root, name))
        except OSError:
            continue
        for words in locks:
            if len(words) >= 6 and words[1] in ("FLOCK", "POSIX") and words[5].endswith(f":{facts.st_ino}"):
                yield int(words[4])


# ── services ─────────────────────────────────────────────────────


def services(environ: Mapping[str, str], root: str = "/") -> tuple[CronService, ...]:
    """What of cron is installed as a service, started at boot or running."""
    if has_systemd(environ, root):
        return tuple(_units(environ, root))
    return tuple(_scripts(root))


def has_systemd(environ: Mapping[str, str], root: str = "/") -> bool:
    return os.path.isdir(os.path.join(root, "run/systemd/system")) and found("systemctl", environ) is not None


def _units(environ: Mapping[str, str], root: str) -> Iterator[CronService]:
    shown = run(["systemctl", "show", f"--property={','.join(_SHOW)}", *UNITS], environ)
    known = set()
    for block in re.split(r"\n\s*\n", shown.stdout.strip()):
        facts = dict(line.partition("=")[::2] for line in block.splitlines())
        name = facts.get("Id", "")
        if name in known or facts.get("LoadState", "") in _NOT_INSTALLED:
            continue
        known.add(name)
        state = facts.get("UnitFileState", "")
        # Made from a script of System V, of which systemd does not say whether it is enabled.
        enabled = _linked(root, name.removesuffix(".service")) if state == _GENERATED else state in _AT_BOOT
        active = facts.get("ActiveState", "") in ("active", "activating", "reloading")
        yield CronService("systemd", name, enabled, active)


def _scripts(root: str) -> Iterator[CronService]:
    for name in SCRIPTS:
        if os.access(os.path.join(root, "etc/init.d", name), os.X_OK):
            yield CronService("sysv", name, _linked(root, name), _pid_is_there(root, name))


def _linked(root: str, name: str) -> bool:
    """Whether a run level starts it: S and two digits before its name, in /etc/rcN.d."""
    for level in "2345":
        folder = os.path.join(root, f"etc/rc{level}.d")
        try:
            links = os.listdir(folder)
        except OSError:
            continue
        if any(re.fullmatch(rf"S[0-9]{{2}}{re.escape(name)}", link) for link in links):
            return True
    return False


def _pid_is_there(root: str, name: str) -> bool:
    """A script has no state; whether its daemon runs is seen in /proc."""
    return any(process.name in (name, f"{name}d") for process in running(root))
