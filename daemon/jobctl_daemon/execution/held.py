"""What runners have on disk of attempts, read while no daemon runs (docs/runner-protocol.md, "Records and adoption").

A record goes only when a daemon has acknowledged the end. So what is here is not recorded in the daemon's last life.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, Final

from jobctl_daemon.rows import HeldAttempt

_KINDS: Final = ("intent", "pid", "result")


def held_attempts(runner_dir: str) -> list[HeldAttempt]:
    """The attempts of all runners, oldest first; a record that cannot be read is an attempt of an unknown job."""
    folder = os.path.join(runner_dir, "records")
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for name in _names(folder):
        attempt, _, kind = name.rpartition(".")
        run_id, _, fence = attempt.partition("-")
        if kind in _KINDS and _is_number(run_id) and _is_number(fence):
            found.setdefault((int(run_id), int(fence)), {}).update(_record(os.path.join(folder, name)))
    return [_attempt(run_id, fence, facts) for (run_id, fence), facts in sorted(found.items())]


def highest_log(runs_dir: str) -> tuple[int, int]:
    """The highest run id and the highest fence of which there is a log; zeros where there is none."""
    highest = [0, 0]
    for folder in _names(runs_dir):
        if not _is_number(folder):
            continue
        for name in _names(os.path.join(runs_dir, folder)):
            run_id, _, fence = name.removesuffix(".log").partition("-")
            if _is_number(run_id) and _is_number(fence):
                highest = [max(highest[0], int(run_id)), max(highest[1], int(fence))]
    return highest[0], highest[1]


def _names(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return


def _record(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _attempt(run_id: int, fence: int, facts: dict[str, Any]) -> HeldAttempt:
    uid, _, key = str(facts.get("key") or "").partition("/")
    return HeldAttempt(
        run_id=run_id,
        fence=fence,
        job_uid=uid,
        key=key,
        boot_id=str(facts.get("boot_id") or ""),
        claimed_ms=_number(facts.get("written_at")) or fence,
        runner=facts.get("instance"),
        pid=_number(facts.get("pid")),
        pid_start=_number(facts.get("pid_start")),
        started_ms=_number(facts.get("started_at")),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
