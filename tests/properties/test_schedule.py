"""What holds for every schedule in every zone, around every clock change."""

import time
import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobctl.schedule import Cron, parse_cron
from jobctl.schedule.offsets import stretches_of

DAY = 86_400_000
HOUR = 3_600_000
TEXTS = ("* * * * *", "*/15 2 * * *", "30 2 * * *", "0,20,40 0-3 * * *", "0 0 * * *", "0 */2 * * *", "5 1 31 * 1-5")
ODD_ZONES = (
    "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Kathmandu",
    "Antarctica/Troll", "Antarctica/Casey", "Africa/Casablanca", "Europe/Dublin", "Asia/Gaza", "America/Nuuk", "UTC",
)  # fmt: skip


def _ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@cache
def _zones():
    return tuple(sorted(zoneinfo.available_timezones() - {"localtime", "posixrules", "Factory"}))


@cache
def _changes(zone):
    return tuple(stretches_of(zone).changes_between(_ms("1970-01-01T00:00+00:00"), _ms("2038-01-01T00:00+00:00")))


@st.composite
def _field(draw, low, high):
    element = st.one_of(
        st.just("*"),
        st.integers(1, high).map(lambda step: f"*/{step}"),
        st.integers(low, high).map(str),
        st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda ab: f"{min(ab)}-{max(ab)}"),
    )
    return ",".join(draw(st.lists(element, min_size=1, max_size=3)))


cron_texts = st.one_of(
    st.sampled_from(TEXTS),
    st.tuples(_field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 7)).map(" ".join),
)
gaps = st.sampled_from(["auto", "run-after", "skip"])
overlaps = st.sampled_from(["auto", "first", "second", "both"])


@st.composite
def _schedules(draw):
    return Cron(draw(cron_texts), draw(st.sampled_from(ODD_ZONES)), draw(gaps), draw(overlaps))


@st.composite
def _moments(draw, zone):
    """Any instant of a century, or one close to a clock change."""
    changes = _changes(zone)
    if changes and draw(st.booleans()):
        return draw(st.sampled_from(changes)).start_ms + draw(st.integers(-4 * HOUR, 4 * HOUR))
    return draw(st.integers(_ms("1960-01-01T00:00+00:00"), _ms("2060-01-01T00:00+00:00")))


@st.composite
def _cases(draw):
    schedule = draw(_schedules())
    return schedule, draw(_moments(schedule.tz))


@pytest.mark.case("F042")
@settings(max_examples=300, deadline=None)
@given(_cases())
def test_the_next_fire_lies_strictly_ahead_and_stepping_is_iterating(case):
    schedule, at_ms = case
    fires = list(islice(schedule.fires(at_ms), 8))
    stepped = []
    fire = schedule.next_after(at_ms)
    while fire is not None and len(stepped) < 8:
        assert fire.at_ms > at_ms
        stepped.append(fire)
        at_ms = fire.at_ms
        fire = schedule.next_after(at_ms)
    assert stepped == fires


@settings(max_examples=200, deadline=None)
@given(_cases(), st.floats(0, 1))
def test_asking_from_between_two_fires_gives_the_later_one(case, share):
    schedule, at_ms = case
    fire = schedule.next_after(at_ms)
    if fire is not None:
        between = at_ms + int((fire.at_ms - 1 - at_ms) * share)
        assert schedule.next_after(between) == fire


@settings(max_examples=150, deadline=None)
@given(_cases(), st.integers(0, 3 * DAY))
def test_the_latest_fire_and_the_count_agree_with_walking(case, span_ms):
    schedule, after_ms = case
    until_ms = after_ms + span_ms
    walked = list(schedule.fires(after_ms, until_ms))
    assert schedule.latest_at_or_before(until_ms, after_ms) == (walked[-1] if walked else None)
    counted = schedule.count(after_ms, until_ms)
    assert counted.exact
    assert counted.number == len(walked)


@settings(max_examples=150, deadline=None)
@given(_cases())
def test_remembering_does_not_change_an_answer(case):
    schedule, at_ms = case
    first = schedule.next_after(at_ms)
    assert schedule.next_after(at_ms) == first
    assert next(schedule.fires(at_ms), None) == first


