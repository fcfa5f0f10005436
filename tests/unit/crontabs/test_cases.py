"""Every handed file gives the jobs, environment, input, refusals and verdict of its entry in index.jsonl.

Other files of the same kinds: `JOBCTL_CRONTAB_CASES=DIR pytest tests/unit/crontabs/test_cases.py -s`.

Two rules of this comparison, both about how the index writes things down:
* `env` there shows each byte as one character (Latin-1); ours is the text, so bytes are compared;
* a line that Debian runs by accident (`5;`, `22-2`) is a job there. It is an item here too, marked as a quirk:
  the import does not take it over, and the reason says what Debian makes of it.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobctl.crontabs import Crontab, read, shown

HANDED = Path(__file__).parents[2] / "data" / "crontabs"
CASES = Path(os.environ.get("JOBCTL_CRONTAB_CASES", HANDED))
#: The users that the cases take as existing.
USERS = frozenset(
    {"root", "daemon", "bin", "sys", "mail", "news", "www-data", "backup", "list", "nobody", "postgres", "app",
     "deploy", "svc", "operator"}
)  # fmt: skip


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / "index.jsonl").read_text("utf-8").splitlines()]


def table(case: dict[str, Any]) -> Crontab:
    data = (CASES / case["file"]).read_bytes()
    return read(data, system=case["system"], users=USERS, dialect="debian")


@dataclass
class Counts:
    files: int = 0
    jobs: int = 0
    quirks: int = 0
    env: int = 0
    rejects: int = 0


def jobs_of(crontab: Crontab) -> list[dict[str, Any]]:
    return [
        {"line": item.line, "schedule": item.schedule, "user": item.user, "command": shown(item.command),
         "stdin": item.stdin}
        for item in crontab.items
    ]  # fmt: skip


def expected_jobs(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"user": None, "stdin": None, **job} for job in case["jobs"]]


def env_of(crontab: Crontab) -> list[list[Any]]:
    return [
        [env.line, f"{env.name}={env.value}".encode("utf-8", "surrogateescape").decode("latin-1")]
        for env in crontab.env
    ]


@pytest.mark.case("F053")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["file"])
def test_a_file_gives_what_its_entry_says(case: dict[str, Any]) -> None:
    crontab = table(case)
    assert jobs_of(crontab) == expected_jobs(case)
    assert env_of(crontab) == case["env"]
    assert sorted({refused.line for refused in crontab.refused}) == case["rejects"]
    assert (crontab.debian == "loads") is case["file_accepted"]
    assert all(refused.reason for refused in crontab.refused)
    assert len(crontab.items) == case["entries"]


def test_the_counts(record_property: Callable[[str, object], None]) -> None:
    counts = Counts()
    for case in cases():
        crontab = table(case)
        counts.files += 1
        counts.jobs += len(crontab.items)
        counts.quirks += sum(item.quirk is not None for item in crontab.items)
        counts.env += len(crontab.env)
        counts.rejects += len(crontab.refused)
    record_property("counts", f"crontab files in {CASES.name}: {counts}")
    if CASES == HANDED:
        assert counts == Counts(files=73, jobs=163, quirks=8, env=59, rejects=60)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["file"])
def test_the_other_dialect_only_differs_in_zones(case: dict[str, Any]) -> None:
    ours = read((CASES / case["file"]).read_bytes(), system=case["system"], users=USERS)
    assert jobs_of(ours) == expected_jobs(case)
    has_zone = any(env.name == "CRON_TZ" and env.value for env in ours.env)
    assert any(item.zone for item in ours.items) is has_zone
