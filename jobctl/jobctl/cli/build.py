"""From the module of a verb to a Typer command: the common options, and help with the examples first."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from typer import _click
from typer.core import TyperCommand, TyperOption
from typer.main import get_command_from_info
from typer.models import CommandInfo

from jobctl.cli.fitted import fitted
from jobctl.cli.render import FORMATS
from jobctl.cli.session import Common, Session
from jobctl.cli.verbs import Verb

_COMMON = "Common options"
_NUMBER: Final = re.compile(r"[0-9.]")


class VerbCommand(TyperCommand):
    """A Typer command that shows its examples first and its options by section."""

    verb: Verb
    examples: Sequence[tuple[str, str]] = ()
    bare: Mapping[str, str] = MappingProxyType({})
    """Options whose value may be left out, and what stands for it then: click has no such thing any more."""

    def parse_args(self, ctx: _click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_filled(args, self.bare)))

    def format_help(self, ctx: _click.Context, formatter: _click.HelpFormatter) -> None:
        session = ctx.find_object(Session)
        room = None if session is None else session.render.out.width()
        formatter.write(f"Usage: jobctl {self.verb.words} {self.verb.usage}".rstrip() + "\n\n")
        formatter.write(fitted((self.help or self.verb.summary).strip(), room) + "\n")
        if self.examples:
            with formatter.section("Examples"):
                for command, comment in self.examples:
                    formatter.write(f"  {command}\n" + (fitted(f"      {comment}\n", room) if comment else ""))
        self.format_options(ctx, formatter)

    def format_options(self, ctx: _click.Context, formatter: _click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(param, "rich_help_panel", None)
            title = "Arguments" if param.param_type_name == "argument" else panel or "Options"
            sections.setdefault(title, []).append(record)
        for title in sorted(sections, key=lambda name: (name == _COMMON, name != "Arguments")):
            with formatter.section(title):
                formatter.write_dl(sections[title])


def command_of(verb: Verb) -> VerbCommand:
    """Import the module of a verb and make its command."""
    module = import_module(verb.module)
    info = CommandInfo(
        name=verb.words,
        cls=VerbCommand,
        callback=module.verb,
        help=module.verb.__doc__,
        context_settings={"max_content_width": 100},
        add_help_option=False,
    )
    command = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
    assert isinstance(command, VerbCommand)
    command.verb = verb
    command.examples = getattr(module, "EXAMPLES", ())
    command.bare = getattr(module, "BARE", {})
    command.params += _common_options()
    return command


def _filled(args: Sequence[str], bare: Mapping[str, str]) -> Iterator[str]:
    """The value of an option that may be without one is what follows it, if that looks like a number."""
    for arg, following in pairwise((*args, "")):
        yield arg
        if arg in bare and not _NUMBER.match(following):
            yield bare[arg]


def _common_options() -> list[_click.Parameter]:
    options: list[_click.Parameter] = [
        _option(["-o", "--output"], "how to print", _set_output, metavar="|".join(FORMATS)),
        _option(["--json"], "the same as -o json", _set_json, is_flag=True),
        _option(["--socket"], "talk to the daemon at this socket", _setter("socket"), metavar="PATH"),
        _option(["--color", "--colour"], "auto, always or never", _set_colour, metavar="WHEN"),
        _option(["--utc"], "show times in UTC", _setter("utc"), is_flag=True),
    ]
    options.append(_option(["--no-start"], "do not start a daemon", _setter("no_start"), is_flag=True))
    options.append(_option(["-h", "--help"], "show this help", _show_help, is_flag=True, is_eager=True))
    return options


def _show_help(ctx: _click.Context, param: _click.Parameter, value: bool | None) -> None:  # noqa: ARG001
    session = ctx.find_object(Session)
    if value and session is not None:
        session.render.text(ctx.get_help() + "\n")
        ctx.exit()


def _option(names: list[str], help: str, callback: Callable[..., None], **attributes: Any) -> TyperOption:  # noqa: A002
    return TyperOption(
        param_decls=names, help=help, callback=callback, expose_value=False, rich_help_panel=_COMMON, **attributes
    )


def _common(ctx: _click.Context) -> Common:
    session = ctx.find_object(Session)
    return session.common if session is not None else Common()


def _setter(name: str) -> Callable[..., None]:
    def store(ctx: _click.Context, param: _click.Parameter, value: object) -> None:  # noqa: ARG001
        if value:
            setattr(_common(ctx), name, value)

    return store


def _set_output(ctx: _click.Context, param: _click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if value not in FORMATS:
        raise _click.exceptions.BadParameter(f"{value!r} is none of {', '.join(FORMATS)}", ctx, param)
    _common(ctx).output = value


def _set_json(ctx: _click.Context, param: _click.Parameter, value: bool | None) -> None:  # noqa: ARG001
    if value:
        _common(ctx).output = "json"


def _set_colour(ctx: _click.Context, param: _click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if value not in ("auto", "always", "never"):
        raise _click.exceptions.BadParameter(f"{value!r} is none of auto, always, never", ctx, param)
    _common(ctx).colour = value
