"""How far long work has come: only on a terminal, only on stderr, only after a while, and gone at the end."""

import os
import threading
from pathlib import Path

import pytest

from jobctl.cli import log, progress
from jobctl.cli.progress import Progress
from jobctl.cli.session import Session
from jobctl.cli.world import World
from jobctl.client.transport import Response
from unit.cli.conftest import Cli, StandingClock, Stream
from unit.client.fake_daemon import FakeDaemon, dead


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_FIRST_S", 0.001)
    monkeypatch.setattr(progress, "_EVERY_S", 0.001)


class Seen(Stream):
    """A stream of which a test can wait for something to be written."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(terminal=terminal)
        self.written = threading.Event()

    def flush(self) -> None:
        super().flush()
        if self.raw_bytes.getvalue():
            self.written.set()

    def text(self) -> str:
        return self.raw_bytes.getvalue().decode()


def session(err: Seen, **environ: str) -> Session:
    wanted = {"TERM": "xterm", "COLUMNS": "80"} | environ
    return Session(World(wanted, Stream(), Stream(terminal=True), err, StandingClock(), 1000))


def test_a_line_is_shown_and_nothing_of_it_is_left() -> None:
    err = Seen(terminal=True)
    with Progress(session(err), "backup", total=4_000_000, unit="bytes") as shown:
        shown.add(1_000_000)
        while "25%" not in err.text().replace(" ", ""):
            assert err.written.wait(10)
    last = err.text().rpartition("\n")[2]
    assert "backup  [#####               ]  25%  1 MB of 4 MB, " in last
    assert last.endswith("\r\x1b[K")
    assert "\n" not in err.text()


@pytest.mark.parametrize(("terminal", "term"), [(False, "xterm"), (True, "dumb"), (True, "")])
def test_nothing_is_written_where_it_could_not_be_taken_away(terminal: bool, term: str) -> None:
    err = Seen(terminal=terminal)
    with Progress(session(err, TERM=term), "backup") as shown:
        shown.add()
        assert not err.written.wait(0.05)
    assert err.text() == ""


def test_what_is_over_soon_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_FIRST_S", 60)
    err = Seen(terminal=True)
    with Progress(session(err), "backup"):
        pass
    assert err.text() == ""


def test_words_take_its_place_and_it_comes_again_below_them() -> None:
    err = Seen(terminal=True)
    made = session(err)
    with Progress(made, "import"):
        assert err.written.wait(10)
        made.render.word("one step is done")
        err.written.clear()
        assert err.written.wait(10)
    before, _, after = err.text().partition("one step is done\n")
    assert before.endswith("\r\x1b[K")
    assert after.endswith("\r\x1b[K")


def test_an_error_in_between_leaves_a_clean_line() -> None:
    err = Seen(terminal=True)

    def fails() -> None:
        with Progress(session(err), "restore"):
            assert err.written.wait(10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert err.text().endswith("\r\x1b[K")


@pytest.mark.parametrize("columns", ["10", "20", "40"])
def test_it_is_no_wider_than_the_terminal(columns: str) -> None:
    err = Seen(terminal=True)
    with Progress(session(err, COLUMNS=columns), "a very long name of what is done", total=100, unit="runs") as shown:
        shown.reach(50)
        assert err.written.wait(10)
    assert all(len(piece) < int(columns) for piece in err.text().replace("\r\x1b[K", "\n").split("\n"))


def test_a_terminal_that_is_gone_is_no_trouble_of_the_work() -> None:
    err = Seen(terminal=True)
    made = session(err)
    err.close()
    with Progress(made, "backup"):
        pass


def test_a_replay_that_is_waited_for_counts_its_runs(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs += [dead(90 + number, daemon.jobs[0]) for number in range(3)]

    def over(asked: object, match: object) -> object:
        from unit.client.fake_daemon import Answer, run

        return Answer(200, run(90, daemon.jobs[0]))

    daemon.override("GET", "/v1/runs/9[0-2]", over)  # type: ignore[arg-type]
    piped = cli("dlq", "replay", "--all", "--yes", "--wait")
    assert (piped.code, "\x1b" in piped.err) == (0, False)


def test_a_long_log_tells_how_far_it_is_when_it_goes_into_a_file(tmp_path: Path) -> None:
    err = Seen(terminal=True)
    with (tmp_path / "log").open("w") as out:
        made = Session(World({"TERM": "xterm", "COLUMNS": "80"}, Stream(), out, err, StandingClock(), 1000))
        with log._progress(made, Response(200, {"jobctl-log-size": "9"}, iter(()))) as passed:
            passed(b"123")
            while "3 B of 9 B" not in err.text():
                assert err.written.wait(10)
    assert err.text().endswith("\r\x1b[K")


def test_a_log_in_a_pipe_says_nothing_for_its_reader_may_be_a_pager(tmp_path: Path) -> None:
    err = Seen(terminal=True)
    ours, theirs = os.pipe()
    with open(ours), open(theirs, "w") as out:
        made = Session(World({"TERM": "xterm", "COLUMNS": "80"}, Stream(), out, err, StandingClock(), 1000))
        with log._progress(made, Response(200, {"jobctl-log-size": "9"}, iter(()))) as passed:
            passed(b"123")
            assert not err.written.wait(0.05)
    assert err.text() == ""
