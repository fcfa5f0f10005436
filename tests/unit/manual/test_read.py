"""What a page may be written with, and that anything else is told and not shown wrongly."""

import pytest

from jobctl.manual import Unknown, plain, read

PAGE = r"""'\" t
.\" a comment
.TH A 1
.SH NAME
a \- b
.SS "Two words"
.B bold
and
.BR name (1),
.RI [ opt ]...
.PP
.TP
.B \-x
short
.TP
.B \-\-longer
long
.PD 0
.TP 3
.B \-y
near
.PD
.IP \(bu 2
one
.RS 4
.EX
  as it is,  \e 'x' `y`

.EE
.RE
after
.br
broken
"""


def test_everything_that_a_page_is_written_with() -> None:
    assert plain(PAGE, 40).splitlines() == [
        "NAME",
        "       a - b",
        "",
        "   Two words",
        "       bold and name(1), [opt]...",
        "",
        "       -x     short",
        "",
        "       --longer",
        "              long",
        "       -y near",
        "",
        "       • one",
        "             as it is,  \\ 'x' `y`",
        "",
        "       after",
        "       broken",
    ]


@pytest.mark.parametrize("line", [".TS", ".sp 2", ".ds x y", r"\*(xx", r"\(!!", r"\n[x]"])
def test_what_is_not_known_is_an_error(line: str) -> None:
    with pytest.raises(Unknown):
        list(read(line + "\n"))


def test_a_line_is_broken_behind_a_hyphen_but_not_in_an_option() -> None:
    assert plain(r"one-shot \-\-dry\-run well-known", 7 + 20).splitlines() == [
        "       one-shot --dry-run",
        "       well-known",
    ]
    assert plain(r"aaaaaaaaaaaaaa one-shot \-\-dry\-run", 7 + 20).splitlines() == [
        "       aaaaaaaaaaaaaa one-",
        "       shot --dry-run",
    ]
    assert plain(r"aaaaaaaaaaaaaa \-\-dry\-run\~x y", 7 + 20).splitlines() == [
        "       aaaaaaaaaaaaaa",
        "       --dry-run x y",
    ]
