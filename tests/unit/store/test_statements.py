"""Named statements and cursors of pages."""

import pytest

from jobctl.errors import InvalidInput
from jobctl_daemon.store.sqlite import paging
from jobctl_daemon.store.sqlite.columns import data, gap, listed, text
from jobctl_daemon.store.sqlite.statements import Statements, load, parse


def test_a_statement_is_what_follows_its_name_without_comments() -> None:
    found = parse("-- name: one\n-- What for.\nSELECT 1\n-- why\nFROM x;\n\n-- name: two\nSELECT 2;\n")
    assert found == {"one": "SELECT 1\nFROM x", "two": "SELECT 2"}


def test_a_name_is_used_once() -> None:
    with pytest.raises(ValueError, match="one"):
        parse("-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;")


def test_a_statement_that_is_not_there_says_its_name() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = Statements({}).nothing
    assert "SELECT" in load("due").due


@pytest.mark.parametrize("key", [7, ("a", 1), ("ä\n", 1 << 60)])
def test_a_cursor_gives_its_key_back(key: object) -> None:
    kind = int if isinstance(key, int) else tuple[str, int]
    assert paging.key(paging.cursor(key), kind) == key


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidInput):
        paging.key(paging.cursor(7), tuple[str, int])


def test_columns_of_json_come_back() -> None:
    assert data(text({"a": [1, "x"]})) == {"a": [1, "x"]}
    assert listed(None) == []
    assert listed("[1]") == [1]
    assert gap(None) != gap(0) == 0
