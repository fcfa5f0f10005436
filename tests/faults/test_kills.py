"""The fault rig in short: what `tests/faults/rig` does for as long as it is told (docs/fault-rig.md)."""

import os
import shutil
from collections.abc import Callable

import pytest

from kit.rig.rig import Plan, run, short_folder

SEED = int(os.environ.get("JOBCTL_FAULT_SEED", "1"))
SECONDS = float(os.environ.get("JOBCTL_FAULT_SECONDS", "4"))


@pytest.mark.parametrize(
    "groups",
    [pytest.param("kills,stops,seconds,standby", marks=pytest.mark.long), "kills,forks,descriptors,disk,boots"],
)
def test_nothing_runs_twice_and_nothing_is_lost_whatever_is_done_to_it(
    groups: str, record_property: Callable[[str, object], None]
) -> None:
    folder = short_folder()
    plan = Plan(SECONDS, SEED, frozenset(groups.split(",")), pace_s=0.4, pause_s=0.1)
    report = run(folder, plan, lambda _: None)
    figures, faults = report.figures, report.faults
    record_property(
        "counts",
        f"fault rig ({groups}; seed {SEED}): {figures['attempts started']} attempts, {faults.total()} faults, "
        f"{figures['doubles']} doubles, {figures['losses']} losses",
    )

    assert report.findings == [], f"evidence in {folder}"
    assert figures["runs not ended"] == 0
    assert figures["attempts started"] > 10
    assert faults.total() > 3
    shutil.rmtree(folder)
