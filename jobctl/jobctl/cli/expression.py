"""Telling a schedule from the name of a job, and what a schedule will do, without a daemon."""

import re
from typing import Any

from jobctl.errors import InvalidInput
from jobctl.reading.times import rfc3339

_EVERY = re.compile(r"@?every\s+(?P<duration>.+)")


def is_expression(text: str) -> bool:
    """Five fields, an alias such as `@daily`, or `every 10m`; everything else is a job."""
    bare = text.strip()
    return bare.startswith("@") or len(bare.split()) >= 5 or _EVERY.fullmatch(bare) is not None


def preview_of(text: str, *, now_ms: int, n: int, until_ms: int | None, zone: str | None) -> dict[str, Any]:
    """The Preview of `docs/api.md`, computed here. Raises `InvalidInput` with what is wrong in the text."""
    from jobctl.cli.draft import duration_ms
    from jobctl.schedule import build, host_zone, preview

    tz = zone or host_zone()[0]
    every = _EVERY.fullmatch(text.strip())
    if every is not None and text.strip().startswith("@"):
        raise InvalidInput(
            f"{text.strip()!r} is not of cron",
            f"write it as --every {every['duration']}, here as 'every {every['duration']}'",
        )
    if every is not None:
        schedule = build(timezone=tz, anchor_ms=now_ms, every_ms=duration_ms("every", every["duration"]))
    else:
        try:
            schedule = build(timezone=tz, anchor_ms=now_ms, cron=text)
        except InvalidInput as error:
            from jobctl.cli.hints import cron_hint

            error.hint = cron_hint(error.hint)
            raise
    assert schedule is not None
    found = preview(schedule, now_ms, n=n, until_ms=until_ms, tz=tz)
    return {
        "schema": 1,
        "words": found.words,
        "timezone": found.zone,
        "items": [_fire(fire) for fire in found.fires],
        "transitions": [_transition(change) for change in found.transitions],
        "warnings": list(found.warnings),
    }


def _fire(fire: Any) -> dict[str, Any]:
    return {"at": rfc3339(fire.at_ms), "local": fire.local, "zone": fire.abbreviation, "note": fire.note}


def _transition(change: Any) -> dict[str, Any]:
    return {
        "at": rfc3339(change.at_ms),
        "local": change.local,
        "kind": change.kind,
        "offset_before": change.old_offset_ms // 1000,
        "offset_after": change.new_offset_ms // 1000,
        "fires": [_fire(fire) for fire in change.fires],
        "fires_that_day": change.fires_that_day,
        "skipped": list(change.swallowed),
        "repeated": list(change.repeated),
        "words": change.words,
    }
