"""What the wheel puts beside the programs: every manual page, and the completions, where each shell looks for them.

The build backend calls it (pyproject.toml). Nothing of jobctl is imported: what it needs is not there when it is built.
"""

import ast
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PLACES = {
    "_BASH": "share/bash-completion/completions/jobctl",
    "_ZSH": "share/zsh/site-functions/_jobctl",
    "_FISH": "share/fish/vendor_completions.d/jobctl.fish",
}


class SharedData(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        for page in sorted((root / "man").glob("*.[1-8]")):
            build_data["shared_data"][str(page)] = f"share/man/man{page.suffix[1:]}/{page.name}"
        self._folder = Path(tempfile.mkdtemp(prefix="jobctl-wheel-"))
        for name, script in _scripts(root / "jobctl/jobctl/cli/completion.py"):
            (self._folder / name).write_text(script, "utf-8")
            build_data["shared_data"][str(self._folder / name)] = _PLACES[name]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _scripts(source: Path) -> Iterator[tuple[str, str]]:
    """The constants that `jobctl completion` prints."""
    for node in ast.parse(source.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in _PLACES:
            yield node.targets[0].id, ast.literal_eval(node.value)
