"""The `%` rule, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.crontabs.percent import join_command, split_command
from jobctl.errors import InvalidInput

TEXT = st.text(alphabet="ab %\\'\"#\udcff é\t", max_size=30)
INPUT = st.text(alphabet="ab%\\\n ", max_size=30)


@pytest.mark.case("F053")
@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        ("a", "a", None),
        (r"date +\%F", "date +%F", None),
        (r"echo \\%x", "echo \\", "x"),
        (r"a\b\\c", r"a\b\c", None),
        ("cat%", "cat", ""),
        (r"cat%a%b \% c%", "cat", "a\nb % c\n"),
        (r"cat%a\\%b", "cat", "a\\%b"),
        (r"cat%a\b\\", "cat", r"a\b\\"),
        ("a\\", "a\\", None),
    ],
)
def test_a_command_and_its_input(text: str, command: str, stdin: str | None) -> None:
    assert split_command(text) == (command, stdin)


@given(TEXT)
def test_any_command_goes_out_and_comes_back(command: str) -> None:
    assert split_command(join_command(command, None)) == (command, None)


@given(TEXT, INPUT)
def test_any_input_goes_out_and_comes_back_or_is_refused(command: str, stdin: str) -> None:
    stdin += "\n"
    try:
        text = join_command(command, stdin)
    except InvalidInput:
        assert "\\\n" in stdin
        return
    assert "\n" not in text
    read, given = split_command(text)
    assert read == command
    assert given is not None
    assert (given if given.endswith("\n") else given + "\n") == stdin


@pytest.mark.parametrize(("command", "stdin"), [("a\nb", None), ("a", "x"), ("a", "x\0\n"), ("a", "x\\\n\n")])
def test_what_no_line_can_say_is_refused(command: str, stdin: str | None) -> None:
    with pytest.raises(InvalidInput):
        join_command(command, stdin)
