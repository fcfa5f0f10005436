"""`jobctl help`: the overview, a verb, or a topic."""

from typing import Annotated

import typer

from jobctl.cli.dispatch import dispatch
from jobctl.cli.session import Session
from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import overview

EXAMPLES = (("jobctl help ls", ""), ("jobctl help daemon stop", ""), ("jobctl help exit-codes", ""))


def verb(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="[VERB|TOPIC]", show_default=False)] = None,
) -> None:
    """Show help on everything, a verb, or a topic.

    Topics: time, failures, defaults, exit-codes, environment, format, cron, api.
    """
    session: Session = ctx.obj
    topic = " ".join(words or ())
    if topic and topic not in TEXTS:
        dispatch([*(words or ()), "--help"], session.world)
        return
    text = TEXTS[topic] if topic else overview()
    if session.render.output in {"json", "ndjson"}:
        session.render.json({"topic": topic or None, "text": text})
    else:
        session.render.text(text)
