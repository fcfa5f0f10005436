"""What has to be known before dead letters are replayed or given up, and doing it: in threads, with a client."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.errors import JobctlError, NotFound

Json = dict[str, Any]

#: So many go with one request (docs/api.md).
AT_ONCE_MAX: Final = 1000
#: Of more jobs and groups than this nothing more is asked than what their letters say.
_ASKED_MAX: Final = 20


class Gathered(NamedTuple):
    """Dead letters that are meant, newest death first, and what is known of them and their jobs."""

    runs: tuple[Json, ...]
    jobs: dict[int, Json | None]
    """By id; None: the job is gone. Not of all when they are many."""
    died_again: int
    """The most replays of one of their failures that have died again."""
    usual_s: tuple[float, ...]
    """The medians of their jobs, one for each letter whose job has one."""
    work: Json | None
    """What the one letter ran; None of several, or when it is not kept."""

    @property
    def ids(self) -> list[int]:
        return [int(run["id"]) for run in self.runs]

    @property
    def changed(self) -> int:
        """Letters whose job has another version by now."""
        found = ((run, self.jobs.get(int(run["job_id"]))) for run in self.runs)
        return sum(1 for run, job in found if job is not None and job["version"] != run["version"])


class Replayed(NamedTuple):
    """What a replay has come to."""

    ids: tuple[int, ...]
    skipped: tuple[Json, ...]
    """`{"id", "reason"}` of those that the daemon left out."""


def gather(client: Client, runs: Sequence[Json]) -> Gathered:
    """Raises `NotFound` when none is left of them."""
    if not runs:
        raise NotFound("what was meant is no dead letter any more", "somebody has replayed or discarded it")
    jobs: dict[int, Json | None] = {}
    usual: dict[int, float] = {}
    for ident in list(dict.fromkeys(int(run["job_id"]) for run in runs))[:_ASKED_MAX]:
        jobs[ident] = _asked(lambda ident=ident: client.job(ident))  # type: ignore[misc]
        durations = _asked(lambda ident=ident: client.durations(ident, limit=1)) or {}  # type: ignore[misc]
        if durations.get("p50") is not None:
            usual[ident] = float(durations["p50"])
    medians = tuple(usual[int(run["job_id"])] for run in runs if int(run["job_id"]) in usual)
    work = _asked(lambda: client.work(runs[0]["id"])) if len(runs) == 1 else None
    return Gathered(tuple(runs), jobs, _died_again(client, runs), medians, work)


def _died_again(client: Client, runs: Sequence[Json]) -> int:
    prints = list(dict.fromkeys(str(run["fingerprint"]) for run in runs))[:_ASKED_MAX]
    groups = [group for each in prints for group in client.dead_groups(fingerprint=each)]
    return max((int(group["replays"]) for group in groups), default=0)


def _asked(ask: Callable[[], Json]) -> Json | None:
    """What is not there, or is not told, is none."""
    try:
        return ask()
    except JobctlError:
        return None


def replay(ids: Sequence[int], how: Json) -> Callable[[Client], Replayed]:
    """The oldest death first, as the daemon does it; `ids` are newest first. `how`: pace, stop_on_failure, current,
    force, edit."""
    oldest_first = list(reversed(ids))

    def work(client: Client) -> Replayed:
        answers = [client.replay({"ids": part, **how}) for part in parts(oldest_first)]
        return Replayed(
            tuple(ident for answer in answers for ident in answer["replayed"]),
            tuple(skipped for answer in answers for skipped in answer["skipped"]),
        )

    return work


def discard(ids: Sequence[int], why: str | None) -> Callable[[Client], list[int]]:
    """The ids of those that were dead letters."""
    given = {"why": why} if why else {}
    return lambda client: [ident for part in parts(ids) for ident in client.discard({"ids": part, **given})]


def parts(ids: Sequence[int]) -> Iterable[list[int]]:
    """As many requests as it takes."""
    return [list(ids[at : at + AT_ONCE_MAX]) for at in range(0, len(ids), AT_ONCE_MAX)]
