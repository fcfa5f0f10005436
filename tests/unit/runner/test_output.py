"""What of a log is kept, at every size around the cap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
