"""Stopping the cron of this host for good, and starting it again as it was."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from typing import Final

from jobctl.errors import Conflict

from .crond import Cron, CronProcess, CronService, find, running
from .programs import SBIN, must

#: Debian's cron and cronie run `@reboot` lines when their file is not there, and make it (cron.c, `run_reboot_jobs`).
REBOOT_FILES: Final = ("run/crond.reboot", "run/cron.reboot")
_GONE_S: Final = 15.0
_AGAIN_S: Final = 15.0
_LOOK_S: Final = 0.05


class HostCron:
    """The cron of this host, for who stops and starts it."""

    def __init__(self, environ: Mapping[str, str], root: str = "/") -> None:
        self._environ = environ
        self._root = root

    def find(self) -> Cron:
        return find(self._environ, self._root)

    def stop(self, cron: Cron) -> list[str]:
        return stop(cron, self._environ, self._root)

    def start(self, cron: Cron) -> list[str]:
        return start(cron, self._environ, self._root)


# ── stopping and starting ─────────────────────────────────────────────────────


def stop(cron: Cron, environ: Mapping[str, str], root: str = "/") -> list[str]:
    """End it and keep it from coming back; what was done, a sentence each.

    Jobs that it has started go on. Raises `Conflict` when it still runs, or would come back, after all of it.
    """
    done = []
    for service in cron.services:
        if service.enabled or service.active:
            _stop_service(service, environ)
            done.append(f"{service.name} is stopped and will not start at boot")
    left = running(root)
    for process in left:
        _end(process)
    if left:
        done.append(f"ended {', '.join(process.words for process in left)}")
    check_gone(find(environ, root))
    return done


def _stop_service(service: CronService, environ: Mapping[str, str]) -> None:
    if service.manager == "systemd":
        must(["systemctl", "disable", "--now", service.name], environ)
        return
    if service.enabled:
        must(["update-rc.d", service.name, "disable"], environ)
    if service.active:
        must(["service", service.name, "stop"], environ)


def check_gone(cron: Cron) -> None:
    """Raises `Conflict` where cron runs, or will after the next boot."""
    if cron.processes:
        words = ", ".join(process.words for process in cron.processes)
        raise Conflict(f"cron still runs: {words}", "something starts it again; stop that first")
    if cron.returns:
        names = ", ".join(service.name for service in cron.returns)
        raise Conflict(f"{names} is still started at boot", "disable it by hand, then run this again")


def _end(process: CronProcess) -> None:
    """TERM, and CONT for one that stands still; returns when it is gone, or after a while."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        for number in (signal.SIGTERM, signal.SIGCONT):
            try:
                signal.pidfd_send_signal(handle, number)
            except ProcessLookupError:
                return
            except PermissionError as error:
                raise Conflict(f"{process.words} may not be ended", "run this as root") from error
        select.select([handle], [], [], _GONE_S)
    finally:
        os.close(handle)


def start(cron: Cron, environ: Mapping[str, str], root: str = "/") -> list[str]:
    """Bring back what `cron` says was there; what was done, a sentence each. Raises `Conflict` when it does not run.

    `@reboot` lines do not run again: this is no boot.
    """
    _note_the_boot(root)
    done: list[str] = []
    for service in cron.services:
        done += _start_service(service, environ)
    if cron.processes and not _comes(root, within_s=0 if not done else _AGAIN_S):
        for process in cron.processes:
            _launch(process)
            done.append(f"started {' '.join(process.argv)}")
        if not _comes(root, _AGAIN_S):
            raise Conflict("cron does not run again", f"start it by hand: {' '.join(cron.processes[0].argv)}")
    return done


def _start_service(service: CronService, environ: Mapping[str, str]) -> Iterator[str]:
    systemd = service.manager == "systemd"
    if service.enabled:
        must(["systemctl", "enable", service.name] if systemd else ["update-rc.d", service.name, "enable"], environ)
    if service.active:
        must(["systemctl", "start", service.name] if systemd else ["service", service.name, "start"], environ)
    words = [word for word, was in (("starts at boot", service.enabled), ("runs", service.active)) if was]
    if words:
        yield f"{service.name} {' and '.join(words)} again"


def _note_the_boot(root: str) -> None:
    for name in REBOOT_FILES:
        path = os.path.join(root, name)
        if os.path.isdir(os.path.dirname(path)):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def _launch(process: CronProcess) -> None:
    """As it was called, and as a daemon: without a terminal, a session or a variable of ours."""
    try:
        subprocess.Popen(
            list(process.argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": SBIN},
            start_new_session=True,
        )
    except OSError as error:
        raise Conflict(f"{process.argv[0]} cannot be started: {error.strerror}", "start cron by hand") from error


def _comes(root: str, within_s: float) -> bool:
    looks = int(within_s / _LOOK_S) + 1
    for look in range(looks):
        if look:
            select.select([], [], [], _LOOK_S)
        if running(root):
            return True
    return False
