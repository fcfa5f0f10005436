"""An edit: what a patch names changes, and nothing else does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.crontabs import read
from jobctl.crontabs.jobs import Origin, plan
from jobctl.errors import InvalidInput
from jobctl.model import JobDraft, JobSpec, Mail, RunDraft, ScheduleSpec
from jobctl.states import FailureClass, MailOn, Misfire, OnFailure, Overlap
from jobctl_daemon.drafts import (
    Checked,
    Circumstances,
    after_of,
    changes,
    checked_edit,
    checked_job,
    checked_run,
    merged,
)
from jobctl_daemon.drafts.merge import asked

NOW = 1_800_000_000_000  # 2027-01-15 08:00 UTC
LATER = NOW + 5_000_123
HOUR = 3_600_000
CRONTABS = Path(__file__).parents[1] / "data" / "crontabs"

HERE = Circumstances(
    now_ms=NOW,
    host_tz="Europe/Berlin",
    daemon_user="root",
    caller_uid=0,
    system=True,
    path="/usr/bin:/bin",
    upstream=(7, "backup"),
)
#: Another day, after the host has moved and its login PATH has changed.
THEN = replace(HERE, now_ms=LATER, host_tz="Asia/Tokyo", path="/elsewhere")


def stored(**fields: Any) -> JobSpec:
    return checked_job(msgspec.convert({"target": {"command": ["true"]}, **fields}, JobDraft), HERE).spec


def edited(spec: JobSpec, **patch: Any) -> Checked:
    return checked_edit(spec, patch, THEN)


def refused(spec: JobSpec, patch: dict[str, Any]) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        checked_edit(spec, patch, replace(THEN, upstream=None))
    assert caught.value.message
    assert caught.value.hint
    return caught.value


# ── what is not named stays ──────────────────────────────────────────────

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
word = st.text("abcXYZ0123._é", min_size=1, max_size=12).filter(lambda made: made.strip("."))
seconds = st.integers(1, 10**9).map(lambda ms: ms / 1000)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


schedules = st.one_of(
    st.sampled_from(["0 3 * * *", "*/7 1-5 * * MON-FRI", "@daily", "@reboot", "0 0 30 2 *"]).map(lambda c: {"cron": c}),
    st.integers(1000, 10**9).map(lambda ms: {"every": ms / 1000}),
    st.sampled_from(["in 1h", "2027-03-28 02:30", "@1900000000.123", "2020-01-01T00:00:00Z"]).map(lambda t: {"at": t}),
    st.sampled_from(["backup", "backup:failure", "7:any"]).map(lambda job: {"after": job}),
    st.sampled_from([{"on_boot": True}, {"on_start": True}, {}]),
)
plans = st.tuples(
    schedules,
    some(
        timezone=st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York"]),
        dst_gap=st.sampled_from(["auto", "run-after", "skip"]),
        dst_overlap=st.sampled_from(["auto", "first", "second", "both"]),
    ),
    some(jitter=st.integers(0, 10**7).map(lambda ms: ms / 1000)),
).map(lambda parts: parts[0] | parts[1] | ({} if "after" in parts[0] else parts[2]))
delays = st.lists(seconds, min_size=2, max_size=2).map(sorted)
retries = st.tuples(
    some(
        max=st.integers(0, 1000),
        lost=st.integers(0, 1000),
        no_retry_on=st.lists(
            st.one_of(
                st.integers(1, 255),
                st.sampled_from([str(kind) for kind in FailureClass if kind is not FailureClass.CANCELLED]),
            ),
            max_size=5,
        ),
        on_lost=st.one_of(st.sampled_from(["retry", "dead"]), word.map(lambda command: f"ask:{command}")),
    ),
    st.one_of(
        st.just({}),
        seconds.map(lambda each: {"backoff": each}),
        seconds.map(lambda each: {"backoff_max": each}),
        delays.map(lambda both: {"backoff": both[0], "backoff_max": both[1]}),
    ),
).map(lambda parts: parts[0] | parts[1])
overlaps: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from(list(Overlap)).map(lambda overlap: {"overlap": overlap}),
    st.integers(1, 1000).map(lambda most: {"overlap": "queue", "overlap_queue": most}),
    st.just({}),
)
shared = {
    "name": word.filter(lambda name: not name.isdecimal()),
    "env": st.dictionaries(st.text("ABC_", min_size=1, max_size=4), text, max_size=3),
    "user": st.sampled_from(["root", "bob"]),
    "cwd": word.map(lambda part: f"/{part}"),
    "umask": st.sampled_from(["022", "0", "0o077"]),
    "timeout": seconds,
    "grace": st.integers(0, 10**6),
    "retry": retries,
    "on_failure": st.sampled_from(list(OnFailure)),
    "queue": word,
    "priority": st.one_of(st.integers(-9, 9), st.sampled_from(["high", "normal", "low"])),
    "notify": st.lists(st.sampled_from(["mail", "mail:a@b", "exec:x y"]), max_size=3),
    "log_max": st.one_of(st.integers(4096, 1 << 40), st.just("5MiB")),
    "note": text,
    "stdin": text,
}
targets = st.one_of(
    st.lists(text, min_size=1, max_size=3).map(lambda words: {"command": words}),
    text.filter(str.strip).map(lambda line: {"shell": line}),
)
drafts = st.tuples(
    st.fixed_dictionaries({"target": targets}),
    some(
        **shared,
        schedule=plans,
        env_file=word.map(lambda part: f"/{part}"),
        nice=st.integers(-20, 19),
        late_after=st.integers(0, 10**6),
        misfire=st.sampled_from(list(Misfire)),
        misfire_within=st.integers(0, 10**6),
        limit=st.integers(1, 10_000),
        tags=st.lists(word, max_size=3),
        source=st.sampled_from(["api", "cli", "file:/x"]),
        paused=st.booleans(),
    ),
    overlaps,
).map(lambda parts: parts[0] | parts[1] | parts[2])


def unchanged(spec: JobSpec) -> None:
    """Nothing named is nothing changed; nor is a definition that is given again in full."""
    edit = checked_edit(spec, {}, THEN)
    assert edit.spec == spec
    assert (edit.next_ms, edit.warnings, edit.named) == (None, (), True)
    assert changes(spec, edit.spec) == []
    again = {"env": {}, "retry": {}, **asked(spec, THEN)}
    assert checked_edit(spec, again, THEN).spec == spec
    assert checked_edit(spec, json.loads(json.dumps(again)), THEN).spec == spec


@given(drafts)
def test_nothing_named_is_nothing_changed(draft: dict[str, Any]) -> None:
    unchanged(checked_job(msgspec.convert(draft, JobDraft), HERE).spec)


@given(st.tuples(st.fixed_dictionaries({"target": targets}), some(**shared)).map(lambda parts: parts[0] | parts[1]))
def test_nor_of_a_run_by_hand(draft: dict[str, Any]) -> None:
    unchanged(checked_run(msgspec.convert(draft, RunDraft), HERE)[0])


@pytest.mark.parametrize(
    "case",
    [json.loads(line) for line in (CRONTABS / "index.jsonl").read_text("utf-8").splitlines()],
    ids=lambda case: case["file"],
)
def test_nor_of_an_imported_line(case: dict[str, Any]) -> None:
    crontab = read(
        (CRONTABS / case["file"]).read_bytes(), system=case["system"], users={job.get("user") for job in case["jobs"]}
    )
    for line in plan(crontab, Origin("/etc/table", "root")):
        if line.draft is not None:
            unchanged(checked_job(msgspec.convert(line.draft, JobDraft), HERE).spec)


@given(drafts)
def test_the_draft_of_a_definition_means_it(draft: dict[str, Any]) -> None:
    spec = checked_job(msgspec.convert(draft, JobDraft), HERE).spec
    again = checked_job(merged(spec, {}, HERE), HERE).spec
    assert msgspec.structs.replace(again, source=spec.source, paused=spec.paused) == spec


def test_a_definition_from_before_a_policy_existed_is_no_exception() -> None:
    old = stored(schedule={"every": 60})
    spec = msgspec.structs.replace(
        old, policies=msgspec.structs.replace(old.policies, retries=0, lost_retries=0, on_failure=OnFailure.RECORD)
    )
    unchanged(spec)
    assert edited(spec, retry=None, on_failure=None).spec == old


def test_a_schedule_that_this_host_cannot_expand_is_in_nobody_elses_way() -> None:
    spec = msgspec.structs.replace(stored(), schedule=ScheduleSpec(timezone="Mars/Base", cron="@daily", words="daily"))
    edit = edited(spec, note="x")
    assert (edit.spec.schedule, edit.spec.policies.note) == (spec.schedule, "x")
    assert edited(spec, timezone="UTC").spec.schedule.timezone == "UTC"


def test_a_user_who_is_gone_is_in_nobody_elses_way() -> None:
    spec = stored(user="bob")
    nobody = replace(THEN, user_exists=lambda _: False)
    assert checked_edit(spec, {"note": "x"}, nobody).spec.execution.user == "bob"
    with pytest.raises(InvalidInput) as caught:
        checked_edit(spec, {"user": "eve"}, nobody)
    assert caught.value.field == "user"


# ── what is named changes ──────────────────────────────────────────────


def test_a_field_that_is_given_replaces_and_null_is_the_default() -> None:
    spec = stored(timeout=60, tags=["a"], overlap="allow", nice=3, queue="q", priority="high", notify=["mail"])
    edit = edited(spec, timeout="2m", tags=["b"]).spec
    assert (edit.policies.timeout_ms, edit.policies.tags, edit.policies.overlap) == (120_000, ["b"], Overlap.ALLOW)
    bare = edited(spec, **dict.fromkeys(("timeout", "tags", "overlap", "nice", "queue", "priority", "notify"))).spec
    assert bare == stored()


def test_variables_are_merged_by_name() -> None:
    spec = stored(env={"A": "1", "B": "2"})
    assert edited(spec, env={"B": None, "C": "3"}).spec.execution.env == {"A": "1", "C": "3"}
    assert edited(spec, env=None).spec.execution.env == {}


def test_mail_is_merged_by_field_and_goes_as_a_whole() -> None:
    spec = stored(mail={"to": "ada,bob", "on": "failure"})
    assert spec.policies.mail == Mail(to="ada, bob", on=MailOn.FAILURE)
    assert edited(spec, mail={"to": "ops@example.org"}).spec.policies.mail == Mail(
        to="ops@example.org", on=MailOn.FAILURE
    )
    assert edited(spec, mail={"on": None}).spec.policies.mail == Mail(to="ada, bob")
    assert edited(spec, mail=None).spec.policies.mail is edited(spec, mail={"to": None, "on": None}).spec.policies.mail
    assert edited(spec, mail=None).spec.policies.mail is None
    assert edited(spec, nice=3).spec.policies.mail == spec.policies.mail
    assert ("mail.to", None, "ada") in changes(stored(), edited(stored(), mail={"to": "ada"}).spec)
    assert refused(stored(), {"mail": {"on": "failure"}}).details["field"] == "mail.to"
    assert refused(stored(), {"mail": {"to": "-t"}}).details["field"] == "mail.to"
    assert refused(stored(), {"mail": {"too": "ada"}}).details["field"] == "mail.too"


def test_retry_is_merged_by_field() -> None:
    spec = stored(retry={"max": 5, "lost": 1, "no_retry_on": [3]})
    rules = edited(spec, retry={"lost": None, "on_lost": "dead"}).spec.policies
    assert (rules.retries, rules.lost_retries, rules.no_retry_on, rules.on_lost) == (5, 3, ["3"], "dead")
    assert edited(spec, retry=None).spec == stored()


def test_what_followed_from_another_field_goes_on_following() -> None:
    spec = stored()
    assert edited(spec, misfire="skip").spec.policies.misfire_within_ms == 60_000
    assert edited(edited(spec, misfire="skip").spec, misfire="once").spec == spec
    assert edited(spec, retry={"backoff": "2h"}).spec.policies.backoff_max_ms == 2 * HOUR
    queued = edited(spec, overlap="queue", overlap_queue=9).spec
    assert edited(queued, overlap="skip").spec == spec
    assert edited(queued, overlap=None).spec == spec
    assert refused(queued, {"overlap": "skip", "overlap_queue": 2}).field == "overlap_queue"


def test_the_command_is_replaced_whole_and_its_surroundings_stay() -> None:
    spec = stored(env={"A": "1"}, cwd="/srv")
    work = edited(spec, target={"shell": "date"}).spec.execution
    assert (work.command, work.shell, work.env, work.cwd) == (None, "date", {"A": "1"}, "/srv")
    assert work.path == HERE.path


def test_a_new_name_is_given_or_made() -> None:
    spec = stored(name="old")
    assert (edited(spec, name="new").spec.name, edited(spec, name="new").named) == ("new", True)
    assert (edited(spec, name=None).spec.name, edited(spec, name=None).named) == ("true", False)


def test_source_and_pause_and_hiding_stay() -> None:
    spec = msgspec.structs.replace(stored(source="file:/x", paused=True), hidden=True)
    edit = edited(spec, note="x").spec
    assert (edit.source, edit.paused, edit.hidden) == ("file:/x", True, True)


# ── the schedule ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("schedule", "patch"),
    [
        ({"every": 600}, {"schedule": {"every": "10m"}}),
        ({"every": 600}, {"schedule": {"every": 600.0, "timezone": "Europe/Berlin"}}),
        ({"every": 600, "timezone": "UTC"}, {"timezone": "UTC"}),
        ({"at": "in 1h"}, {"schedule": {"at": "2027-01-15T09:00:00Z"}}),
        ({"at": "in 1h"}, {"run_at": "2027-01-15T09:00:00Z"}),
        ({"cron": "@daily", "jitter": 5}, {"schedule": {"cron": "@daily", "jitter": "5s", "dst_gap": None}}),
        ({"cron": "@reboot"}, {"schedule": {"on_boot": True}}),
        ({"after": "backup"}, {"schedule": {"after": "7:success"}}),
        ({}, {"schedule": None}),
        ({}, {"schedule": {}}),
    ],
)
def test_a_schedule_that_means_the_same_is_the_old_one(schedule: dict[str, Any], patch: dict[str, Any]) -> None:
    spec = stored(schedule=schedule)
    edit = edited(spec, **patch)
    assert edit.spec.schedule is spec.schedule
    assert edit.next_ms is None


def test_an_interval_is_anchored_until_it_changes() -> None:
    spec = stored(schedule={"every": "10m"})
    same = edited(spec, schedule={"every": "10m", "jitter": "5s"})
    assert (same.spec.schedule.anchor_ms, same.next_ms) == (NOW, NOW + 9 * 600_000)
    other = edited(spec, schedule={"every": "7m"})
    assert (other.spec.schedule.anchor_ms, other.next_ms) == (LATER, LATER + 420_000)


def test_a_new_schedule_keeps_the_zone_of_the_old_one() -> None:
    spec = stored(schedule={"every": 60, "timezone": "America/New_York"})
    edit = edited(spec, schedule={"cron": "0 5 * * *"})
    assert edit.spec.schedule == ScheduleSpec(timezone="America/New_York", cron="0 5 * * *", words="every day at 05:00")
    assert edit.next_ms == NOW + 2 * HOUR
    assert edited(spec, run_at="2027-01-15 05:00").spec.schedule.at_ms == NOW + 2 * HOUR
    assert edited(spec, schedule=None).spec.schedule == ScheduleSpec(timezone="America/New_York", words="by hand")


@pytest.mark.parametrize(
    ("patch", "zone"),
    [
        ({"timezone": "UTC"}, "UTC"),
        ({"timezone": None}, "Asia/Tokyo"),
        ({"schedule": {"cron": "@daily", "timezone": None}}, "Asia/Tokyo"),
        ({"schedule": {"cron": "@daily", "timezone": "UTC"}}, "UTC"),
        ({"schedule": {"cron": "@daily"}, "timezone": "UTC"}, "UTC"),
        ({"schedule": {"cron": "@daily"}, "timezone": None}, "Asia/Tokyo"),
        ({"schedule": {"at": "in 1h"}}, "America/New_York"),
        ({"run_at": "in 1h", "timezone": "UTC"}, "UTC"),
        ({"run_at": "in 1h", "timezone": None}, "Asia/Tokyo"),
        ({"note": "x"}, "America/New_York"),
    ],
)
def test_a_zone_changes_when_it_is_named(patch: dict[str, Any], zone: str) -> None:
    spec = stored(schedule={"cron": "@daily", "timezone": "America/New_York"})
    assert edited(spec, **patch).spec.schedule.timezone == zone


def test_another_zone_alone_leaves_the_rest_of_the_schedule() -> None:
    far = stored(schedule={"at": "@251000000000"}).schedule  # a year that no date can be written in
    spec = msgspec.structs.replace(stored(), schedule=far)
    assert edited(spec, timezone="UTC").spec.schedule == msgspec.structs.replace(far, timezone="UTC")


def test_a_changed_schedule_has_its_warnings() -> None:
    assert any("never" in warning for warning in edited(stored(), schedule={"cron": "0 0 30 2 *"}).warnings)


def test_the_job_that_a_patch_comes_after_is_looked_up_in_the_draft() -> None:
    spec = stored(schedule={"after": "backup:any"})
    elsewhere = replace(THEN, upstream=None)
    assert after_of(merged(spec, {"schedule": {"after": "other"}}, elsewhere).schedule) == ("other", "success")
    assert after_of(merged(spec, {}, elsewhere).schedule) == ("7", "any")
    assert after_of(merged(spec, {}, THEN).schedule) == ("backup", "any")
    other = checked_edit(spec, {"schedule": {"after": "other"}}, replace(THEN, upstream=(8, "other")))
    assert (other.spec.schedule.after_job, other.spec.schedule.words) == (8, "after other succeeds")
    assert checked_edit(spec, {"note": "x"}, elsewhere).spec.schedule is spec.schedule


# ── what is refused ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("patch", "field", "hint"),
    [
        ({"source": "api"}, "source", "came from"),
        ({"paused": None}, "paused", "jobctl pause"),
        ({"paused": True}, "paused", "jobctl pause"),
        ({"tiemout": 3}, "tiemout", "did you mean timeout?"),
        ({"bakoff": 3}, "bakoff", "did you mean retry.backoff?"),
        ({"every": 60}, "every", "did you mean schedule.every?"),
        ({"retry": {"no_retry": []}}, "retry.no_retry", "did you mean retry.no_retry_on?"),
        ({"schedule": {"corn": "@daily"}}, "schedule.corn", "did you mean schedule.cron?"),
        ({"target": {"comand": ["x"]}}, "target.comand", "did you mean target.command?"),
        ({"schedule": {"timeout": 3}}, "schedule.timeout", "did you mean"),
        ({"state": "ok"}, "state", "help api"),
        ({"zzz": 1}, "zzz", "help api"),
        ({"x" * 1000: 1}, "x" * 60, "help api"),
        ({"target": None}, "target", ""),
        ({"target": {}}, "target", ""),
        ({"target": {"command": "date"}}, "target.command", ""),
        ({"schedule": "@daily"}, "schedule", ""),
        ({"schedule": [1]}, "schedule", ""),
        ({"schedule": {"on_boot": 3}}, "schedule.on_boot", ""),
        ({"schedule": {"cron": "@daily", "every": 3}}, "schedule", ""),
        ({"schedule": {"cron": "@daily"}, "run_at": "in 1h"}, "run_at", ""),
        ({"schedule": {"cron": "@daily", "timezone": "UTC"}, "timezone": "Asia/Tokyo"}, "timezone", ""),
        ({"schedule": {"after": "nothing"}}, "schedule.after", ""),
        ({"timezone": "Mars/Base"}, "timezone", ""),
        ({"timezone": 3}, "timezone", ""),
        ({"env": "A=1"}, "env", ""),
        ({"env": {"A": 1}}, "env.A", "put it in quotes"),
        ({"env": {"A": {}}}, "env.A", ""),
        ({"retry": 3}, "retry", ""),
        ({"retry": {"max": "3"}}, "retry.max", ""),
        ({"retry": {"max": 5000}}, "retry.max", ""),
        ({"retry": {"no_retry_on": [1, []]}}, "retry.no_retry_on", ""),
        ({"overlap": "never"}, "overlap", ""),
        ({"overlap_queue": 3}, "overlap_queue", ""),
        ({"name": "12"}, "name", ""),
        ({"queue": "-"}, "queue", ""),
        ({"notify": ["x"]}, "notify", ""),
        ({"tags": [3]}, "tags", ""),
    ],
)
def test_a_patch_that_cannot_be_is_refused(patch: dict[str, Any], field: str, hint: str) -> None:
    error = refused(stored(), patch)
    assert error.field == field
    assert hint in error.hint


@pytest.mark.parametrize("schedule", [{"timezone": "UTC"}, {"jitter": 5}, {"cron": None, "on_boot": False}])
def test_a_schedule_does_not_lose_its_time_by_the_way(schedule: dict[str, Any]) -> None:
    error = refused(stored(schedule={"cron": "@daily"}), {"schedule": schedule})
    assert (error.field, "null is by hand" in error.hint) == ("schedule", True)
    assert edited(stored(), schedule=schedule).spec.schedule.words == "by hand"
    assert edited(stored(schedule={"cron": "@daily"}), schedule=None).spec.schedule.words == "by hand"


def test_a_patch_with_two_inputs_is_refused() -> None:
    assert refused(stored(stdin="x"), {"payload_ref": "/x"}).field == "payload_ref"
    assert edited(stored(stdin="x"), payload_ref="/x", stdin=None).spec.execution.payload_ref == "/x"


# ── what changed ──────────────────────────────────────────────


def test_changes_have_the_names_and_values_of_the_api() -> None:
    spec = stored(name="a", schedule={"cron": "@daily"}, env={"A": "1"}, timeout=60)
    patch: dict[str, Any] = {
        "name": "b",
        "schedule": {"at": "2027-02-01T00:00:00Z", "jitter": 0.5},
        "target": {"shell": "date"},
        "env": {"A": None, "B": "2"},
        "umask": "077",
        "timeout": "1h",
        "retry": {"max": 0, "no_retry_on": [3]},
        "overlap": "allow",
        "priority": "high",
    }
    assert changes(spec, edited(spec, **patch).spec) == [
        ("name", "a", "b"),
        ("schedule.cron", "@daily", None),
        ("schedule.at", None, "2027-02-01T00:00:00Z"),
        ("schedule.jitter", None, 0.5),
        ("target.command", ["true"], None),
        ("env.A", "1", None),
        ("umask", "022", "077"),
        ("timeout", 60, 3600),
        ("overlap", "skip", "allow"),
        ("retry.max", 3, 0),
        ("retry.no_retry_on", [], ["3"]),
        ("priority", 0, -5),
        ("target.shell", None, "date"),
        ("env.B", None, "2"),
    ]


def test_a_job_that_is_no_longer_run_by_hand_has_one_change() -> None:
    spec = stored()
    assert changes(spec, edited(spec, schedule={"every": 600}).spec) == [("schedule.every", None, 600)]


def test_the_job_it_comes_after_has_its_name() -> None:
    spec = stored()
    edit = edited(spec, schedule={"after": "backup:failure"}).spec
    assert changes(spec, edit, {7: "backup"}) == [("schedule.after", None, "backup:failure")]
    assert changes(spec, edit) == [("schedule.after", None, "7:failure")]


@given(drafts, drafts)
def test_definitions_that_differ_say_so(one: dict[str, Any], other: dict[str, Any]) -> None:
    old, new = (checked_job(msgspec.convert(draft, JobDraft), HERE).spec for draft in (one, other))
    new = msgspec.structs.replace(new, source=old.source, paused=old.paused)
    found = changes(old, new)
    assert (found == []) == (new == old)
    assert {name: (after, before) for name, before, after in changes(new, old)} == {
        name: (before, after) for name, before, after in found
    }
    json.dumps(found)
