"""What is left of a filesystem for one user."""

import os


def bytes_left(filesystem: os.statvfs_result, uid: int) -> int:
    """What the user may still write. Root has besides what is kept back for it (tune2fs(8), -m): for root's daemon a
    disk is not full because users have filled it."""
    return (filesystem.f_bfree if uid == 0 else filesystem.f_bavail) * filesystem.f_frsize


def files_left(filesystem: os.statvfs_result, uid: int) -> int:
    """How many files the user may still make; -1 where the filesystem has no number for that."""
    if not filesystem.f_files:
        return -1
    return filesystem.f_ffree if uid == 0 else filesystem.f_favail
