"""Variables as lines: secrets are covered, and what is covered stays what it is."""

import pytest

from jobctl.errors import InvalidInput
from jobctl_tui.words.variables import AS_IT_IS, COVER, env_of, is_secret, lines_of


@pytest.mark.parametrize(
    "name",
    ["DB_PASSWORD", "PGPASSWORD", "API_TOKEN", "AWS_SECRET_ACCESS_KEY", "apikey", "SSH_KEY", "SENTRY_DSN", "my_passwd"],
)
def test_a_name_tells_a_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["LANG", "PATH", "HOME", "KEYBOARD", "MONKEY", "EDITOR"])
def test_other_names_are_none(name: str) -> None:
    assert not is_secret(name)


def test_a_covered_value_is_kept_and_another_takes_its_place() -> None:
    env = {"DB_PASSWORD": "hunter2", "LANG": "C"}
    text = lines_of(env)
    assert "hunter2" not in text
    assert env_of(text, env) == env
    assert env_of(text.replace(COVER, "new"), env) == {"DB_PASSWORD": "new", "LANG": "C"}
    assert lines_of(env, revealed=True) == "DB_PASSWORD=hunter2\nLANG=C"


def test_the_cover_of_a_variable_that_was_not_there_is_its_value() -> None:
    assert env_of(f"NEW_TOKEN={COVER}", {}) == {"NEW_TOKEN": COVER}


def test_a_value_that_a_terminal_would_act_on_is_kept_without_being_shown() -> None:
    env = {"PS1": "\x1b[31mhi\n"}
    assert lines_of(env) == f"PS1={AS_IT_IS}"
    assert env_of(lines_of(env), env) == env


@pytest.mark.parametrize(("text", "words"), [("LANG", "line 1"), ("A=1\n=2", "line 2"), ("A=1\nA=2", "twice")])
def test_what_is_no_variable_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        env_of(text, {})


def test_empty_lines_and_signs_in_values_are_nothing_special() -> None:
    assert env_of("\nA = b=c # d\n\n", {}) == {"A": " b=c # d"}
