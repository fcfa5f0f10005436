"""A job that comes after another: what starts it, and what that one did last."""

from typing import Any, Final

from jobctl.cli import describe
from jobctl.client.sync import Client
from jobctl.errors import NotFound
from jobctl.reading.times import Viewer

#: Words of `jobctl.states.After`.
_ENDS: Final = {"success": "succeeds", "failure": "has failed for good", "any": "ends, however it does"}


def starts_after(client: Client, job: dict[str, Any], viewer: Viewer) -> str:
    """A sentence; empty for a job that comes after none."""
    after = (job.get("schedule") or {}).get("after")
    if not after:
        return ""
    name, _, end = after.rpartition(":")
    starts = f"it starts after {name} {_ENDS.get(end, 'ends')}"
    try:
        upstream = client.job(name)
    except NotFound:
        return starts
    last = upstream["last_run"]
    ended = f"no run of {name} has ended yet"
    if last is not None:
        ended = f"run {last['id']} of {name}: {describe.outcome(last)}, {viewer.ago(last['finished_at'])}"
    doing = (
        "; it is running now" if upstream["running"] else "; a run waits for its retry" if upstream["retrying"] else ""
    )
    return f"{starts}; {ended}{doing}"
