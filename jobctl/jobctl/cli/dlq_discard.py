"""`jobctl dlq discard`: dead letters that nobody will run again."""

from typing import Annotated

import typer

from jobctl.cli.asking import confirm
from jobctl.cli.dead import All, DeadFilter, Wanted, Which, Yes, count_words, parts, wanted
from jobctl.cli.ending import Ended, How
from jobctl.cli.options import grouped
from jobctl.cli.session import Session
from jobctl.errors import NotFound

EXAMPLES = (
    ("jobctl dlq discard 4812", "one, by its id"),
    ('jobctl dlq discard import --until 7d --why "data is gone"', "those of a job that are older; asks first"),
    ("jobctl dlq discard --fingerprint 3f2a91c07d18 --yes", "a group, for scripts"),
)


@grouped
def verb(
    ctx: typer.Context,
    narrowed: DeadFilter,
    which: Which = None,
    everything: All = False,
    why: Annotated[str | None, typer.Option("--why", "--reason", metavar="TEXT", help="kept with them")] = None,
    yes: Yes = False,
) -> None:
    """Discard dead letters: they stay in the history, and can no longer be replayed."""
    session: Session = ctx.obj
    client = session.writer()
    chosen = wanted(session, client, which, narrowed, every=everything)
    ids = list(chosen.fields.get("ids", ()))
    if chosen.bulk:
        ids = [run["id"] for run in client.dead(**chosen.filters)]
        if ids and not yes:
            text = count_words(len(ids))
            confirm(session, f"discard {text}", f"discards {text}", "discarded")
    given = {"why": why} if why is not None else {}
    discarded = [ident for part in parts(ids) for ident in client.discard({"ids": part, **given})]
    _print(session, chosen, discarded)


def _print(session: Session, chosen: Wanted, discarded: list[int]) -> None:
    render = session.render
    missed = [ident for ident in chosen.fields.get("ids", ()) if ident not in discarded]
    if missed and not discarded:
        raise NotFound(_no_such(missed), "see jobctl dlq ls --runs")
    if render.output in {"json", "ndjson"}:
        render.json({"discarded": discarded})
    elif render.machine:
        render.names(map(str, discarded))
    elif discarded:
        render.line(f"discarded {count_words(len(discarded))}")
    else:
        render.word("no dead letter matches")
    if missed:
        render.word(f"failed: {_no_such(missed)}")
        raise Ended(How.PARTLY)


def _no_such(ids: list[int]) -> str:
    one = len(ids) == 1
    return f"{' '.join(map(str, ids))} {'is' if one else 'are'} no dead letter" + ("" if one else "s")
