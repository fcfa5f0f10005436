"""The schedule as one text: what is typed is what `jobctl add` would be given, and comes back as it was."""

from typing import Any

import pytest

from jobctl.errors import InvalidInput
from jobctl_tui.words.plan import plan_of, text_of, with_plan


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("0 3 * * *", {"cron": "0 3 * * *"}),
        ("  0  3 * * * ", {"cron": "0 3 * * *"}),
        ("@daily", {"cron": "@daily"}),
        ("cron 0 3 * * *", {"cron": "0 3 * * *"}),
        ("every 10m", {"every": "10m"}),
        ("@every 90s", {"every": "90s"}),
        ("in 2h30m", {"at": "in 2h30m"}),
        ("at tomorrow 09:00", {"at": "tomorrow 09:00"}),
        ("after backup", {"after": "backup"}),
        ("after backup db:any", {"after": "backup db:any"}),
        ("on boot", {"on_boot": True}),
        ("@reboot", {"on_boot": True}),
        ("On Start", {"on_start": True}),
        ("", {}),
        ("by hand", {}),
    ],
)
def test_a_text_says_when(text: str, plan: dict[str, Any]) -> None:
    assert plan_of(text) == plan


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("10m", "every 10m, or once: in 10m"),
        ("tomorrow 09:00", "once: at tomorrow 09:00"),
        ("17:30", "once: at 17:30"),
        ("every banana", "90s"),
        ("sometimes", "every 10m"),
        ("61 * * * *", ""),
    ],
)
def test_what_cannot_be_read_says_what_was_most_likely_meant(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        plan_of(text)
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    "text", ["0 3 * * *", "every 10m", "after backup", "after backup:failure", "on boot", "on start", ""]
)
def test_what_is_shown_is_what_was_typed(text: str) -> None:
    assert text_of(plan_of(text)) == text


def test_an_instant_is_shown_on_the_wall_clock_of_its_zone() -> None:
    assert text_of({"at": "2026-12-01T08:00:00Z", "timezone": "Europe/Berlin"}) == "at 2026-12-01 09:00"
    assert text_of({"at": "2026-12-01T08:00:05Z", "timezone": "Europe/Berlin"}) == "at 2026-12-01 09:00:05"


def test_an_instant_whose_wall_time_comes_twice_is_shown_as_it_is() -> None:
    second_pass = "2027-10-31T01:30:00Z"  # 02:30 CET, the second time
    assert text_of({"at": second_pass, "timezone": "Europe/Berlin"}) == f"at {second_pass}"


def test_another_time_keeps_the_zone_and_what_goes_with_it() -> None:
    old = {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "jitter": "5m", "dst_gap": "skip"}
    assert with_plan(old, {"cron": "0 4 * * *"}) == {**old, "cron": "0 4 * * *"}
    assert with_plan(old, {"every": "10m"}) == {"every": "10m", "timezone": "Europe/Berlin", "jitter": "5m"}
    assert with_plan(old, {"after": "x"}) == {"after": "x", "timezone": "Europe/Berlin"}
