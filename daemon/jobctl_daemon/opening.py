"""Opening files that others have put there, for `open(opener=…)`, which closes again what it refuses: a folder."""

import os


def unblocked(path: str, flags: int) -> int:
    """A pipe, a device or a terminal in the place of the file holds nobody up."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def unlinked(path: str, flags: int) -> int:
    """The same, and no symbolic link is followed: ELOOP."""
    return unblocked(path, flags | os.O_NOFOLLOW)
