"""The hours to come as lanes: cells, marks, signs, and what is said of all of it."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from jobctl.reading.times import milliseconds
from jobctl_tui.words import timeline
from jobctl_tui.words.glyphs import ASCII, UTF8

FROM = milliseconds("2026-11-29T02:00:00Z")


def utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def berlin(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, ZoneInfo("Europe/Berlin"))


def job(lane: list[int], **fields: object) -> dict[str, object]:
    return {"lane": lane, "paused": False, "late_since": None, "p50": None, "fires": sum(lane), **fields}


def drawn(lane: list[int], cell_ms: int = 1_800_000, **fields: object) -> str:
    return "".join(text for text, _ in timeline.lane(job(lane, **fields), cell_ms, UTF8))


@pytest.mark.parametrize("hours", timeline.ZOOMS)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 300])
def test_cells_fit_into_the_width_and_are_of_a_countable_length(hours: int, width: int) -> None:
    made = timeline.shape(width, hours)
    assert 1 <= made.cells <= min(240, width - made.start)
    assert hours * 3600 % made.cells == 0
    assert hours * 60 % made.cells == 0


def test_the_usual_screen_has_cells_of_half_an_hour() -> None:
    assert timeline.shape(80, 24).cells == 48
    assert timeline.cell_words(24, 48) == "30 min"
    assert timeline.cell_words(168, 56) == "3 h"


def test_marks_stand_over_the_cell_that_has_their_time() -> None:
    axis = timeline.axis(FROM, 24, 48, utc)
    for hour in ("03", "06", "09", "12"):
        assert axis.index(hour) == (int(hour) - 2) * 2
    assert axis.index("00") == 44  # the day has no room there
    assert timeline.axis(FROM, 24, 72, utc).index("Mon 30") == 66


def test_a_mark_inside_a_cell_stands_over_that_cell() -> None:
    axis = timeline.axis(FROM, 1, 30, utc)  # cells of two minutes: 02:15 lies in the one that begins at 02:14
    assert axis.index("02:15") == 7


def test_marks_are_of_the_readers_zone_also_where_the_clock_changes() -> None:
    assert timeline.axis(FROM, 24, 48, berlin).index("06") == 6
    before = milliseconds("2027-03-27T20:00:00Z")
    axis = timeline.axis(before, 24, 48, berlin)
    assert axis.index("Sun 28") == 6
    assert axis.index("06") == 16  # an hour earlier than on other days


def test_a_week_has_its_days() -> None:
    axis = timeline.axis(FROM, 168, 56, utc)
    assert axis.index("Mon 30") == 7
    assert axis.index("Tue 01") == 15


def test_a_job_that_fires_often_is_a_bar_whose_height_tells_how_often() -> None:
    assert drawn([1] * 8) == "▁" * 8
    assert drawn([2] * 8) == "▂" * 8
    assert drawn([30] * 8) == "▅" * 8
    assert drawn([100_000] * 8) == "█" * 8


def test_a_job_that_fires_seldom_has_marks() -> None:
    assert drawn([0, 1, 0, 0, 0, 2, 0, 0]) == "·|···▂··"


def test_a_long_run_is_as_long_as_it_usually_is() -> None:
    assert drawn([0, 0, 1, 0, 0, 0, 0, 0], p50=2 * 3600) == "··█▓▓▓··"
    assert drawn([0, 0, 0, 0, 0, 0, 0, 1], p50=2 * 3600) == "·······█"
    assert drawn([0, 0, 1, 0, 0, 0, 0, 0], p50=60) == "··|·····"


def test_a_held_job_shows_when_it_would_have_fired() -> None:
    assert drawn([0, 1, 0, 2], paused=True) == "·‖·‖"
    assert timeline.fires_words(job([1], paused=True), UTF8) == ("paused", "-paused")


def test_a_late_job_says_so_at_now() -> None:
    late = job([0, 0, 1], late_since="2026-11-29T02:00:00Z")
    parts = timeline.lane(late, 1_800_000, UTF8)
    assert parts[0] == ("!", "-late")
    assert timeline.lane(late, 1_800_000, UTF8, from_now=False)[0] == ("··", "-dim")
    assert timeline.fires_words(late, UTF8) == ("LATE", "-late")


def test_times_that_are_left_out_have_a_sign_and_words() -> None:
    skips = {"count": 2, "first": "2026-11-29T02:40:00Z", "last": "2026-11-29T03:40:00Z"}
    lane = timeline.lane(job([0, 0, 0, 0, 1], skips=skips), 1_800_000, UTF8, from_ms=FROM)
    assert "".join(text for text, _ in lane) == "·−·−|"
    assert ("−", "-late") in lane
    far = timeline.lane(job([0, 1, 0], skips=skips), 60_000, UTF8, from_ms=FROM)
    assert "".join(text for text, _ in far) == "·|·"
    assert timeline.left_out_words({"skips": skips}, lambda at: at[11:16]) == "2 left out: 02:40 to 03:40"
    once = {"skips": {**skips, "count": 1}}
    assert timeline.left_out_words(once, lambda at: at[11:16]) == "left out: 02:40"
    assert timeline.left_out_words({"skips": None}, str) == ""


def test_what_is_not_counted_is_told_where_the_sums_are() -> None:
    more = {"jobs": 39_000, "fires": 1, "total": 100_000, "left_out": {"jobs": 61_000, "busy": 0}}
    for narrow in (True, False):
        words = timeline.about(more, 24, "", UTF8, narrow=narrow)
        assert words == "next 24 h · sums without 61000 of 100000 jobs"


def test_signs_of_a_terminal_without_utf8() -> None:
    text = "".join(text for text, _ in timeline.lane(job([1, 0, 0, 0, 0, 3, 0, 0]), 60_000, ASCII))
    assert text.isascii()
    assert timeline.fires_words(job([90, 6]), ASCII) == ("96x", "")


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0"), (1440, "1440"), (9999, "9999"), (86400, "86k"), (10**7, "10M")]
)
def test_numbers_have_four_characters_at_most(number: int, words: str) -> None:
    assert timeline.short(number) == words


def test_density_shows_where_more_happens_than_always() -> None:
    assert timeline.dense([0, 4, 8, 1], UTF8) == "·▄█▁"
    steady = timeline.dense([10, 40, 40, 44, 40, 40], UTF8)
    assert steady[3] == "█"
    assert len(set(steady[1:])) > 1
    assert timeline.dense([], UTF8) == ""
    assert timeline.dense([0, 0], UTF8) == "··"


def test_busy_is_a_share_of_the_slots() -> None:
    assert timeline.heights([0, 1, 4, 8, 12], 8, UTF8) == "·▁▄██"
    assert timeline.heights([1], 0, UTF8) == "·"


def test_crowded_minutes_come_fullest_first_with_names_made_safe() -> None:
    more = {
        "crowded": [
            {"at": "2026-11-29T03:00:00Z", "count": 2, "jobs": ["a", "b"]},
            {"at": "2026-11-29T04:00:00Z", "count": 7, "jobs": ["\x1b[2J", "c"]},
        ]
    }
    lines = ["".join(text for text, _ in line) for line in timeline.crowded(more, lambda at: at[11:16], 5)]
    assert lines == [
        "  04:00  7 start in one minute: \\x1b[2J, c and 5 more",
        "  03:00  2 start in one minute: a, b",
    ]


def test_clock_changes_are_of_the_window_or_the_next_one() -> None:
    change = {"at": "2027-03-28T01:00:00Z", "local": "2027-03-28T03:00:00+02:00", "timezone": "Europe/Berlin",
              "offset_before": 3600, "offset_after": 7200, "jobs": 3}  # fmt: skip
    inside = ["".join(text for text, _ in line) for line in timeline.clock_changes({"transitions": [change]}, str)]
    assert inside == ["  2027-03-28T01:00:00Z  the clock of Europe/Berlin goes +1h00m; 3 jobs keep its time"]
    later = {"transitions": [], "next_transition": {**change, "jobs": 1}}
    outside = ["".join(text for text, _ in line) for line in timeline.clock_changes(later, str)]
    assert outside[0].startswith("  no clock change in this window (next: 2027-03-28, the clock of Europe/Berlin")
    assert outside[0].endswith("+1h00m; 1 job keeps its time)")
    assert list(timeline.clock_changes({"transitions": [], "next_transition": None}, str)) == []


def test_what_was_not_counted_is_said() -> None:
    assert timeline.left_out({"left_out": {"jobs": 0, "busy": 0}}) == ""
    assert timeline.left_out({"left_out": {"jobs": 5, "busy": 2}}) == (
        "5 jobs are not counted in the sums; 2 count as taking no time"
    )


def test_how_long_it_takes_is_said_when_it_is_known() -> None:
    took = {"p50": 1680.0, "p95": 1860.0, "count": 30}
    assert timeline.usual(took, lambda seconds: f"{seconds / 60:.0f}m") == "usually 28m (p95 31m, of 30 runs)"
    assert timeline.usual({"p50": None, "count": 0}, str) == ""
    assert timeline.usual(None, str) == ""


def test_the_line_of_the_tabs() -> None:
    more = {"jobs": 15, "fires": 3301}
    assert timeline.about(more, 24, "", UTF8, narrow=False) == "next 24 h · 15 jobs fire · 3301 fires"
    assert timeline.about(more, 168, "", UTF8, narrow=True) == "next 7 d · 15 jobs"
    assert timeline.about(more, 6, "Tue 03:00 UTC", UTF8, narrow=True) == "Tue 03:00 UTC +6 h"
