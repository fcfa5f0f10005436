"""Whether a folder is the one in which its tables were seen: one that is not mounted looks emptied."""

import json
from typing import Final

from jobctl_daemon.store import Store

_KEY: Final = "crontabs.folders"


class Folders:
    """Folder → its identity when no table of it was missed, kept in the store over restarts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, str] = {}

    def recall(self, meta: dict[str, str]) -> None:
        """What the store has kept."""
        self._known = json.loads(meta.get(_KEY, "{}"))

    def is_other(self, folder: str, identity: str) -> bool:
        """Whether another folder stands in its place."""
        return self._known.get(folder, identity) != identity

    async def note(self, seen: dict[str, str]) -> None:
        """These are whole; written down when that is news."""
        known = {**self._known, **seen}
        if known != self._known:
            await self._store.set_meta({_KEY: json.dumps(known, sort_keys=True)})
            self._known = known
