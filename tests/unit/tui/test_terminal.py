"""What is read from a terminal and written to it, by pipes in its place."""

import base64
import os
import threading
from pathlib import Path

import pytest

from jobctl_tui.clipboard import clipboard_sequence, keep
from jobctl_tui.leaving import report
from jobctl_tui.terminal import Input, Output
from kit.clock import ManualClock

PATIENCE_S = 10


@pytest.mark.parametrize(
    ("pieces", "typed"),
    [
        (["jk", "\x1b[A", "q"], "jk\x1b[Aq"),
        (["a\x1b]11;rgb:2222/2222/2222\x1b\\b"], "ab"),
        (["a\x1b]11;rgb:22", "22/2222/2222\x07b"], "ab"),
        (["\x1b[?62;22c", "\x1b[>0;276;0c", "r"], "r"),
        (["\x1bP1+r52=00\x1b\\x"], "x"),
        (["\x1b[?2026;2$y"], "\x1b[?2026;2$y"),  # which the screens have asked for
        (["\x1b[<0;10;5M"], "\x1b[<0;10;5M"),
        (["\x1b]"], "\x1b]"),  # Alt and a bracket
        (["\x1b[200~a ]11; b\x1b[201~"], "\x1b[200~a ]11; b\x1b[201~"),
    ],
)
def test_answers_of_a_terminal_are_no_keys(pieces: list[str], typed: str) -> None:
    typed_in = Input()
    assert "".join(map(typed_in.feed, pieces)) == typed


def test_an_answer_that_never_ends_takes_no_key_with_it() -> None:
    typed = Input()
    assert typed.feed("\x1b]11;rgb:22") == ""
    typed.idle()
    assert typed.feed("q") == "q"


class Pipe:
    """In the place of a terminal, which takes as much as a pipe does."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.reader, writer = os.pipe()
        self.writer = writer
        self.clock = ManualClock()
        self.gone, self.drained = threading.Event(), threading.Event()
        self.output = Output(writer, encoding, self.clock, self.gone.set, self.drained.set)

    def close(self) -> None:
        self.output.end()
        os.close(self.writer)
        os.close(self.reader)


def test_what_is_written_comes_in_its_order_and_all_of_it() -> None:
    pipe = Pipe()
    pipe.output.write("a")
    pipe.output.write("ü")
    pipe.output.end("z")
    assert os.read(pipe.reader, 100) == "aüz".encode()
    pipe.close()


def test_what_cannot_be_written_in_ascii_is_as_many_question_marks_as_it_is_wide() -> None:
    pipe = Pipe("ascii")
    pipe.output.end("aü日e\u0301.")
    assert os.read(pipe.reader, 100) == b"a???e."
    pipe.close()


def test_a_terminal_that_is_slow_is_told_to_be_painted_anew_and_nobody_waits_for_it() -> None:
    pipe = Pipe()
    for _ in range(40):
        pipe.output.write("x" * 65536)
    assert not pipe.drained.is_set()
    while not pipe.drained.wait(0.001):
        assert os.read(pipe.reader, 1 << 20)
    pipe.output.write("fresh")
    while not (seen := os.read(pipe.reader, 1 << 20)).endswith(b"fresh"):
        assert seen
    pipe.close()


def test_a_terminal_that_has_taken_nothing_for_a_second_is_stalled_until_it_takes_again() -> None:
    pipe = Pipe()
    pipe.output.write("x" * 200_000)
    assert not pipe.output.is_stalled()
    pipe.clock.tick(1_500)
    assert pipe.output.is_stalled()
    while not pipe.drained.wait(0.001):
        assert os.read(pipe.reader, 1 << 20)
    assert not pipe.output.is_stalled()
    pipe.close()


def test_a_terminal_that_is_gone_is_noticed_by_what_is_written_to_it() -> None:
    pipe = Pipe()
    os.close(pipe.reader)
    pipe.output.write("x")
    assert pipe.gone.wait(PATIENCE_S)
    pipe.output.end()
    os.close(pipe.writer)


def test_the_clipboard_is_written_through_tmux_and_screen_and_not_at_all_when_it_is_too_much() -> None:
    plain = clipboard_sequence("ü", {})
    assert plain == f"\x1b]52;c;{base64.b64encode('ü'.encode()).decode()}\x07"
    assert clipboard_sequence("ü", {"TMUX": "x"}) == plain + "\x1bPtmux;\x1b" + plain + "\x1b\\"
    screen = clipboard_sequence("a" * 600, {"STY": "x"})
    assert screen is not None
    pieces = screen.split("\x1b\\")
    assert all(piece.startswith("\x1bP") for piece in pieces[:-1])
    assert "".join(piece.removeprefix("\x1bP") for piece in pieces) == clipboard_sequence("a" * 600, {})
    assert clipboard_sequence("a" * 56_000, {}) is not None
    assert clipboard_sequence("a" * 57_000, {}) is None


def test_what_is_copied_is_kept_in_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    path = keep("first", str(folder))
    assert path == keep("second", str(folder)) == str(folder / "clipboard.txt")
    assert (folder / "clipboard.txt").read_text() == "second"
    assert (folder / "clipboard.txt").stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == ["clipboard.txt"]
    assert keep("x", None) is None
    assert keep("x", "/dev/null/not") is None


def test_a_report_has_one_safe_line_and_no_values(tmp_path: Path) -> None:
    def failing() -> None:
        secret = "hunter2"
        raise ValueError(f"\x1b]52;c;QQ==\x07 {len(secret)}\nmore")

    try:
        failing()
    except ValueError as error:
        line, path = report(error, str(tmp_path / "state"), 0)
    assert line == "ValueError: \\x1b]52;c;QQ==\\x07 7\\nmore"
    assert path is not None
    text = Path(path).read_text()
    assert "failing" in text
    assert "\x1b" not in text
    assert "locals" not in text
