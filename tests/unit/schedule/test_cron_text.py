"""Cron text that is refused, and what the refusal says."""

import time

import pytest

from jobctl.errors import InvalidInput
from jobctl.schedule import debian_reading, parse_cron


def _refusal(text):
    with pytest.raises(InvalidInput) as caught:
        parse_cron(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("5/15 * * * *", "minute `5/15`: a step needs a range", "refuses it too"),
        ("22-2 * * * *", "runs backwards", "never matches"),
        ("0 0 * * fri-mon", "weekday `fri-mon`", "never matches"),
        ("5#2 * * * *", "other schedulers", "drops '#2' and reads 5"),
        ("0 24 * * *", "hour `24`: 24 is not within 0-23", "refuses it too"),
        ("4294967301 * * * *", "not within 0-59", "wraps at 32 bits to 5"),
        ("* * * * * *", "has 6", "sixth word as the command"),
        ("* * * *", "has 4", "Put `*`"),
        ("@every 10m", "not a schedule alias", "`--every 10m`"),
        ("@Daily", "not a schedule alias", "lower case: `@daily`"),
        ("@daily x", "not a schedule alias", "stands alone"),
        ("*/0 * * * *", "a step is at least 1", "refuses"),
        ("1,,2 * * * *", "minute: a list has an empty element", "refuses"),
        ("0 0 L * *", "other schedulers", "refuses"),
        ("0 0 * * monday", "first three letters", "refuses"),
        ("٥ * * * *", "minute `٥`", "refuses"),
        ("", "empty", "five fields"),
    ],
)
def test_a_refusal_names_the_field_and_tells_what_debian_makes_of_it(text, message, hint):
    refusal = _refusal(text)
    assert message in refusal.message
    assert hint in refusal.hint
    assert refusal.field == "cron"


@pytest.mark.parametrize(
    "text",
    [
        "0," * 500_000,
        "* " * 10_000,
        "0-99999999999 * * * *",
        "9" * 5000 + " * * * *",
        "*" * 30_000,
        "1-2," * 8_000 + "x * * * *",
        ",".join(f"{i}-59/{i + 1}" for i in range(500)) + " * * * *",
        "@" * 32_000,
        "-" * 1000,
        "1-" * 500 + " * * * *",
        "\x00" * 1000,
    ],
    ids=range(11),
)
def test_hostile_text_is_refused_in_no_time(text):
    before = time.process_time()
    _refusal(text)
    assert time.process_time() - before < 0.05


def test_lists_may_repeat_themselves_beyond_the_limit():
    assert parse_cron("0 0 * * " + ",".join(["mon"] * 5000)).weekdays == (1,)


def test_numbers_are_sorted_and_sunday_is_zero():
    fields = parse_cron("30,0-10/5 */12 * jan,3 7,mon")
    assert fields.minutes == (0, 5, 10, 30)
    assert fields.hours == (0, 12)
    assert fields.months == (1, 3)
    assert fields.weekdays == (0, 1)
    assert fields.wildcard
    assert fields.both_days


def test_a_step_longer_than_the_field_is_its_first_value():
    assert parse_cron("*/5000000000 10-20/99 * * *").minutes == (0,)


def test_plain_text_has_no_quirk():
    assert debian_reading("*/5 * * * *") is None
    assert debian_reading("0 24 * * *") is None
