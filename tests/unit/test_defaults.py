"""The table of defaults is what definitions really get, whoever makes them."""

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl import defaults
from jobctl.crontabs import read
from jobctl.crontabs.jobs import Origin, plan
from jobctl.defaults import ADD, CRONTAB, MISFIRE_WITHIN_MS, PRIORITIES, RUN, Defaults
from jobctl.model import JobDraft, JobSpec, Mail, Policies, RunDraft
from jobctl.states import Misfire, OnFailure, Overlap
from jobctl_daemon.decide.misfire import KEPT_MAX
from jobctl_daemon.drafts import Circumstances, checked_job, checked_run

HERE = Circumstances(
    now_ms=1_800_000_000_000, host_tz="UTC", daemon_user="me", caller_uid=1000, system=False, path="/login/path"
)


def added() -> JobSpec:
    body: dict[str, Any] = {"target": {"command": ["true"]}, "schedule": {"cron": "@daily"}}
    return checked_job(msgspec.convert(body, JobDraft), HERE).spec


def imported() -> JobSpec:
    (line,) = plan(read(b"@daily true\n"), Origin("/table", "me"))
    return checked_job(msgspec.convert(line.draft, JobDraft), HERE).spec


def run_once() -> JobSpec:
    return checked_run(msgspec.convert({"target": {"command": ["true"]}}, RunDraft), HERE)[0]


def policies(of: Defaults) -> Policies:
    return Policies(
        timeout_ms=of.timeout_ms,
        grace_ms=of.grace_ms,
        late_after_ms=of.late_after_ms,
        overlap=Overlap(of.overlap),
        misfire=Misfire(of.misfire),
        misfire_within_ms=MISFIRE_WITHIN_MS[of.misfire],
        overlap_queue=of.overlap_queue,
        limit=of.limit,
        retries=of.retries,
        lost_retries=of.lost_retries,
        backoff_ms=of.backoff_ms,
        backoff_max_ms=of.backoff_max_ms,
        on_lost=of.on_lost,
        on_failure=OnFailure(of.on_failure),
        log_max=of.log_max,
    )


@pytest.mark.parametrize(("spec", "of"), [(added(), ADD), (imported(), CRONTAB), (run_once(), RUN)])
def test_a_definition_that_says_nothing_has_the_values_of_its_column(spec: JobSpec, of: Defaults) -> None:
    mail = Mail(to="me") if of is CRONTAB else None
    assert spec.policies.mail == mail
    assert msgspec.structs.replace(spec.policies, tags=[], mail=None) == policies(of)
    assert (spec.queue, spec.priority) == (of.queue, of.priority)


def test_the_values_are_those_of_the_design() -> None:
    assert (ADD.overlap, ADD.misfire, ADD.retries, ADD.lost_retries, ADD.on_failure) == ("skip", "once", 3, 3, "dead")
    assert (ADD.backoff_ms, ADD.backoff_max_ms, ADD.timeout_ms) == (10_000, 3_600_000, None)
    assert (CRONTAB.overlap, CRONTAB.misfire, MISFIRE_WITHIN_MS["skip"]) == ("allow", "skip", 60_000)
    assert all((each.retries, each.lost_retries, each.on_failure) == (0, 0, "record") for each in (CRONTAB, RUN))
    assert all((each.grace_ms, each.late_after_ms) == (10_000, 10_000) for each in (ADD, CRONTAB, RUN))


def test_the_table_says_what_the_values_are() -> None:
    table = {row.label: row[1:] for row in defaults.rows()}
    assert table["overlap"] == ("skip", "allow", "–")
    assert table["runs at once"] == ("1", "any number", "–")
    assert table["misfire"] == ("once, within 24h (all: at most 10)", "skip, grace 60s", "–")
    assert table["retries / lost budget"] == ("3 (10s, ×2, cap 1h) / 3", "0 / 0", "0 / 0")
    assert table["on failure"] == ("dead letter", "record", "record")
    assert table["timeout / grace"] == ("none / 10s",) * 3
    assert table["late after"] == ("10s",) * 3
    assert table["queue, priority"] == ("default, 0",) * 3
    assert table["output kept"] == ("10MB",) * 3
    assert table["directory, PATH"] == ("HOME, the host's login PATH", "HOME, /usr/bin:/bin", "the caller's")
    assert all(len(row) == len(defaults.HEADING) for row in defaults.rows())


def test_directory_and_path_are_as_the_table_says() -> None:
    add, crontab = added().execution, imported().execution
    assert (add.cwd, add.path, add.env) == (None, "/login/path", {})
    assert (crontab.cwd, crontab.env["PATH"]) == (None, CRONTAB.path)


def test_the_runs_at_once_are_those_of_the_policies() -> None:
    assert (added().policies.active_max, imported().policies.active_max) == (1, None)


def test_misfire_all_keeps_as_many_as_the_table_says() -> None:
    assert KEPT_MAX[Misfire.ALL] == defaults.MISFIRE_ALL_MAX


def test_every_misfire_policy_has_its_window() -> None:
    assert set(MISFIRE_WITHIN_MS) == set(Misfire)


def test_high_goes_before_low() -> None:
    assert PRIORITIES["high"] < PRIORITIES["normal"] == ADD.priority < PRIORITIES["low"]


def test_the_command_line_can_load_it_for_nothing() -> None:
    assert defaults.__file__ is not None
    tree = ast.parse(Path(defaults.__file__).read_text("utf-8"))
    loaded = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert loaded == ["typing"]
    assert not any(isinstance(node, ast.Import) for node in ast.walk(tree))


@pytest.mark.parametrize(("ms", "text"), [(10_000, "10s"), (60_000, "60s"), (3_600_000, "1h"), (86_400_000, "24h")])
def test_durations_are_whole_hours_or_seconds(ms: int, text: str) -> None:
    assert defaults.duration(ms) == text
