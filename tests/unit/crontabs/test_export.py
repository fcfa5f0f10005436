"""A crontab comes back from its jobs: the same drafts, for every handed file and for generated commands."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.crontabs import read
from jobctl.crontabs.export import export
from jobctl.crontabs.jobs import Origin, plan

HANDED = Path(__file__).parents[2] / "data" / "crontabs"
CASES = [json.loads(line) for line in (HANDED / "index.jsonl").read_text("utf-8").splitlines()]
HOST_ZONE = "Europe/Berlin"
ORIGIN = Origin("/etc/table", "root")

Json = dict[str, Any]


def drafts(data: bytes, *, system: bool) -> list[Json]:
    return [one.draft for one in plan(read(data, system=system), ORIGIN) if one.draft]


def job(draft: Mapping[str, Any], number: int = 1) -> Json:
    """What the API would show of a draft."""
    nothing = dict.fromkeys(("stdin", "user", "cwd", "timeout", "payload_ref", "env_file"))
    schedule = {"timezone": HOST_ZONE, "words": "…", "dst_gap": "auto", "dst_overlap": "auto", **draft["schedule"]}
    shown = {"id": number, "owner": "root", "paused": False, "umask": "022", "nice": 0}
    return {**nothing, **shown, **draft, "schedule": schedule}


def exported(jobs: list[Json], *, system: bool = False) -> tuple[str, list[tuple[str, str]]]:
    made = export(jobs, caller="root", host_zone=HOST_ZONE, system=system)
    return made.data.decode("utf-8", "surrogateescape"), made.comments


def compared(made: list[Json]) -> list[Json]:
    return [{key: value for key, value in one.items() if key not in ("source", "name")} for one in made]


@pytest.mark.parametrize(
    "case",
    [json.loads(line) for line in (HANDED / "index.jsonl").read_text("utf-8").splitlines()],
    ids=lambda c: c["file"],
)
def test_a_handed_file_comes_back(case: Json) -> None:
    made = drafts((HANDED / case["file"]).read_bytes(), system=case["system"])
    text, comments = exported([job(draft, at) for at, draft in enumerate(made)], system=case["system"])
    again = read(text.encode("utf-8", "surrogateescape"), system=case["system"])
    assert comments == []
    assert again.debian == "loads"
    assert compared(drafts(text.encode("utf-8", "surrogateescape"), system=case["system"])) == compared(made)


@pytest.mark.parametrize(
    ("mail", "env", "mailto"),
    [
        (None, {}, None),
        ({"to": "root", "on": "output"}, {}, None),
        ({"to": "ada, ops@example.org", "on": None}, {}, "MAILTO=ada,ops@example.org"),
        ({"to": "ada", "on": None}, {"MAILTO": "ada"}, "MAILTO=ada"),
        ({"to": "bob", "on": None}, {"MAILTO": "ada"}, "MAILTO=bob"),
        (None, {"MAILTO": ""}, 'MAILTO=""'),
    ],
)
def test_who_gets_the_mail_is_who_would_get_it_from_cron(mail: Json | None, env: Json, mailto: str | None) -> None:
    draft = {"name": "x", "schedule": {"cron": "@daily"}, "target": {"shell": "x"}, "env": env, "mail": mail}
    lines = exported([job(draft)])[0].splitlines()
    assert [line for line in lines if line.startswith("MAILTO")] == ([] if mailto is None else [mailto])


COMMAND = st.text(alphabet="ab %\\'\"#$&;é\t\r", min_size=1, max_size=60)
VALUE = st.text(alphabet="ab '\"=#$", max_size=12)


@given(COMMAND, st.one_of(st.none(), st.text(alphabet="ab%\\\n ", max_size=20)), st.booleans())
def test_a_generated_line_comes_back_or_says_why(command: str, stdin: str | None, system: bool) -> None:
    draft: Json = {"name": "x", "schedule": {"cron": "0 3 * * 1-5"}, "target": {"shell": command}, "env": {}}
    if stdin:
        draft["stdin"] = stdin + "\n"
    text, comments = exported([job(draft)], system=system)
    back = drafts(text.encode(), system=system)
    if comments:
        assert back == []
        assert "\\\n" in draft.get("stdin", "")
        return
    (one,) = back
    if command.strip():
        assert one["target"]["shell"].lstrip(" \t") == command.lstrip(" \t")
    assert one.get("stdin") == draft.get("stdin")


@given(st.lists(st.dictionaries(st.sampled_from("ABC"), VALUE, max_size=3), max_size=4))
def test_variables_hold_for_their_own_jobs_only(environments: list[dict[str, str]]) -> None:
    jobs = [
        job({"name": f"job-{at}", "schedule": {"cron": "@daily"}, "target": {"shell": f"run {at}"}, "env": env}, at)
        for at, env in enumerate(environments)
    ]
    text, comments = exported(jobs)
    read_back = {}
    for one in drafts(text.encode(), system=False):
        command = one["target"]["shell"]
        unset, _, rest = command.partition("; ") if command.startswith("unset ") else ("", "", command)
        env = {name: value for name, value in one["env"].items() if name != "PATH" and name not in unset.split()[1:]}
        read_back[rest] = env
    said = {name for name, _ in comments}
    assert read_back == {f"run {at}": env for at, env in enumerate(environments) if f"job-{at}" not in said}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"schedule": {"cron": None, "every": 10, "words": "every 10 seconds"}}, "every 10 seconds"),
        ({"schedule": {"cron": None, "on_start": True, "words": "when the daemon starts"}}, "daemon starts"),
        ({"schedule": {"cron": None, "after": "x:any", "words": "after x ends"}}, "no cron text: after x ends"),
        ({"schedule": {"jitter": 7200}}, "no jitter (2h)"),
        ({"schedule": {"dst_gap": "skip"}}, "no --dst-gap"),
        ({"timeout": 30}, "no timeout"),
        ({"nice": 5}, "no nice"),
        ({"umask": "077"}, "no umask"),
        ({"payload_ref": "/x"}, "no --payload (/x)"),
        ({"user": "bob"}, "runs as bob"),
        ({"target": {"http": "x"}}, "no command"),
        ({"target": {"shell": "a\nb"}}, "several lines"),
        ({"target": {"shell": "* x"}}, "begins with *"),
        ({"target": {"shell": "x" * 999}}, "longer than 998"),
        ({"env": {"A": "two\nlines"}}, "can set A"),
    ],
)
def test_what_cron_cannot_do_is_a_comment_with_the_reason(fields: Json, words: str) -> None:
    base: Json = {"name": "x", "schedule": {"cron": "@daily"}, "target": {"shell": "x"}, "env": {}}
    schedule = {**base["schedule"], **fields.get("schedule", {})}
    text, comments = exported([job({**base, **fields, "schedule": schedule})])
    assert drafts(text.encode(), system=False) == []
    assert words in comments[0][1]
    assert f"# not for cron: x: {comments[0][1]}" in text


def test_a_paused_job_is_a_comment() -> None:
    one = job({"name": "x", "schedule": {"cron": "@daily"}, "target": {"shell": "x"}, "env": {}, "paused": True})
    assert "# paused: @daily x" in exported([one])[0]


def test_words_become_a_line_and_a_directory_is_gone_to() -> None:
    target = {"command": ["/bin/x", "a b", "100%"]}
    base: Json = {"name": "x", "schedule": {"cron": "@daily"}, "target": target, "env": {}, "cwd": "/my dir"}
    assert "@daily cd '/my dir' || exit; /bin/x 'a b' 100\\%" in exported([job(base)])[0]


def test_another_zone_is_a_cron_tz_line_and_is_taken_back() -> None:
    abroad: Json = {"name": "a", "schedule": {"cron": "@daily", "timezone": "Asia/Tokyo"}, "target": {"shell": "a"}}
    here: Json = {"name": "b", "schedule": {"cron": "@daily"}, "target": {"shell": "b"}}
    text, _ = exported([job({**abroad, "env": {}}), job({**here, "env": {}})])
    assert [item.zone for item in read(text.encode()).items] == ["Asia/Tokyo", HOST_ZONE]


def _of(owner: str, name: str, **fields: Any) -> dict[str, Any]:
    plan = {"cron": "* * * * *", "timezone": HOST_ZONE}
    return {"name": name, "owner": owner, "schedule": plan, "target": {"shell": name}, "env": {}, **fields}


def test_what_another_user_s_job_runs_is_no_line_that_would_run_as_who_installs_it() -> None:
    made = export([_of("ada", "hers"), _of("root", "own")], caller="root", host_zone=HOST_ZONE)
    assert made.data.decode().splitlines()[4:] == [
        "# not for cron: hers: it runs as ada: use --system",
        "* * * * * own",
    ]


def test_a_variable_of_one_user_s_line_is_in_force_on_no_line_of_another() -> None:
    """A shell loads what LD_PRELOAD names before it could unset it."""
    hers = _of("ada", "a", env={"LD_PRELOAD": "/home/ada/x.so"})
    jobs = [hers, _of("root", "b", env={"B": "1"}), _of("ada", "c", env={"C": "1"})]
    made = export(jobs, caller="root", host_zone=HOST_ZONE, system=True)
    assert made.data.decode().splitlines()[4:] == [
        "LD_PRELOAD=/home/ada/x.so",
        "* * * * * ada a",
        "# not for cron: b: LD_PRELOAD is set above for ada: export it alone",
        "C=1",
        "* * * * * ada unset LD_PRELOAD; c",
    ]


def test_a_comment_has_nothing_in_it_that_a_terminal_obeys() -> None:
    made = export([_of("root", "a", payload_ref="/\x1b]0;x\x07")], caller="root", host_zone=HOST_ZONE)
    assert b"\x1b" not in made.data
