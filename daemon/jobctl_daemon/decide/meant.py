"""What a reload says of folders: each is meant to be as the look after it finds it, and no other one is.

It is said once. It holds for a folder while that is as it was found then, and until what was missed in it has been
dealt with: a file system that goes away later is not meant.
"""

from collections.abc import Collection, Mapping
from typing import Final

#: What is seen of a folder that is not there.
GONE: Final = ""


class Meant:
    """Of several folders, each by itself."""

    def __init__(self) -> None:
        self._asked = False
        self._found: dict[str, str] = {}
        """Folder → the identity that is meant."""

    def say(self) -> None:
        """What the next look that begins finds is meant."""
        self._asked = True

    def begin(self) -> bool:
        """A look begins: whether what it finds is meant. What is said while it goes on is for the one after it."""
        asked, self._asked = self._asked, False
        return asked

    def found(self, seen: Mapping[str, str], *, meant: bool) -> None:
        """What a look found. What did not answer, or is not to be read, is not among `seen`, and is not meant."""
        before = self._found
        self._found = {folder: its for folder, its in seen.items() if meant or before.get(folder) == its}

    def __contains__(self, folder: str) -> bool:
        return folder in self._found

    def keep(self, open_: Collection[str]) -> None:
        """Only of these folders something is still to be dealt with."""
        self._found = {folder: its for folder, its in self._found.items() if folder in open_}
