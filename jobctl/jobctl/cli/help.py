"""`jobctl help`: the overview, a page of the manual, or a topic."""

import os
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from jobctl.cli.dispatch import dispatch
from jobctl.cli.fitted import fitted
from jobctl.cli.render import Render
from jobctl.cli.session import Session
from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import ALIASES, BY_WORDS, GROUPS, PAGES, TOPICS, VERBS, overview
from jobctl.cli.world import World
from jobctl.errors import InvalidInput

EXAMPLES = (
    ("jobctl help ls", "the page of a verb"),
    ("jobctl help dlq replay", ""),
    ("jobctl help cron", "which expressions there are, and what they mean"),
    ("jobctl help jobs.toml", "a file format"),
    ("jobctl help exit-codes", "a topic"),
)

#: Of text that no terminal shows.
_COLUMNS: Final = 80
#: As man(1) has it: one empty column at either side, where there is room.
_MARGIN: Final = 2


def verb(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="[VERB|TOPIC]", show_default=False)] = None,
) -> None:
    """Show a page of the manual, or a topic.

    Pages: each verb, jobctl, jobd, jobd.toml, jobs.toml, cron, crontab, ui. Topics: time, filters, failures, defaults,
    exit-codes, environment, format, files, api. On a terminal man shows a page, in its pager.
    """
    session: Session = ctx.obj
    topic = " ".join(words or ())
    if not topic:
        _tell(session.render, None, overview())
    elif topic in TEXTS and topic not in PAGES:
        _tell(session.render, topic, TEXTS[topic])
    else:
        _page(session, topic, words or ())


def _page(session: Session, topic: str, words: Sequence[str]) -> None:
    """The page of that name; where this installation has none, what the program itself knows."""
    from jobctl import manual

    render = session.render
    page = manual.page(_name(topic))
    if page is not None:
        if render.out.terminal and not render.machine:
            _become_man(page.path, session.world)
        columns = (render.out.width() or _COLUMNS) - _MARGIN
        _tell(render, topic, manual.plain(page.text, columns, signs=render.out.can("•→")))
    elif topic in TEXTS:
        _tell(render, topic, TEXTS[topic])
    elif topic in PAGES:
        raise InvalidInput(f"the page {_name(topic)} is not installed here", "see jobctl --help")
    else:
        dispatch([*words, "--help"], session.world)


def _name(topic: str) -> str:
    """The name of a page: `dlq replay`, `dlq-replay` and `jobctl-dlq-replay` are one.

    Raises `InvalidInput` for what there is not.
    """
    if topic in PAGES:
        return PAGES[topic]
    first, _, rest = topic.replace("-", " ").removeprefix("jobctl ").partition(" ")
    words = f"{ALIASES.get(first, first)} {rest}".strip()
    if words in BY_WORDS or words in GROUPS:
        return "jobctl-" + words.replace(" ", "-")
    if f"jobctl-{words}" in PAGES.values():
        return f"jobctl-{words}"
    raise _unknown(topic)


def _unknown(topic: str) -> InvalidInput:
    from difflib import get_close_matches

    known = [*(each.words for each in VERBS), *GROUPS, *ALIASES, *PAGES, *TOPICS]
    near = get_close_matches(topic, known, n=1)
    guess = f"did you mean {near[0]}?   " if near else ""
    return InvalidInput(f"there is neither a verb nor a topic {topic!r}", f"{guess}see jobctl --help", field="topic")


def _become_man(path: str, world: World) -> None:
    """man(1) in the place of this process, with its pager; where there is no man, nothing happens."""
    world.stdout.flush()
    try:
        os.execvpe("man", ["man", "-l", path], dict(world.environ))
    except OSError:
        return


def _tell(render: Render, topic: str | None, text: str) -> None:
    if render.output in {"json", "ndjson"}:
        render.json({"topic": topic, "text": text})
    else:
        render.text(fitted(text, render.out.width()))
