"""The files that declare jobs, as status tells of them: how many there are, and what of them was refused."""

from collections.abc import Iterator
from typing import Any, Final

#: Of one file; the others are counted.
_LINES_MAX: Final = 5
_KINDS: Final = {"crontab": ("crontab", "crontabs"), "jobs": ("file of jobs", "files of jobs")}


def summary(status: dict[str, Any]) -> str:
    """How many files own how many jobs; empty without one."""
    parts = []
    for kind, (one, several) in _KINDS.items():
        files = [file for file in status.get("tables", ()) if file["kind"] == kind]
        if files:
            jobs = sum(file["jobs"] for file in files)
            parts.append(f"{len(files)} {one if len(files) == 1 else several}, {jobs} job{'' if jobs == 1 else 's'}")
    return "; ".join(parts)


def problems(status: dict[str, Any]) -> Iterator[str]:
    """A line for each of what was refused, with its place and the reason."""
    for file in status.get("tables", ()):
        found = file["problems"]
        yield from (f"{_place(file, problem)}: {problem['reason']}" for problem in found[:_LINES_MAX])
        if len(found) > _LINES_MAX:
            yield f"{file['path']}: {len(found) - _LINES_MAX} more: jobctl status --json"


def alarms(status: dict[str, Any]) -> Iterator[str]:
    """A line for each file of which something was refused."""
    for file in status.get("tables", ()):
        found = file["problems"]
        if found:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            reason = str(found[0]["reason"])
            yield f"{_place(file, found[0])}: {reason.removesuffix('.') + more if more else reason}"


def _place(file: dict[str, Any], problem: dict[str, Any]) -> str:
    line, column = problem["line"], problem["column"]
    if line is None:
        return str(file["path"])
    return f"{file['path']}, line {line}" + (f", column {column}" if column is not None else "")
