"""Files of jobs: what is right is read, and everything that is wrong is told with its place."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobctl.drafts import Circumstances
from jobctl.jobfiles import FILE_BYTES_MAX, JOBS_MAX, FileJob, JobFile, Problem, read, together
from jobctl.jobfiles.document import Document
from jobctl.jobfiles.keys import KEYS, JobTable
from jobctl.jobfiles.problem import Source
from jobctl.model import JobDraft, ScheduleDraft, Target

HERE = Circumstances(1_796_000_000_000, "UTC", "root", 0, True, "/usr/bin:/bin")
DATA = Path(__file__).parents[2] / "data" / "jobfiles"


def here(job: FileJob) -> Circumstances:
    return HERE if job.after is None else replace(HERE, upstream=(7, job.after))


def examined(text: str, path: str = "web.toml") -> JobFile:
    file = read(path, text.encode())
    file.examine(here)
    return file


def lines(text: str) -> list[str]:
    return [str(problem).removeprefix("web.toml:") for problem in examined(text).problems]


def drafts(text: str) -> list[dict[str, Any]]:
    file = examined(text)
    assert file.problems == ()
    return [job.draft for job in file.jobs]


# ── what is right ──────────────────────────────────────────────


def test_a_job_is_what_the_api_would_be_sent() -> None:
    text = """
version = 1

[job.backup]
cron = "0 3 * * *"
timezone = "Europe/Berlin"
command = ["/usr/local/bin/backup", "--full"]
timeout = "2h"
retry = { max = 5, backoff = "30s" }
env = { LANG = "C.UTF-8" }
notify = ["mail"]

[job."nightly report"]
shell = "make report"
"""
    assert drafts(text) == [
        {
            "name": "backup",
            "schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"},
            "target": {"command": ["/usr/local/bin/backup", "--full"]},
            "timeout": "2h",
            "retry": {"max": 5, "backoff": "30s"},
            "env": {"LANG": "C.UTF-8"},
            "notify": ["mail"],
        },
        {"name": "nightly report", "target": {"shell": "make report"}},
    ]


def test_defaults_hold_for_what_a_job_does_not_say_and_parts_are_merged() -> None:
    text = """
