"""Patterns: they mean what re means by them, and take linear time."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.errors import InvalidInput
from jobctl.filters import Pattern, Search, TooCostly, Work, glob
from jobctl.filters.expression import STATES_MAX

_ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", r"\.", "[a-c]", "[]b]", r"[\]a-]"])


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,2}", "{0,3}", "{1,}"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("({0[0]}|{0[1]})".format),
        st.tuples(inner, repeats).map(lambda pair: f"({pair[0]}){pair[1]}"),
        inner.map("^{}".format),
        inner.map("{}$".format),
        inner.map("(|{})".format),
    )


@given(st.recursive(_ATOMS, _wider, max_leaves=8), st.lists(st.text("abcd1.]-", max_size=8), max_size=20))
def test_a_pattern_means_what_it_means_to_re(source: str, texts: list[str]) -> None:
    pattern, reference = Pattern(source), re.compile(source.replace("$", r"\Z"), re.DOTALL)
    for text in texts:
        assert pattern.found_in(text) is bool(reference.search(text)), (source, text)


def test_case_does_not_matter() -> None:
    assert Pattern("^AbC[D-F]$").found_in("aBcE")
    assert not Pattern("[^a]").found_in("AaA")
    assert Pattern(r"\D").found_in("1X")
    assert not Pattern(r"\S").found_in(" \t")


@pytest.mark.parametrize("text", ["back*", "*up", "b?ckup", "*", "a*b*c", "a.b", "[x]", "é*", "a|b", "(x)?"])
def test_a_glob_matches_whole_names(text: str) -> None:
    reference = re.compile("".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in text), re.DOTALL)
    for name in ("backup", "up", "bickup", "", "abc", "a.b", "axb", "[x]", "écru", "a|b", "a", "(x)y", "xbackupx"):
        assert Pattern(glob(text)).found_in(name) is bool(reference.fullmatch(name)), name


@pytest.mark.parametrize(("source", "at", "said"), [
    ("a(b", 3, "( is not closed"), ("a)b", 1, ") closes nothing"), ("[ab", 0, "[ is not closed"),
    ("*a", 0, "nothing before"),
    ("a**", 2, "two repetitions"), ("a{x}", 1, "is not {2}"), ("a{3,2}", 6, "less than it begins"),
    ("[b-a]", 4, "backwards"),
    ("a\\", 1, "nothing behind it"), (r"\q", 0, "means nothing"), (r"\1", 0, "means nothing"),
    ("a" * 201, 0, "over 200"),
    ("(?=a)", 1, "nothing before ?"), ("((a{99}){99}){99}", 5, "repeats too much"),
])  # fmt: skip
def test_a_mistake_is_told_with_its_place(source: str, at: int, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        Pattern(source)
    assert said in raised.value.message
    if said != "repeats too much":
        assert raised.value.details["at"] == at


@pytest.mark.parametrize(
    "source", [f"a{{{STATES_MAX}}}", "(((a{9}){9}){9}){9}", "(" * 90 + "a{99}" + "){9}" * 20 + ")" * 70]
)
def test_what_no_state_machine_can_hold_is_refused_before_it_is_built(source: str) -> None:
    with pytest.raises(InvalidInput, match=r"repeats too much|over 200"):
        Pattern(source)


@pytest.mark.parametrize(
    "source",
    [
        "(a*)*b",
        "(a|a)*b",
        "(a|aa)+$",
        ".*.*.*.*.*=",
        "(a?){30}a{30}b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
    ],
)
def test_what_makes_others_run_for_ever_takes_as_many_steps_as_the_text_is_long(source: str) -> None:
    """Each character of a text beyond the first few is a look-up: nothing is worked out any more."""
    work = Work(10_000_000)
    pattern = Pattern(source, work)
    pattern.found_in("a" * 200)
    before = work.left
    for _ in range(50):
        pattern.found_in("a" * 20_000)
    assert before - work.left <= 50 * (20_000 + 1_200)


def test_a_search_that_works_out_too_much_is_given_up() -> None:
    letters = random.Random(1)
    pattern = Pattern("(a|b)*a" + "(a|b)" * 30 + "c", Work(600_000))
    with pytest.raises(TooCostly):
        any(pattern.found_in("".join(letters.choices("ab", k=100))) for _ in range(1_000))


def test_characters_that_are_only_looked_up_count() -> None:
    work = Work(10_000)
    pattern = Pattern("x", work)
    with pytest.raises(TooCostly):
        any(pattern.found_in("a" * 100) for _ in range(200))


@pytest.mark.parametrize(("source", "text"), [("^db-", "mail" * 1_000), ("a", "a" * 4_000), ("^a*$", "b" * 4_000)])
def test_what_is_decided_early_costs_no_more_than_that(source: str, text: str) -> None:
    work = Work()
    pattern = Pattern(source, work)
    pattern.found_in(text)
    before = work.left
    pattern.found_in(text)
    assert before - work.left < 50


def test_many_patterns_have_no_more_work_than_one() -> None:
    letters = random.Random(1)
    texts = ["".join(letters.choices("abcdefgh", k=125)) for _ in range(300)]
    sources = [f"x{{{number}}}" for number in range(1, 31)]
    assert not any(Search(100_000).found(source, text) for source in sources[-1:] for text in texts)
    search = Search(100_000)
    with pytest.raises(TooCostly):
        any(search.found(source, text) for text in texts for source in sources)
    assert search.costly


def test_patterns_cost_what_it_takes_to_build_them() -> None:
    search = Search(100_000)
    with pytest.raises(TooCostly):
        any(search.found(f"a{{{number}}}", "") for number in range(400, 430))
