"""Tells the service manager how the daemon is: sd_notify(3), spoken without libsystemd.

Where nothing listens (no NOTIFY_SOCKET), every call does nothing and returns False. None of them raises, and none
blocks: a daemon does not stand still because its supervisor is busy. A lost WATCHDOG=1 is repeated by the next one.
"""

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Who started us and wants to hear from us, read once from the environment."""

    address: str | None
    #: How often to say `alive()`: half of what the manager allows (sd_watchdog_enabled(3)); None: it does not watch.
    alive_every_s: float | None

    @classmethod
    def of(cls, environ: Mapping[str, str], pid: int) -> "Supervisor":
        """The supervisor that `environ` names, as the process `pid` sees it."""
        address = environ.get("NOTIFY_SOCKET", "")
        if address[:1] not in ("/", "@"):  # systemd also knows vsock:…, which is for virtual machines' guests
            return cls(None, None)
        return cls(address, _alive_every_s(environ, pid))

    def ready(self, status: str = "") -> bool:
        """The start, or a reload, is done."""
        return self.say("READY=1", *_status(status))

    def reloading(self) -> bool:
        """A reload begins; `ready` ends it. Type=notify-reload wants the moment as well."""
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
        return self.say("RELOADING=1", f"MONOTONIC_USEC={now_us}")

    def stopping(self, status: str = "") -> bool:
        """The daemon winds down."""
        return self.say("STOPPING=1", *_status(status))

    def alive(self) -> bool:
        """The loop still turns."""
        return self.say("WATCHDOG=1")

    def status(self, text: str) -> bool:
        """One line for `systemctl status`."""
        return self.say(*_status(text))

    def say(self, *lines: str) -> bool:
        """Send `lines` as one datagram; True when the manager's socket took it."""
        if self.address is None or not lines:
            return False
        # "@" stands for the leading NUL of an abstract socket (unix(7)).
        target = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(os.fsencode("\n".join(lines)), target)
        except OSError:
            return False
        return True


def _status(text: str) -> list[str]:
    return ["STATUS=" + " ".join(text.split())] if text else []  # one line: a second would be read as a field


def _alive_every_s(environ: Mapping[str, str], pid: int) -> float | None:
    allowed_us, meant_for = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", str(pid))
    if not allowed_us.isdecimal() or int(allowed_us) == 0 or meant_for != str(pid):
        return None
    return int(allowed_us) / 2_000_000
