"""What differs between two definitions, for somebody who is to agree to it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from jobctl.model import JobSpec, ScheduleSpec
from jobctl_daemon.drafts.merge import whole_schedule
from jobctl_daemon.shown import definition

_PARTS = ("schedule", "target", "env", "retry", "mail")


def changes(old: JobSpec, new: JobSpec, names: Mapping[int, str] | None = None) -> list[tuple[str, Any, Any]]:
    """(field, before, after), named and valued as in the API: seconds, RFC 3339; a field of a part as retry.max.

    `names` are those of the jobs that the two come after, by id; without one the id stands for it.
    """
    before, after = _fields(old, names or {}), _fields(new, names or {})
    return [
        (name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def _fields(spec: JobSpec, names: Mapping[int, str]) -> dict[str, Any]:
    after = _after(spec.schedule, names)
    shown: dict[str, Any] = {
        "name": spec.name,
        **definition(spec.schedule, spec.execution, spec.policies, after),
        "schedule": whole_schedule(spec.schedule, after),
        "queue": spec.queue,
        "priority": spec.priority,
    }
    fields: dict[str, Any] = {}
    for name, value in msgspec.to_builtins(shown).items():
        fields |= (
            {f"{name}.{part}": inner for part, inner in (value or {}).items()} if name in _PARTS else {name: value}
        )
    del fields["schedule.words"]
    return fields


def _after(schedule: ScheduleSpec, names: Mapping[int, str]) -> str | None:
    job = schedule.after_job
    return None if job is None else f"{names.get(job, job)}:{schedule.after_on}"
