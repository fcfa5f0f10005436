"""What the daemon knows of itself."""

import sys
from pathlib import Path

import pytest

from jobctl_daemon.facts import returns_after_reboot


def test_what_the_installer_wrote_down_is_whether_it_comes_back(tmp_path: Path) -> None:
    (tmp_path / "returns-after-reboot").write_text("yes\tsystemd starts jobd.service\n")
    assert returns_after_reboot(str(tmp_path)) == (True, "systemd starts jobd.service")


@pytest.mark.parametrize(
    ("prefix", "uid", "way"),
    [
        ("/opt/jobctl/0.1.0", 0, "./install.sh does that"),
        ("/usr/lib/jobctl/0.1.0-5f3c", 0, "dpkg-reconfigure jobctl does that"),
        (
            "/usr/lib/jobctl/0.1.0-5f3c",
            1000,
            "`systemctl --user enable --now jobd` and `loginctl enable-linger` do that",
        ),
    ],
)
def test_a_daemon_that_nobody_set_up_names_who_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, uid: int, way: str
) -> None:
    monkeypatch.delenv("JOBCTL_HOME", raising=False)
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr("os.getuid", lambda: uid)
    assert returns_after_reboot(str(tmp_path)) == (False, f"nothing was set up to start it again; {way}")


def test_a_trial_says_how_it_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBCTL_HOME", str(tmp_path))
    comes_back, why = returns_after_reboot(str(tmp_path))
    assert (comes_back, "`jobctl daemon start`" in why) == (False, True)
