"""Jobs that move between files which are applied together: each goes along with its history, and is not made anew.

The files are sent one by one, so the one that does not declare a job any more is told to leave it, and the one that
does is told where to take it from; the order does not matter then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moves:
    """Of one file."""

    take: dict[str, str] = field(default_factory=dict)
    """Name → path of the file that had it."""
    leave: list[str] = field(default_factory=list)

    def fields(self) -> Json:
        """For the request; nothing where nothing moves."""
        return {**({"take": self.take} if self.take else {}), **({"leave": self.leave} if self.leave else {})}


def moving(jobs: Iterable[Json], declared: Mapping[str, Iterable[str]]) -> dict[str, Moves]:
    """`jobs` as they are, and by path what each file declares: what each of these files takes and leaves."""
    names = {path: set(of_file) for path, of_file in declared.items()}
    wanted = {name: path for path, of_file in names.items() for name in of_file}
    found = {path: Moves() for path in names}
    for job in jobs:
        name, had = str(job["name"]), str(job.get("declared"))
        if had in names and name in wanted and name not in names[had]:
            found[wanted[name]].take[name] = had
            found[had].leave.append(name)
    return found
