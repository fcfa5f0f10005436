"""What is offered for what has been typed, and its form on the command line."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl_tui.keys import BY_ID
from jobctl_tui.words.cli import filled, is_filter, of_query, quoted
from jobctl_tui.words.palette import Offer, entries, jobs

OFFERS = [
    Offer(BY_ID["job.pause"], here=True, takes_words=True),
    Offer(BY_ID["job.pause.until"], here=True, takes_words=True),
    Offer(BY_ID["job.log"], here=True, takes_words=True),
    Offer(BY_ID["job.kill"], here=False, takes_words=True),
    Offer(BY_ID["theme"], here=True, takes_words=True),
    Offer(BY_ID["page.up"], here=True, takes_words=False),
    Offer(BY_ID["quit"], here=True, takes_words=False),
]


def first(typed: str, *subjects: str) -> tuple[str, tuple[str, ...], str]:
    entry = entries(typed, OFFERS, subjects)[0]
    assert entry.action is not None
    return entry.action.id, entry.said, entry.cli


@pytest.mark.parametrize(
    ("typed", "ident", "said", "cli"),
    [
        ("pau", "job.pause", (), "jobctl pause backup-db"),
        ("pause", "job.pause", (), "jobctl pause backup-db"),
        ("pause tag:pg", "job.pause", ("tag:pg",), "jobctl pause -q tag:pg"),
        ("pause sync-crm", "job.pause", ("sync-crm",), "jobctl pause sync-crm"),
        ("logs sync-crm", "job.log", ("sync-crm",), "jobctl log sync-crm"),
        ("log  sync-crm ", "job.log", ("sync-crm",), "jobctl log sync-crm"),
        ("kill 4711", "job.kill", ("4711",), "jobctl kill 4711"),
        ("theme ansi", "theme", ("ansi",), ""),
        ("PAUSE tag:pg name:db*", "job.pause", ("tag:pg", "name:db*"), "jobctl pause -q 'tag:pg name:db*'"),
        ("q", "quit", (), ""),
        ("leave", "quit", (), ""),
    ],
)
def test_what_is_typed_is_meant(typed: str, ident: str, said: tuple[str, ...], cli: str) -> None:
    assert first(typed, "backup-db") == (ident, said, cli)


def test_what_is_not_here_is_offered_only_with_what_it_is_to_be_done_to() -> None:
    assert all(entry.action is not BY_ID["job.kill"] for entry in entries("kill", OFFERS, ["backup-db"]))
    assert first("kill x")[0] == "job.kill"


def test_nothing_that_was_typed_brings_all_and_nonsense_brings_none() -> None:
    assert len(entries("", OFFERS, [])) == len(OFFERS) - 1
    assert entries("xyzzy", OFFERS, []) == []


def test_jobs_are_gone_to_by_their_ids() -> None:
    entry = jobs([(7, "two words")])[0]
    assert (entry.words, entry.job_id, entry.cli) == ("Go to job two words", 7, "jobctl show 'two words'")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_quoted_word_is_that_word_to_a_shell_and_harmless_to_a_terminal(text: str) -> None:
    word = quoted(text)
    assert word.isprintable()
    if text.isprintable():
        assert shlex.split(word) == [text]


def test_a_form_is_filled_once_and_stays_as_it_is_without_anything_to_fill_it() -> None:
    assert filled("jobctl pause JOB --until TIME", ["a b", "c"]) == "jobctl pause 'a b' c --until TIME"
    assert filled("jobctl pause JOB") == "jobctl pause JOB"
    assert filled("jobctl add", ["x"]) == "jobctl add"
    assert filled("jobctl show RUN", ["JOB"]) == "jobctl show JOB"
    assert of_query("jobctl pause JOB", "-tag:x") == "jobctl pause -q -tag:x"


@pytest.mark.parametrize("text", ["tag:pg", "-tag:pg", "next<1h", "/^db/", "two words", "dur>5m"])
def test_a_filter_is_known_as_one(text: str) -> None:
    assert is_filter(text)


@pytest.mark.parametrize("text", ["backup-db", "4711", "a.b", "db@host", "x_y"])
def test_a_name_is_no_filter(text: str) -> None:
    assert not is_filter(text)
