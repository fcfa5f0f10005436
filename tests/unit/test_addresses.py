"""What a MAILTO may be: addresses, and nothing that the mail program takes for something else."""

import pytest

from jobctl.addresses import recipients
from jobctl.errors import InvalidInput


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ("ada", "ada"),
        (" ada , bob@example.org ", "ada, bob@example.org"),
        ("ada,ada", "ada"),
        ("a.b+cron=x_y%z@mail-host.example.org", "a.b+cron=x_y%z@mail-host.example.org"),
        ("größe@example.org", "größe@example.org"),
    ],
)
def test_login_names_and_addresses_with_commas_are_what_a_header_has(given: str, header: str) -> None:
    assert recipients(given) == header


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        "ada,",
        "-oQ/tmp/x",
        "-f root",
        "ada bob",
        "ada\nBcc: all@example.org",
        "ada\rX: y",
        "|/bin/sh",
        "/etc/passwd",
        "list: ada",
        "<ada@example.org>",
        '"a b"@example.org',
        "ada;id",
        "$(id)",
        "`id`",
        "ada\0",
        "a" * 321,
        ",".join(f"u{n}" for n in range(21)),
    ],
)
def test_whatever_else_it_may_be_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput):
        recipients(given)
