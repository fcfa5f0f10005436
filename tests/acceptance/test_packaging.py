"""The units, tmpfiles, sysusers and the init script: what systemd's own tools say of them, and that they work."""

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon

PACKAGING = Path(__file__).parents[2] / "packaging"
SYSTEM = PACKAGING / "systemd/system"
#: systemd-analyze's figure goes from 0, nothing to fear, to 10.
EXPOSURE_MOST = 2.6


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


@pytest.fixture(params=["system", "user"])
def units(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """As install.sh writes them, with programs that are there."""
    for unit in (PACKAGING / "systemd" / request.param).iterdir():
        text = unit.read_text()
        for name, value in (
            ("@CURRENT@/bin/jobd", "/bin/true"),
            ("@DIR@/bin/python3", "/bin/true"),
            ("@BUILD@", "1.0-ab"),
            ("@STATE@", "/var/lib/jobctl"),
            ("@ENVIRONMENT@", ""),
        ):
            text = text.replace(name, value)
        assert "@" not in re.sub(
            r"jobctl-runner@1.0-ab-\d\.service|@(system-service|privileged|resources|chown)", "", text
        )
        (tmp_path / unit.name).write_text(text)
    return tmp_path


def test_systemd_finds_nothing_wrong_with_the_units(units: Path) -> None:
    analyze = tool("systemd-analyze")
    names = [str(units / "jobd.service"), str(units / "jobctl-runner@1.service")]
    (units / "jobctl-runner@1.service").symlink_to("jobctl-runner@.service")
    done = run(analyze, "verify", "--man=no", *names)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_daemon_of_the_system_is_little_exposed_and_what_runs_commands_is_not_confined(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    if "--offline" not in run(analyze, "--help").stdout:
        pytest.skip("this systemd-analyze looks at running services only")
    text = (SYSTEM / "jobd.service").read_text().replace("@CURRENT@/bin/jobd", "/bin/true")
    (tmp_path / "jobd.service").write_text(text)
    done = run(analyze, "security", "--offline=yes", "--no-pager", str(tmp_path / "jobd.service"))
    found = re.search(r"exposure level for jobd.service: ([\d.]+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) <= EXPOSURE_MOST
    # A command would inherit it.
    runner = (SYSTEM / "jobctl-runner@.service").read_text()
    confining = (
        "Protect|Private|Restrict|System|NoNew|Capability|Lock|Memory|ReadOnly|ReadWrite|Inaccessible|Limit|UMask"
    )
    assert not re.search(rf"^({confining})", runner, re.M)
    assert {"Delegate=yes", "OOMPolicy=continue", "KillMode=process", "TasksMax=infinity"} <= set(runner.splitlines())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    (made / "etc").mkdir(parents=True)
    (made / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (made / "etc/group").write_text("root:x:0:\n")
    return made


@pytest.mark.skipif(os.geteuid() != 0, reason="files of other groups")
def test_groups_and_folders_are_made_by_systemd_as_the_daemon_wants_them(root: Path) -> None:
    sysusers, tmpfiles = tool("systemd-sysusers"), tool("systemd-tmpfiles")
    for done in (
        run(sysusers, f"--root={root}", str(PACKAGING / "systemd/sysusers.d/jobctl.conf")),
        run(tmpfiles, f"--root={root}", "--create", str(PACKAGING / "systemd/tmpfiles.d/jobctl.conf")),
    ):
        assert done.returncode == 0, done.stderr
    groups = {line.split(":")[0]: int(line.split(":")[2]) for line in (root / "etc/group").read_text().splitlines()}
    assert {"jobctl", "crontab"} <= set(groups)
    assert "jobctl" not in (root / "etc/passwd").read_text()
    for path, mode, group in (
        ("run/jobctl", 0o755, 0),
        ("var/lib/jobctl", 0o700, 0),
        ("var/spool/cron/crontabs", 0o1730, groups["crontab"]),
    ):
        found = (root / path).stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (mode, 0, group), path


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    """The init script, with this Python's programs, and a place of its own for the daemon."""
    current = tmp_path / "current/bin"
    current.mkdir(parents=True)
    for name, module in (("jobd", "jobctl_daemon"), ("jobctl", "jobctl")):
        (current / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (current / name).chmod(0o755)
    home = tmp_path / "home"
    (tmp_path / "defaults").write_text(f"export JOBCTL_HOME={home}\n")
    text = (PACKAGING / "sysv/jobd").read_text()
    for name, value in (
        ("@CURRENT@", tmp_path / "current"),
        ("@STATE@", home / "state"),
        ("@DEFAULTS@", tmp_path / "defaults"),
    ):
        text = text.replace(name, str(value))
    made = tmp_path / "jobd"
    made.write_text(text)
    made.chmod(0o755)
    try:
        yield made
    finally:
        service(made, "stop")


def service(script: Path, word: str) -> "subprocess.CompletedProcess[str]":
    """As service(8) calls it: with next to no environment."""
    return run("env", "-i", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb", str(script), word)


@pytest.mark.long
def test_the_init_script_starts_stops_and_tells(script: Path) -> None:
    codes = []
    for word in ("status", "start", "start", "status", "reload", "restart", "status", "stop", "stop", "status", "what"):
        done = service(script, word)
        codes.append((word, done.returncode))
        if word == "restart":
            assert done.stdout.splitlines() == ["jobd is stopped", "jobd is started"]
    assert codes == [
        ("status", 3),
        ("start", 0),
        ("start", 0),
        ("status", 0),
        ("reload", 0),
        ("restart", 0),
        ("status", 0),
        ("stop", 0),
        ("stop", 0),
        ("status", 3),
        ("what", 2),
    ]
    assert service(script, "reload").returncode == 7


def test_a_start_that_fails_ends_with_the_code_of_jobd_and_its_words(script: Path, tmp_path: Path) -> None:
    (tmp_path / "home/config").mkdir(parents=True)
    (tmp_path / "home/config/jobd.toml").write_text("slotz = 1\n")
    done = service(script, "start")
    assert done.returncode == 2
    assert "slotz" in done.stderr


def test_the_links_of_the_init_script_are_made_for_every_level(root: Path) -> None:
    update = tool("update-rc.d")
    (root / "etc/init.d").mkdir()
    shutil.copy(PACKAGING / "sysv/jobd", root / "etc/init.d/jobd")
    for level in "0123456S":
        (root / f"etc/rc{level}.d").mkdir()
    done = subprocess.run(
        [update, "jobd", "defaults"], env={**os.environ, "DPKG_ROOT": str(root)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    links = {f"{path.parent.name[2]}{path.name[0]}" for path in root.glob("etc/rc?.d/*jobd")}
    assert links == {"0K", "1K", "6K", "2S", "3S", "4S", "5S"}


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="the system's daemon is root's")
def test_a_daemon_that_has_taken_the_place_of_cron_does_not_say_that_cron_brings_it_back(tmp_path: Path) -> None:
    assert "why='cron starts it" in (PACKAGING.parent / "install.sh").read_text()
    state = tmp_path / "home/state"
    state.mkdir(parents=True, mode=0o700)
    (state / "returns-after-reboot").write_text("yes\tcron starts it, by an @reboot line in the crontab\n")
    (tmp_path / "host").mkdir()
    said = []
    for crontabs in ("auto", "on"):
        settings = f'crontabs = "{crontabs}"\nhost_root = "{tmp_path}/host"\n'
        RealDaemon(tmp_path / "home").settings(settings)
        with real_daemon(tmp_path / "home") as made:
            said.append(made.client.status()["returns_after_reboot"])
            shown = made.jobctl("status").stdout
    assert said == [True, False]
    assert "will NOT come back after a reboot or logout: cron was to start it" in " ".join(shown.split())
