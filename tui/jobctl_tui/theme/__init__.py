"""Four looks: dark and light in colours of our own, the terminal's own sixteen, and none at all."""

from collections.abc import Mapping
from typing import Final

from textual.theme import BUILTIN_THEMES, Theme

DARK, LIGHT, ANSI, MONO = "jobctl-dark", "jobctl-light", "ansi", "mono"

#: Colours are chosen so that their neighbours among 256 stay apart: that is what is left of them over ssh.
#: `cursor` and `mark` are backgrounds, the others are of texts.
_DARK: Final = {
    "failed": "#ff5f5f", "late": "#ffaf00", "retry": "#d7af5f", "running": "#5fafff", "ok": "#5faf5f",
    "paused": "#af87d7", "dim": "#8a8a8a", "key": "#5fd7d7", "cursor": "#303030", "marked": "#3a3a00",
    "rule": "#585858", "found": "#875f00",
}  # fmt: skip
_LIGHT: Final = {
    "failed": "#af0000", "late": "#af5f00", "retry": "#875f00", "running": "#005faf", "ok": "#005f00",
    "paused": "#5f00af", "dim": "#626262", "key": "#005f87", "cursor": "#d7d7d7", "marked": "#ffffaf",
    "rule": "#b2b2b2", "found": "#ffd787",
}  # fmt: skip
_ANSI: Final = {
    "failed": "ansi_bright_red", "late": "ansi_bright_yellow", "retry": "ansi_yellow", "running": "ansi_bright_blue",
    "ok": "ansi_green", "paused": "ansi_magenta", "dim": "ansi_default", "key": "ansi_cyan", "cursor": "ansi_default",
    "marked": "ansi_default", "rule": "ansi_default", "found": "ansi_default",
}  # fmt: skip
_MONO: Final = dict.fromkeys(_ANSI, "ansi_default")


def _ours(name: str, colours: Mapping[str, str], *, dark: bool, background: str, foreground: str) -> Theme:
    return Theme(
        name=name,
        dark=dark,
        primary=colours["running"],
        secondary=colours["key"],
        accent=colours["key"],
        warning=colours["late"],
        error=colours["failed"],
        success=colours["ok"],
        background=background,
        surface=background,
        panel=background,
        foreground=foreground,
        variables={
            **colours,
            "border": colours["rule"],
            "border-blurred": colours["rule"],
            "block-cursor-background": colours["cursor"],
            "block-cursor-foreground": foreground,
            "scrollbar": colours["rule"],
            "scrollbar-background": background,
        },
    )


def _terminals(name: str, colours: Mapping[str, str]) -> Theme:
    return Theme(
        name=name,
        ansi=True,
        primary="ansi_blue",
        secondary="ansi_cyan",
        accent="ansi_cyan",
        warning=colours["late"],
        error=colours["failed"],
        success=colours["ok"],
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables={
            **BUILTIN_THEMES["ansi-dark"].variables,  # Textual's own widgets count on some of them
            **colours,
            "border": "ansi_default",
            "border-blurred": "ansi_default",
            "block-cursor-background": "ansi_default",
            "block-cursor-foreground": "ansi_default",
            "block-cursor-text-style": "reverse",
            "scrollbar": "ansi_default",
            "scrollbar-background": "ansi_default",
            "scrollbar-background-hover": "ansi_default",
            "scrollbar-background-active": "ansi_default",
            "input-cursor-text-style": "reverse",
        },
    )


THEMES: Final[Mapping[str, Theme]] = {
    DARK: _ours(DARK, _DARK, dark=True, background="#121212", foreground="#d0d0d0"),
    LIGHT: _ours(LIGHT, _LIGHT, dark=False, background="#ffffff", foreground="#1c1c1c"),
    ANSI: _terminals(ANSI, _ANSI),
    MONO: _terminals(MONO, _MONO),
}


def theme_for(environ: Mapping[str, str], wanted: str | None) -> str:
    """The look for a terminal: NO_COLOR before all (no-color.org: when it is not empty), then what is wanted.

    Without a wish: our colours where the terminal has 256 or more of them, by COLORTERM or TERM, light ones where
    COLORFGBG tells of a light background; else the terminal's own.
    """
    if environ.get("NO_COLOR"):
        return MONO
    if wanted is not None:
        return wanted
    many = environ.get("COLORTERM") in ("truecolor", "24bit") or environ.get("TERM", "").endswith(
        ("256color", "direct")
    )
    if not many:
        return ANSI
    return LIGHT if environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else DARK
