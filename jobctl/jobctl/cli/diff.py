"""`jobctl diff`: what `jobctl apply` would do, field by field, with the next fires."""

import typer

from jobctl.cli.applying import Adopt, Files, Prune, plan
from jobctl.cli.applying import How as Wanted
from jobctl.cli.ending import Ended, How
from jobctl.cli.planned import MARKS, show_plan
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl diff web.toml", "each field that changes, old → new, and the next fires"),
    ("jobctl diff ~/jobs --prune", "also what would be removed"),
    ("jobctl diff || jobctl apply", "the files in jobs.d, and the jobs that the daemon has of them"),
)


def verb(ctx: typer.Context, files: Files = None, prune: Prune = False, adopt: Adopt = False) -> None:
    """Show what `jobctl apply` would do: jobs that are new (+), changed (~) or removed (-), field by field.

    Changes nothing. Ends with 1 when there is a difference, or a mistake in a file.
    """
    session: Session = ctx.obj
    found = plan(session, session.reader(), files, Wanted(prune, adopt, dry_run=True))
    show_plan(session, found)
    if any(file.get("problems") or any(item["action"] in MARKS for item in file["items"]) for file in found):
        raise Ended(How.TROUBLE)
