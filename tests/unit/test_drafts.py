"""From drafts to definitions: defaults, every limit, and errors that name their field."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.crontabs.parts import FOLDERS, queue_of
from jobctl.drafts.place import SCRIPTS
from jobctl.errors import Forbidden, InvalidInput
from jobctl.model import JobDraft, RunDraft, ScheduleDraft, ScheduleSpec
from jobctl.states import After, FailureClass, Misfire, OnFailure, Overlap
from jobctl_daemon.drafts import (
    Checked,
    Circumstances,
    after_of,
    checked_job,
    checked_queue,
    checked_run,
    due_at,
    made_name,
)
from jobctl_daemon.schedules import AfterJob, ByHand, schedule_of
from jobctl_daemon.store.sqlite import mails, tell

NOW = 1_800_000_000_000  # 2027-01-15 08:00 UTC
HOUR = 3_600_000


def here(**facts: Any) -> Circumstances:
    known: dict[str, Any] = {
        "now_ms": NOW,
        "host_tz": "Europe/Berlin",
        "daemon_user": "me",
        "caller_uid": 1000,
        "system": False,
        "path": "/usr/bin:/bin",
    }
    return Circumstances(**{**known, **facts})


def draft(**fields: Any) -> JobDraft:
    return msgspec.convert({"target": {"command": ["true"]}, **fields}, JobDraft)


def check(**fields: Any) -> Checked:
    return checked_job(draft(**fields), here())


def refused(circumstances: Circumstances | None = None, **fields: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        checked_job(draft(**fields), circumstances or here())
    assert caught.value.message
    assert caught.value.hint
    return caught.value


def test_the_defaults_are_those_that_add_prints() -> None:
    spec = check(schedule={"cron": "0 3 * * *"}).spec
    rules, work = spec.policies, spec.execution
    assert (rules.overlap, rules.misfire, rules.misfire_within_ms) == (Overlap.SKIP, Misfire.ONCE, 24 * HOUR)
    assert (rules.timeout_ms, rules.grace_ms, rules.late_after_ms) == (None, 10_000, 10_000)
    assert (rules.log_max, work.umask, work.nice, work.user, work.cwd) == (10_000_000, 0o022, 0, None, None)
    assert (spec.schedule.timezone, spec.schedule.words) == ("Europe/Berlin", "every day at 03:00")
    assert (rules.retries, rules.lost_retries, rules.on_failure) == (3, 3, OnFailure.DEAD)
    assert (rules.backoff_ms, rules.backoff_max_ms, rules.no_retry_on) == (10_000, HOUR, [])
    assert (rules.on_lost, rules.overlap_queue, rules.limit, rules.notify) == ("retry", 1, None, [])
    assert (spec.queue, spec.priority) == ("default", 0)
    assert (spec.source, spec.paused, spec.hidden, work.path) == ("api", False, False, "/usr/bin:/bin")


def test_a_short_grace_is_the_window_of_misfire_skip() -> None:
    assert check(misfire="skip").spec.policies.misfire_within_ms == 60_000
    assert check(misfire="skip", misfire_within="5m").spec.policies.misfire_within_ms == 300_000
    assert check(misfire="all", misfire_within=90).spec.policies.misfire_within_ms == 90_000


# ── when ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fields", "first_ms"),
    [
        ({"schedule": {"every": "10m"}}, NOW + 600_000),
        ({"schedule": {"every": 1.5}}, NOW + 1500),
        ({"schedule": {"cron": "0 12 * * *"}}, NOW + 3 * HOUR),
        ({"schedule": {"cron": "0 12 * * *"}, "timezone": "UTC"}, NOW + 4 * HOUR),
        ({"run_at": "in 1h"}, NOW + HOUR),
        ({"schedule": {"at": "2027-01-15T10:00"}}, NOW + HOUR),
        ({"run_at": "2027-01-15T10:00", "timezone": "UTC"}, NOW + 2 * HOUR),
        ({"run_at": "2020-01-01T00:00:00Z"}, 1_577_836_800_000),
        ({"schedule": {"on_boot": True}}, None),
        ({"schedule": {"on_start": True}}, None),
        ({"schedule": {"cron": "@reboot"}}, None),
        ({"schedule": {"cron": "0 0 30 2 *"}}, None),
        ({"schedule": {}}, None),
        ({}, None),
    ],
)
def test_the_first_instant(fields: dict[str, Any], first_ms: int | None) -> None:
    assert check(**fields).next_ms == first_ms


def test_an_interval_is_anchored_where_the_job_was_made() -> None:
    spec = check(schedule={"every": "7m"}).spec.schedule
    assert (spec.every_ms, spec.anchor_ms) == (420_000, NOW)


def test_reboot_in_a_cron_text_is_the_schedule_on_boot() -> None:
    spec = check(schedule={"cron": "@reboot"}).spec.schedule
    assert (spec.cron, spec.on_boot) == (None, True)


def test_a_date_that_never_comes_is_accepted_with_a_warning() -> None:
    assert any("never" in warning for warning in check(schedule={"cron": "0 0 30 2 *"}).warnings)


def test_a_host_without_a_zone_is_told_about() -> None:
    lost = here(host_tz="UTC", host_tz_known=False)
    cron = {"cron": "0 3 * * *"}
    assert any("time zone" in warning for warning in checked_job(draft(schedule=cron), lost).warnings)
    assert checked_job(draft(schedule=cron, timezone="UTC"), lost).warnings == ()
    assert checked_job(draft(), lost).warnings == ()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"schedule": {"cron": "* * * *"}}, "schedule.cron"),
        ({"schedule": {"cron": "0 " * 600}}, "schedule.cron"),
        ({"schedule": {"cron": "* * * * *", "every": 60}}, "schedule"),
        ({"schedule": {"on_boot": True, "on_start": True}}, "schedule"),
        ({"schedule": {"every": "0s"}}, "schedule.every"),
        ({"schedule": {"every": 0.999}}, "schedule.every"),
        ({"schedule": {"every": -1}}, "schedule.every"),
        ({"schedule": {"every": 10**30}}, "schedule.every"),
        ({"schedule": {"every": "10 parsecs"}}, "schedule.every"),
        ({"schedule": {"cron": "* * * * *", "dst_gap": "maybe"}}, "schedule.dst_gap"),
        ({"schedule": {"cron": "* * * * *", "jitter": "x"}}, "schedule.jitter"),
        ({"schedule": {"at": "the day after"}}, "schedule.at"),
        ({"run_at": "2027-02-30"}, "run_at"),
        ({"run_at": "in 1h", "schedule": {"cron": "* * * * *"}}, "run_at"),
        ({"run_at": "in 1h", "schedule": {"at": "in 2h"}}, "run_at"),
        ({"timezone": "Mars/Olympus"}, "schedule.timezone"),
        ({"timezone": "../../etc/passwd"}, "schedule.timezone"),
        ({"run_at": "10:00", "timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "UTC", "schedule": {"cron": "* * * * *", "timezone": "Europe/Paris"}}, "timezone"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(fields: dict[str, Any], field: str) -> None:
    assert refused(**fields).field == field


def test_the_same_zone_may_be_given_twice() -> None:
    spec = check(timezone="Asia/Tokyo", schedule={"cron": "0 3 * * *", "timezone": "Asia/Tokyo"}).spec
    assert spec.schedule.timezone == "Asia/Tokyo"


# ── what ──────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["a", "backup", "nightly-backup.sh", "root@host:/usr/bin/x +y", "größe", "日次バックアップ", "1a", "_x",
     "/etc/cron.d/php:2", "x" * 128, ".hidden"],
)  # fmt: skip
def test_names_that_people_and_crontabs_use_are_taken(name: str) -> None:
    assert check(name=name).spec.name == name


@pytest.mark.parametrize(
    "name",
    ["", " ", " a", "a ", "-rf", "123", "٣٤", "a\nb", "a\0b", "a\x1b[31m", "a\u202eb", "a\u200bb", "a\tb", "x" * 129,
     "a,b", "a*", "a?b", "a;b", "a'b", 'a"b', "a<b>", "a\u00a0b", "a\u2028b", "%2e", "a\\b"],
)  # fmt: skip
def test_names_that_would_deceive_or_be_taken_for_ids_are_refused(name: str) -> None:
    assert refused(name=name).field == "name"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ({"command": ["/usr/local/bin/backup.sh", "-a"]}, "backup.sh"),
        ({"command": ["./run me"]}, "run-me"),
        ({"shell": "  cd /srv && make"}, "cd"),
        ({"shell": "FOO=1 make"}, "FOO-1"),
        ({"command": ["/"]}, "job"),
        ({"command": ["123"]}, "job"),
        ({"command": ["--x--"]}, "x"),
        ({"command": ["\x1b[31m\u202e"]}, "31m"),
        ({"command": ["x" * 500]}, "x" * 100),
        ({"shell": "$(date)"}, "date"),
    ],
)
def test_a_name_is_made_from_the_command(target: dict[str, Any], name: str) -> None:
    checked = check(target=target)
    assert (checked.spec.name, checked.named) == (name, False)


@given(st.one_of(st.text(min_size=1), st.text(alphabet="/.-~ 0123\x00\u202e", min_size=1)))
def test_whatever_the_command_its_name_is_one_that_could_have_been_given(word: str) -> None:
    name = made_name(msgspec.convert({"command": [word]}, JobDraft.__annotations__["target"]))
    assert check(name=name).spec.name == name


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"target": {}}, "target"),
        ({"target": {"command": ["x"], "shell": "x"}}, "target"),
        ({"target": {"command": []}}, "target.command"),
        ({"target": {"command": ["", "x"]}}, "target.command"),
        ({"target": {"command": ["x", "a\0b"]}}, "target.command"),
        ({"target": {"command": ["x", "y" * 131_072]}}, "target.command"),
        ({"target": {"command": ["x"] + ["y" * 100_000] * 11}}, "target.command"),
        ({"target": {"shell": " \n"}}, "target.shell"),
        ({"target": {"shell": "a\0b"}}, "target.shell"),
        ({"target": {"shell": "x" * 131_072}}, "target.shell"),
        ({"env": {"": "x"}}, "env"),
        ({"env": {"A=B": "x"}}, "env"),
        ({"env": {"A B": "x"}}, "env"),
        ({"env": {"A\0": "x"}}, "env"),
        ({"env": {"A": "x\0y"}}, "env.A"),
        ({"env": {"A": "x" * 131_072}}, "env.A"),
        ({"env": {f"A{n}": "" for n in range(1001)}}, "env"),
        ({"env": {f"A{n}": "x" * 100_000 for n in range(11)}}, "env"),
        ({"cwd": "here"}, "cwd"),
        ({"cwd": "~/x"}, "cwd"),
        ({"cwd": ""}, "cwd"),
        ({"cwd": "/a\0b"}, "cwd"),
        ({"cwd": "/" + "x" * 4096}, "cwd"),
        ({"payload_ref": "data.json"}, "payload_ref"),
        ({"payload_ref": "/x", "stdin": "y"}, "payload_ref"),
        ({"env_file": "~/.env"}, "env_file"),
        ({"umask": "999"}, "umask"),
        ({"umask": "77777"}, "umask"),
        ({"umask": "-22"}, "umask"),
        ({"umask": ""}, "umask"),
        ({"umask": "o22"}, "umask"),
        ({"umask": "1777"}, "umask"),
        ({"nice": 20}, "nice"),
        ({"nice": -21}, "nice"),
        ({"nice": -1}, "nice"),
        ({"user": "root"}, "user"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "0s"}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": "10"}, "timeout"),
        ({"grace": "a while"}, "grace"),
        ({"late_after": -0.5}, "late_after"),
        ({"misfire_within": 10**18}, "misfire_within"),
        ({"log_max": 4095}, "log_max"),
        ({"log_max": "1k"}, "log_max"),
        ({"log_max": "lots"}, "log_max"),
        ({"log_max": "999999T"}, "log_max"),
        ({"log_max": 10**30}, "log_max"),
        ({"tags": ["a b"]}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"tags": ["x" * 65]}, "tags"),
        ({"tags": [f"t{n}" for n in range(33)]}, "tags"),
        ({"note": "x" * 4001}, "note"),
        ({"source": "elsewhere"}, "source"),
        ({"source": "cli\n"}, "source"),
    ],
)
def test_what_cannot_be_run_is_refused(fields: dict[str, Any], field: str) -> None:
    assert refused(**fields).field == field


@pytest.mark.parametrize(("text", "umask"), [("022", 0o022), ("0027", 0o027), ("77", 0o77), ("0o002", 2), ("0", 0)])
def test_a_umask_is_octal(text: str, umask: int) -> None:
    assert check(umask=text).spec.execution.umask == umask


@pytest.mark.parametrize(
    ("limit", "size"),
    [(4096, 4096), ("4096", 4096), ("10MB", 10_000_000), ("10 MiB", 10 << 20), ("500k", 500_000), ("1g", 10**9),
     ("1TiB", 1 << 40)],
)  # fmt: skip
def test_a_log_limit_is_bytes_or_a_size(limit: int | str, size: int) -> None:
    assert check(log_max=limit).spec.policies.log_max == size


def test_a_root_daemon_becomes_users_that_exist_and_raises_priorities() -> None:
    asked = []

    def exists(name: str) -> bool:
        asked.append(name)
        return name == "www-data"

    root = here(system=True, daemon_user="root", caller_uid=0, user_exists=exists)
    spec = checked_job(draft(user="www-data", nice=-5), root).spec
    assert (spec.execution.user, spec.execution.nice) == ("www-data", -5)
    assert refused(root, user="nobody-here").field == "user"
    assert asked == ["www-data", "nobody-here"]
    for hostile in ("", "../x", "a b", "-x", "a\0b", "x" * 100):
        assert refused(root, user=hostile).field == "user"
    assert asked == ["www-data", "nobody-here"]


def test_who_is_not_root_chooses_no_user_but_himself_and_raises_no_priority() -> None:
    ada = here(system=True, daemon_user="root", owner="ada")
    assert checked_job(draft(user="ada", nice=5), ada).spec.execution.user is None
    for fields in ({"user": "root"}, {"user": "www-data"}, {"user": "no-such-user"}, {"nice": -1}):
        with pytest.raises(Forbidden):
            checked_job(draft(**fields), ada)
    assert checked_job(draft(user="ada"), here(system=True, caller_uid=0, owner="ada")).spec.execution.user is None
    assert checked_job(draft(user="root"), here(system=True, caller_uid=0, owner="ada")).spec.execution.user == "root"


def test_a_daemons_own_user_is_no_switch() -> None:
    assert check(user="me").spec.execution.user is None


def test_repeated_tags_are_one() -> None:
    assert check(tags=["b", "a", "b"]).spec.policies.tags == ["b", "a"]


# ── when it fails ──────────────────────────────────────────────


def test_a_retry_is_as_it_was_asked_for() -> None:
    asked = {"max": 1000, "backoff": "1m", "backoff_max": "1h", "no_retry_on": [64, "oom", "3", 64], "lost": 0}
    rules = check(retry={**asked, "on_lost": "ask:was-it-done $JOBCTL_RUN_KEY"}, on_failure="record").spec.policies
    assert (rules.retries, rules.backoff_ms, rules.backoff_max_ms, rules.lost_retries) == (1000, 60_000, HOUR, 0)
    assert rules.no_retry_on == ["64", "oom", "3"]
    assert rules.on_lost == "ask:was-it-done $JOBCTL_RUN_KEY"
    assert rules.on_failure is OnFailure.RECORD


def test_no_retries_leave_the_budget_for_losses() -> None:
    rules = check(retry={"max": 0}).spec.policies
    assert (rules.retries, rules.lost_retries) == (0, 3)


@pytest.mark.parametrize(
    ("retry", "delays_ms"),
    [
        ({"backoff": "2h"}, (2 * HOUR, 2 * HOUR)),
        ({"backoff_max": 5}, (5000, 5000)),
        ({"backoff_max": "2h"}, (10_000, 2 * HOUR)),
        ({"backoff": 0.001}, (1, HOUR)),
        ({"backoff": 7, "backoff_max": 7}, (7000, 7000)),
    ],
)
def test_a_delay_that_is_given_moves_the_default_of_the_other(retry: dict[str, Any], delays_ms: Any) -> None:
    rules = check(retry=retry).spec.policies
    assert (rules.backoff_ms, rules.backoff_max_ms) == delays_ms


@pytest.mark.parametrize("word", [word for word in FailureClass if word is not FailureClass.CANCELLED])
def test_every_class_that_would_be_retried_can_be_hopeless(word: FailureClass) -> None:
    assert check(retry={"no_retry_on": [word.value]}).spec.policies.no_retry_on == [word.value]


@pytest.mark.parametrize(
    ("text", "priority"),
    [("high", -5), ("normal", 0), ("low", 5), (-9, -9), (9, 9), ("-3", -3), ("+2", 2), (0, 0)],
)
def test_a_priority_is_a_number_or_a_word(text: int | str, priority: int) -> None:
    assert check(priority=text).spec.priority == priority


@pytest.mark.parametrize("name", ["a", "mail", "größe", "a@b:c/d+e.f-g", "_", "x" * 64])
def test_queues_have_names(name: str) -> None:
    assert check(queue=name).spec.queue == checked_queue(name) == name


@pytest.mark.parametrize("name", [mails.QUEUE, tell.QUEUE])
def test_no_job_is_in_the_queue_of_what_jobd_delivers(name: str) -> None:
    with pytest.raises(InvalidInput, match="jobd's own"):
        check(queue=name)
    assert checked_queue(name) == name


def test_the_queues_of_crons_folders_are_those_that_its_scripts_wait_in() -> None:
    assert {queue_of(folder) for folder in FOLDERS} == SCRIPTS


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_in_the_hosts_daemon_only_root_is_in_a_queue_of_crons_folders(name: str) -> None:
    """jobd limits it to one at a time by itself, so whoever is in it could keep the host's scripts from running."""
    for system, caller_uid in ((True, 0), (False, 1000)):
        circumstances = here(system=system, caller_uid=caller_uid)
        assert checked_job(draft(queue=name), circumstances).spec.queue == name
    with pytest.raises(Forbidden, match="only root"):
        checked_job(draft(queue=name), here(system=True, caller_uid=1000))


