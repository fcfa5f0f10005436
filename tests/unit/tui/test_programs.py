"""Verbs of the command line that the screens start: whether they would help, and what they said."""

import os
from pathlib import Path

import pytest

from jobctl.errors import Unavailable
from jobctl_tui.live.programs import doctor, log_file, log_tail, socket_words, start_daemon, why_not_start

HOME = {"HOME": "/home/ana", "JOBCTL_HOME": "/tmp/x"}


def test_the_daemon_of_this_account_can_be_started() -> None:
    assert why_not_start(HOME, 1000, None) is None
    assert why_not_start(HOME, 1000, "/tmp/x/run/jobd.sock") is None
    assert why_not_start({"HOME": "/root"}, 0, "/run/jobctl/jobd.sock") is None


def test_the_systems_daemon_is_not_started_by_somebody_else() -> None:
    why = why_not_start({"HOME": "/home/ana"}, 1000, "/run/jobctl/jobd.sock")
    assert why is not None
    assert "another account" in why


def test_a_daemon_that_was_named_by_its_socket_is_not_started() -> None:
    assert why_not_start({**HOME, "JOBCTL_SOCKET": "/tmp/y.sock"}, 1000, "/tmp/y.sock") is not None


def test_the_end_of_a_log_is_read_and_nothing_more(tmp_path: Path) -> None:
    log = tmp_path / "jobd.log"
    log.write_bytes(b"\xff first\n" + b"".join(b"line %d\n" % number for number in range(100_000)))
    assert log_tail(str(log), 3) == ["line 99997", "line 99998", "line 99999"]


def test_a_log_that_is_not_there_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is not there"):
        log_tail(str(tmp_path / "none"), 3)
    with pytest.raises(Unavailable, match="Is a directory"):
        log_tail(str(tmp_path), 3)


def test_the_log_lies_in_the_state_folder_of_the_daemon_that_was_there() -> None:
    assert log_file(HOME, 1000, {"state_dir": "/var/lib/jobctl"}) == "/var/lib/jobctl/jobd.log"
    assert log_file(HOME, 1000, None) == "/tmp/x/state/jobd.log"


def test_what_is_to_be_seen_of_a_socket_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(0o600)
    assert socket_words(str(path)) == f"{path}: file that is no socket of uid {os.getuid()}, mode 0600"
    assert socket_words(str(tmp_path / "none")).endswith("No such file or directory")


def test_without_a_daemon_doctor_looks_at_what_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBCTL_HOME", str(tmp_path / "h"))
    found = doctor(None)
    assert {"check", "level", "text", "hint"} <= found[0].keys()
    assert (found[0]["check"], found[0]["level"]) == ("daemon", "bad")


def test_a_daemon_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "h"
    (home / "config").mkdir(parents=True)
    (home / "config" / "jobd.toml").write_text("slots = -1\n")
    monkeypatch.setenv("JOBCTL_HOME", str(home))
    with pytest.raises(Unavailable) as caught:
        start_daemon()
    assert "slots" in caught.value.message + caught.value.hint
