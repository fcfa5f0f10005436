"""The wheel and the source distribution, and what wheels there are put into a tree."""

import contextlib
import os
import shutil
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

from bundle.places import CHECKOUT, PINS, epoch
from bundle.run import run, say

#: What of the checkout the wheel is made of.
_PARTS = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "jobctl", "daemon", "tui", "man", "packaging")


def make(out: Path) -> list[Path]:
    """Both of them, in that folder."""
    out.mkdir(parents=True, exist_ok=True)
    with _builder() as (python, scratch):
        made = _build(python, scratch, "wheel", "sdist")
        kept = [Path(shutil.copy(file, out)) for file in made]
    for file in kept:
        say(f"{'wheel' if file.suffix == '.whl' else 'source':<11} {file} ({file.stat().st_size / 1e6:.1f} MB)")
    return kept


def install(library: Path) -> None:
    """The project and every pinned package, from wheels alone, into the folder of the standard library."""
    with _builder() as (python, scratch):
        (wheel,) = _build(python, scratch, "wheel")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--no-input", "--no-compile"]
        # A place by itself first, where pip finds whether the pins meet every requirement.
        stage = scratch / "stage"
        venv.create(stage, with_pip=False)
        own = [python, "-m", "pip", "--python", stage / "bin/python3", "--disable-pip-version-check"]
        run(*own, *pip[4:], "--no-deps", "--only-binary", ":all:", "-r", PINS, wheel, env=_environ())
        run(*own, "check", env=_environ())
        (packages,) = stage.glob("lib/python3*/site-packages")
        for part in sorted(packages.iterdir()):
            if part.name in ("__pycache__", "_virtualenv.py"):
                continue
            shutil.copytree(part, library / part.name) if part.is_dir() else shutil.copy(part, library / part.name)
        for name in ("RECORD", "direct_url.json"):  # where it was put and came from, which is true here only
            for record in library.glob(f"*.dist-info/{name}"):
                record.unlink()


@contextlib.contextmanager
def _builder() -> Iterator[tuple[Path, Path]]:
    """An environment with pip and the build backend, and a folder; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="jobctl-build-") as folder:
        scratch = Path(folder)
        venv.create(scratch / "env", with_pip=True)
        python = scratch / "env/bin/python3"
        run(
            python,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--no-input",
            "-U",
            "pip",
            "hatchling>=1.27",
            env=_environ(),
        )
        yield python, scratch


def _build(python: Path, scratch: Path, *kinds: str) -> list[Path]:
    """From a copy: building writes beside the sources, and the checkout may belong to somebody else."""
    source, made = scratch / "source", scratch / "made"
    source.mkdir()
    for part in _PARTS:
        found = CHECKOUT / part
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(found, source / part, ignore=ignore) if found.is_dir() else shutil.copy(found, source / part)
    env = {**_environ(), "SOURCE_DATE_EPOCH": str(epoch())}
    for kind in kinds:
        run(python, "-m", "hatchling", "build", "-t", kind, "-d", made, cwd=source, env=env)
    return sorted(made.iterdir())


def _environ() -> dict[str, str]:
    """Without settings that would put things elsewhere, or keep pip from what it is asked for."""
    unwanted = ("PYTHON", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PIP_PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
