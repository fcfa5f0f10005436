"""`ui.toml`: what a person wants of the screens. In $XDG_CONFIG_HOME/jobctl, or in the folder config of JOBCTL_HOME.

theme = "jobctl-light"     # jobctl-dark, jobctl-light, ansi, mono
ascii = true
mouse = false
read_only = true

[keys]                     # ids as jobctl ui --print-keys lists them
quit = ["Q"]
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from jobctl.errors import InvalidInput

LOOKS: Final = ("jobctl-dark", "jobctl-light", "ansi", "mono")


@dataclass(frozen=True, slots=True)
class Settings:
    """None: as the terminal is."""

    theme: str | None = None
    ascii: bool | None = None
    mouse: bool = True
    read_only: bool = False
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def config_file(environ: Mapping[str, str]) -> str | None:
    """Where it would be; None where there is no home."""
    if environ.get("JOBCTL_HOME"):
        return os.path.join(os.path.abspath(environ["JOBCTL_HOME"]), "config", "ui.toml")
    base = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME", "")
    if not os.path.isabs(base):
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, ".config")
    return os.path.join(base, "jobctl", "ui.toml")


def read_settings(path: str | None) -> Settings:
    """Those of the file; a file that is not there says nothing. Raises `InvalidInput` with the place of a mistake."""
    try:
        with open(path or os.devnull, "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", "mend it, or move it away") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path} is not TOML: {error}", "mend it, or move it away") from error
    try:
        return _settings(document)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", error.hint) from error


def _settings(document: Mapping[str, Any]) -> Settings:
    known = [entry.name for entry in fields(Settings)]
    for name in document:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise InvalidInput(f"there is no setting {name!r}", hint)
    for name in ("ascii", "mouse", "read_only"):
        if not isinstance(document.get(name, False), bool):
            raise InvalidInput(f"{name} is {document[name]!r}", "it is true or false")
    if document.get("theme", LOOKS[0]) not in LOOKS:
        raise InvalidInput(f"there is no theme {document['theme']!r}", f"there are {', '.join(LOOKS)}")
    return Settings(**{**document, "keys": _keys(document.get("keys", {}))})


def _keys(table: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise InvalidInput("keys is no table", 'write [keys], and below it lines as quit = ["Q"]')
    return {name: _key_names(name, value) for name, value in table.items()}


def _key_names(name: str, value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise InvalidInput(f"keys.{name} is {value!r}", 'write a key, or a list of keys: ["Q", "ctrl+q"]')
    return tuple(texts)
