"""Times as people read them."""

from datetime import UTC

import pytest

from jobctl.reading.times import Viewer, duration, milliseconds, of_fire, rfc3339, span, took
from jobctl.wire import rfc3339 as wire_rfc3339
from unit.cli.conftest import NOW_MS, Cli
from unit.client.fake_daemon import FakeDaemon

VIEWER = Viewer(NOW_MS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59.9, "59s"),
        (139, "2m19s"),
        (3599, "59m59s"),
        (85_620, "23h47m"),
        (172_799, "47h59m"),
        (597_600, "6d22h"),
    ],
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_how_long_it_took() -> None:
    assert [took(seconds) for seconds in (0, 0.0123, 0.42, 1.25, 9.96, 12.3)] == [
        "0ms", "12ms", "420ms", "1.2s", "10.0s", "12s",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.5, "500ms"), (90, "90s"), (300, "5m"), (7200, "2h"), (86400, "24h"), (5405, "1h30m5s"),
     (604_800, "7d"), (1.5, "1s500ms")],
)  # fmt: skip
def test_a_duration_has_no_units_that_are_zero(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("at", "clock", "ago"),
    [
        ("2026-11-29T02:00:00Z", "03:00 CET", "12m41s ago"),
        ("2026-11-30T02:00:00Z", "Mon 03:00 CET", "in 23h47m"),
        ("2026-12-24T17:00:30Z", "24 Dec 18:00:30 CET", "in 25d14h"),
        ("2027-07-01T10:00:00Z", "01 Jul 2027 12:00 CEST", "in 214d07h"),
    ],
)
def test_relative_and_absolute(at: str, clock: str, ago: str) -> None:
    assert (VIEWER.clock(at), VIEWER.ago(at)) == (clock, ago)


def test_utc_when_asked() -> None:
    assert Viewer(NOW_MS, zone=UTC).full("2026-11-30T02:00:00Z") == "Mon 30 Nov 2026 02:00:00 UTC"


def test_a_fire_is_shown_in_its_own_zone() -> None:
    fire = {"local": "2026-07-01T03:00:00-04:00", "zone": "EDT"}
    assert of_fire(fire) == "Wed 01 Jul 2026 03:00:00 EDT"


@pytest.mark.parametrize("at_ms", [0, NOW_MS, NOW_MS + 1, 253_402_300_799_000])
def test_instants_are_written_as_on_the_wire(at_ms: int) -> None:
    assert rfc3339(at_ms) == wire_rfc3339(at_ms)
    assert milliseconds(rfc3339(at_ms)) == at_ms


def test_the_times_of_one_run_have_seconds_all_or_none(cli: Cli, daemon: FakeDaemon) -> None:
    def times(**changed: str) -> list[str]:
        daemon.runs[0] |= changed
        shown = cli("show", str(daemon.runs[0]["id"]), "--run", "--utc").out
        return [line.split()[1] for line in shown.splitlines() if line.split()[0] in ("due", "started", "finished")]

    at = "2026-11-29T02:00:00Z"
    assert times(due_at=at, scheduled_at=at, started_at=at, finished_at=at) == ["02:00"] * 3
    assert times(finished_at="2026-11-29T02:00:41Z") == ["02:00:00", "02:00:00", "02:00:41"]
