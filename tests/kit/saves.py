"""Ways in which editors, programs and people save a file of one line. The folder of the file has one above it."""

import os
import shutil
import subprocess
from pathlib import Path


def vim_like(path: Path, text: str) -> None:
    os.rename(path, f"{path}~")
    path.write_text(text)
    os.unlink(f"{path}~")


def rename_over(path: Path, text: str) -> None:
    other = path.with_name(f".{path.name}.new")
    other.write_text(text)
    os.rename(other, path)


def truncate_and_write(path: Path, text: str) -> None:
    path.write_text(text)


def sed(path: Path, text: str) -> None:
    subprocess.run(["sed", "-i", f"1s/.*/{text.strip()}/", str(path)], check=True)


def copied_over(path: Path, text: str) -> None:
    other = path.parent.parent / "other"
    other.write_text(text)
    shutil.copy(other, path)


def checked_out(path: Path, text: str) -> None:
    folder = path.parent

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder), *words], check=True,
                       capture_output=True)  # fmt: skip

    if not (folder / ".git").exists():
        git("init", "-q")
        git("add", path.name)
        git("commit", "-qm", "before")
    path.write_text(text)
    git("add", path.name)
    git("commit", "-qm", text.strip())
    git("checkout", "-q", "HEAD~1")
    git("checkout", "-q", "-")


def swapped(path: Path, text: str) -> None:
    """As a ConfigMap is changed: the name leads through ..data, which is exchanged for another."""
    folder = path.parent
    version = folder / f"..{len(list(folder.iterdir()))}"
    version.mkdir()
    (version / path.name).write_text(text)
    os.symlink(version.name, folder / "..data_tmp")
    os.rename(folder / "..data_tmp", folder / "..data")
    if not path.is_symlink():
        path.unlink()
        os.symlink(f"..data/{path.name}", path)


SAVES = (vim_like, rename_over, truncate_and_write, sed, copied_over, swapped, checked_out)
