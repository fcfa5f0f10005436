"""A log saved to a file, or made into a text to read: private, whole, and never over something else by mistake."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl.errors import CallerError, Conflict, InvalidInput, JobctlError, Unreachable
from jobctl_tui.live import logfile
from jobctl_tui.live.logfile import Which, place, save, to_read

LOG = b"one\n\x1b[31mred\x1b[0m\n\x1b]52;c;AAAA\x07two\n"
RUN = Which(4812)


class Log:
    """A daemon that has one log, and that may go away in the middle of it."""

    def __init__(self, data: bytes = LOG, breaks: JobctlError | None = None) -> None:
        self.data = data
        self.breaks = breaks
        self.asked: list[str] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request.path)
        headers = {"jobctl-log-size": str(len(self.data)), "jobctl-protocol": "1"}
        return Response(200, headers, self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        yield self.data[:10]
        if self.breaks is not None:
            raise self.breaks
        yield self.data[10:]


def test_a_log_is_saved_byte_for_byte_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    assert save(Client(Log()), RUN, str(path)) == len(LOG)
    assert path.read_bytes() == LOG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_not_written_over_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("mine")
    with pytest.raises(Conflict, match="already"):
        save(Client(Log()), RUN, str(path))
    assert path.read_text() == "mine"
    assert save(Client(Log()), RUN, str(path), overwrite=True) == len(LOG)
    assert path.read_bytes() == LOG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_daemon_that_goes_away_leaves_no_half_of_a_file(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "a.log"
    if overwrite:
        path.write_text("mine")
    with pytest.raises(Unreachable):
        save(Client(Log(breaks=Unreachable("gone"))), RUN, str(path), overwrite=overwrite)
    assert os.listdir(tmp_path) == (["a.log"] if overwrite else [])
    assert not overwrite or path.read_text() == "mine"


def test_only_a_file_is_written_over(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (link, pipe):
        with pytest.raises(InvalidInput, match="no ordinary file"):
            save(Client(Log()), RUN, str(path), overwrite=True)
    assert not (tmp_path / "elsewhere").exists()
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_link_that_leads_nowhere_counts_as_there(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict):
        save(Client(Log()), RUN, str(link))
    assert not (tmp_path / "elsewhere").exists()


def test_a_disk_that_does_not_take_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="File name too long"):
        save(Client(Log()), RUN, str(tmp_path / ("a" * 300)))


def test_a_path_is_taken_as_a_shell_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place("~/x.log", RUN, "/") == str(tmp_path / "x.log")
    assert place(" x.log ", RUN, str(tmp_path)) == str(tmp_path / "x.log")
    assert place("~", RUN, "/") == str(tmp_path / "run-4812.log")
    assert place(f"{tmp_path}/", Which(4812, 2), "/") == str(tmp_path / "run-4812-attempt-2.log")


def test_a_path_that_cannot_be_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no path"):
        place("  ", RUN, str(tmp_path))
    with pytest.raises(InvalidInput, match="no folder"):
        place("not/there/x.log", RUN, str(tmp_path))


def test_what_is_read_has_no_escapes(tmp_path: Path) -> None:
    path = Path(to_read(Client(Log()), Which(4812, 3), str(tmp_path)))
    assert path.name == "run-4812-attempt-3.log"
    assert path.read_text() == "one\nred\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_of_a_large_log_the_end_is_read_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "READ_BYTES_MAX", 8)
    log = Log()
    text = Path(to_read(Client(log), RUN, str(tmp_path))).read_text()
    assert text.startswith(f"[{len(LOG) - 8} B before this are left out; jobctl log 4812 shows all]\n")
    assert any("offset=-8" in path for path in log.asked)
