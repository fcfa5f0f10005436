"""All forms, each made once and from what the others are made from."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from bundle import one_file, tree, wheels
from bundle.places import CHECKOUT, epoch
from bundle.run import run, say

FORMS: Final = ("tree", "one-file", "wheel", "deb", "release")


class Build:
    """What is made in one folder. The tree is made anew by each build."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._only_release = False
        out.mkdir(parents=True, exist_ok=True)

    def make(self, forms: Sequence[str]) -> None:
        self._only_release = "tree" not in forms
        for form in forms:
            getattr(self, "_" + form.replace("-", "_"))()

    @cached_property
    def tree(self) -> Path:
        return tree.make(self._out)

    def _tree(self) -> None:
        self.tree  # noqa: B018 - making it is all

    def _one_file(self) -> Path:
        return one_file.make(self.tree, self._out)

    def _wheel(self) -> list[Path]:
        return wheels.make(self._out)

    def _deb(self) -> Path:
        before = set(self._out.glob("*.deb"))
        for old in before:
            old.unlink()
        run(
            CHECKOUT / "packaging/debian/build",
            self.tree,
            self._out,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
        )
        (made,) = self._out.glob("*.deb")
        say(f"package     {made} ({made.stat().st_size / 1e6:.1f} MB)")
        return made

    def _release(self) -> None:
        made = [self._one_file(), *self._wheel(), self._deb()]
        made += [Path(shutil.copy(CHECKOUT / name, self._out)) for name in ("install.sh", "README.md")]
        lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(made)]
        (self._out / "SHA256SUMS").write_text("".join(lines))
        say(f"checksums   {self._out / 'SHA256SUMS'}")
        if self._only_release:
            shutil.rmtree(self.tree)  # nobody is given it
