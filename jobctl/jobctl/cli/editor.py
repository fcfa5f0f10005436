"""Letting a person edit a text in the editor of their choice."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping

from jobctl.errors import InvalidInput


def edited(text: str, environ: Mapping[str, str], suffix: str = ".toml") -> str:
    """The text as it is when the editor has ended: `VISUAL`, else `EDITOR`, else vi. Only its owner can read the file.

    `InvalidInput` when the editor cannot be started or fails; the file is gone in any case.
    """
    command = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    handle, path = tempfile.mkstemp(prefix="jobctl-", suffix=suffix)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            done = subprocess.run([*shlex.split(command), path], check=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"the editor {command!r} cannot be started", "set EDITOR to another one") from error
        if done.returncode:
            raise InvalidInput(f"the editor ended with {done.returncode}", "nothing was changed")
        with open(path, encoding="utf-8") as file:
            return file.read()
    finally:
        os.unlink(path)