@settings(max_examples=150, deadline=None)
@given(_cases())
def test_a_fire_without_a_gap_shows_a_wall_time_that_the_text_names(case):
    schedule, at_ms = case
    fields = parse_cron(schedule.text)
    for fire in islice(schedule.fires(at_ms), 4):
        wall = datetime.fromtimestamp(fire.at_ms // 1000, zoneinfo.ZoneInfo(schedule.tz))
        if fire.note == "gap":
            continue
        assert (wall.minute, wall.hour, wall.month) in {
            (minute, hour, month) for minute in fields.minutes for hour in fields.hours for month in fields.months
        }
        days = (wall.day in fields.days, wall.isoweekday() % 7 in fields.weekdays)
        assert all(days) if fields.both_days else any(days)


def _brute(schedule, from_ms, until_ms):
    """The rule of 'auto', minute by minute of real time, from zoneinfo alone."""
    zone = zoneinfo.ZoneInfo(schedule.tz)
    fields = parse_cron(schedule.text)

    def matches(wall):
        days = (wall.day in fields.days, wall.isoweekday() % 7 in fields.weekdays)
        day = all(days) if fields.both_days else any(days)
        return day and wall.minute in fields.minutes and wall.hour in fields.hours and wall.month in fields.months

    found, minute = {}, timedelta(minutes=1)
    for at_ms in range(from_ms, until_ms, 60_000):
        now = datetime.fromtimestamp(at_ms // 1000, UTC)
        wall, before = now.astimezone(zone), (now - minute).astimezone(zone)
        jump = wall.replace(tzinfo=None) - before.replace(tzinfo=None) - minute
        if timedelta() < jump < timedelta(hours=3) and not fields.wildcard:
            first = before.replace(tzinfo=None) + minute
            skipped = [m for n in range(int(jump / minute)) if matches(m := first + n * minute)]
            if skipped:
                found[at_ms] = len(skipped) - 1 + matches(wall)
        if matches(wall) and at_ms not in found:
            earlier = wall.replace(fold=0).astimezone(UTC)
            repeated = wall.fold == 1 and earlier != now and now - earlier <= timedelta(hours=3)
            if fields.wildcard or not repeated:
                found[at_ms] = 0
    return found


@pytest.mark.parametrize("zone", ODD_ZONES)
def test_around_the_changes_of_odd_zones_the_fires_are_those_of_real_minutes(zone):
    for change in [change for change in _changes(zone) if change.start_ms % 60_000 == 0][-6::2]:
        from_ms, until_ms = change.start_ms - 5 * HOUR, change.start_ms + 5 * HOUR
        for text in TEXTS:
            schedule = Cron(text, zone)
            fires = {fire.at_ms: fire.coalesced for fire in schedule.fires(from_ms - 1, until_ms - 1)}
            assert fires == _brute(schedule, from_ms, until_ms), (zone, text, change)


@pytest.mark.case("F040", "F042")
def test_in_every_zone_a_fixed_time_in_a_gap_runs_exactly_once_and_never_twice_a_day():
    year = (_ms("2026-01-01T00:00+00:00"), _ms("2027-01-01T00:00+00:00"))
    for zone in _zones():
        for change in stretches_of(zone).changes_between(*year):
            old_wall_ms = change.start_ms + change.before_ms
            minute = (old_wall_ms + min(0, change.offset_ms - change.before_ms)) // 60_000 % 1440
            schedule = Cron(f"{minute % 60} {minute // 60} * * *", zone)
            fires = list(schedule.fires(change.start_ms - 12 * HOUR, change.start_ms + 11 * HOUR))
            assert len(fires) == 1, (zone, schedule, fires)


@pytest.mark.long
def test_the_stretches_are_those_of_the_zone_files():
    from zoneinfo import _zoneinfo

    # From the shortest stretch there has been, in September 1939, to where the lists of the files end.
    first, last = _ms("1939-01-01T00:00+00:00"), _ms("2037-12-01T00:00+00:00")
    # A link has the changes of its target: once is enough.
    files = {tuple(zone._trans_utc): zone for zone in map(_zoneinfo.ZoneInfo, _zones())}
    for zone in files.values():
        name = zone.key
        offset, expected = zone._tti_before.utcoff if zone._tti_before else None, []
        for at, info in zip(zone._trans_utc, zone._ttinfos, strict=True):
            if info.utcoff != offset and first < at * 1000 <= last:
                expected.append((at * 1000, info.utcoff // timedelta(milliseconds=1)))
            offset = info.utcoff
        found = [(change.start_ms, change.offset_ms) for change in stretches_of(name).changes_between(first, last)]
        assert [change for change in found if change[0] <= (expected[-1][0] if expected else 0)] == expected, name


@pytest.mark.case("F042")
@pytest.mark.parametrize(
    ("text", "zone", "start"),
    [
        ("* * * * *", "Europe/Berlin", "2026-03-29T00:00+00:00"),
        ("0 0 29 2 *", "America/New_York", "2025-01-01T00:00+00:00"),
        ("0 0 29 2 */6", "UTC", "2072-03-01T00:00+00:00"),
        ("0 0 30 2 *", "Asia/Tokyo", "2025-01-01T00:00+00:00"),
        ("*/5 * * * *", "Pacific/Apia", "2011-12-30T09:55+00:00"),
        ("* * 9-19 * */2", "Pacific/Kwajalein", "1993-08-21T09:08+00:00"),
        ("35-39 */6 6-21/4 * 0-6", "America/St_Johns", "1987-04-01T00:00+00:00"),
    ],
)
def test_a_thousand_answers_come_within_seconds(text, zone, start):
    schedule, at_ms = Cron(text, zone), _ms(start)
    before = time.perf_counter()
    for step in range(1000):
        schedule.next_after(at_ms + step)
    schedule.latest_at_or_before(at_ms + 3 * 365 * DAY, at_ms)
    schedule.count(at_ms, at_ms + 3 * 365 * DAY)
    assert time.perf_counter() - before < 10


@pytest.mark.parametrize("at_ms", [-(10**18), -(10**15), -(10**14), 252_000_000_000_000, 10**15, 10**18])
@pytest.mark.parametrize("text", ["* * * * *", "0 0 29 2 *", "0 0 1 1 1"])
def test_the_ends_of_time_are_answered_and_not_raised(text, at_ms):
    schedule = Cron(text, "Europe/Berlin")
    fire = schedule.next_after(at_ms)
    assert fire is None or fire.at_ms > at_ms
    schedule.latest_at_or_before(at_ms, at_ms - 1000 * DAY)
    schedule.count(at_ms - 1000 * DAY, at_ms)
