"""Dead letters whose job was edited after they ran: what a replay takes, and how it takes what the job is now.

Whoever edits a job with dead letters has nearly always mended it, and a replay runs what was recorded.
"""

from collections.abc import Sequence
from shlex import quote
from typing import Any, Final

from jobctl.cli.dead import count_words
from jobctl.client.sync import Client
from jobctl.errors import NotFound

Json = dict[str, Any]

#: Of more jobs and runs than this nothing more is asked.
_ASKED_MAX: Final = 20
#: What a version of a job records beside its schedule, by the fields of the API.
_WORK: Final = frozenset({
    "target", "stdin", "payload_ref", "env", "env_file", "user", "cwd", "path", "umask", "nice",
})  # fmt: skip


def is_older(run: Json, job: Json) -> bool:
    return int(job.get("version") or 0) > int(run["version"])


def words(run: Json, job: Json, current: str = "--current") -> str:
    """`as version 1; nightly is version 2 now: --current takes that`; empty: the job is what it was."""
    if not is_older(run, job):
        return ""
    return f"as version {run['version']}; {job['name']} is version {job['version']} now: {current} takes that"


def words_of(client: Client, runs: Sequence[Json], current: str = "--current") -> str:
    """The same of several, which may be of several jobs and versions. A job that is gone has no other version."""
    jobs = {ident: _job(client, ident) for ident in list(dict.fromkeys(run["job_id"] for run in runs))[:_ASKED_MAX]}
    older = [run for run in runs if is_older(run, jobs.get(run["job_id"]) or {})]
    if not older:
        return ""
    same = {(run["job_id"], run["version"]) for run in older}
    if len(same) == 1 and len(older) == len(runs):
        return words(older[0], jobs[older[0]["job_id"]], current)
    which = "all" if len(older) == len(runs) else f"{len(older)} of them"
    return f"as recorded; the jobs of {which} have been edited since: {current} takes what they are now"


def named(client: Client, ids: Sequence[int]) -> list[Json]:
    """The first of the runs of these ids."""
    return [client.run(ident) for ident in ids[:_ASKED_MAX]]


def after_edit(job: Json, changes: Sequence[Json]) -> str:
    """What is to be said when the work of a job was changed that has dead letters; empty: nothing."""
    if not job.get("dead") or not any(str(change["field"]).partition(".")[0] in _WORK for change in changes):
        return ""
    replay = f"jobctl dlq replay {quote(job['name'])} --current"
    them = "it" if job["dead"] == 1 else "them"
    return f"{count_words(job['dead'])} from before: {replay} runs {them} as version {job['version']}"


def _job(client: Client, ident: int) -> Json:
    try:
        return client.job(ident)
    except NotFound:
        return {}
