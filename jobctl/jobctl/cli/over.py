"""How runs went that were waited for, and what to do next about those that died."""

from collections.abc import Sequence
from typing import Any

from jobctl.cli import describe
from jobctl.cli.follow import is_active
from jobctl.cli.session import Session
from jobctl.reading.times import Viewer

Run = dict[str, Any]


def words(run: Run, viewer: Viewer) -> str:
    """`run 8 of nightly: dead: exit 1 after 27ms`."""
    state = "running" if is_active(run) else describe.ended(run)
    taken = describe.run_time(run, viewer)
    return f"run {run['id']} of {run['job']}: {state}" + (f" after {taken}" if taken else "")


def tell_next(session: Session, runs: Sequence[Run]) -> None:
    """Where to look at what died, once."""
    dead = [run for run in runs if run["state"] == "dead"]
    if dead:
        look = f"show {dead[0]['id']}" if len(dead) == 1 else "ls --runs"
        session.render.word(f"see: jobctl dlq {look}")
