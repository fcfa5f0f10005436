"""Help, and the manual that must say the same."""

import re
from pathlib import Path

import pytest

from jobctl.cli.build import command_of
from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import ALIASES, BY_WORDS, GROUPS, TOPICS, VERBS, Verb, overview
from unit.cli.conftest import Cli

MAN = Path(__file__).parents[3] / "man" / "jobctl.1"
WORDS = [verb.words for verb in VERBS]


def options(verb: Verb) -> set[str]:
    found: set[str] = set()
    for param in command_of(verb).params:
        found.update(name for name in param.opts if name.startswith("-"))
    return found


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_verb_has_help(alone: Cli, words: str, option: str) -> None:
    result = alone(*words.split(), option)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: jobctl {words}")
    assert all(name in result.out for name in options(BY_WORDS[words]))


def test_the_examples_are_command_lines_that_parse() -> None:
    for verb in VERBS:
        for command, _ in getattr(__import__(verb.module, fromlist=["x"]), "EXAMPLES", ()):
            assert "jobctl " in command, (verb.words, command)


def test_the_overview_lists_every_verb_and_no_other(alone: Cli) -> None:
    result = alone("--help")
    assert result.out == alone("help").out == alone("-h").out == overview()
    listed = re.findall(r"^  ([a-z]+(?: [a-z]+)?) {2,}\S", result.out.split("\nJobs:\n")[1], re.MULTILINE)
    assert listed == WORDS


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_a_text(alone: Cli, topic: str) -> None:
    assert alone("help", topic).out == TEXTS[topic]


def test_the_lines_of_the_topics_fit_a_terminal() -> None:
    assert all(len(line) <= 120 for text in TEXTS.values() for line in text.splitlines())


def test_help_on_a_verb_and_on_a_group(alone: Cli) -> None:
    assert alone("help", "daemon", "stop").out == alone("daemon", "stop", "--help").out
    for group in GROUPS:
        assert f"jobctl {group} VERB" in alone(group, "--help").out


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alone: Cli, alias: str) -> None:
    assert alone(alias, "--help").out == alone(ALIASES[alias], "--help").out


def manual() -> dict[str, str]:
    """The part of the manual on each verb."""
    text = MAN.read_text(encoding="utf-8").replace("\\-", "-").replace("\\(aq", "'")
    verbs = text.split(".SH VERBS", 1)[1].split("\n.SH ", 1)[0]
    parts = re.split(r"^\.SS (.+)$", verbs, flags=re.MULTILINE)
    return {parts[i].strip('"'): parts[i + 1] for i in range(1, len(parts) - 1, 2)}


def test_the_manual_has_every_verb_in_order() -> None:
    assert list(manual()) == WORDS


@pytest.mark.parametrize("words", WORDS)
def test_the_manual_has_the_options_of_a_verb(words: str) -> None:
    documented = set(
        re.findall(r"(?<![\w-])--?[a-z][a-z-]*", "\n".join(re.findall(r"^\.BR? (.+)$", manual()[words], re.MULTILINE)))
    )
    common = options(BY_WORDS["version"]) | {"--no-start"}
    assert documented - common == options(BY_WORDS[words]) - common


def test_the_manual_has_the_common_options_exit_codes_and_environment() -> None:
    text = MAN.read_text(encoding="utf-8").replace("\\-", "-")
    for name in options(BY_WORDS["version"]) | {"--no-start"}:
        assert name in text.split(".SH COMMON OPTIONS", 1)[1].split(".SH VERBS")[0]
    for code in re.findall(r"^  (\d+) ", TEXTS["exit-codes"], re.MULTILINE):
        assert f".TP\n.B {code}\n" in text
    for name in re.findall(r"\b(JOBCTL_[A-Z_]+|NO_COLOR)\b", TEXTS["environment"]):
        assert name in text
