"""`jobctl daemon run`: becomes the daemon, in the foreground."""

import os
import sys

import typer

from jobctl.cli.session import Session
from jobctl.client.start import jobd_command

EXAMPLES = (("jobctl daemon run", "until ^C; commands go on"), ("JOBCTL_HOME=/tmp/try jobctl daemon run", "a trial"))


def verb(ctx: typer.Context) -> None:
    """Run the daemon in the foreground, in place of this process."""
    session: Session = ctx.obj
    session.world.stdout.flush()
    os.execv(sys.executable, [*jobd_command(), "--foreground"])
