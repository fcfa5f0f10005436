"""What `jobctl doctor` found, to be read: what is wrong first."""

from collections.abc import Sequence
from typing import Any, Final

from jobctl_tui.screens.sheet import Said
from jobctl_tui.words.glyphs import Glyphs

Json = dict[str, Any]

#: By their weight: the style and the sign.
_LEVELS: Final = {"bad": ("-failed", "failed"), "warn": ("-late", "late"), "note": ("", "manual"), "ok": ("-dim", "ok")}


def findings(found: Sequence[Json], glyphs: Glyphs) -> list[Said]:
    order = list(_LEVELS)
    said: list[Said] = []
    for one in sorted(found, key=lambda one: order.index(one["level"]) if one["level"] in order else 0):
        style, sign = _LEVELS.get(one["level"], ("", "manual"))
        said.append(Said(str(one["text"]), f"{glyphs.of(sign)} {one['check']}", style))
        if one.get("hint") and one["level"] != "ok":
            said.append(Said(f"try: {one['hint']}", style="-dim"))
    return said
