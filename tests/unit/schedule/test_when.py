"""Instants, durations and zones as people write them."""

import os
import time
from datetime import datetime

import pytest

from jobctl.errors import InvalidInput
from jobctl.schedule import find_zone, format_duration, host_zone, parse_duration, parse_when, tzdata_version


def _ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


# A Saturday.
NOW = _ms("2025-11-29T16:26:40+01:00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2025-11-29T16:26:40+01:00"),
        ("10m", "2025-11-29T16:36:40+01:00"),
        ("in 2h 30m", "2025-11-29T18:56:40+01:00"),
        ("2h30m ago", "2025-11-29T13:56:40+01:00"),
        ("yesterday 09:00", "2025-11-28T09:00:00+01:00"),
        ("tomorrow 09:00", "2025-11-30T09:00:00+01:00"),
        ("tomorrow", "2025-11-30T00:00:00+01:00"),
        ("today 12:00", "2025-11-29T12:00:00+01:00"),
        ("09:00", "2025-11-30T09:00:00+01:00"),
        ("17:30", "2025-11-29T17:30:00+01:00"),
        ("9:05", "2025-11-30T09:05:00+01:00"),
        ("mon 09:00", "2025-12-01T09:00:00+01:00"),
        ("Saturday 17:00", "2025-11-29T17:00:00+01:00"),
        ("sat 16:00", "2025-12-06T16:00:00+01:00"),
        ("2026-12-01", "2026-12-01T00:00:00+01:00"),
        ("2026-12-01 09:00:30", "2026-12-01T09:00:30+01:00"),
        ("2026-12-01T09:00+05:30", "2026-12-01T09:00:00+05:30"),
        ("2026-12-01T09:00Z", "2026-12-01T09:00:00+00:00"),
        ("2026-12-01T09:00 America/New_York", "2026-12-01T09:00:00-05:00"),
        ("tomorrow 09:00 Asia/Tokyo", "2025-12-01T09:00:00+09:00"),
        ("@1780000000", "2026-05-28T20:26:40+00:00"),
        ("2026-03-29 02:30", "2026-03-29T03:00:00+02:00"),
        ("2026-10-25 02:30", "2026-10-25T02:30:00+02:00"),
    ],
)
def test_a_time_is_read_as_people_mean_it(text, expected):
    assert parse_when(text, NOW, "Europe/Berlin") == _ms(expected)


@pytest.mark.parametrize(
    "text",
    ["", "foo", "10", "9am", "25:00", "mon 9:61", "2026-02-30", "9999-12-31", "0001-01-01", "next week", "x" * 10**6,
     "2026-12-01T09:00 Europe/Berln", "2026-12-01T09:00+99:00", "@99999999999999999999", "1" * 99 + "m", "٩:٠٠"],
)  # fmt: skip
def test_what_is_not_a_time_is_refused_with_a_hint(text):
    with pytest.raises(InvalidInput) as caught:
        parse_when(text, NOW, "Europe/Berlin")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "ms"),
    [("10m", 600_000), ("2h30m", 9_000_000), ("90s", 90_000), ("1d", 86_400_000), ("500ms", 500), ("1w", 604_800_000)],
)
def test_durations_are_read_and_written_back(text, ms):
    assert parse_duration(text) == ms
    assert parse_duration(format_duration(ms)) == ms


@pytest.mark.parametrize("text", ["", "10", "1.5h", "30m2h", "1h1h", "-5m", "99999w", "5M", "m", "9" * 10**6 + "s"])
def test_what_is_not_a_duration_is_refused_with_a_hint(text):
    with pytest.raises(InvalidInput) as caught:
        parse_duration(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [("europe/berlin", "Europe/Berlin"), ("Tokyo", "Asia/Tokyo"), ("../etc/passwd", "IANA"), ("/etc/localtime", "IANA"),
     ("localtime", ""), ("right/UTC", ""), ("tzdata.zi", ""), ("", ""), ("A" * 9999, ""), ("a\0b", "")],
)  # fmt: skip
def test_an_unknown_zone_is_refused_with_the_nearest_names(name, hint):
    with pytest.raises(InvalidInput) as caught:
        find_zone(name)
    assert hint in caught.value.hint


def test_thousands_of_unknown_zones_are_named_in_no_time():
    """A table may have one for each of its lines, and whoever sends it holds up others meanwhile."""
    began = time.process_time()
    for number in range(1000):
        with pytest.raises(InvalidInput, match="Europe/Berl"):
            find_zone(f"Europe/Berl{number}")
    assert time.process_time() - began < 2


def test_the_host_zone_is_the_link_then_the_file_then_utc_and_never_tz(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    (tmp_path / "etc").mkdir()
    assert host_zone(str(tmp_path)) == ("UTC", "default UTC")
    (tmp_path / "etc/timezone").write_text("Europe/Paris\n")
    assert host_zone(str(tmp_path)) == ("Europe/Paris", "/etc/timezone")
    os.symlink("/usr/share/zoneinfo/Europe/Berlin", tmp_path / "etc/localtime")
    assert host_zone(str(tmp_path)) == ("Europe/Berlin", "/etc/localtime")


def test_a_host_zone_that_does_not_exist_is_passed_over(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/timezone").write_text("../../etc/passwd\n")
    assert host_zone(str(tmp_path)) == ("UTC", "default UTC")


def test_the_tz_database_says_its_release():
    assert tzdata_version()[:2] == "20"
