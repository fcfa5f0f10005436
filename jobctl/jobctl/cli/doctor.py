"""`jobctl doctor`: looks for what could go wrong on this host. Ends with 1 when something is."""

import typer

from jobctl.cli.checks import BAD, WARN, Finding, examine
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session

EXAMPLES = (("jobctl doctor", ""), ("jobctl doctor --json | jq '.items[] | select(.level == \"bad\")'", ""))
_STYLES = {"ok": "good", "note": "warn", WARN: "warn", BAD: "bad"}
_INDENT = 19


def verb(ctx: typer.Context) -> None:
    """Check socket, daemon, versions, clock and zone, permissions, disk, doubles in crontabs, and PATH."""
    session: Session = ctx.obj
    findings = examine(session)
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.items(finding._asdict() for finding in findings)
    else:
        for finding in findings:
            _show(session, finding)
    if any(finding.level == BAD for finding in findings):
        raise Ended(How.TROUBLE)


def _show(session: Session, finding: Finding) -> None:
    render = session.render
    render.fact(f"{finding.level:<5} {finding.check}", finding.text, _INDENT, mark=_STYLES[finding.level])
    if finding.hint and finding.level != "ok":
        render.fact("", finding.hint, _INDENT)
