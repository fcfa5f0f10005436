"""`jobctl owner rename`: what an account had that was renamed, or made anew, is its own again."""

from typing import Annotated

import typer

from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl owner rename ada lovelace", "after `usermod -l lovelace ada`"),
    ("jobctl owner rename ada ada --uid 1004", "an account that was made anew, and was uid 1004 before"),
)


def verb(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="the owner, as jobctl owner ls has it")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="the account that has its jobs from now on")],
    uid: Annotated[
        int | None, typer.Option("--uid", metavar="UID", help="which OLD, where several accounts had the name")
    ] = None,
) -> None:
    """Say whose an owner's jobs are from now on: its jobs, runs and keys become the account's, beside what that has.

    For root. They run as that account then: make sure that it is the same person.
    """
    session: Session = ctx.obj
    owner = session.writer().rename_owner(old, new, uid)
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.json(owner)
    elif render.machine:
        render.names([str(owner["name"])])
    else:
        number = f"{owner['jobs']} job" + ("" if owner["jobs"] == 1 else "s")
        render.flow(f"{owner['name']} (uid {owner['uid']}) has {number} now")