def test_those_who_are_told_are_told_once() -> None:
    told = ["mail", "mail:ops@example.org", "exec:notify-send 'no good'", "mail"]
    assert check(notify=told).spec.policies.notify == told[:3]


def test_limits_are_taken_up_to_their_bounds() -> None:
    rules = check(limit=10_000, overlap="queue", overlap_queue=1000).spec.policies
    assert (rules.limit, rules.overlap_queue, rules.active_max) == (10_000, 1000, 10_000)
    assert check(retry={"lost": 1000}).spec.policies.lost_retries == 1000
    assert len(check(notify=[f"mail:a{n}@b" for n in range(8)]).spec.policies.notify) == 8


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"retry": {"max": -1}}, "retry.max"),
        ({"retry": {"max": 1001}}, "retry.max"),
        ({"retry": {"max": 10**30}}, "retry.max"),
        ({"retry": {"lost": -1}}, "retry.lost"),
        ({"retry": {"lost": 1001}}, "retry.lost"),
        ({"retry": {"backoff": 0}}, "retry.backoff"),
        ({"retry": {"backoff": 0.0001}}, "retry.backoff"),
        ({"retry": {"backoff": -1}}, "retry.backoff"),
        ({"retry": {"backoff": "soon"}}, "retry.backoff"),
        ({"retry": {"backoff": 10**12}}, "retry.backoff"),
        ({"retry": {"backoff_max": 0}}, "retry.backoff_max"),
        ({"retry": {"backoff_max": "never"}}, "retry.backoff_max"),
        ({"retry": {"backoff": 11, "backoff_max": 10}}, "retry.backoff_max"),
        ({"retry": {"no_retry_on": [0]}}, "retry.no_retry_on"),
        ({"retry": {"no_retry_on": [256]}}, "retry.no_retry_on"),
        ({"retry": {"no_retry_on": [-1]}}, "retry.no_retry_on"),
        ({"retry": {"no_retry_on": ["cancelled"]}}, "retry.no_retry_on"),
        ({"retry": {"no_retry_on": ["٣"]}}, "retry.no_retry_on"),
        ({"retry": {"no_retry_on": ["1\n"]}}, "retry.no_retry_on"),
        ({"retry": {"no_retry_on": [1] * 1000}}, "retry.no_retry_on"),
        ({"retry": {"on_lost": "ignore"}}, "retry.on_lost"),
        ({"retry": {"on_lost": "retry:3"}}, "retry.on_lost"),
        ({"retry": {"on_lost": "ask:"}}, "retry.on_lost"),
        ({"retry": {"on_lost": "ask: \n"}}, "retry.on_lost"),
        ({"retry": {"on_lost": "ask:a\0b"}}, "retry.on_lost"),
        ({"retry": {"on_lost": "ask:" + "x" * 131_072}}, "retry.on_lost"),
        ({"limit": 0}, "limit"),
        ({"limit": 10_001}, "limit"),
        ({"overlap": "queue", "overlap_queue": 0}, "overlap_queue"),
        ({"overlap": "queue", "overlap_queue": 1001}, "overlap_queue"),
        ({"overlap_queue": 1}, "overlap_queue"),
        ({"overlap": "replace", "overlap_queue": 2}, "overlap_queue"),
        ({"queue": ""}, "queue"),
        ({"queue": "-x"}, "queue"),
        ({"queue": "a b"}, "queue"),
        ({"queue": ".."}, "queue"),
        ({"queue": "a\n"}, "queue"),
        ({"queue": "x" * 65}, "queue"),
        ({"priority": 10}, "priority"),
        ({"priority": -10}, "priority"),
        ({"priority": "10"}, "priority"),
        ({"priority": "urgent"}, "priority"),
        ({"priority": ""}, "priority"),
        ({"notify": ["sms"]}, "notify"),
        ({"notify": ["mail:"]}, "notify"),
        ({"notify": ["mail:-oQ/tmp"]}, "notify"),
        ({"notify": ["mail:a b"]}, "notify"),
        ({"notify": ["mail:a\u00a0b"]}, "notify"),
        ({"notify": ["mail:a\nBcc:b"]}, "notify"),
        ({"notify": ["mail:a\x7f"]}, "notify"),
        ({"notify": ["mail:" + "a" * 321]}, "notify"),
        ({"notify": ["exec:"]}, "notify"),
        ({"notify": ["exec:  "]}, "notify"),
        ({"notify": ["exec:a\0b"]}, "notify"),
        ({"notify": ["exec:" + "x" * 131_072]}, "notify"),
        ({"notify": [f"mail:a{n}@b" for n in range(9)]}, "notify"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(fields: dict[str, Any], field: str) -> None:
    assert refused(**fields).field == field


@pytest.mark.parametrize(
    "fields",
    [
        {"retry": {"max": True}},
        {"retry": {"max": "3"}},
        {"retry": {"no_retry_on": [1.5]}},
        {"retry": {"tries": 3}},
        {"on_failure": "panic"},
        {"limit": "two"},
        {"notify": "mail"},
        {"priority": 1.5},
    ],
)
def test_a_value_of_the_wrong_type_is_no_draft(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        draft(**fields)


# ── after another job ──────────────────────────────────────────────

BACKUP = (7, "backup")


@pytest.mark.parametrize(
    ("text", "job", "on"),
    [
        ("backup", "backup", After.SUCCESS),
        ("backup:success", "backup", After.SUCCESS),
        ("backup:failure", "backup", After.FAILURE),
        ("backup:any", "backup", After.ANY),
        ("etc:php:2", "etc:php:2", After.SUCCESS),
        ("x:failure:success", "x:failure", After.SUCCESS),
        ("backup:", "backup:", After.SUCCESS),
        ("backup:ANY", "backup:ANY", After.SUCCESS),
        ("17", "17", After.SUCCESS),
    ],
)
def test_a_job_may_come_after_another(text: str, job: str, on: After) -> None:
    assert after_of(ScheduleDraft(after=text)) == (job, on)


def test_nothing_comes_after_nothing() -> None:
    assert after_of(None) is None
    assert after_of(ScheduleDraft(cron="@daily")) is None


@pytest.mark.parametrize(
    ("on", "words"),
    [("success", "after backup succeeds"), ("failure", "after backup fails"), ("any", "after backup ends")],
)
def test_what_comes_after_is_said_in_words(on: str, words: str) -> None:
    checked = checked_job(draft(schedule={"after": f"backup:{on}"}), here(upstream=BACKUP, host_tz_known=False))
    spec = checked.spec.schedule
    assert (spec.after_job, spec.after_on, spec.words) == (7, After(on), words)
    assert (checked.next_ms, checked.warnings) == (None, ())
    schedule = schedule_of(spec)
    assert (str(schedule), schedule.next_after(NOW)) == (words, None)
    assert isinstance(schedule, AfterJob)


@pytest.mark.parametrize(
    ("schedule", "field"),
    [
        ({"after": ""}, "schedule.after"),
        ({"after": ":any"}, "schedule.after"),
        ({"after": "a\nb"}, "schedule.after"),
        ({"after": "x" * 256}, "schedule.after"),
        ({"after": "backup", "cron": "@daily"}, "schedule"),
        ({"after": "backup", "every": "1m"}, "schedule"),
        ({"after": "backup", "at": "in 1m"}, "schedule"),
        ({"after": "backup", "on_boot": True}, "schedule"),
        ({"after": "backup", "on_start": True}, "schedule"),
        ({"after": "backup", "jitter": 1}, "schedule.jitter"),
    ],
)
def test_what_comes_after_has_no_other_schedule(schedule: dict[str, Any], field: str) -> None:
    assert refused(here(upstream=BACKUP), schedule=schedule).field == field


def test_a_single_run_is_not_after_another_job_too() -> None:
    assert refused(here(upstream=BACKUP), run_at="in 1h", schedule={"after": "backup"}).field == "run_at"


def test_the_job_it_comes_after_must_have_been_found() -> None:
    assert refused(schedule={"after": "backup"}).field == "schedule.after"


def test_a_stored_schedule_without_words_names_the_job_by_its_id() -> None:
    assert str(schedule_of(ScheduleSpec(timezone="UTC", after_job=7))) == "after job 7 succeeds"


# ── runs by hand ──────────────────────────────────────────────


def test_an_adhoc_run_has_a_hidden_job_without_a_schedule() -> None:
    body = {"target": {"shell": "date"}, "env": {"PATH": "/opt/bin"}, "cwd": "/srv", "timeout": "1h"}
    spec, due_ms = checked_run(msgspec.convert(body, RunDraft), here())
    assert (spec.hidden, spec.name, due_ms) == (True, "date", NOW)
    assert isinstance(schedule_of(spec.schedule), ByHand)
    assert (spec.execution.cwd, spec.policies.timeout_ms, spec.policies.overlap) == ("/srv", HOUR, Overlap.ALLOW)


def test_an_adhoc_run_is_recorded_unless_it_says_otherwise() -> None:
    body: dict[str, Any] = {"target": {"shell": "date"}}
    rules = checked_run(msgspec.convert(body, RunDraft), here())[0].policies
    assert (rules.retries, rules.lost_retries, rules.on_failure) == (0, 0, OnFailure.RECORD)
    body |= {
        "retry": {"max": 2, "backoff": 1},
        "on_failure": "dead",
        "queue": "q",
        "priority": "low",
        "notify": ["mail"],
    }
    spec, _ = checked_run(msgspec.convert(body, RunDraft), here())
    rules = spec.policies
    assert (rules.retries, rules.lost_retries, rules.backoff_ms, rules.on_failure) == (2, 0, 1000, OnFailure.DEAD)
    assert (spec.queue, spec.priority, rules.notify) == ("q", 5, ["mail"])


def test_a_later_run_is_due_then_and_one_in_the_past_now() -> None:
    assert due_at("in 5m", None, here()) == NOW + 300_000
    assert due_at("2027-01-15T18:00", "Asia/Tokyo", here()) == NOW + HOUR
    assert due_at("2020-01-01T00:00:00Z", None, here()) == NOW
    with pytest.raises(InvalidInput):
        due_at(None, "UTC", here())


# ── schedules ──────────────────────────────────────────────


def test_a_schedule_is_made_once_and_remembered() -> None:
    spec = ScheduleSpec(timezone="UTC", cron="0 3 * * *")
    assert schedule_of(spec) is schedule_of(ScheduleSpec(timezone="UTC", cron="0 3 * * *"))


def test_by_hand_never_fires() -> None:
    schedule = schedule_of(ScheduleSpec(timezone="UTC"))
    assert schedule.next_after(NOW) is None
    assert schedule.latest_at_or_before(NOW, 0) is None
    assert schedule.count(0, NOW).number == 0
    assert str(schedule) == "by hand"
