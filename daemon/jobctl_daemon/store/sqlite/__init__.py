"""The default backend: one file, one writer."""

from jobctl_daemon.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
