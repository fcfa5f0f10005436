"""`jobctl doctor`: looks for what could go wrong on this host. Ends with 1 when something is."""

import typer

from jobctl.cli.checks import BAD, Finding, examine
from jobctl.cli.ending import Ended, How
from jobctl.cli.safe import cell
from jobctl.cli.session import Session

EXAMPLES = (("jobctl doctor", ""), ("jobctl doctor --json | jq '.items[] | select(.level == \"bad\")'", ""))
_STYLES = {"ok": "good", "note": "warn", BAD: "bad"}


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
    mark = render.painted(f"{finding.level:<5}", _STYLES[finding.level])
    render.raw_line(f"{mark} {finding.check:<12} {cell(finding.text)}")
    if finding.hint and finding.level != "ok":
        render.raw_line(f"{'':<18} {cell(finding.hint)}")
