"""The system's daemon under what its unit leaves it: few capabilities, no new privileges, and a read-only root.

systemd itself is not there; setpriv(1) and a mount namespace take away what the unit's lines take away. The runner is
outside, as its own unit is.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from jobctl_daemon.build import build_id
from kit.accounts import Accounts, needs_root
from kit.daemon import RealDaemon

pytestmark = [needs_root, pytest.mark.long]

UNIT: Final = (Path(__file__).parents[2] / "packaging/systemd/system/jobd.service").read_text()
#: The folders that may be written stay as they are; everything else becomes read-only.
WORLD: Final = """
set -eu
mount --make-rprivate /
for folder in "$STATE" "$RUN" "$SPOOL"; do mount --bind "$folder" "$folder"; done
for place in / /tmp /var /run /home; do
    if mountpoint -q "$place"; then mount -o remount,bind,ro "$place"; fi
done
touch "$ELSEWHERE" 2>/dev/null && exit 99
exec setpriv --no-new-privs --inh-caps=-all --bounding-set="-all,$CAPABILITIES" "$@"
"""


def capabilities() -> str:
    """As setpriv(1) wants them."""
    (line,) = re.findall(r"^CapabilityBoundingSet=(.*)$", UNIT, re.M)
    return ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in line.split())


@pytest.fixture
def accounts() -> Iterator[Accounts]:
    made = Accounts()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")
    assert "\nReadWritePaths=-/var/spool/cron\n" in UNIT
    home, host = tmp_path / "home", tmp_path / "host"
    for folder in (home / "state", home / "run", host / "var/spool/cron/crontabs", host / "etc"):
        folder.mkdir(parents=True)
    (home / "state").chmod(0o700)
    (home / "run").chmod(0o755)
    tmp_path.chmod(0o755)
    made = RealDaemon(home).settings(f'runners = 1\ncrontabs = "on"\nhost_root = "{host}"\n')
    made.environ |= {
        "STATE": str(home / "state"),
        "RUN": str(home / "run"),
        "SPOOL": str(host / "var/spool/cron"),
        "ELSEWHERE": str(host / "etc/x"),
        "CAPABILITIES": capabilities(),
        "JOBCTL_RUNNER_UNIT": "system",
    }
    made.within = lambda command: ["unshare", "--mount", "sh", "-c", WORLD, "sh", *command]
    build = build_id()
    subprocess.run(
        [sys.executable, "-I", "-m", "jobctl_daemon.runner", "--state", str(home / "state"), "--instance", f"{build}-1",
         "--program-version", build, "--idle-exit", "60"],
        check=True,
    )  # fmt: skip
    try:
        yield made.start()
    finally:
        made.close()


def test_it_runs_jobs_as_their_users_and_keeps_their_crontabs(
    daemon: RealDaemon, accounts: Accounts, tmp_path: Path
) -> None:
    assert daemon.process is not None
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16).bit_count() == len(capabilities().split(","))

    ada = accounts.user()
    run = daemon.finished(daemon.run(["sh", "-c", "id -un; grep -c NoNewPrivs:.0 /proc/self/status"], user=ada.name))
    assert daemon.output(run).decode().split() == [ada.name, "1"]

    table = tmp_path / "table"
    table.write_text("0 0 1 1 * echo of a crontab\n")
    done = daemon.jobctl("crontab", "-u", ada.name, str(table))
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "host/var/spool/cron/crontabs" / ada.name
    found = kept.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (ada.uid, 0o600)
    (job,) = daemon.client.jobs()
    assert job["owner"] == ada.name
    done = daemon.jobctl("crontab", "-u", ada.name, "-r")
    assert done.returncode == 0, done.stderr
    assert not kept.exists()
    copy = tmp_path / "copy.db"
    assert daemon.jobctl("backup", str(copy)).returncode == 0
    assert "Traceback" not in daemon.log()
    assert " level=error " not in daemon.log(), daemon.log()
    assert os.path.exists(copy)
