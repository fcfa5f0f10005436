"""Starts that wait for a runner: whose turn it is."""

from typing import Any

import pytest

from jobctl_daemon.execution.outbox import Outbox


def message(name: str) -> dict[str, Any]:
    return {"id": name}


def box(**owners: str) -> Outbox:
    """Messages of one letter each, by their owner: `a1="xyz"` are three of owner 1."""
    made = Outbox()
    for owner, names in owners.items():
        for name in names:
            made.add(message(name), int(owner[1:]))
    return made


def order(made: Outbox) -> str:
    return "".join(made.next()["id"] for _ in range(len(made)))


def test_those_of_one_owner_go_as_they_came() -> None:
    assert order(box(o1="abc")) == "abc"


def test_owners_take_turns() -> None:
    assert order(box(o1="abcd", o2="xy", o0="r")) == "axrbycd"


def test_who_comes_later_does_not_wait_for_all_that_is_there() -> None:
    made = box(o1="abcd")
    assert made.next()["id"] == "a"
    made.add(message("x"), 2)
    assert order(made) == "bxcd"


def test_what_is_withdrawn_is_not_sent() -> None:
    made = box(o1="ab", o2="x")
    assert made.withdraw("x")["id"] == "x"
    assert made.withdraw("a")["id"] == "a"
    assert [one["id"] for one in made] == ["b"]
    with pytest.raises(KeyError):
        made.withdraw("a")
    made.clear()
    assert not made
