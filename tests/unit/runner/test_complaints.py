"""What the runner writes of its own troubles, when they last."""

from pathlib import Path

from jobctl_daemon.runner.complaints import Complaints


class Now:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def test_ten_minutes_of_a_fault_are_a_few_lines_with_how_often_it_came(tmp_path: Path) -> None:
    path, now = tmp_path / "log", Now()
    complain = Complaints(str(path), now)
    for number in range(6_000):
        complain(f"{number}-7.result: no space left on device")
        now.now_s += 0.1
    lines = path.read_text().splitlines()
    assert 5 < len(lines) < 10
    assert lines[0].endswith("0-7.result: no space left on device")
    assert "more like it before" in lines[-1]


def test_another_fault_is_told_at_once_and_the_same_after_it_was_quiet(tmp_path: Path) -> None:
    path, now = tmp_path / "log", Now()
    complain = Complaints(str(path), now)
    for _ in range(20):
        complain("this")
    complain("that")
    now.now_s += 3_600
    complain("this")
    lines = path.read_text().splitlines()
    assert [line.split("] ")[1] for line in lines] == [*["this"] * 5, "that", "this (and 15 more like it before)"]


def test_what_cannot_be_written_is_nobodys_trouble(tmp_path: Path) -> None:
    Complaints(str(tmp_path / "none" / "log"))("this")
    assert not (tmp_path / "none").exists()
