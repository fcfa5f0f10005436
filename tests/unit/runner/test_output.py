"""What of a log is kept, at every size around the cap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobctl_daemon.runner import output
from jobctl_daemon.runner.output import Output

CAP = 64 * 1024


def content(size: int) -> bytes:
    return b"".join(b"%07d\n" % number for number in range(size // 8 + 1))[:size]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("size", [0, 1, CAP - 1, CAP, CAP + 1, CAP + 4096, CAP + 9000, 10 * CAP + 123])
def test_head_and_tail_are_exact(tmp_path: Path, size: int, alone: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(content(size))
    output = Output(os.fsencode(path), CAP)
    output.look()
    assert output.finish(alone) == size
    start, end = output.dropped_from, output.dropped_to
    kept = path.read_bytes()
    if start is None:
        assert kept == content(size)
        assert size <= CAP + 3 * 4096
    elif alone:
        assert kept == content(size)[:start] + content(size)[end:]
        assert start <= CAP // 2 <= size - end
    else:
        assert kept == content(size)[:start] + bytes(end - start) + content(size)[end:]
    assert path.stat().st_blocks * 512 <= CAP + 4 * 4096


def test_a_hole_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(content(10 * CAP))
    first, second = Output(os.fsencode(path), CAP), Output(os.fsencode(path), CAP)
    first.look()
    second.recall()
    assert (second.dropped_from, second.dropped_to) == (first.dropped_from, first.dropped_to)


def test_growth_and_truncation_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    output = Output(os.fsencode(path), CAP)
    assert not output.look()
    path.write_bytes(b"12345")
    assert output.look()
    assert not output.look()
    assert not output.truncated
    path.write_bytes(b"1")
    assert not output.look()
    assert output.truncated


def test_where_holes_are_impossible_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(content(4 * CAP))

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("jobctl_daemon.runner.output.punch", refuse)
    with pytest.raises(OSError):
        Output(os.fsencode(path), CAP).look()


def test_the_faster_a_log_grows_the_sooner_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(output, "boot_s", lambda: now[0])
    path = tmp_path / "log"
    path.write_bytes(b"")
    log = Output(bytes(path), 8_000_000)

    def grows(size: int) -> float | None:
        now[0] += 0.1
        path.write_bytes(b"x" * (path.stat().st_size + size))
        log.look()
        return log.haste_s(0.25)

    assert grows(10_000) is None
    assert grows(4_000_000) == pytest.approx(0.05)
    assert grows(7_000_000) == pytest.approx(2 / 70)
    assert grows(0) is None


def test_a_log_that_was_taken_away_is_noticed_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 100)
    log = Output(bytes(path), 4096)
    log.look()
    # Its command has it open all the while, so its number is nobody else's.
    with path.open("rb"):
        (tmp_path / "new").write_bytes(b"y" * 10_000)
        (tmp_path / "new").rename(path)
        log.look()

    assert log.removed
    assert log.finish(alone=True) == 10_000
    assert path.read_bytes() == b"y" * 10_000


@pytest.mark.parametrize("cap", [1 << 40, 1 << 30])
def test_a_file_that_its_command_has_made_huge_is_not_copied_at_its_end(tmp_path: Path, cap: int) -> None:
    """Terabytes that take no room: any command can make its log such a file, and all others wait for the runner."""
    path = tmp_path / "log"
    path.write_bytes(b"head\n")
    os.truncate(path, 3 * cap)
    with path.open("ab") as file:
        file.write(b"tail\n")
    log = Output(os.fsencode(path), cap)
    log.look()

    assert log.finish(alone=True) == 3 * cap + 5
    assert path.stat().st_size == 3 * cap + 5
    assert path.stat().st_blocks * 512 < 1 << 20
    assert os.listdir(tmp_path) == ["log"]


@pytest.mark.parametrize("put", [None, b"mine\n"])
def test_a_file_that_was_taken_away_before_the_first_look_is_known_to_be_gone(
    tmp_path: Path, put: bytes | None
) -> None:
    path = tmp_path / "log"
    output = Output(os.fsencode(path), CAP)
    with path.open("wb") as file:  # of the command, which still has it
        output.goes_to(file.fileno())
        path.unlink()
        if put is not None:
            path.write_bytes(put)
        assert output.finish(alone=True) == len(put or b"")
    assert output.removed
