"""Runs as they were asked for: of all jobs, of one, or of a name that no job has any more."""

from collections.abc import Iterator
from typing import Any

from jobctl.cli.select import named_job, no_such, runs_called
from jobctl.client.sync import Client
from jobctl.errors import NotFound

FIELDS = (
    "id", "job", "trigger", "scheduled_at", "started_at", "finished_at", "state", "class", "exit_code", "signal",
    "reason", "attempt", "late", "key", "replays", "retry_of", "error",
)  # fmt: skip


def listed(client: Client, job: str | None, limit: int, filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Newest first; of all jobs, or of one."""
    return client.runs(limit=limit, **filters) if job is None else _of(client, job, limit, filters)


def _of(client: Client, name: str, limit: int, filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a job; without one, runs that had such a name: their job is gone, or they were commands run once."""
    try:
        job = named_job(client, name)
    except NotFound as error:
        found = list(runs_called(client, name, limit, **filters))
        if not found and next(runs_called(client, name, 1), None) is None:
            raise no_such(client, name, error) from error
        return iter(found)
    return client.job_runs(job["id"], limit=limit, **filters)
