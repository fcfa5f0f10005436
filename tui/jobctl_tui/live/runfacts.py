"""What is asked of the daemon about one run: all of it at first, later what may have changed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.errors import NotFound

Json = dict[str, Any]

#: How many of the job's runs say what is usual.
DURATIONS: Final = 30


class Facts(NamedTuple):
    """What is known of a run."""

    run: Json
    attempts: Sequence[Json] = ()
    durations: Mapping[str, Any] = {"p50": None, "p95": None, "count": 0}
    work: Json | None = None
    limit_s: float | None = None
    """How long an attempt may take, as its job has it now."""


def read(client: Client, run_id: int, known: Facts | None = None) -> Facts:
    """Raises `NotFound` when there is no such run. What was known of its job and its work stays as it was."""
    run, attempts = client.run(run_id), client.attempts(run_id)
    if known is not None and known.run["version"] == run["version"] and known.run["edited"] == run["edited"]:
        return known._replace(run=run, attempts=attempts)
    job = _or_none(lambda: client.job(run["job_id"]))
    durations = _or_none(lambda: client.durations(run["job_id"], limit=DURATIONS))
    facts = Facts(run, attempts, work=_or_none(lambda: client.work(run_id)), limit_s=(job or {}).get("timeout"))
    return facts._replace(durations=durations) if durations is not None else facts


def _or_none(ask: Callable[[], Json]) -> Json | None:
    """None: it is gone, or it was a command that was run once and has no job to show."""
    try:
        answer: Json = ask()
    except NotFound:
        return None
    return answer
