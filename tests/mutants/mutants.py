"""Deliberate faults in the product: what they are, and copies of the project that have one of them."""

import shutil
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

PROJECT: Final = Path(__file__).parents[2]
_LIST: Final = Path(__file__).with_name("mutants.toml")
#: What the simulation and the tests need of the project.
_PARTS: Final = ("jobctl", "daemon", "tui", "tests", "man", "docs", "benchmarks", "packaging")
_FILES: Final = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "install.sh")


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fault: `old` stands exactly once in `file` (of the project), `new` takes its place."""

    name: str
    promise: str
    """What it breaks."""
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """Files of tests of which one notices it, should the simulation not."""

    def text(self) -> str:
        """The file with the fault in it; raises ValueError when the place is not there, or not alone."""
        source = (PROJECT / self.file).read_text("utf-8")
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has its place {source.count(self.old)} times")
        return source.replace(self.old, self.new)


def mutants() -> Iterator[Mutant]:
    """All of them, in the order of the list."""
    with _LIST.open("rb") as file:
        yield from msgspec.convert(tomllib.load(file)["mutant"], list[Mutant])


class Copy(NamedTuple):
    """A copy of the project, and a Python whose every process sees the copy, also one that ignores its environment."""

    project: Path
    python: Path


def copy(mutant: Mutant | None, folder: Path) -> Copy:
    """A copy inside `folder`, with the fault in it, if any."""
    project = folder / "project"
    for part in _PARTS:
        shutil.copytree(PROJECT / part, project / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in _FILES:
        shutil.copy(PROJECT / name, project / name)
    if mutant is not None:
        (project / mutant.file).write_text(mutant.text(), "utf-8")
    return Copy(project, _python(folder / "env", project))


def _python(env: Path, project: Path) -> Path:
    """An environment with the packages of this one, but for the project: lines of a .pth file (site, "pth files")."""
    venv.create(env, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(env), "platbase": str(env)})
    ours = [str(project / part) for part in ("jobctl", "daemon", "tui", "tests")]
    Path(packages, "project.pth").write_text("\n".join([*ours, sysconfig.get_path("purelib")]) + "\n", "utf-8")
    return env / "bin" / "python3"
