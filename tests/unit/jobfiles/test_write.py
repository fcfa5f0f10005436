"""Jobs written as a file: what is read of it again are the same jobs, and only what is not the default is said."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobctl.drafts import Circumstances, checked_job
from jobctl.errors import Conflict, InvalidInput
from jobctl.jobfiles import FileJob, read, written
from jobctl.model import JobDraft, JobSpec
from jobctl_daemon.shown import definition

HERE = Circumstances(1_796_000_000_000, "Europe/Berlin", "ana", 0, True, "/usr/bin:/bin", upstream=(7, "first"))
ZONES = ("Europe/Berlin", "UTC", "Asia/Tokyo")


def shown(spec: JobSpec, owner: str = "ana") -> dict[str, Any]:
    """The job as the API would show it."""
    after = f"first:{spec.schedule.after_on}" if spec.schedule.after_job is not None else None
    facts: dict[str, Any] = msgspec.to_builtins(definition(spec.schedule, spec.execution, spec.policies, after))
    about = {"name": spec.name, "owner": owner, "queue": spec.queue, "priority": spec.priority, "paused": spec.paused}
    return facts | about


def reread(text: str) -> list[JobSpec]:
    def here(job: FileJob) -> Circumstances:
        return HERE if job.after is not None else replace(HERE, upstream=None)

    file = read("x.toml", text.encode())
    found = file.examine(here)
    assert file.problems == (), text
    return [one.spec for one in found]


def specs(draft: dict[str, Any]) -> JobSpec:
    return checked_job(msgspec.convert(draft, JobDraft), HERE).spec


def test_only_what_is_not_the_default_is_said() -> None:
    plain = specs({"name": "a", "target": {"command": ["x", "y z"]}, "schedule": {"cron": "@daily"}})
    assert written([shown(plain)], "ana") == (
        '# Jobs of jobctl: see jobs.toml(5).\nversion = 1\n\n[defaults]\ntimezone = "Europe/Berlin"\n\n'
        '[job.a]\ncron = "@daily"\ncommand = ["x", "y z"]\n'
    )
    other = specs(
        {
            "name": "b c",
            "target": {"shell": "a\nb"},
            "schedule": {"after": "first"},
            "timezone": "UTC",
            "env": {"A": "x" * 90},
            "retry": {"max": 0, "backoff": "1m"},
            "grace": 0,
            "log_max": "1500",
        }
        | {"log_max": 8000}
    )
    assert written([shown(plain), shown(other, "bob")], "ana") == (
        "# Jobs of jobctl: see jobs.toml(5).\nversion = 1\n\n"
        '[job.a]\ncron = "@daily"\ntimezone = "Europe/Berlin"\ncommand = ["x", "y z"]\n\n'
        '[job."b c"]\nafter = "first"\ntimezone = "UTC"\nshell = """\na\nb"""\nuser = "bob"\ngrace = "0s"\n'
        'log_max = "8kB"\nretry = { max = 0, backoff = "1m" }\n\n'
        f'[job."b c".env]\nA = "{"x" * 90}"\n'
    )


def test_a_name_that_two_owners_have_cannot_be_in_one_file() -> None:
    job = shown(specs({"name": "a", "target": {"shell": "x"}}))
    with pytest.raises(Conflict, match="ana and bob have a job a each"):
        written([job, {**job, "owner": "bob"}], "ana")


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
_SECONDS = st.sampled_from([1, 0.5, 90, 3600, 86_400, 12.345])
_PLANS = st.one_of(
    st.fixed_dictionaries({"cron": st.sampled_from(["*/5 * * * *", "0 3 1 1 mon", "@hourly"])}),
    st.fixed_dictionaries({"every": st.sampled_from([1, 90, 3601.5])}, optional={"jitter": _SECONDS}),
    st.fixed_dictionaries({"at": st.sampled_from(["2099-01-01T00:00:00Z", "2099-01-01T00:00:00.5Z"])}),
    st.fixed_dictionaries({"after": st.sampled_from(["first", "first:failure", "first:any"])}),
    st.fixed_dictionaries({"on_boot": st.just(True)}),
    st.fixed_dictionaries({"cron": st.just("30 2 * * *"), "dst_gap": st.just("skip"), "dst_overlap": st.just("both")}),
)
_DRAFTS = st.fixed_dictionaries(
    {
        "target": st.one_of(
            st.fixed_dictionaries({"shell": _TEXT}),
            st.fixed_dictionaries({"command": st.lists(_TEXT, min_size=1, max_size=40)}),
        )
    },
    optional={
        "schedule": _PLANS,
        "timezone": st.sampled_from(ZONES),
        "stdin": _TEXT,
        "env": st.dictionaries(st.from_regex(r"[A-Za-z_.é-]{1,8}", fullmatch=True), _TEXT, max_size=3),
        "env_file": st.just("/etc/default/x y"),
        "login_env": st.booleans(),
        "user": st.sampled_from(["bob", "ana"]),
        "cwd": st.just("/srv/ä"),
        "umask": st.sampled_from(["022", "077", "0"]),
        "nice": st.sampled_from([-5, 0, 19]),
        "timeout": _SECONDS,
        "grace": st.sampled_from([0, 10, 3.25]),
        "late_after": st.sampled_from([0, 10, 60]),
        "overlap": st.sampled_from(["skip", "queue", "replace", "allow"]),
        "overlap_queue": st.sampled_from([1, 5]),
        "misfire": st.sampled_from(["once", "all", "skip"]),
        "misfire_within": st.sampled_from([0, 60, 86_400, 5]),
        "limit": st.sampled_from([1, 7]),
        "retry": st.fixed_dictionaries(
            {},
            optional={
                "max": st.sampled_from([0, 3, 9]),
                "backoff": _SECONDS,
                "backoff_max": st.sampled_from([86_400, 100_000]),
                "no_retry_on": st.lists(st.sampled_from([1, "7", "oom", "timed_out"]), max_size=3, unique=True),
                "on_lost": st.sampled_from(["retry", "dead", "ask:true"]),
                "lost": st.sampled_from([0, 3]),
            },
        ),
        "on_failure": st.sampled_from(["dead", "record"]),
        "notify": st.sampled_from([[], ["mail"], ["exec:x 'y'", "mail:a@b"]]),
        "mail": st.sampled_from([{"to": "ops"}, {"to": "a@b", "on": "failure"}]),
        "queue": st.sampled_from(["default", "slow"]),
        "priority": st.sampled_from([0, "high", 9]),
        "log_max": st.sampled_from([4096, 10_000_000, "1GB", "2MiB"]),
        "tags": st.lists(st.sampled_from(["a", "b:c"]), max_size=2, unique=True),
        "note": _TEXT,
        "paused": st.booleans(),
    },
)


@given(st.lists(_DRAFTS, min_size=1, max_size=3))
@settings(max_examples=150)
def test_what_is_written_is_read_as_the_same_jobs_and_written_the_same_again(drafts: list[dict[str, Any]]) -> None:
    made = []
    for number, draft in enumerate(drafts):
        try:
            made.append(specs({"name": f"job {number}", **draft}))
        except InvalidInput:
            continue  # things that do not go together
    text = written([shown(spec) for spec in made], "ana")
    again = reread(text)
    assert written([shown(spec) for spec in again], "ana") == text
    for before, after in zip(made, again, strict=True):
        zone = before.schedule.timezone if shown(before)["schedule"] else after.schedule.timezone  # by hand: not shown
        kept = msgspec.structs.replace(before.schedule, timezone=zone)
        assert msgspec.structs.replace(before, schedule=kept) == after
