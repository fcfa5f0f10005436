"""Help, and the manual that must say the same."""

import re
from pathlib import Path

import msgspec
import pytest

from jobctl.cli.added import policies
from jobctl.cli.build import command_of
from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import ALIASES, BY_WORDS, GROUPS, TOPICS, VERBS, Verb, overview
from jobctl.defaults import ADD, HEADING, MISFIRE_WITHIN_MS, RUN, Defaults, duration, rows
from jobctl.model import JobDraft, ScheduleDraft, Target
from jobctl_daemon.drafts import Circumstances, checked_job
from jobctl_daemon.shown import definition
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


def table_of_defaults() -> str:
    """As tbl(1) reads it: every cell a block of text, wrapped in its column."""
    lines = []
    for row in (HEADING, *rows()):
        cells = [f"T{{\n{cell}\nT}}" if cell else "" for cell in row]
        lines.append("\t".join(cells).replace("-", "\\-").replace("'", "\\(aq"))
    return "\n".join(lines).replace("×", "\\(mu").replace("–", "\\(en")


def test_the_manual_has_the_defaults_that_the_code_uses() -> None:
    table = MAN.read_text(encoding="utf-8").split(".SH DEFAULTS\n", 1)[1].split(".TE\n", 1)[0]
    assert table.partition("13).\n")[2].rstrip("\n") == table_of_defaults()


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
