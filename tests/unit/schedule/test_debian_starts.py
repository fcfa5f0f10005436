"""The retold loop of Debian's cron answers every case of the corpus, its accidents included."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from jobctl.schedule.debian_starts import debian_fields, debian_starts

_OURS = Path(__file__).parents[2] / "data" / "cron"
_FOLDER = Path(os.environ.get("JOBCTL_CRON_CASES", _OURS))
_DAY_MS = 86_400_000


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000 // 1)


def _cases() -> list[dict[str, Any]]:
    with (_FOLDER / "cron_cases.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_case_is_started_as_debian_starts_it(record_property: Any) -> None:
    judged, wrong = 0, []
    for case in _cases():
        if not case["vixie_valid"] or case["vixie_expected"] is None:
            continue
        fields = debian_fields(case["expr"])
        expected = [_ms(text) for text in case["vixie_expected"]]
        after = _ms(case["start"])
        assert fields is not None, case["expr"]
        starts = debian_starts(fields, case["tz"], after, expected[-1] if expected else after + 400 * _DAY_MS)
        several = {_ms(at): number for at, number in case.get("runs", {}).items()}
        judged += 1
        if list(starts) != expected or any(starts[at] != several.get(at, 1) for at in expected):
            wrong.append((case["id"], case["expr"], case["tz"], case["start"]))
    record_property("counts", f"cron cases: {judged} compared with the retold loop of Debian's cron")
    assert judged > 500 or _FOLDER != _OURS
    assert not wrong, wrong[:20]


def test_what_debian_refuses_has_no_fields() -> None:
    assert [debian_fields(text) for text in ("61 * * * *", "* * * *", "a b c d e", "@often")] == [None] * 4


@pytest.mark.parametrize(
    ("text", "minutes"), [("5; * * * *", (5,)), ("22-2 * * * *", ()), ("4294967301 * * * *", (5,))]
)
def test_accidents_are_read_as_debian_reads_them(text: str, minutes: tuple[int, ...]) -> None:
    fields = debian_fields(text)
    assert fields is not None
    assert fields.minutes == minutes