[defaults]
timezone = "Asia/Tokyo"
overlap = "queue"
overlap_queue = 3
env = { A = "1", B = "1" }
retry.max = 1
tags = ["all"]
[job.a]
shell = "x"
[job.b]
shell = "x"
overlap = "skip"
env.B = "2"
retry.backoff = "1m"
tags = ["own"]
"""
    a, b = drafts(text)
    assert a["env"] == {"A": "1", "B": "1"}
    assert (a["overlap"], a["overlap_queue"], a["tags"], a["retry"]) == ("queue", 3, ["all"], {"max": 1})
    assert b["env"] == {"A": "1", "B": "2"}
    assert b["retry"] == {"max": 1, "backoff": "1m"}
    assert b["schedule"] == {"timezone": "Asia/Tokyo"}
    assert (b["overlap"], b["tags"]) == ("skip", ["own"])
    assert "overlap_queue" not in b  # it goes with the overlap that it was given for


@pytest.mark.parametrize(
    "text",
    [
        '[job.a]\nshell = "x"\nenv.B = "1"\nretry.max = 2\n',
        '[job.a]\nshell = "x"\n[job.a.env]\nB = "1"\n[job.a.retry]\nmax = 2\n',
        '[job]\na.shell = "x"\na.env = { B = "1" }\na.retry = { max = 2 }\n',
        'job = { a = { shell = "x", env = { B = "1" }, retry = { max = 2 } } }\n',
        'job.a = { shell = "x", env = { B = "1" }, retry.max = 2 }\n',
        '"job"."a".shell = \'x\'\njob.a.env."B" = """1"""\njob.a.retry.max = 2\n',
        '\ufeff[job.a]\r\nshell = "x"\r\n\r\nenv.B = "1"\r\nretry.max = 2\r\n',
    ],
)
def test_every_way_of_toml_to_write_a_table_means_the_same(text: str) -> None:
    assert drafts(text) == [{"name": "a", "target": {"shell": "x"}, "env": {"B": "1"}, "retry": {"max": 2}}]


@pytest.mark.parametrize("text", ["", "# nothing\n", "version = 1\n", "[job]\n", "[defaults]\nqueue = 'x'\n"])
def test_a_file_without_jobs_is_right(text: str) -> None:
    assert drafts(text) == []


def test_a_moment_is_a_time_of_toml_or_a_text() -> None:
    text = "[job.a]\nshell='x'\nat = 2027-01-01T09:00:00Z\n[job.b]\nshell='x'\nat = '2027-01-01 09:00 Asia/Tokyo'\n"
    assert [job["schedule"]["at"] for job in drafts(text)] == [
        "2027-01-01T09:00:00+00:00",
        "2027-01-01 09:00 Asia/Tokyo",
    ]


def test_whatever_a_draft_can_say_a_file_can_say_but_for_what_it_says_otherwise() -> None:
    """A new field of the API is one of the file too, or is named here."""
    otherwise = {"name", "target", "schedule", "run_at", "source"}
    known = {*JobDraft.__struct_fields__, *ScheduleDraft.__struct_fields__, *Target.__struct_fields__} - otherwise
    assert known == set(KEYS)
    assert JobTable.__struct_fields__ == KEYS


# ── what is wrong ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "told"), [block.rsplit("=> ", 1) for block in (DATA / "mistakes.txt").read_text().rstrip().split("\n\n")]
)
def test_a_mistake_has_its_place_and_what_to_do(text: str, told: str) -> None:
    assert lines(text) == [told]


def test_a_number_of_thousands_of_digits_is_a_mistake_like_others() -> None:
    said = lines("[job.a]\nshell='x'\nlimit = " + "9" * 5000 + "\n")
    assert said == ["3:9: this number is too long – no key takes one of so many digits"]


@pytest.mark.parametrize(
    ("cron", "column"),
    [("61 * * * *", 9), ("0  3,25 * * *", 14), ("* * * * mon-xyz", 17), ("1 2 3", 8), ("@evry 5m", 8)],
)
def test_a_wrong_cron_text_is_pointed_at_where_it_is_wrong(cron: str, column: int) -> None:
    (problem,) = examined(f"[job.a]\nshell='x'\ncron = '{cron}'\n").problems
    assert (problem.line, problem.column) == (3, column), problem


def test_all_mistakes_are_told_at_once_and_each_once() -> None:
    text = (DATA / "ten.toml").read_text()
    assert [str(problem) for problem in examined(text, "ten.toml").problems] == (
        DATA / "ten.txt"
    ).read_text().splitlines()


def test_what_is_wrong_with_the_defaults_is_told_once_there() -> None:
    jobs = "".join(f"[job.a{number}]\nshell='x'\n" for number in range(5))
    assert lines(f"[defaults]\ntimeout='x'\nqueue = 3\n{jobs}") == [
        "2:9: timeout: 'x' is not a duration – write 90s, 10m, 2h30m or 1d: "
        "the units are w, d, h, m, s and ms, the largest first",
        '3:9: queue is 3, and must be a text – in quotes: "3"',
    ]  # fmt: skip


def test_a_file_that_is_no_text_or_too_large_says_so() -> None:
    assert [str(one) for one in read("a", b"[job.a]\nshell='\xff'\n").problems] == [
        "a:2:8: here is a byte that is no UTF-8 – save the file as UTF-8"
    ]
    (large,) = read("a", b"#" * (FILE_BYTES_MAX + 1)).problems
    assert "over 1 MiB" in large.reason
    (many,) = examined("".join(f"[job.a{number}]\nshell='x'\n" for number in range(JOBS_MAX + 1))).problems
    assert many.reason == "there are 1,001 jobs, and a file may have 1,000"
    note = "x" * 3000
    (asked,) = examined(
        f"[defaults]\nnote='{note}'\n" + "".join(f"[job.a{n}]\nshell='x'\n" for n in range(400))
    ).problems
    assert "written out for each job" in asked.reason


def test_files_together_have_each_name_once_and_no_circles() -> None:
    one = examined("[job.a]\nshell='x'\nafter='b'\n[job.c]\nshell='x'\n", "one.toml")
    two = examined("[job.b]\nshell='x'\nafter='a:any'\n[job.c]\nshell='x'\n", "two.toml")
    together([one, two])
    assert [str(problem) for problem in (*one.problems, *two.problems)] == [
        "one.toml:3:7: these come after one another for ever: a after b after a – one of them needs another time",
        'two.toml:4:6: one.toml has a job "c" too – choose another name',
    ]


# ── laws ──────────────────────────────────────────────

_KEY = st.one_of(st.sampled_from(["a", "B-1", "_", "1"]), st.text(st.characters(codec="utf-8"), max_size=4))
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)
_ATOM = st.one_of(_TEXT, st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False, width=16))
_VALUE = st.recursive(
    _ATOM, lambda inner: st.lists(_ATOM, max_size=3) | st.dictionaries(_KEY, inner, max_size=3), max_leaves=6
)
_TABLE = st.dictionaries(_KEY, _VALUE, max_size=4)


def _toml(root: dict[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(root, multiline_strings=True)


@given(st.dictionaries(_KEY, _TABLE, max_size=3))
@settings(max_examples=100)
def test_what_is_right_is_read_as_toml_is_and_each_key_has_its_place(jobs: dict[str, Any]) -> None:
    text = _toml({"job": jobs}).replace("\r\n", "\n")
    source = Source("x", text)
    document = Document(source)
    expected = tomllib.loads(text)
    if any(
        isinstance(value, dict) and key not in ("env", "retry", "mail")
        for job in jobs.values()
        for key, value in job.items()
    ):
        return  # a table that no job has is a problem of its own
    assert document.problems == []
    assert document.root == expected
    for path, spot in document.spots.items():
        at: Any = expected
        for step in path:
            at = at[step]
        if isinstance(path[-1], str) and len(path) > 2 and text[spot.key] != "[":
            assert _begins_with_key(text[spot.key :], path[-1]), (path, text[spot.key : spot.key + 20])


def _begins_with_key(text: str, key: str) -> bool:
    plain = key and all(char.isascii() and (char.isalnum() or char in "-_") for char in key)
    return text.startswith(key) if plain else text[0] in "\"'"


_PIECES: Sequence[str] = (
    "[job.a]\n", "[defaults]\n", "[job.b.env]\n", "[[job]]\n", "x = 1\n", 'shell = "x"\n', "cron = '@daily'\n",
    "command = [\n 'a', # b\n]\n", 'note = """\na\n"""\n', "env = { A = 'b' }\n", "retry.max = 3\n", "[", "]", '"', "'",
    '"""', "'''", "{", "}", "=", "\n", "#", "\\", ".", ",", " ", "\t", "\r", "\0", "é",
    "at = 2027-01-01\n", "job.a.x = 3\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=12))
@settings(max_examples=200)
def test_nothing_makes_it_fail_and_what_toml_refuses_is_a_problem(pieces: list[str]) -> None:
    text = "".join(pieces)
    file = read("x", text.encode())
    file.examine(here)
    try:
        right = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        assert file.problems
    else:
        assert file.problems or {job.name for job in file.jobs} == set(right.get("job", {}))
    for problem in file.problems:
        shown = text.replace("\r\n", "\n").split("\n")
        assert 1 <= problem.line <= len(shown)
        assert 1 <= problem.column <= len(shown[problem.line - 1]) + 1
        assert isinstance(problem, Problem)
        assert "\n" not in problem.words


def test_a_long_broken_text_takes_no_time_that_grows_with_its_square() -> None:
    for piece in ('"""', "[", "{", "a = [\n", "[job.a]\n", 'x = "\n', "x = {\n", "'''a\n"):
        text = piece * (30_000 // len(piece))
        read("x", text.encode())
