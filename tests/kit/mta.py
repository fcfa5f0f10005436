"""A mail transport for tests: the program of Debian's package dma, in a view of the file system of its own.

It has its paths built in (/etc/dma, /usr/lib/dma, /var/spool/dma, /var/mail), and a host may have a transport of its
own. So nothing is installed: the package is unpacked, and laid over those folders for one daemon and what it starts
alone.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from kit.daemon import RealDaemon

#: What `tests/run` has brought; without it the test asks for the package itself.
_PACKAGES: Final = "JOBCTL_TEST_PACKAGES"
_LAYERS: Final = """\
set -eu
place=$1; shift
mount -t tmpfs -o mode=755 tmpfs "$place/room"
cp -a "$place/package" "$place/room/over"
install -d -m 2775 -g mail "$place/room/over/var/mail"
install -d -m 755 "$place/room/over/var/spool"
install -d -m 2775 -g mail "$place/room/over/var/spool/dma"
printf 'SPOOLDIR /var/spool/dma\\n' >"$place/room/over/etc/dma/dma.conf"
for folder in etc usr/lib usr/sbin var/mail var/spool; do
    work=$(mktemp -d "$place/room/work.XXXXXX")
    mount -t overlay -o "lowerdir=/$folder,upperdir=$place/room/over/$folder,workdir=$work" overlay "/$folder"
done
exec "$@"
"""


class MailTransport:
    """The unpacked package. `around` puts a daemon into the view in which it is installed."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def around(self, daemon: RealDaemon) -> None:
        daemon.within = self.within

    def within(self, command: list[str]) -> list[str]:
        layers = ["sh", "-c", _LAYERS, "layers", str(self._place)]
        return ["unshare", "--mount", "--propagation", "private", *layers, *command]


def mail_transport(place: Path) -> MailTransport:
    """Skips the test where it cannot be had, and says why."""
    if os.geteuid() != 0:
        pytest.skip("only root can lay a mail transport over the file system")
    (place / "room").mkdir(parents=True)
    (place / "package").mkdir()
    unpacked = _run("dpkg", "-x", str(_package(place)), str(place / "package"))
    if unpacked.returncode != 0:
        pytest.skip(f"the package dma cannot be unpacked: {unpacked.stderr.strip()}")
    transport = MailTransport(place)
    tried = _run(*transport.within(["sh", "-c", "[ -u /usr/lib/dma/dma-mbox-create ] && ldd /usr/sbin/sendmail"]))
    if tried.returncode != 0 or "not found" in tried.stdout:
        pytest.skip(f"no mail transport can be laid over this file system: {(tried.stderr or tried.stdout).strip()}")
    return transport


def mailbox(daemon: RealDaemon, user: str) -> Path:
    """Where the daemon's view has the mail of a user."""
    assert daemon.process is not None
    return Path(f"/proc/{daemon.process.pid}/root/var/mail/{user}")


def _package(place: Path) -> Path:
    given = os.environ.get(_PACKAGES)
    found = sorted(Path(given).glob("dma_*.deb")) if given else []
    if found:
        return found[-1]
    if shutil.which("apt-get") is None:
        pytest.skip("the package dma is Debian's, and this is no Debian")
    got = subprocess.run(
        ["apt-get", "download", "-qq", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", "dma"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    found = sorted(place.glob("dma_*.deb"))
    if got.returncode != 0 or not found:
        pytest.skip(f"apt-get cannot bring the package dma: {got.stderr.strip()[:200]}")
    return found[-1]


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
