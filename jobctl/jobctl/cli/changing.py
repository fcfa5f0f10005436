"""Doing one thing to several jobs or runs: each on its own, and what failed is told at the end."""

from collections.abc import Callable, Iterable
from typing import Any

from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.errors import CallerError

Item = dict[str, Any]


def each(
    session: Session,
    items: Iterable[Item],
    act: Callable[[Item], Item | None],
    said: Callable[[Item], str],
    name: str,
    done_name: Callable[[Item], str] | None = None,
) -> None:
    """`act` on every item; `said` is the line for a person. Some failed: their reasons on stderr, and *partly*.

    When the only one fails, or all do, it is that error. `name` is the field that names an item, `done_name` names
    what came of one where that is another thing.
    """
    done: list[Item] = []
    failed: list[tuple[Item, CallerError]] = []
    for item in items:
        try:
            result = act(item) or item
        except CallerError as error:
            failed.append((item, error))
            continue
        done.append(result)
        if not session.render.machine:
            session.render.flow(said(result))
    if not done and not failed and not session.render.machine:
        session.render.word("no job matches")
    if failed and not done:
        raise failed[0][1]
    _print(session, done, done_name or (lambda item: str(item[name])))
    if failed:
        for item, reason in failed:
            session.render.word(f"failed: {item[name]}: {reason.message}")
        raise Ended(How.PARTLY)


def _print(session: Session, done: list[Item], name: Callable[[Item], str]) -> None:
    render = session.render
    if render.output == "json" and len(done) == 1:
        render.json(done[0])
    elif render.output in {"json", "ndjson"}:
        render.items(done)
    elif render.machine:
        render.names(map(name, done))
