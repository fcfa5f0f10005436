"""What the host says of its clock; nothing is ever changed."""

from pathlib import Path

import pytest

from jobctl_daemon import synchronised as asked
from jobctl_daemon.synchronised import synchronised


@pytest.mark.parametrize(("status", "answer"), [(0x0001, True), (0x0040, False), (0x2041, False)])
def test_the_kernel_says_whether_it_is_kept(monkeypatch: pytest.MonkeyPatch, status: int, answer: bool) -> None:
    monkeypatch.setattr(asked, "_status", lambda: status)
    assert synchronised() is answer


def test_where_a_sandbox_forbids_to_ask_the_file_of_timesyncd_is_a_sign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(asked, "_adjtimex", lambda _: -1)
    monkeypatch.setattr(asked, "TIMESYNC", str(tmp_path / "synchronized"))
    assert synchronised() is None
    (tmp_path / "synchronized").touch()
    assert synchronised() is True


def test_to_ask_needs_no_rights_and_changes_nothing() -> None:
    assert asked._Timex().modes == 0
    assert synchronised() in (True, False, None)
