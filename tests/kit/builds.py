"""Another installation of what is tested: a copy with a Python of its own, so that its daemon has its runners."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PARTS = ("jobctl", "daemon")


def another_build(folder: Path, change: Callable[[Path], None]) -> str:
    """The Python of a copy in which `change`, given the folder of jobctl_daemon, has changed something."""
    for part in PARTS:
        shutil.copytree(CHECKOUT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    change(folder / "daemon" / "jobctl_daemon")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    (packages,) = (folder / "env" / "lib").glob("python3*/site-packages")
    # Folders in a .pth file are not read for .pth files themselves: the checkout stays out.
    paths = [*(str(folder / part) for part in PARTS), *(path for path in sys.path if path.endswith("-packages"))]
    (packages / "copy.pth").write_text("\n".join(paths) + "\n")
    python = str(folder / "env" / "bin" / "python")
    where = [python, "-I", "-c", "import jobctl_daemon.runner as found; print(found.__file__)"]
    found = subprocess.run(where, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(folder)), found
    return python


def replaced(path: Path, old: str, new: str) -> None:
    """One edit, which must be possible."""
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new))
