"""Filters as they are typed: what they mean, what is wrong with them and where, and what they may become."""

import pytest

from jobctl.errors import InvalidInput
from jobctl.filters import KEYS, TERMS_MAX, TEXT_CHARS_MAX, parse, quoted, suggest
from jobctl.filters.keys import JOB_STATES, RUN_STATES, Kind


def terms(text: str) -> list[tuple[str, str, tuple[str | int, ...], bool]]:
    return [(term.key, term.relation, term.values, term.negated) for term in parse(text).terms]


@pytest.mark.parametrize(("text", "found"), [
    ("", []), ("   ", []),
    ("backup", [("word", ":", ("backup",), False)]),
    ("two words", [("word", ":", ("two",), False), ("word", ":", ("words",), False)]),
    ('"two words"', [("word", ":", ("two words",), False)]),
    ('-"a b" -c', [("word", ":", ("a b",), True), ("word", ":", ("c",), True)]),
    (r'"a\"b\\c"', [("word", ":", ('a"b\\c',), False)]),
    ("Failed retry", [("word_or_state", ":", ("Failed",), False), ("word_or_state", ":", ("retry",), False)]),
    ('"failed" -late', [("word", ":", ("failed",), False), ("word_or_state", ":", ("late",), True)]),
    ("db-1:x", [("word", ":", ("db-1:x",), False)]),
    ("/usr/bin/x", [("word", ":", ("/usr/bin/x",), False)]),
    ("a,b", [("word", ":", ("a,b",), False)]),
    ("-", [("word", ":", ("-",), False)]),
    ("/^db-[0-9]+$/", [("pattern", ":", ("^db-[0-9]+$",), False)]),
    (r"-/a\/ b/", [("pattern", ":", ("a/ b",), True)]),
    ("state:failed,LATE", [("state", ":", ("failed", "late"), False)]),
    ("-Tag:Test", [("tag", ":", ("Test",), True)]),
    ('name:"my job",x*', [("name", ":", ("my job", "x*"), False)]),
    ("next<1h30m last>2d", [("next", "<", (5_400_000,), False), ("last", ">", (172_800_000,), False)]),
    ("exit:1,2 exit>0", [("exit", ":", (1, 2), False), ("exit", ">", (0,), False)]),
    ("source:/etc/cron.d/x:3", [("source", ":", ("/etc/cron.d/x:3",), False)]),
    ('error:"no space"', [("error", ":", ("no space",), False)]),
])  # fmt: skip
def test_a_text_becomes_terms(text: str, found: list[object]) -> None:
    assert terms(text) == found
    assert bool(parse(text)) is bool(found)


@pytest.mark.parametrize(("text", "at", "said", "hint"), [
    ("x stat:failed", 2, "no key 'stat'", "did you mean state?"),
    ("nightly:backup", 0, "no key 'nightly'", '"nightly:backup"'),
    ("state:fialed", 6, "'fialed' is not known", "did you mean failed?"),
    ("state:ok,late,xyz", 14, "'xyz' is not known", "one of failed, late"),
    ("next:1h", 4, "next is compared", "next<1h"),
    ("dur>soon", 4, "not a duration", "dur<1h"),
    ("next<1h,2h", 8, "one value", ""),
    ("tag<3", 3, "cannot be compared", ""),
    ("exit:one", 5, "a number", "exit:1,2"),
    ("-name:", 6, "no value", "name:back*"),
    ("name:,", 6, "no value", ""),
    ('a "b', 2, "not closed", ""),
    ('"a"b "', 5, "not closed", ""),
    ("--x", 0, "nothing to look for", ""),
    ('""', 0, "nothing to look for", ""),
    ("/a(b/", 4, "( is not closed", ""),
    ("x -/[a/", 4, "[ is not closed", ""),
    ("class:exit_cod", 6, "not known", "did you mean exit_code?"),
    ("name:" + "*" * 300, 5, "over 200 characters", ""),
    ("x" * (TEXT_CHARS_MAX + 1), TEXT_CHARS_MAX, "over 500 characters", ""),
    ("x " * (TERMS_MAX + 1), 2 * TERMS_MAX, "over 30 terms", ""),
    ("/a{499}/ " * TERMS_MAX, 46, "repeat too much together", "leave one out"),
    ("/a{499}/ " * (TERMS_MAX + 1), 9 * TERMS_MAX, "over 30 terms", ""),
    ("exit:" + ",".join("1" * 60), 105, "over 50 values", ""),
])  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_what_it_may_have_been(text: str, at: int, said: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse(text)
    assert said in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.details["at"], raised.value.field) == (at, "q")


@pytest.mark.parametrize(
    "name", ["backup", "nightly:backup", "-x", "a b", '"', "\\", "/x/", "state:failed", "é<1", 'a\\"b']
)
def test_a_quoted_name_is_taken_as_it_stands(name: str) -> None:
    assert terms(quoted(name)) == [("word", ":", (name,), False)]
    assert terms(f"-{quoted(name)} x")[0] == ("word", ":", (name,), True)


def test_the_values_that_a_filter_asks_for_are_known_and_those_it_excludes_are_not_among_them() -> None:
    assert parse("state:failed,late -state:done tag:x").words("state") == {"failed", "late"}


@pytest.mark.parametrize(("text", "found"), [
    ("st", ["state:"]), ("-t", ["-tag:", "-trigger:"]), ("x ne", ["next<"]), ("STATE:F", ["STATE:failed"]),
    ("state:failed,f", []), ("state:failed,la", ["state:failed,late"]), ("next<", ["next<5m", "next<1h", "next<1d"]),
    ("tag:p", ["tag:prod"]), ("tag:", ["tag:prod", 'tag:"my tag"']), ("queue:", []), ("stat:fa", ["state:fa"]),
    ("state:failed", []), ("error:x", []), ('"', []), ("fai", ["state:failed"]), ("x -pau", ["-state:paused"]),
])  # fmt: skip
def test_what_is_being_typed_may_become(text: str, found: list[str]) -> None:
    offered = suggest(text, len(text), {"tag": ["prod", "my tag"]})
    assert [each.lower() for each in offered] == [each.lower() for each in found]


def test_suggestions_are_of_the_word_before_the_cursor_and_few() -> None:
    assert suggest("st tag:x", 2) == ["state:"]
    assert suggest("tag:x ", 6) == suggest("", 0) == suggest("", -5)
    assert 1 < len(suggest("", 99)) <= 8


def test_every_suggestion_that_is_whole_can_be_parsed() -> None:
    for key in KEYS.values():
        relation = "<" if key.kind is Kind.DURATION else ":"
        for offered in suggest(f"{key.name}{relation}", 99):
            parse(offered)
    for state in (*JOB_STATES, *RUN_STATES):
        parse(f"state:{state}")
