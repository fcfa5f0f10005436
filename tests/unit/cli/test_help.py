"""Help, and the manual that must say the same."""

import re

import msgspec
import pytest

from jobctl.cli.added import policies
from jobctl.cli.build import command_of
from jobctl.cli.fitted import fitted
from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import ALIASES, BY_WORDS, GROUPS, PAGES, TOPICS, VERBS, Verb, overview
from jobctl.defaults import ADD, MISFIRE_WITHIN_MS, RUN, Defaults, duration
from jobctl.manual import find
from jobctl.model import JobDraft, ScheduleDraft, Target
from jobctl_daemon.drafts import Circumstances, checked_job
from jobctl_daemon.shown import definition
from unit.cli.conftest import Cli

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


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic not in PAGES])
def test_every_topic_has_a_text(alone: Cli, topic: str) -> None:
    assert alone("help", topic).out == TEXTS[topic]


def test_where_no_pages_are_installed_help_tells_what_the_program_knows(
    alone: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "folders", lambda: ("/nowhere",))
    assert alone("help", "cron").out == TEXTS["cron"]
    assert alone("help", "daemon", "stop").out == alone("daemon", "stop", "--help").out
    assert "not installed here" in alone("help", "jobd").err


@pytest.mark.parametrize("words", WORDS)
def test_help_shows_the_page_of_a_verb_by_all_its_names(alone: Cli, words: str) -> None:
    shown = alone("help", *words.split())
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("NAME\n       ")
    name = "jobctl-" + words.replace(" ", "-")
    assert alone("help", name).out == alone("help", words.replace(" ", "-")).out == shown.out
    assert max(map(len, shown.out.split("\nSYNOPSIS\n")[0].splitlines())) <= 78


def test_help_shows_the_other_pages_and_aliases(alone: Cli) -> None:
    for topic, name in PAGES.items():
        assert alone("help", topic).out.splitlines()[1].startswith(f"       {name} - ")
    for alias, word in ALIASES.items():
        assert alone("help", alias).out == alone("help", word).out
    for group in GROUPS:
        listed = alone("help", group)
        assert listed.code == 0, group
    assert alone("help", "jobd.toml", "--json").json() == {
        "topic": "jobd.toml",
        "text": alone("help", "jobd.toml").out,
    }


@pytest.mark.parametrize("name", [*PAGES, "add", "ui", "dlq", "edit"])
def test_a_page_can_be_shown_in_any_encoding(alone: Cli, name: str) -> None:
    shown = alone("help", name, encoding="ascii")
    assert shown.raw.isascii()
    assert b"\\u20" not in shown.raw
    assert len(shown.raw.splitlines()) == len(alone("help", name).out.splitlines())


def test_an_unknown_topic_says_the_nearest_one(alone: Cli) -> None:
    result = alone("help", "bakcup")
    assert result.code == 2
    assert "did you mean backup?" in result.err
    assert "jobd.toml" in alone("help", "jobd.tml").err


def test_the_lines_of_the_topics_fit_a_terminal() -> None:
    assert all(len(line) <= 120 for text in TEXTS.values() for line in text.splitlines())


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_on_a_narrower_terminal_lines_break_between_words_and_nothing_is_lost(alone: Cli, columns: int) -> None:
    for topic in [*TEXTS, ""]:
        text = TEXTS.get(topic) or overview()
        shown = fitted(text, columns)
        assert shown.split() == text.split()
        commands = [line for line in text.splitlines() if line.startswith(("  jobctl", "  curl")) and line in shown]
        assert all(len(line) <= columns or line in commands for line in shown.splitlines()), topic
    shown = alone("help", "failures", terminal=True, COLUMNS=str(columns)).out
    assert shown == fitted(TEXTS["failures"], columns)
    prose = alone("retry", "--help", terminal=True, COLUMNS=str(columns)).out.partition("Examples:")[0]
    assert all(len(line) <= columns for line in prose.splitlines())
    assert "of another run that has ended" in " ".join(prose.split())


