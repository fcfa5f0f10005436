"""Record files: whole or not there, and written again instead of deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobctl_daemon.runner.records import IDENTITY, INTENT, RESULT, Records


def inodes(directory: Path) -> set[int]:
    return {path.stat().st_ino for path in directory.iterdir()}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    records = Records(str(tmp_path / "records"), "1")
    records.write("4-7", INTENT, b'{"a":1}')
    records.write("4-7", RESULT, b'{"b":2}')
    assert Records(str(tmp_path / "records"), "2").scan() == {"4-7": {"intent": {"a": 1}, "result": {"b": 2}}}
    assert records.exists("4-7")
    assert not records.exists("4-8")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "records").iterdir()} == {0o600}


def test_files_are_used_again(tmp_path: Path) -> None:
    records = Records(str(tmp_path), "1")
    for kind in (INTENT, IDENTITY, RESULT):
        records.write("1-1", kind, b'{"long":"%s"}' % (b"x" * 300))
    before = inodes(tmp_path)
    records.remove("1-1")
    assert records.scan() == {}
    for kind in (INTENT, IDENTITY, RESULT):
        records.write("2-1", kind, b'{"s":1}')
    assert inodes(tmp_path) == before
    assert records.scan() == {"2-1": {"intent": {"s": 1}, "pid": {"s": 1}, "result": {"s": 1}}}


def test_a_record_larger_than_usual_leaves_no_tail_in_a_later_one(tmp_path: Path) -> None:
    records = Records(str(tmp_path), "1")
    records.write("1-1", INTENT, b'{"long":"%s"}' % (b"x" * 5000))
    records.remove("1-1")
    assert inodes(tmp_path) == set()
    records.write("2-1", INTENT, b"{}")
    assert records.scan() == {"2-1": {"intent": {}}}


def test_spares_of_one_runner_are_not_anothers(tmp_path: Path) -> None:
    first, second = Records(str(tmp_path), "1"), Records(str(tmp_path), "1-2")
    for records in (first, second):
        records.write("1-1", INTENT, b"{}")
        records.remove("1-1")
    Records(str(tmp_path), "1")
    assert [path.name for path in tmp_path.iterdir()] == [".spare-1-2~2"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    records = Records(str(tmp_path), "1")
    (tmp_path / "1-1.intent").mkdir()
    with pytest.raises(OSError):
        records.write("1-1", INTENT, b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["1-1.intent"]


def test_unfinished_attempts_of_a_run(tmp_path: Path) -> None:
    records = Records(str(tmp_path), "1")
    for attempt_id, kind in (("1-1", INTENT), ("1-1", RESULT), ("1-2", INTENT), ("11-1", INTENT)):
        records.write(attempt_id, kind, b"{}")
    assert records.unfinished_of_run(1) == ["1-2"]
