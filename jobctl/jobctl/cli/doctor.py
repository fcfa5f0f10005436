"""`jobctl doctor`: looks for what could go wrong on this host. Ends with 1 when something is, 4 without a daemon."""

from typing import Annotated

import typer

from jobctl.cli.checks import BAD, NO_DAEMON, WARN, Finding, examine
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl doctor", ""),
    ("jobctl doctor --deep", "also every table and every record"),
    ("jobctl doctor --json | jq '.items[] | select(.level == \"bad\")'", ""),
)
_STYLES = {"ok": "good", "note": "warn", WARN: "warn", BAD: "bad"}
_INDENT = 19


def verb(
    ctx: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="read the whole database and all records, too")] = False,
) -> None:
    """Check socket, daemon, versions, clock and zone, permissions, disk, backups, doubles in crontabs,
    what others can change of your jobs, and PATH.

    With --deep the daemon also checks every table of its database, every invariant, its runners against its claims, and
    the logs. It goes on meanwhile. Without a daemon only what does not need it is checked.
    """
    session: Session = ctx.obj
    findings = examine(session, deep=deep)
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.items(finding._asdict() for finding in findings)
    else:
        for finding in findings:
            _show(session, finding)
    if (findings[0].check, findings[0].level) == (NO_DAEMON, BAD):
        raise Ended(How.NOT_RUNNING)
    if any(finding.level == BAD for finding in findings):
        raise Ended(How.TROUBLE)


def _show(session: Session, finding: Finding) -> None:
    render = session.render
    render.fact(f"{finding.level:<5} {finding.check}", finding.text, _INDENT, mark=_STYLES[finding.level])
    if finding.hint and finding.level != "ok":
        render.fact("", finding.hint, _INDENT)
