"""`jobctl crontab`: what the program `crontab` does (crontab_program.py), with the options that all verbs take."""

from typing import Annotated

import typer

from jobctl.cli.crontab_acts import Wish, carry_out
from jobctl.cli.session import Session
from jobctl.errors import InvalidInput

EXAMPLES = (
    ("jobctl crontab -e", "edit your crontab; it is checked before it is installed"),
    ("jobctl crontab -l > saved", "what it says, byte for byte"),
    ("jobctl crontab -n FILE", "only look for mistakes"),
    ("jobctl crontab - < FILE", "install a file"),
)


def verb(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="install this file; - is standard input", show_default=False),
    ] = None,
    edit: Annotated[bool, typer.Option("-e", help="edit your crontab in $VISUAL or $EDITOR")] = False,
    listing: Annotated[bool, typer.Option("-l", help="print it, byte for byte")] = False,
    remove: Annotated[bool, typer.Option("-r", help="remove it")] = False,
    ask: Annotated[bool, typer.Option("-i", help="ask before -r")] = False,
    check: Annotated[bool, typer.Option("-n", help="only look for mistakes in FILE")] = False,
    user: Annotated[str | None, typer.Option("-u", metavar="USER", help="another user's crontab (root)")] = None,
) -> None:
    """List, edit, install, check or remove your crontab, as crontab(1) does it.

    The daemon runs the table as it stands, from the moment it is installed. Called by the name `crontab` this program
    takes Debian's options alone and says what Debian's crontab says; see jobctl-crontab(1).
    """
    session: Session = ctx.obj
    acts = [act for act, wanted in (("list", listing), ("remove", remove), ("edit", edit)) if wanted]
    if len(acts) > 1:
        raise InvalidInput("only one of -e, -l and -r", "see jobctl crontab --help")
    if acts and (files or check):
        raise InvalidInput("-e, -l and -r take no file", "see jobctl crontab --help")
    if not acts and len(files or ()) != 1:
        raise InvalidInput("which crontab?", "name one FILE, - for standard input, or say -e, -l or -r", field="FILE")
    act = acts[0] if acts else "check" if check else "replace"
    carry_out(session, Wish(act, user, files[0] if files else None, ask))
