"""Logs read by logical offset: plain, with a hole, compacted; and what must never be opened."""

import os
from pathlib import Path

import pytest

from jobctl_daemon.execution import log_folders
from jobctl_daemon.execution.logs import Dropped, LogFiles, LogReader
from jobctl_daemon.runner.output import Output
from jobctl_daemon.runner.punch import punch

CAP = 40_960
RUN, FENCE = 12_345, 1_700_000_000_000


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return LogFiles(str(tmp_path / "runs"))


def written(files: LogFiles, data: bytes) -> str:
    path = files.create_dir(RUN, FENCE)
    Path(path).write_bytes(data)
    return path


def opened(files: LogFiles, size: int | None = None) -> LogReader:
    reader = files.open(RUN, FENCE, size)
    assert reader is not None
    return reader


def lines(count: int) -> bytes:
    """Every line tells its own offset, so a wrong byte shows."""
    return b"".join(b"%09d\n" % (number * 10) for number in range(count))


def read_all(reader: LogReader, offset: int = 0, limit: int = 1000) -> tuple[bytes, list[Dropped]]:
    """All bytes from an offset on, each checked to stand where it says, and the gaps met."""
    data, gaps = b"", []
    while True:
        chunk = reader.read(offset, limit)
        if chunk.dropped is not None:
            gaps.append(chunk.dropped)
        if not chunk.data:
            return data, gaps
        data += chunk.data
        offset = chunk.end


def test_a_plain_log_is_read_from_any_offset(files: LogFiles) -> None:
    text = lines(500)
    written(files, text)
    reader = opened(files)
    assert read_all(reader) == (text, [])
    assert read_all(reader, 4321) == (text[4321:], [])
    assert reader.size() == len(text)
    assert reader.dropped() is None
    assert reader.read(len(text), 10).data == b""
    assert reader.read(len(text) + 1000, 10).data == b""
    reader.close()


def test_a_log_with_a_hole_keeps_its_offsets_and_tells_what_is_gone(files: LogFiles) -> None:
    text = lines(5000)
    path = written(files, text)
    punch(os.fsencode(path), 8192, 24_576)
    reader = opened(files)
    gap = Dropped(8192, 24_576)
    assert reader.dropped() == gap
    assert reader.size() == len(text)
    assert read_all(reader) == (text[:8192] + text[24_576:], [gap])
    assert reader.read(10_000, 5).offset == 24_576
    assert reader.read(10_000, 5).dropped == gap
    assert reader.read(24_576, 5).dropped is None
    reader.close()


def test_a_compacted_log_keeps_its_offsets(files: LogFiles) -> None:
    text = lines(20_000)
    path = written(files, text)
    output = Output(os.fsencode(path), CAP)
    size = output.finish(alone=True)
    assert size == len(text)
    assert os.stat(path).st_size < size
    reader = opened(files, size)
    gap = reader.dropped()
    assert gap == Dropped(output.dropped_from or 0, output.dropped_to)
    assert reader.size() == size
    assert read_all(reader) == (text[: gap.start] + text[gap.end :], [gap])
    assert read_all(reader, gap.end + 7) == (text[gap.end + 7 :], [])
    assert read_all(reader, gap.start + 7) == (text[gap.end :], [gap])
    reader.close()


