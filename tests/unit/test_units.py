"""The systemd units, filled in as the installer does it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging/systemd"
KINDS = ("system", "user")


def _filled(kind: str, unit: str, base: Path) -> str:
    text = (PACKAGING / kind / unit).read_text()
    for name, value in {
        "BUILD": "1.2.3-0a1b2c3d",
        "CURRENT": str(base / "current"),
        "DIR": str(base / "1.2.3"),
        "STATE": str(base / "state"),
        "ENVIRONMENT": 'Environment="XDG_STATE_HOME=/srv/some where"\n',
    }.items():
        text = text.replace(f"@{name}@", value)
    return text


def _settings(kind: str, unit: str) -> dict[str, str]:
    lines = (PACKAGING / kind / unit).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@pytest.mark.parametrize("kind", KINDS)
def test_systemd_accepts_the_units(kind: str, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here")
    for program in ("current/bin/jobd", "1.2.3/bin/python3"):
        (tmp_path / program).parent.mkdir(parents=True)
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    units = {"jobd.service": "jobd.service", "jobctl-runner@.service": "jobctl-runner@1.2.3-0a1b2c3d-1.service"}
    for source in units:
        (tmp_path / source).write_text(_filled(kind, source, tmp_path))
        assert not re.search("@[A-Z]+@", _filled(kind, source, tmp_path))
    for unit in units.values():
        done = subprocess.run(
            [analyze, f"--{kind}", "verify", "--man=no", str(tmp_path / unit)],
            env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        # Only what is said about ours counts: the host's own units are not ours to judge.
        said = [line for line in done.stderr.splitlines() if "job" in line]
        assert said == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_outlives_whatever_systemd_does_to_the_daemon_or_its_runner(kind: str) -> None:
    for unit in ("jobd.service", "jobctl-runner@.service"):
        settings = _settings(kind, unit)
        assert settings["KillMode"] == "process"
        assert settings["OOMPolicy"] == "continue"
        assert settings["TasksMax"] == "infinity"
        assert settings["Type"] == "notify"
        assert settings["Restart"] == "on-failure"
    assert _settings(kind, "jobctl-runner@.service")["Delegate"] == "yes"
    assert float(_settings(kind, "jobd.service")["WatchdogSec"]) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_command_is_put_into_a_sandbox(kind: str) -> None:
    inherited = (
        "Protect",
        "Private",
        "Restrict",
        "SystemCall",
        "NoNewPrivileges",
        "ReadOnly",
        "Inaccessible",
        "Memory",
    )
    assert not [
        name
        for name in _settings(kind, "jobctl-runner@.service")
        if name.startswith(inherited) and name != "RestartSec"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_daemon_is_in_a_sandbox_and_leaves_runners_to_the_manager(kind: str) -> None:
    settings = _settings(kind, "jobd.service")
    assert settings["Environment"] == f"JOBCTL_RUNNER_UNIT={kind}"
    assert settings["NoNewPrivileges"] == "yes"
    assert "AF_UNIX" in settings["RestrictAddressFamilies"].split()
    if kind == "system":
        assert settings["ProtectSystem"] == "strict"
        assert settings["StateDirectory"] == settings["RuntimeDirectory"] == "jobctl"
        assert settings["ReadWritePaths"] == "-/var/spool/cron"
