"""/etc/anacrontab, read as Debian's anacron reads it, and the jobs of its lines."""

from typing import Any

import msgspec
import pytest

from jobctl.crontabs.anacron import planned_anacrontab, read_anacrontab
from jobctl.crontabs.jobs import Origin, Planned
from jobctl.model import JobDraft
from jobctl_daemon.drafts import Circumstances, checked_job

ORIGIN = Origin("/etc/anacrontab", "root")
#: The file of Debian's package.
DEBIAN = b"""# /etc/anacrontab: configuration file for anacron

# See anacron(8) and anacrontab(5) for details.

SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin
HOME=/root
LOGNAME=root

# These replace cron's entries
1\t5\tcron.daily\trun-parts --report /etc/cron.daily
7\t10\tcron.weekly\trun-parts --report /etc/cron.weekly
@monthly\t15\tcron.monthly\trun-parts --report /etc/cron.monthly
"""


def planned(text: bytes, **options: Any) -> list[Planned]:
    return planned_anacrontab(text, ORIGIN, **options)


def draft(text: bytes, **options: Any) -> dict[str, Any]:
    (one,) = planned(text, **options)
    assert one.draft is not None, one.problem
    return one.draft


def stored(made: dict[str, Any]) -> None:
    """The daemon takes the draft."""
    here = Circumstances(1_800_000_000_000, "UTC", "root", 0, system=True, path="/bin")
    checked_job(msgspec.convert(made, JobDraft), here)


def test_the_file_of_debians_package_becomes_three_jobs() -> None:
    found = {one.name: one.draft for one in planned(DEBIAN)}
    assert list(found) == ["cron.daily", "cron.weekly", "cron.monthly"]
    schedules = [made["schedule"] for made in found.values() if made]
    assert schedules == [{"cron": "35 7 * * *"}, {"cron": "40 7 * * 7"}, {"cron": "45 7 1 * *"}]
    daily = found["cron.daily"]
    assert daily is not None
    assert daily["target"] == {"shell": "run-parts --report /etc/cron.daily"}
    assert (daily["overlap"], daily["misfire"], daily["misfire_within"], daily["cwd"]) == ("skip", "once", 86400, "/")
    assert daily["env"]["PATH"].startswith("/usr/local/sbin:")
    assert "LOGNAME" not in daily["env"]


@pytest.mark.parametrize(
    ("line", "schedule", "within"),
    [
        (b"1 0 a true", {"cron": "30 7 * * *"}, 1),
        (b"007 0 a true", {"cron": "30 7 * * 7"}, 7),
        (b"@daily 0 a true", {"cron": "30 7 * * *"}, 1),
        (b"@weekly 30 a true", {"cron": "0 8 * * 7"}, 7),
        (b"@yearly 0 a true", {"cron": "30 7 1 1 *"}, 366),
        (b"@monthlyish 0 a true", {"cron": "30 7 1 * *"}, 31),
        (b"3 5 a true", {"every": 3 * 86400}, 3),
        (b"1 9999 a true", {"cron": "59 23 * * *"}, 1),
    ],
)
def test_a_period_and_a_delay_become_a_time_and_what_is_missed_is_made_up(
    line: bytes, schedule: dict[str, Any], within: int
) -> None:
    made = draft(line + b"\n")
    assert made["schedule"] == schedule
    assert made["misfire_within"] == within * 86400
    stored(made)


def test_the_hours_and_the_random_delay_of_cronie() -> None:
    text = b"START_HOURS_RANGE=3-22\nRANDOM_DELAY=45\n1 5 a true\n7 0 b true\n"
    first, second = planned(text)
    assert first.draft is not None
    assert second.draft is not None
    assert first.draft["schedule"] == {"cron": "5 3 * * *", "jitter": 2700}
    assert second.draft["schedule"] == {"cron": "0 3 * * 7", "jitter": 2700}
    assert draft(b"RANDOM_DELAY=45\n1 5 a true\n", dialect="debian")["schedule"] == {"cron": "35 7 * * *"}
    stored(first.draft)


def test_variables_hold_for_the_lines_below_and_keep_their_blanks() -> None:
    first, second = read_anacrontab(b"1 0 a true\n  X  = y \nY=\n1 0 b true\n").items
    assert (first.env, second.env) == ({}, {"X": " y ", "Y": ""})


def test_a_backslash_continues_a_line_and_is_dropped_elsewhere() -> None:
    first, second = read_anacrontab(b"1 0 a one\\\ntwo \\\n three\n1 0 b echo \\$HOME\n").items
    assert (first.line, first.command, first.notes) == (1, "one two   three", ())
    assert (second.line, second.command) == (4, "echo $HOME")
    assert "drops every backslash" in second.notes[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"@hourly 0 a true", "no period @hourly"),
        (b"0 0 a true", "period of 0 days"),
        (b"1 99999999999 a true", "out of range"),
        (b"1 " + b"9" * 5000 + b" a true", "out of range"),
        (b"9" * 5000 + b" 1 a true", "period of 999999999999 days"),
        (b"1 0 a/b true", "slash"),
        (b"1 0 a", "a period in days"),
        (b"x 0 a true", "a period in days"),
        (b"-1 0 a true", "a period in days"),
    ],
)
def test_what_anacron_does_not_understand_is_refused_alone(line: bytes, why: str) -> None:
    found = read_anacrontab(b"1 0 before true\n" + line + b"\n1 0 after true\n")
    assert [item.identifier for item in found.items] == ["before", "after"]
    (refused,) = found.refused
    assert refused.line == 2
    assert why in refused.reason


def test_a_line_is_known_again_by_its_identifier() -> None:
    before, moved, other = planned(b"1 0 a true\n"), planned(b"#\n7 9 a false\n"), planned(b"1 0 b true\n")
    assert before[0].digest == moved[0].digest != other[0].digest


def test_a_folder_that_something_else_runs_becomes_no_job() -> None:
    found = planned(DEBIAN, run_elsewhere={"/etc/cron.daily": "line 20 of /etc/crontab"})
    assert [one.draft is None for one in found] == [True, False, False]
    assert found[0].problem == "line 20 of /etc/crontab runs /etc/cron.daily already"


def test_names_are_taken_into_account() -> None:
    assert [one.name for one in planned(b"1 0 a true\n1 0 a true\n1 0 5 true\n", taken={"a"})] == [
        "a-2",
        "a-3",
        "anacron-3",
    ]


def test_nothing_breaks_it() -> None:
    for text in (b"", b"\\", b"\\\n", b"\0", b"\xff\xfe 1 x y\n", b"=x\n", b"1 0 \xff true\n"):
        read_anacrontab(text)
        planned(text)
