"""Schedules in words, in previews, and as they are built from options."""

import subprocess
import sys
from datetime import datetime

import pytest

from jobctl.errors import InvalidInput
from jobctl.schedule import Count, Cron, Every, Fire, OnBoot, Once, OnStart, build, describe, preview


def _ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


NOW = _ms("2025-11-29T16:26:40+01:00")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 3 * * *", "every day at 03:00"),
        ("*/15 * * * *", "every 15 minutes"),
        ("* * * * *", "every minute"),
        ("@hourly", "every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("5 9-17 * * mon-fri", "at minute 5 past hours 9–17 on Monday to Friday"),
        ("0 9,17 * * 1-5", "every Monday to Friday at 09:00 and 17:00"),
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("0 0 1-7 * */7", "at 00:00 on days 1–7 of the month if it is a Sunday"),
        ("30 2 13 * fri", "at 02:30 on day 13 of the month or on Friday"),
        ("0 0 1-31 * 5", "every day at 00:00"),
        ("0 0 1 1 *", "at 00:00 on day 1 of the month in January"),
        ("0 0 30 2 *", "at 00:00 on day 30 of the month in February, a date that never comes"),
        ("0 4 * * 0,6,1", "every Monday, Saturday and Sunday at 04:00"),
    ],
)
def test_a_cron_text_reads_as_english(text, words):
    assert describe(Cron(text, "UTC")) == words


def test_other_schedules_read_as_english():
    assert describe(Every(900_000, 0)) == "every 15 minutes"
    assert describe(Once(0)) == "once at 1970-01-01 00:00:00 UTC"
    assert describe(OnBoot()) == "on boot"
    assert describe(OnStart()) == "when the daemon starts"


def test_a_preview_shows_what_the_clock_changes_of_the_year_do():
    shown = preview(Cron("30 2 * * *", "Europe/Berlin"), NOW, n=1)
    spring, autumn = shown.transitions
    assert shown.fires[0].local == "2025-11-30T02:30:00+01:00"
    assert shown.fires[0].abbreviation == "CET"
    assert (spring.kind, spring.swallowed, spring.fires[0].note) == ("gap", ("02:30",), "gap")
    assert spring.words == "02:30 does not exist: runs at 03:00, the end of the gap"
    assert (autumn.kind, autumn.repeated, autumn.fires_that_day) == ("overlap", ("02:30",), 1)
    assert autumn.words == "02:30 occurs twice: only the first pass runs"
    assert shown.warnings == (
        "on 2026-03-29 the clock goes forward: 02:30 does not exist: runs at 03:00, the end of the gap",
    )


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("0 0 30 2 *", "never runs"),
        ("*/7 * * * *", "does not divide the hour: after minute 56 comes 0, 4 later"),
        ("0 */5 * * *", "does not divide the day"),
        ("*/90 * * * *", "only minute 0"),
        ("0 0 13 * 5", "or weekday must match, not both"),
        ("0 0 1-7 * */7", "must both match"),
        ("*/15 2 * * *", "do not exist and do not run"),
    ],
)
def test_what_may_not_mean_what_its_author_thinks_is_said(text, warning):
    assert any(warning in sentence for sentence in preview(Cron(text, "Europe/Berlin"), NOW).warnings)


def test_a_usual_schedule_has_no_warnings():
    assert preview(Cron("*/15 * * * *", "Europe/Berlin"), NOW).warnings == ()


def test_a_preview_is_bounded():
    with pytest.raises(InvalidInput):
        preview(Every(1000, 0), NOW, n=1001)
    assert len(preview(Every(1000, 0), NOW, n=1000).fires) == 1000


def test_the_options_of_a_job_make_one_schedule_or_none():
    assert build(timezone="UTC", anchor_ms=0) is None
    assert build(cron="0 3 * * *", timezone="UTC", anchor_ms=0) == Cron("0 3 * * *", "UTC")
    assert build(every_ms=1000, timezone="UTC", anchor_ms=5) == Every(1000, 5)
    assert build(at_ms=7, timezone="UTC", anchor_ms=0) == Once(7)
    assert build(on_boot=True, timezone="UTC", anchor_ms=0) == OnBoot()
    assert build(on_start=True, timezone="UTC", anchor_ms=0) == OnStart()


@pytest.mark.parametrize(
    "options",
    [
        {"cron": "0 3 * * *", "every_ms": 1000},
        {"every_ms": 999},
        {"every_ms": 10**15},
        {"cron": "nonsense"},
        {"cron": "0 3 * * *", "timezone": "Mars/Base"},
        {"dst_gap": "maybe"},
        {"dst_overlap": "maybe"},
        {"on_boot": True, "on_start": True},
    ],
)
def test_options_that_contradict_or_are_out_of_range_are_refused(options):
    with pytest.raises(InvalidInput) as caught:
        build(**{"timezone": "UTC", "anchor_ms": 0, **options})
    assert caught.value.hint


def test_an_interval_counts_from_its_anchor_and_is_counted_without_walking():
    every = Every(90_000, 10_000)
    assert every.next_after(10_000) == Fire(100_000)
    assert every.next_after(99_999) == Fire(100_000)
    assert every.latest_at_or_before(99_999, -1) == Fire(10_000)
    assert every.latest_at_or_before(99_999, 10_000) is None
    assert every.count(0, 10**15, limit=10**12) == Count(11_111_111_112)
    assert every.count(0, 10**15, limit=10) == Count(10, exact=False)


def test_a_single_instant_comes_once():
    once = Once(1000)
    assert once.next_after(999) == Fire(1000)
    assert once.next_after(1000) is None
    assert once.latest_at_or_before(5000, 999) == Fire(1000)
    assert once.count(0, 5000) == Count(1)


def test_croniter_is_imported_only_when_days_have_to_be_found():
    program = (
        "import sys, jobctl.schedule as s\n"
        "s.preview(s.Every(1000, 0), 0); s.Cron('0 3 * * 1', 'UTC')\n"
        "print(any(name.startswith(('croniter', 'dateutil', 'asyncio', 'sqlite3')) for name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
