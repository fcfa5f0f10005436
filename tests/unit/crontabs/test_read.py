"""Rules of Debian's reader that the handed files do not show, each checked against its own code."""

import pytest

from jobctl.crontabs import HostUsers, parse_line, read
from jobctl.crontabs.assignment import format_assignment, parse_assignment
from jobctl.errors import InvalidInput

FULL = b"* * * * * "


def commands(data: bytes, *, system: bool = False) -> list[str]:
    return [item.command for item in read(data, system=system, users={"root"}).items]


@pytest.mark.parametrize(
    ("line", "read_as"),
    [
        ("A=1", ("A", "1")),
        ("A = spaced  ", ("A", "spaced")),
        ('A="  kept, but not at the end  "', ("A", "  kept, but not at the end")),
        ("A=''", ("A", "")),
        ("\"a b\" = 'c d' ", ("a b", "c d")),
        ("A=\"'x'\"", ("A", "x")),
        ("A=b\r", ("A", "b")),
        ("=x", ("", "x")),
        ("A=$HOME/bin", ("A", "$HOME/bin")),
        ("A=b # c", ("A", "b # c")),
        ("A=", None),
        ("A='x'y", None),
        ("A='x", None),
        ("A B=c", None),
        ("'A=B'=c", None),
        ("* * * * * X=1 cmd", None),
    ],
)
def test_an_assignment(line: str, read_as: tuple[str, str] | None) -> None:
    assert parse_assignment(line) == read_as


def test_an_assignment_is_cut_where_the_buffer_of_cron_ends() -> None:
    assert parse_assignment("A=" + "x" * 2000) == ("A", "x" * 996)


@pytest.mark.parametrize("value", ["x", " x", "it's", 'say "x"', "$HOME", "#", "a = b"])
def test_a_written_assignment_reads_as_it_was(value: str) -> None:
    line = format_assignment("NAME", value)
    assert line is not None
    assert parse_assignment(line) == ("NAME", value)


@pytest.mark.parametrize("value", ["trailing ", "two\nlines", "\"'", "'quoted'"])
def test_some_values_no_line_can_set(value: str) -> None:
    assert format_assignment("NAME", value) is None


def test_a_command_of_998_bytes_is_the_longest() -> None:
    assert commands(FULL + b"x" * 998 + b"\n") == ["x" * 998]
    crontab = read(FULL + b"x" * 999 + b"\n")
    assert crontab.items == ()
    assert "longer than 998" in crontab.refused[0].reason
    assert crontab.debian == "drops the file"


def test_ten_thousand_lines_are_the_most() -> None:
    assert read(b"#\n" * 10_000).debian == "loads"
    crontab = read(b"#\n" * 10_001)
    assert crontab.debian == "drops the file"
    assert crontab.drops == ("it has more than 10,000 lines",)


def test_a_nul_byte_ends_the_line_and_the_rest_is_the_next_one() -> None:
    crontab = read(b"0 6 * * * a\0B=c\0# x\n")
    assert [(item.line, item.command) for item in crontab.items] == [(1, "a")]
    assert [(env.line, env.name, env.value) for env in crontab.env] == [(1, "B", "c")]
    assert read(b"0 6 * * * a\0").debian == "loads"


def test_the_byte_ff_after_the_fields_looks_like_the_end_to_debian() -> None:
    assert read(b"0 1 * * * \xffx\n").refused[0].line == 1
    assert read(b"0 1 * * 1\xff x\n").refused[0].line == 1
    assert commands(b"@daily \xffx\n") == ["\udcffx"]
    assert commands(b"0 1 * * 1'\xff x\n") == ["x"]


@pytest.mark.parametrize("last", [b"# comment", b"   ", b""])
def test_only_a_line_with_something_to_do_needs_its_newline(last: bytes) -> None:
    assert read(b"* * * * * x\n" + last).debian == "loads"


def test_a_missing_newline_is_said_in_words() -> None:
    crontab = read(b"* * * * * x\nA=1")
    assert crontab.env == ()
    assert crontab.refused[0].line == 2
    assert "no newline" in crontab.refused[0].reason


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xef\xbb\xbf# x\n", "byte order mark"),
        (b"\r\n", "Windows line ends"),
        (b"0 1 * * * a \\\n  b c\n", "no continuation lines"),
        (b"H=\n", "an empty value needs quotes"),
        (b"H='a'b\n", "quotes do not close"),
        (b"-5 * * * * x\n", "do not log"),
        (b"* * * * * * x\n", "five fields, no seconds"),
        (b"1 2 3\n", "month, day of week missing"),
        (b"@every 10m x\n", "--every"),
        (b"@Daily x\n", "lower case"),
        (b"5/15 * * * * x\n", "5-59/15"),
        (b"0 24 * * * x\n", "24 is not within 0-23"),
    ],
)
def test_a_reason_says_what_went_wrong(data: bytes, words: str) -> None:
    assert words in read(data).refused[0].reason


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"0 5 * * * root\n", "has a user before its command"),
        (b"0 5 * * * root:wheel x\n", "FreeBSD"),
        (b"0 5 * * * /opt/x y\n", "user column missing"),
        (b"0 5 * * * 'root' x\n", "no quotes"),
        (b"0 5 * * * nobody-here x\n", "no user nobody-here on this host"),
    ],
)
def test_the_user_column(line: bytes, words: str) -> None:
    crontab = read(line, system=True, users={"root"})
    assert crontab.items == ()
    assert words in crontab.refused[0].reason


def test_a_system_table_loses_the_blanks_before_its_command() -> None:
    assert commands(b"@daily\troot \t a b \n", system=True) == ["a b "]


def test_users_of_this_host() -> None:
    assert "root" in HostUsers()
    assert "no such user" not in HostUsers()
    assert "a\0b" not in HostUsers()


def test_cron_tz_moves_what_is_below_it_and_nothing_for_debian() -> None:
    data = b"0 1 * * * a\nCRON_TZ=Asia/Tokyo\n0 2 * * * b\nCRON_TZ=''\n0 3 * * * c\n"
    assert [item.zone for item in read(data).items] == [None, "Asia/Tokyo", None]
    assert {item.zone for item in read(data, dialect="debian").items} == {None}
    assert read(data).items[1].env == {"CRON_TZ": "Asia/Tokyo"}


def test_our_own_line_is_known() -> None:
    (item,) = read(b"@reboot /opt/jobctl/bin/jobd # jobctl: starts the daemon\n").items
    assert item.starts_jobd


def test_one_line_for_add() -> None:
    line = parse_line("0 3 * * 1  cat%one%two")
    assert (line.schedule, line.command, line.stdin, line.input) == ("0 3 * * 1", "cat", "one\ntwo", "one\ntwo\n")
    assert parse_line("@daily root x", system=True).user == "root"
    with pytest.raises(InvalidInput, match="not a clear schedule"):
        parse_line("5; * * * * x")
    with pytest.raises(InvalidInput):
        parse_line("0 3 * * x")
