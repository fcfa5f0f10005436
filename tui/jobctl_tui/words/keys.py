"""Names of keys: how they are shown, and how a person may write them in ui.toml."""

from typing import Final

from jobctl.errors import InvalidInput
from jobctl_tui.words.glyphs import Glyphs

#: Textual's names of the characters that are no letters or digits.
_CHARACTERS: Final = {
    "question_mark": "?", "colon": ":", "slash": "/", "full_stop": ".", "comma": ",", "exclamation_mark": "!",
    "ampersand": "&", "left_square_bracket": "[", "right_square_bracket": "]", "asterisk": "*", "plus": "+",
    "minus": "-", "underscore": "_", "less_than_sign": "<", "greater_than_sign": ">", "number_sign": "#",
    "dollar_sign": "$", "percent_sign": "%", "at": "@", "equals_sign": "=", "semicolon": ";", "apostrophe": "'",
    "quotation_mark": '"', "backslash": "\\", "vertical_line": "|", "tilde": "~", "grave_accent": "`",
    "left_parenthesis": "(", "right_parenthesis": ")", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "circumflex_accent": "^",
}  # fmt: skip
_NAMES: Final = {character: name for name, character in _CHARACTERS.items()} | {
    " ": "space", "␣": "space", "⏎": "enter", "↑": "up", "↓": "down", "←": "left", "→": "right",
}  # fmt: skip
_SHORT: Final = {"escape": "esc", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End", "delete": "Del",
                 "backspace": "Bksp", "insert": "Ins"}  # fmt: skip
_LONG: Final = {short.lower(): name for name, short in _SHORT.items()}
_KNOWN: Final = frozenset({"enter", "tab", "space", "up", "down", "left", "right", *_SHORT}
                          | {f"f{number}" for number in range(1, 13)})  # fmt: skip


def shown(key: str, glyphs: Glyphs) -> str:
    """`⏎`, `^p`, `?`, `esc`, `⇧tab`: a key as it stands on the key bar and in the help."""
    before, _, name = key.rpartition("+")
    utf8 = not glyphs.enter.isascii()
    if before == "ctrl":
        return "^" + shown(name, glyphs)
    if before == "shift":
        return ("⇧" if utf8 else "S-") + shown(name, glyphs)
    if name in ("enter", "space"):
        return glyphs.enter if name == "enter" else glyphs.space
    if name in ("up", "down", "left", "right"):
        return {"up": "↑", "down": "↓", "left": "←", "right": "→"}[name] if utf8 else name.title()
    function_key = name[0] == "f" and name[1:].isdigit()
    return _CHARACTERS.get(name) or _SHORT.get(name) or (name.upper() if function_key else name)


def named(text: str) -> str:
    """Textual's name of a key, as a person wrote it or as it is shown: `?`, `^p`, `ctrl+p`, `F5`, `K`, `esc`, `⏎`.

    Raises `InvalidInput`.
    """
    for sign, before in (("^", "ctrl"), ("⇧", "shift"), ("S-", "shift"), ("ctrl+", "ctrl"), ("shift+", "shift")):
        rest = text[len(sign) :]
        if text.lower().startswith(sign.lower()) and rest and (len(sign) > 1 or rest != "+"):
            return f"{before}+{named(rest).lower()}"
    if len(text) == 1:
        return _NAMES.get(text, text)
    name = _LONG.get(text.lower(), text.lower())
    if name in _KNOWN or name in _CHARACTERS:
        return name
    raise InvalidInput(f"there is no key {text!r}", "write one character, or as in ctrl+p, f5, enter, escape")
