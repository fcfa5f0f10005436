"""A command that was typed without `--`: the line as it was typed, with `--` where it belongs. Loaded only then."""

from collections.abc import Iterator, Sequence
from shlex import join
from shutil import which
from typing import NoReturn

import typer

from jobctl.cli.session import Session
from jobctl.errors import InvalidInput


def refuse(ctx: typer.Context, words: Sequence[str]) -> NoReturn:
    """`words`: a name, and what is neither that nor behind `--`. Where it is the command it may have been the name,
    too: `add sleep 100` means the program."""
    session: Session = ctx.obj
    message = f"{words[1]!r} is not expected here"
    if session.command is not None:
        raise InvalidInput(message, "leave it out: a job has one name, and its command stands behind --")
    nameless = which(words[0]) is not None and which(words[1]) is None
    command = words if nameless else words[1:]
    raise InvalidInput(message, f"put the command behind --, as in: {_with_dashes(ctx, command)}")


def _with_dashes(ctx: typer.Context, command: Sequence[str]) -> str:
    session: Session = ctx.obj
    moved = [*_plain(ctx, session.typed)][-len(command) :]
    kept = [word for at, word in enumerate(session.typed) if at not in moved]
    return join(["jobctl", *str(ctx.command.name).split(), *kept, "--", *command])


def _plain(ctx: typer.Context, typed: Sequence[str]) -> Iterator[int]:
    """Where the words stand that are neither options nor their values."""
    with_value = {
        name for param in ctx.command.params if not getattr(param, "is_flag", False) for name in param.opts
    }  # fmt: skip
    value = False
    for at, word in enumerate(typed):
        if value:
            value = False
        elif word.startswith("-") and word != "-":
            value = word in with_value
        else:
            yield at
