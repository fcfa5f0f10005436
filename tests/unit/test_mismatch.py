"""A body that is not right is told by its field, by what is there, and by what may be there."""

from typing import Any

import msgspec
import pytest

from jobctl import wire
from jobctl.errors import InvalidInput
from jobctl.mismatch import mismatch
from jobctl.model import DeadDraft, JobDraft, SkipDraft

DRAFT = {"target": {"shell": "x"}}


@pytest.mark.parametrize(
    ("kind", "body", "field", "said"),
    [
        (JobDraft, DRAFT | {"overlap": "never"}, "overlap",
         'overlap is "never", and must be one of allow, skip, queue, replace'),
        (JobDraft, DRAFT | {"overlap": 3}, "overlap", "overlap is 3, and must be one of allow,"),
        (JobDraft, DRAFT | {"env": {"B": "x", "A": 1}}, "env.A", "env.A is 1, and must be a text"),
        (JobDraft, DRAFT | {"limit": "2"}, "limit", 'limit is "2", and must be a whole number'),
        (JobDraft, DRAFT | {"tags": {}}, "tags", "tags is an object, and must be a list"),
        (JobDraft, DRAFT | {"schedule": {"every": []}}, "schedule.every",
         "schedule.every is a list, and must be a number or a text"),
        (JobDraft, {"target": {"command": ["a", 2]}}, "target.command", "target.command[1] is 2, and must be a text"),
        (JobDraft, {"target": {"shel": "x"}}, "target.shel", "there is no field 'target.shel'"),
        (JobDraft, {}, "target", "target is missing"),
        (JobDraft, [], None, "the body is a list, and must be an object"),
        (DeadDraft, {"class": "x"}, "class", 'class is "x", and must be one of exit_code,'),
        (SkipDraft, {"count": 1.5}, "count", "count is 1.5, and must be a whole number"),
        (JobDraft, DRAFT | {"note": ["\u202e" * 200]}, "note", "note is a list, and must be a text"),
        (JobDraft, DRAFT | {"overlap": "\u202e" * 200}, "overlap", 'overlap is "\\u202e'),
    ],
)  # fmt: skip
def test_a_body_that_is_not_right(kind: type, body: Any, field: str | None, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        wire.decode(msgspec.json.encode(body), kind)
    assert refused.value.message.startswith(said)
    assert refused.value.field == field
    assert len(refused.value.message) < 250


def test_a_text_without_quotes_is_told_how_to_be_one() -> None:
    with pytest.raises(InvalidInput) as refused:
        wire.decode(b'{"target": {"shell": "x"}, "umask": 22}', JobDraft)
    assert refused.value.hint == "put it in quotes"


def test_a_field_that_is_nearly_right_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"target\.shel") as refused:
        wire.decode(b'{"target": {"shel": "x"}}', JobDraft)
    assert refused.value.hint == "did you mean shell?"


def test_what_is_broken_behind_the_wrong_place_does_not_matter() -> None:
    with pytest.raises(InvalidInput, match="overlap"):
        wire.decode(b'{"overlap": "never", "target": {', JobDraft)


def test_what_has_no_words_is_told_as_it_is() -> None:
    told = mismatch(msgspec.ValidationError("Invalid date"), "x", JobDraft, "the change")
    assert told.message == "the change is not right: Invalid date"