def test_a_text_stays_beside_its_term_and_a_table_a_table() -> None:
    assert fitted("  POST   /v1/x   what is there, and more of it\n", 42) == (
        "  POST   /v1/x   what is there, and more\n                 of it\n"
    )
    assert fitted("  POST   /v1/x   what is there", 28) == "  POST   /v1/x   what is\n    there"
    pairs = "  oom   the kernel has killed it      lost   nobody knows"
    assert fitted(pairs, 40) == "  oom   the kernel has killed it\n  lost  nobody knows"
    prose = "words of a sentence " * 5 + "that goes on in the next\nline of the same paragraph"
    assert fitted(prose, 100).count("\n") == 1
    assert fitted(prose, 150) == prose
    assert fitted("  jobctl add report --every 1h -- /opt/report", 30).count("\n") == 0


def test_help_on_a_group(alone: Cli) -> None:
    for group in GROUPS:
        assert f"jobctl {group} VERB" in alone(group, "--help").out


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alone: Cli, alias: str) -> None:
    assert alone(alias, "--help").out == alone(ALIASES[alias], "--help").out


def defaults_in_help(each: Defaults) -> dict[str, str]:
    """What the help of an option says behind its words, in brackets."""
    return {
        "--retries": str(each.retries), "--backoff": duration(each.backoff_ms),
        "--backoff-max": duration(each.backoff_max_ms), "--on-failure": each.on_failure,
        "--grace": duration(each.grace_ms), "--timeout": "none" if each.timeout_ms is None else "?",
        "--queue": each.queue, "--priority": str(each.priority), "--log-max": f"{each.log_max // 1_000_000}MB",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "more", "each"),
    [
        ("add", ("--overlap", "--misfire", "--misfire-within", "--late-after", "--on-lost"), ADD),
        ("edit", ("--overlap", "--misfire", "--misfire-within", "--late-after", "--on-lost"), ADD),
        ("run", (), RUN),
    ],
)
def test_the_help_has_the_defaults_that_the_code_uses(words: str, more: tuple[str, ...], each: Defaults) -> None:
    helps = {name: str(getattr(param, "help", "")) for param in command_of(BY_WORDS[words]).params
             for name in param.opts}  # fmt: skip
    only_of_schedules = {
        "--overlap": each.overlap, "--misfire": each.misfire, "--late-after": duration(each.late_after_ms),
        "--misfire-within": f"{duration(MISFIRE_WITHIN_MS['once'])}; skip: {duration(MISFIRE_WITHIN_MS['skip'])}",
        "--on-lost": f"{each.on_lost}:{each.lost_retries}",
    }  # fmt: skip
    expected = defaults_in_help(each) | {name: only_of_schedules[name] for name in more}
    assert {name: value for name, value in expected.items() if f"({value})" not in helps[name]} == {}


def test_add_says_the_defaults_that_the_code_uses() -> None:
    here = Circumstances(
        now_ms=0, host_tz="UTC", daemon_user="ana", caller_uid=1, system=False, path="/bin", user_exists=lambda _: True
    )
    spec = checked_job(JobDraft(target=Target(command=["true"]), schedule=ScheduleDraft(every="1h")), here).spec
    shown = {**msgspec.to_builtins(definition(spec.schedule, spec.execution, spec.policies, None)),
             "queue": spec.queue, "priority": spec.priority}  # fmt: skip
    lines = dict(policies(shown))
    within = duration(MISFIRE_WITHIN_MS[ADD.misfire])
    assert lines == {
        "policy": f"overlap {ADD.overlap} · misfire {ADD.misfire} within {within} · timeout none · "
        f"grace {duration(ADD.grace_ms)} · late after {duration(ADD.late_after_ms)} · "
        f"log {ADD.log_max // 1_000_000} MB",
        "failure": f"retries {ADD.retries} ({duration(ADD.backoff_ms)}, ×2, cap {duration(ADD.backoff_max_ms)}) · "
        f"lost: {ADD.on_lost} {ADD.lost_retries} · at last: dead letter",
        "told": "nobody: give --notify mail or --notify exec:COMMAND",
    }
