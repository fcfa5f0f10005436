"""Copying over whatever lies between here and the terminal: OSC 52, and a file for terminals that refuse it."""

import base64
import contextlib
import os
from collections.abc import Mapping
from typing import Final

#: What terminals take of OSC 52 at most, as base64; tmux and xterm cut or drop what is longer.
_BASE64_MAX: Final = 74_994
#: GNU screen takes no longer device control strings.
_SCREEN_CHUNK: Final = 240


def clipboard_sequence(text: str, environ: Mapping[str, str]) -> str | None:
    """What a terminal is sent, or None when it is too much for one. tmux and screen are asked to hand it on."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(encoded) > _BASE64_MAX:
        return None
    sequence = f"\x1b]52;c;{encoded}\x07"
    if environ.get("TMUX"):
        return sequence + "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        pieces = (sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence


def keep(text: str, folder: str | None) -> str | None:
    """The file that holds it now, of its owner alone; None when there is none to be had."""
    if folder is None:
        return None
    path = os.path.join(folder, "clipboard.txt")
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        beside = f"{path}.{os.getpid()}"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(beside, path)
        return path
    return None
