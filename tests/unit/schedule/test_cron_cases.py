"""Debian's answers: every case of the corpus, by the rules of its README.

A case is right when the verdict is Debian's and the instants are Debian's. A quirk (`accept_reject`) may be
refused instead; a huge step that Debian refuses only because its number wraps may be accepted. `runs` are starts
that we fold into one: the fire must say how many it stands for.
"""

import json
import os
from collections import Counter
from datetime import datetime
from itertools import islice
from pathlib import Path

import pytest

from jobctl.errors import InvalidInput
from jobctl.schedule import Cron, Fire, OnBoot, build, parse_cron

_OURS = Path(__file__).parents[2] / "data" / "cron"
_FOLDER = Path(os.environ.get("JOBCTL_CRON_CASES", _OURS))


def _cases():
    with (_FOLDER / "cron_cases.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _ms(text):
    # Downwards: one case starts a microsecond before the minute.
    return int(datetime.fromisoformat(text).timestamp() * 1000 // 1)


def _judge(case):
    """(right, how) of one case."""
    huge_step = case.get("accept_reject") and not case["vixie_valid"]
    try:
        fields = parse_cron(case["expr"])
    except InvalidInput as problem:
        explained = bool(problem.message and problem.hint)
        if not case["vixie_valid"]:
            return explained, "refused as Debian does"
        return explained and bool(case.get("accept_reject")), "quirk refused"
    if not case["vixie_valid"]:
        return bool(huge_step) and "/" in case["expr"], "huge step accepted"
    if case["vixie_expected"] is None:
        return fields.reboot, "@reboot"
    return _same_instants(case), "the same instants"


def _same_instants(case):
    schedule = Cron(case["expr"], case["tz"])
    start = _ms(case["start"])
    expected = [_ms(text) for text in case["vixie_expected"]]
    fires = list(islice(schedule.fires(start), max(1, len(expected))))
    stepwise, fire = [], schedule.next_after(start)
    while fire is not None and len(stepwise) < len(fires):
        stepwise.append(fire)
        fire = schedule.next_after(fire.at_ms)
    return [fire.at_ms for fire in fires] == expected and stepwise == fires and _folded(case, fires)


def _folded(case, fires):
    starts = {_ms(at): number for at, number in case.get("runs", {}).items()}
    return all(fire.coalesced == starts[fire.at_ms] - 1 for fire in fires if fire.at_ms in starts)


def test_every_case_of_the_corpus_is_answered_as_debian_answers_it(record_property):
    outcomes, wrong = Counter(), []
    for case in _cases():
        right, how = _judge(case)
        outcomes[how if right else "WRONG"] += 1
        if not right:
            wrong.append(f"{case['id']} {case['expr'][:60]!r} {case['tz']} ({how})")
    record_property("counts", f"cron cases: {outcomes.total()} judged, {dict(outcomes)}")
    assert outcomes.total() > 0
    assert not wrong, "\n".join(wrong)


def test_an_alias_for_boot_is_a_schedule_on_boot():
    assert build(cron="@reboot", timezone="UTC", anchor_ms=0) == OnBoot()


def test_times_that_fall_in_one_gap_become_one_run_that_says_so():
    schedule = Cron("0,20,40 2 * * *", "Europe/Berlin")
    before = _ms("2026-03-29T00:00:00+01:00")
    assert schedule.next_after(before) == Fire(_ms("2026-03-29T03:00:00+02:00"), "gap", 2)


def test_a_time_at_the_very_end_of_a_gap_shares_the_run_of_the_gap():
    schedule = Cron("0 2,3 * * *", "Europe/Berlin")
    fires = list(schedule.fires(_ms("2026-03-29T00:00:00+01:00"), _ms("2026-03-30T00:00:00+02:00")))
    assert fires == [Fire(_ms("2026-03-29T03:00:00+02:00"), "gap", 1)]


@pytest.mark.parametrize(
    ("gap", "text", "expected"),
    [
        ("skip", "30 2 * * *", "2026-03-30T02:30:00+02:00"),
        ("run-after", "*/15 2 * * *", "2026-03-29T03:00:00+02:00"),
    ],
)
def test_a_stated_choice_for_gaps_overrules_the_kind_of_job(gap, text, expected):
    schedule = Cron(text, "Europe/Berlin", gap)
    assert schedule.next_after(_ms("2026-03-29T00:00:00+01:00")).at_ms == _ms(expected)


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("auto", ["2026-10-25T02:30:00+02:00"]),
        ("first", ["2026-10-25T02:30:00+02:00"]),
        ("second", ["2026-10-25T02:30:00+01:00"]),
        ("both", ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]),
    ],
)
def test_a_repeated_time_runs_in_the_passes_that_were_chosen(overlap, expected):
    schedule = Cron("30 2 * * *", "Europe/Berlin", "auto", overlap)
    day = schedule.fires(_ms("2026-10-25T00:00:00+02:00"), _ms("2026-10-26T00:00:00+01:00"))
    assert list(day) == [Fire(_ms(at), "overlap") for at in expected]
