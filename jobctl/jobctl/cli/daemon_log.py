"""`jobctl daemon log`: what the daemon has said of itself."""

from typing import Annotated, Any

import typer

from jobctl.cli.session import Session

EXAMPLES = (
    ("jobctl daemon log", "wherever it logs to: its file, standard error, the system's journal"),
    ("jobctl daemon log -n 200 -o ndjson | jq 'select(.level == \"error\")'", ""),
)
FIELDS = ("at", "level", "text")
_STYLES = {"warning": "warn", "error": "bad", "critical": "bad"}


def verb(
    ctx: typer.Context,
    lines: Annotated[
        int, typer.Option("-n", "--lines", metavar="N", min=1, max=500, help="so many of the last lines (50)")
    ] = 50,
) -> None:
    """Print the last lines of the daemon's log, oldest first. For who operates the daemon."""
    session: Session = ctx.obj
    session.render.listing(
        session.reader().daemon_log(lines),
        name=lambda line: str(line["text"]),
        fields=FIELDS,
        show=lambda items: _show(session, items),
    )


def _show(session: Session, lines: list[dict[str, Any]]) -> None:
    if not lines:
        session.render.word("it has said nothing yet")
        return
    clock = session.viewer.clock
    for line in lines:
        when = clock(line["at"], exact=True) if line["at"] else "-"
        style = _STYLES.get(str(line["level"]), "")
        session.render.fact(f"{when}  {line['level']:<8}", str(line["text"]), len(when) + 12, style)
