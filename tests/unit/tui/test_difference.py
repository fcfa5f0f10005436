"""What an edit changes in words, and the command line that does the same: as the command line itself reads it."""

from typing import Any

import pytest

from jobctl_tui.words.difference import Change, add_line, between, edit_line, of_api, since
from jobctl_tui.words.draft import draft_of
from jobctl_tui.words.slips import slip_of
from unit.tui.test_draft import report, typed


def test_changes_are_told_field_by_field() -> None:
    draft = typed(draft_of(report(timeout=3600)), schedule="30 2 * * *", timeout="30m", tags="x", grace="")
    assert set(between(draft.base, draft.table)) == {
        Change("cron", "0 3 * * *", "30 2 * * *"),
        Change("timeout", "1h", "30m"),
        Change("tags", "", "x"),
        Change("grace", "10s", "default"),
    }


def test_the_daemons_changes_are_told_alike() -> None:
    changes: list[dict[str, Any]] = [
        {"field": "timeout", "before": 3600, "after": None},
        {"field": "retry.backoff", "before": 10, "after": 60},
        {"field": "target.command", "before": ["a", "b c"], "after": None},
        {"field": "env.API_TOKEN", "before": "old", "after": "new"},
        {"field": "log_max", "before": 10_000_000, "after": 500},
    ]
    assert of_api(changes) == [
        Change("timeout", "1h", ""),
        Change("backoff", "10s", "1m"),
        Change("command", "a 'b c'", ""),
        Change("env API_TOKEN", "********", "********"),
        Change("log max", "10MB", "500"),
    ]


def test_what_somebody_else_did_includes_a_pause() -> None:
    told = since(report(), report(timeout=60, paused=True))
    assert Change("timeout", "", "1m") in told
    assert Change("paused", "no", "yes") in told


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        ({}, ""),
        ({"schedule": "30 2 * * *"}, "jobctl edit report --cron '30 2 * * *'"),
        ({"schedule": "every 10m"}, "jobctl edit report --every 10m"),
        ({"schedule": ""}, "jobctl edit report --clear cron"),
        ({"timezone": "UTC"}, "jobctl edit report --tz UTC"),
        ({"command": "/bin/x 'a b'"}, "jobctl edit report -- /bin/x 'a b'"),
        ({"shell": "shell", "command": "a | b"}, "jobctl edit report --shell 'a | b'"),
        ({"name": "daily"}, "jobctl edit report --name daily"),
        ({"timeout": "5m", "grace": ""}, "jobctl edit report --timeout 5m --clear grace"),
        ({"env": "LANG=C\nAPI_TOKEN=x"}, "jobctl edit report --env API_TOKEN --clear env.DB_PASSWORD"),
        ({"tags": "a, b"}, "jobctl edit report --tag a --tag b"),
        ({"retry": "5, 1m"}, "jobctl edit report --retries 5 --backoff 1m"),
        ({"overlap": "queue"}, "jobctl edit report --overlap queue"),
    ],
)
def test_the_command_line_does_the_same(texts: dict[str, str], line: str) -> None:
    draft = typed(draft_of(report()), **texts)
    assert edit_line("report", draft.base, draft.table) == line


def test_no_secret_stands_on_the_command_line() -> None:
    draft = typed(draft_of(None), command="/bin/x", env="API_TOKEN=abc\nLANG=C")
    assert add_line(draft.body) == "jobctl add --env API_TOKEN --env LANG=C -- /bin/x"


def test_a_new_job_on_the_command_line() -> None:
    draft = typed(draft_of(None), name="my job", command="/bin/x y", schedule="after backup:any", overlap="allow")
    assert add_line(draft.body) == "jobctl add 'my job' --after backup:any --overlap allow -- /bin/x y"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/bin/x", "a"], ""),
        (["cd", "/srv"], "word of the shell"),
        (["/bin/a", "|", "b"], "| is an argument"),
        (["~/x"], "whole path"),
        (["/bin/echo", "$HOME"], "without a shell"),
        (["bin/x"], "directory of the job"),
    ],
)
def test_what_a_command_is_likely_to_mean_otherwise(command: list[str], said: str) -> None:
    slip = slip_of({"command": command})
    assert said in slip if said else slip == ""
    assert slip_of({"shell": "cd /srv && x | y"}) == ""
