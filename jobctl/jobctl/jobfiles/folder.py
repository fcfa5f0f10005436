"""Which files of a folder are files of jobs."""

from collections.abc import Iterable

SUFFIX = ".toml"


def names_of_files(names: Iterable[str]) -> list[str]:
    """`*.toml` in the order of their names, but not what is hidden: editors keep their drafts under such names."""
    return sorted(name for name in names if name.endswith(SUFFIX) and not name.startswith("."))
