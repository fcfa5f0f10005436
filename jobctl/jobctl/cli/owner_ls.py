"""`jobctl owner ls`: the accounts that have jobs in the system's daemon, and what has become of them."""

from typing import Any

import typer

from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column

EXAMPLES = (("jobctl owner ls", ""), ("jobctl owner ls --json | jq '.items[] | select(.account != \"ok\")'", ""))
FIELDS = ("name", "uid", "jobs", "account", "uid_is_now")
_COLUMNS = (
    Column("OWNER", shrinks=8), Column("UID", right=True), Column("JOBS", right=True), Column("ACCOUNT", shrinks=8),
)  # fmt: skip
_WORDS = {"gone": "gone: no account has this name", "other": "its name has another number now"}


def verb(ctx: typer.Context) -> None:
    """List the owners of jobs; for root. An owner is an account as it was: its number with the name it had.

    The jobs of one that is gone, or has another number or name by now, are not started: see jobctl owner rename.
    """
    session: Session = ctx.obj
    session.render.listing(
        session.reader().owners(),
        name=lambda owner: str(owner["name"]),
        fields=FIELDS,
        show=lambda items: _show(session, items),
    )


def _show(session: Session, owners: list[dict[str, Any]]) -> None:
    if not owners:
        session.render.word("nobody has made a job yet")
        return
    session.render.table(_COLUMNS, [[owner["name"], owner["uid"], owner["jobs"], _account(owner)] for owner in owners])


def _account(owner: dict[str, Any]) -> Cell:
    if owner["account"] == "ok":
        return Cell("ok")
    now = owner["uid_is_now"]
    words = _WORDS.get(str(owner["account"]), str(owner["account"]))
    return Cell(words + (f"; uid {owner['uid']} is {now} now" if now else ""), "bad", "bad")
