"""What stands beside a list of jobs and below it."""

from datetime import UTC
from typing import Any

from jobctl.reading.times import milliseconds
from jobctl_tui.words import details, job
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.when import When

NOW_MS = milliseconds("2026-11-29T02:00:00Z")
SKIPS = {"count": 1, "first": "2026-11-29T03:00:00Z", "last": "2026-11-29T03:00:00Z"}


def line(**fields: Any) -> dict[str, Any]:
    return {"id": 1, "name": "a", "state": "ok", "words": "every hour", "timezone": "UTC", "expression": "0 * * * *",
            "next_run_at": "2026-11-29T04:00:00Z", "skips": SKIPS, **fields}  # fmt: skip


def text(lines: list[details.Line]) -> str:
    return "\n".join("".join(part for part, _ in each) for each in lines)


def test_what_is_left_out_stands_by_the_next_time_below_the_list_and_beside_it() -> None:
    when = When(local=UTC)
    assert "left out: 03:00 UTC" in text(details.below(line(), when, NOW_MS, UTF8))
    assert "left out: 03:00 UTC" in text(details.beside(line(), None, when, NOW_MS, UTF8, 40))
    assert job.next_time(line(), when, NOW_MS) == ("2h00m -1", "-late")
    assert job.next_time(line(skips=None), when, NOW_MS) == ("2h00m", "")
    assert "left out" not in text(details.beside(line(skips=None), None, when, NOW_MS, UTF8, 40))
