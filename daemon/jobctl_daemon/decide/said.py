"""Whose a name is among files that are followed together: what a file says now counts, not what it said before.

A file that does not declare a name any more lets its job go, with its history, to another one that does: a name may
move, two may be swapped, and a file may get the old name of another. A file with a mistake says nothing that can be
relied upon: it holds what it has.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

Names = frozenset[str]
#: Whether the file of a path lets the job of a name go to another file.
LetsGo = Callable[[str, str], bool]


def holds_all(_path: str, _name: str) -> bool:
    """No file lets any job go."""
    return False


@dataclass(frozen=True, slots=True)
class Said:
    """`declared`: path → names; None: what it says is not known, or is wrong; of a file that is gone none.
    `wanting`: the files of them that may still take jobs."""

    declared: Mapping[str, Names | None] = field(default_factory=dict)
    wanting: Collection[str] = ()

    def lets_go(self, path: str, name: str) -> bool:
        """Whether the file is one of these and does not declare the name (any more)."""
        names = self.declared.get(path)
        return names is not None and name not in names

    def is_wanted(self, path: str, name: str) -> bool:
        """Whether another file than this one declares the name and may still take its job."""
        return any(name in (self.declared.get(other) or ()) for other in self.wanting if other != path)
