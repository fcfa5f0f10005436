"""The named statements of this folder's `.sql` files: each begins with `-- name: x` and one line of purpose."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

_MARK: Final = "-- name:"


class Statements:
    """The statements of one file, as attributes; a name that is not there is an AttributeError."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def __getattr__(self, name: str) -> str:
        try:
            return self.__dict__["texts"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"no statement is named {name}") from None


def load(file: str) -> Statements:
    """Reads `file`.sql once, at import."""
    return Statements(parse((files(__package__) / f"{file}.sql").read_text("utf-8")))


def parse(text: str) -> dict[str, str]:
    """Name to statement, comments left out: SQLite need not read them a thousand times."""
    found: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        if name.strip() in found:
            raise ValueError(f"two statements are named {name.strip()}")
        lines = (line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("--"))
        found[name.strip()] = "\n".join(lines).rstrip().rstrip(";")
    return found