@pytest.mark.parametrize("cap", [4096, 4097, 8191, 8192, 10_000, 12_287, 12_288, 40_000, 99_999])
@pytest.mark.parametrize("extra", [1, 10, 4095, 4096, 4097, 123_450])
def test_the_gap_is_where_the_runner_has_made_it(files: LogFiles, cap: int, extra: int) -> None:
    path = written(files, lines((cap + extra) // 10 + 1))
    output = Output(os.fsencode(path), cap)
    size = output.finish(alone=True)
    reader = opened(files, size)
    expected = Dropped(output.dropped_from or 0, output.dropped_to) if output.dropped_to else None
    assert reader.dropped() == expected
    reader.close()


def test_a_reader_in_the_middle_of_a_compaction_loses_and_doubles_nothing(files: LogFiles) -> None:
    text = lines(20_000)
    path = written(files, text)
    output = Output(os.fsencode(path), CAP)
    output.look()
    reader = opened(files)
    first = reader.read(0, 5000)
    size = output.finish(alone=True)
    rest, gaps = read_all(reader, first.end)
    assert len(gaps) == 1
    assert first.data + rest == text[: gaps[0].start] + text[gaps[0].end :]
    again = opened(files, size)
    assert read_all(again, first.end)[0] == rest
    reader.close()
    again.close()


def test_a_hole_that_is_punched_under_a_reader_is_jumped_over(files: LogFiles) -> None:
    text = lines(20_000)
    path = written(files, text)
    reader = opened(files)
    before = reader.read(0, 10_000)
    punch(os.fsencode(path), 8192, 65_536)
    after = reader.read(before.end, 10)
    assert (after.offset, after.data, after.dropped) == (65_536, text[65_536:65_546], Dropped(8192, 65_536))
    reader.close()


def test_a_log_that_still_grows_after_its_end_is_not_taken_for_a_compacted_one(files: LogFiles) -> None:
    text = lines(100)
    written(files, text)
    reader = opened(files, len(text) - 10)
    assert reader.dropped() is None
    assert read_all(reader)[0] == text
    reader.close()


def test_bytes_come_back_as_they_were_written(files: LogFiles) -> None:
    data = b"ok\xe2\x28\xa1\xff\x00end" + os.urandom(200_000) + "né".encode()[:-1]
    written(files, data)
    reader = opened(files)
    assert read_all(reader, limit=4097)[0] == data
    reader.close()


def test_the_marker_is_one_line_that_names_the_range() -> None:
    marker = Dropped(100, 350).marker
    assert marker.strip().count(b"\n") == 0
    assert b"250 bytes" in marker


def test_a_log_that_is_not_there_is_none(files: LogFiles) -> None:
    assert files.open(RUN, FENCE) is None


def test_only_numbers_make_a_path(files: LogFiles) -> None:
    with pytest.raises(ValueError):
        files.path("../../etc/passwd", 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        files.path(1, "1/../../x")  # type: ignore[arg-type]
    assert files.path(12_345, 6) == os.path.join(files.directory, "12", "12345-6.log")


def test_a_link_a_folder_and_a_pipe_under_a_logs_name_are_not_opened(files: LogFiles, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    path = files.create_dir(RUN, FENCE)
    os.symlink(secret, path)
    with pytest.raises(OSError, match="symbolic links"):
        files.open(RUN, FENCE)
    os.unlink(path)
    os.mkfifo(path)
    with pytest.raises(FileNotFoundError):
        files.open(RUN, FENCE)
    os.unlink(path)
    os.mkdir(path)
    with pytest.raises(FileNotFoundError):
        files.open(RUN, FENCE)


def test_folders_are_private_and_stay_when_their_last_log_goes(files: LogFiles) -> None:
    path = written(files, b"x")
    folder = os.path.dirname(path)
    assert os.stat(folder).st_mode & 0o777 == 0o700
    other = files.create_dir(RUN + 1, FENCE)
    Path(other).write_bytes(b"y")
    files.remove(RUN, FENCE)
    assert os.path.exists(other)
    files.remove(RUN + 1, FENCE)
    files.remove(RUN + 1, FENCE)
    assert os.listdir(folder) == []


def test_removing_a_link_removes_the_link_alone(files: LogFiles, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    os.symlink(secret, files.create_dir(RUN, FENCE))
    files.remove(RUN, FENCE)
    assert secret.read_text() == "secret"


@pytest.mark.case("F125")
def test_a_folder_of_runs_that_is_a_link_leads_nowhere(files: LogFiles, tmp_path: Path) -> None:
    """A log is neither read nor removed in it, and retention finds nothing there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    precious = outside / "5-1.log"
    precious.write_bytes(b"secret")
    os.makedirs(files.directory, exist_ok=True)
    (Path(files.directory) / "0").symlink_to(outside)
    with pytest.raises(OSError):
        files.open(5, 1)
    assert files.tail(5, 1, 100) == b""
    with pytest.raises(OSError):
        files.remove(5, 1)
    assert log_folders.folders(files.directory) == ["0"]
    assert log_folders.files(files.directory, "0") == []
    assert log_folders.remove(files.directory, "0", ["5-1.log"]) == 0
    log_folders.remove_logs(files, [(5, 1)])
    log_folders.remove_folder(files.directory, "0")
    assert precious.read_bytes() == b"secret"


@pytest.mark.case("F125")
def test_a_tree_of_links_under_a_log_s_name_is_not_followed(files: LogFiles, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "6-1.log").write_bytes(b"secret")
    folder = Path(files.create_dir(6, 1)).parent
    (folder / "6-1.log").symlink_to(outside / "deep" / "6-1.log")
    (folder / "7-1.log").symlink_to(outside)
    (folder / "deep").symlink_to(outside / "deep")
    names = [found.name for found in log_folders.files(files.directory, "0")]
    assert sorted(names) == ["6-1.log", "7-1.log"]
    assert log_folders.remove(files.directory, "0", names) == 2
    assert (outside / "deep" / "6-1.log").read_bytes() == b"secret"
