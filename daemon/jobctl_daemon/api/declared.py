"""Jobs that a file owns are changed in that file; what is done by hand to their runs and pauses stays allowed."""

from jobctl.errors import Conflict
from jobctl.model import Job


def must_be_made_by_hand(job: Job, what: str) -> None:
    """`Conflict` with the file for a job that a file owns. `what` is what was asked: edited, removed."""
    if job.declared is None:
        return
    kind, _, rest = job.source.partition(":")
    _, line, path = rest.split(":", 2) if kind == "crontab" and rest.count(":") > 1 else ("", "", "")
    place = path if line == "0" else f"line {line} of {job.declared}" if line else job.declared
    raise Conflict(
        f"{job.name} comes from {place} and cannot be {what} by hand",
        f"{_way(job.declared, job.owner)}; `jobctl pause {job.name}` holds it",
        details={"declared": job.declared},
    )


def _way(path: str, owner: str) -> str:
    """How its file is changed: a user's own table is not edited as a file, which cron forbids as well."""
    return "change it with `jobctl crontab -e`" if path.endswith(f"/crontabs/{owner}") else "change it there"
