"""What is given to people, built for real: a tree, the one file, and a minimal Debian root to try them in.

Long and dear, so each is made once for all tests, also those of other processes: the first makes it under a lock in a
folder that they share. JOBCTL_TEST_RELEASE names one that is kept, for example between two runs; it has to be removed
by hand when the sources change.
"""

import fcntl
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.host import CHECKOUT

BUILD = CHECKOUT / "packaging/build"
ROOT = CHECKOUT / "packaging/root"


@pytest.fixture(scope="session")
def release_folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Where all of it is made. Whoever uses it last takes it away: it has 300 MB that nobody looks at again."""
    kept = os.environ.get("JOBCTL_TEST_RELEASE")
    if kept:
        Path(kept).mkdir(parents=True, exist_ok=True)
        yield Path(kept)
        return
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "release"
    users = folder / "users"
    users.mkdir(parents=True, exist_ok=True)
    (users / str(os.getpid())).touch()
    yield folder
    (users / str(os.getpid())).unlink()
    if not any(users.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def one_file(release_folder: Path) -> Path:
    """jobctl-VERSION-linux-ARCH, beside its tree."""
    if not Path("/usr/bin/python3").exists() or not Path("/etc/debian_version").exists():
        pytest.skip("only on Debian there is the interpreter that the build packs")

    def made() -> None:
        said = _run("/usr/bin/python3", BUILD, "--out", release_folder, "one-file")
        if "missing: " in said.stdout:
            pytest.skip(said.stdout.strip())
        assert said.returncode == 0, said.stdout

    _once(release_folder / "one-file", made)
    (found,) = [path for path in release_folder.glob("jobctl-*-linux-*") if path.is_file()]
    return found


@pytest.fixture(scope="session")
def release_tree(one_file: Path) -> Path:
    """The tree that it was made from. Nobody writes into it."""
    return one_file.with_name(f"{one_file.name}.tree")


@pytest.fixture(scope="session")
def debian_root(release_folder: Path) -> Path:
    """A minimal Debian without Python. Nobody writes into it: packaging/root/enter makes copies in memory."""

    def made() -> None:
        said = _run(ROOT / "make", release_folder / "debian")
        if said.returncode == 2:
            pytest.skip(said.stdout.strip() or "there is no minimal Debian root")
        assert said.returncode == 0, said.stdout

    _once(release_folder / "root", made)
    return release_folder / "debian/root"


def inside(root: Path, given: Path, script: str) -> str:
    """What a shell in a copy of the root says that runs this; `given` is at /given. It must end well."""
    said = _run(ROOT / "enter", root, given, "sh", "-euc", script)
    assert said.returncode == 0, said.stdout
    return said.stdout


def wait_until(holds: Callable[[], bool]) -> None:
    """Look again and again, for half a minute at most."""
    pause = threading.Event()
    for _ in range(6000):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come to be")


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _once(place: Path, made: Callable[[], None]) -> None:
    """Make it unless some process has; whoever comes meanwhile waits. A skip or a failure is met again by the next.

    One at a time of all of them: apt-get, which brings what a build needs, does not wait for another one.
    """
    with place.with_name("making.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.with_suffix(".made").exists():
            made()
            place.with_suffix(".made").touch()
