"""The work of a dead letter as a text that a person edits, and what of it was changed.

TOML, because commands, variables and standard input have quotes and newlines; JSON is taken as well.
"""

import json
import tomllib
from typing import Any, Final

from jobctl.errors import InvalidInput

_FIELDS: Final = ("command", "shell", "stdin", "cwd", "env")

Json = dict[str, Any]


def as_text(work: Json, about: list[str]) -> str:
    """`work` has target, stdin, cwd and env, as a job does; `about` are lines for its reader."""
    plain = _flat(work)
    lines = [f"# {line}" for line in about]
    lines += [f"{name} = {_value(plain[name])}" for name in ("command", "shell") if plain[name] is not None]
    lines += [f"stdin = {_value(plain['stdin'] or '')}", f"cwd = {_value(plain['cwd'] or '')}", "", "[env]"]
    lines += [f"{_key(name)} = {_string(value)}" for name, value in (plain["env"] or {}).items()]
    return "\n".join(lines) + "\n"


def changes(work: Json, text: str) -> Json:
    """What a replay is to change, as the API takes it. Empty: nothing. `InvalidInput` when it cannot be read."""
    before, after = _flat(work), _read(text)
    if after["command"] is not None and after["shell"] is not None:
        raise InvalidInput("command and shell are two commands", "leave one of them out")
    if after["command"] is None and after["shell"] is None:
        raise InvalidInput("there is no command", "leave command or shell in")
    edit: Json = {}
    for name in ("command", "shell"):
        if after[name] is not None and after[name] != before[name]:
            edit["target"] = {name: after[name]}
    for name in ("stdin", "cwd"):
        if (after[name] or "") != (before[name] or ""):
            edit[name] = after[name] or ""
    env = _variables(before["env"] or {}, after["env"])
    return {**edit, "env": env} if env else edit


def _variables(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Those that are new or have another value: the others stay as they were recorded."""
    gone = next((name for name in before if name not in after), None)
    if gone is not None:
        raise InvalidInput(f"the variable {gone} cannot be taken away", f'leave it empty: {gone} = ""')
    return {name: value for name, value in after.items() if before.get(name) != value}


def _flat(work: Json) -> Json:
    target = work["target"]
    return {"command": target.get("command"), "shell": target.get("shell"), **{
        name: work.get(name) for name in ("stdin", "cwd", "env")
    }}  # fmt: skip


def _read(text: str) -> Json:
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this is neither TOML nor JSON: {error}", "nothing was replayed; edit it again") from error
    unknown = next((name for name in found if name not in _FIELDS), None)
    if unknown is not None:
        raise InvalidInput(f"there is no field {unknown!r} here", f"only {', '.join(_FIELDS)}")
    command, env = found.get("command"), found.get("env") or {}
    if command is not None and not (isinstance(command, list) and all(isinstance(word, str) for word in command)):
        raise InvalidInput("command is not a list of texts", 'write it as ["program", "argument"]')
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise InvalidInput("env is not a table of texts", 'write it as NAME = "value"')
    for name in ("shell", "stdin", "cwd"):
        if not isinstance(found.get(name, ""), str):
            raise InvalidInput(f"{name} is not a text", f'write it as {name} = "…"')
    return {name: found.get(name) for name in _FIELDS} | {"env": env}


def _value(value: str | list[str]) -> str:
    return _string(value) if isinstance(value, str) else "[" + ", ".join(map(_string, value)) + "]"


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalnum() else _string(name)


def _string(text: str) -> str:
    """A basic string of TOML: JSON's escapes are among its own, but it wants DEL escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
