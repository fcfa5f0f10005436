"""From a command line to its verb. Only that verb's module is imported, and Typer only when there is one."""

from collections.abc import Sequence

from jobctl.cli.render import Render
from jobctl.cli.verbs import ALIASES, BY_WORDS, GROUPS, VERBS, Verb, overview
from jobctl.cli.world import World
from jobctl.errors import InvalidInput

_HELP = ("-h", "--help")
_WITH_VALUE = ("-o", "--output", "--socket", "--color", "--colour")


def dispatch(arguments: Sequence[str], world: World) -> None:
    """Carry out one command line. Raises whatever its verb raises."""
    before, rest = _leading_options(list(arguments))
    if not rest and before and before[-1] in _HELP:
        from jobctl.cli.fitted import fitted

        render = _plain(world)
        render.text(fitted(overview(), render.out.width()))
        return
    if rest and rest[0] == "__complete":
        from jobctl.cli.complete import complete

        complete(rest[1:], world)
        return
    verb, rest = _verb_of(rest, world)
    if verb is not None:
        _invoke(verb, before + rest, world)


def _leading_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Options before the verb belong to the verb: `jobctl --json ls`."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] in _HELP:
            return arguments[: at + 1], []
        at += 2 if arguments[at] in _WITH_VALUE else 1
    return arguments[:at], arguments[at:]


def _verb_of(rest: list[str], world: World) -> tuple[Verb | None, list[str]]:
    """The verb and what follows it; None when the help of a group was all that was asked for."""
    if not rest:
        return BY_WORDS["status"], []
    word = ALIASES.get(rest[0], rest[0])
    if word in BY_WORDS:
        return BY_WORDS[word], rest[1:]
    if word in GROUPS:
        return _in_group(word, rest[1:], world)
    raise _unknown(rest[0], [verb.words.split()[0] for verb in VERBS], "verb", "jobctl --help")


def _in_group(group: str, rest: list[str], world: World) -> tuple[Verb | None, list[str]]:
    members = [verb for verb in VERBS if verb.words.startswith(group + " ")]
    if rest and f"{group} {rest[0]}" in BY_WORDS:
        return BY_WORDS[f"{group} {rest[0]}"], rest[1:]
    if rest and rest[0] in _HELP:
        lines = [f"Usage: jobctl {group} VERB [OPTIONS] [ARGUMENTS]", ""]
        lines += [f"  {verb.words:<16}{verb.summary}" for verb in members]
        _plain(world).text("\n".join(lines) + "\n")
        return None, []
    names = [verb.words.removeprefix(group + " ") for verb in members]
    if not rest:
        raise InvalidInput(f"{group} what: {', '.join(names)}?", f"see jobctl {group} --help")
    raise _unknown(rest[0], names, f"{group} verb", f"jobctl {group} --help")


def _unknown(word: str, names: list[str], kind: str, help_command: str) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(word, list(dict.fromkeys(names)), n=1)
    guess = f"did you mean {near[0]}?   " if near else ""
    return InvalidInput(f"there is no {kind} {word!r}", f"{guess}see {help_command}")


def _invoke(verb: Verb, arguments: list[str], world: World) -> None:
    from typer.exceptions import Exit

    from jobctl.cli.build import command_of
    from jobctl.cli.session import Session

    session = Session(world)
    session.typed = arguments
    if verb.command and "--" in arguments:
        at = arguments.index("--")
        arguments, session.command = arguments[:at], arguments[at + 1 :]
    try:
        command = command_of(verb)
        with command.make_context(f"jobctl {verb.words}", arguments, obj=session) as context:
            command.invoke(context)
    except Exit:
        return


def _plain(world: World) -> Render:
    return Render(world.stdout, world.stderr, world.environ, "table", "auto")
