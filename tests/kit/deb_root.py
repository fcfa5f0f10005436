"""A Debian of a test's own to install packages in: a clean root under an overlay, with processes of its own.

Its root folder is only read. What is installed and whatever runs in there ends with it: no mount, file or process is
left. Only root can make one.
"""

import atexit
import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BUILD: Final = Path(__file__).parents[2] / "packaging/debian/build"

#: The first process: it takes in what its children leave, as an init does. Its name is what invoke-rc.d and others see.
_FIRST: Final = """#!/bin/sh
# A stand-in for init, which starts nothing by itself.
trap : TERM
while :; do sleep 3600 & wait "$!"; done
"""
_WORLD: Final = """
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$FOLDER"
mkdir "$FOLDER/upper" "$FOLDER/work" "$FOLDER/root"
mount -t overlay -o "lowerdir=$LOWER,upperdir=$FOLDER/upper,workdir=$FOLDER/work" overlay "$FOLDER/root"
cd "$FOLDER/root"
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mkdir run/lock
for name in null zero full random urandom; do touch "dev/$name"; mount --bind "/dev/$name" "dev/$name"; done
ln -s /proc/self/fd dev/fd
mkdir given
mount --bind "$GIVEN" given
install -m 755 "$FIRST" run/init
exec chroot . /run/init
"""
#: Where the root has an init: what invoke-rc.d asks which level the host is in, and the file that init reads.
_WITH_INIT: Final = (
    "ln -sf /run/init /sbin/init; printf '#!/bin/sh\\necho N 2\\n' >/sbin/runlevel; chmod 755 /sbin/runlevel; "
    "echo id:2:initdefault: >/etc/inittab"
)
#: Folders whose files belong to no package and change by themselves.
_PASSING: Final = ("proc", "sys", "dev", "run", "tmp", "given", "var/cache", "var/log", "var/lib/dpkg")


#: A command that says who it is, goes on until it may end, and ends with 7.
_GATED: Final = "sh -c 'echo $$ >/tmp/pid-$0; until [ -e /tmp/gate ]; do sleep 0.1; done; exit 7'"
#: A bounded wait of the shell's, which fails when it was for nothing: the same condition twice.
UNTIL: Final = "for _ in $(seq 100); do if {}; then break; fi; sleep 0.1; done; {}"


class DebRoot:
    """What a person with a root shell in there could do."""

    def __init__(self, first: int, given: Path) -> None:
        self._first = first
        self._place = f"/proc/{first}/root"
        self.given = given

    def run(self, *words: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """To its end, with all that it says in one text."""
        return subprocess.run(
            ["nsenter", f"--target={self._first}", "--mount", "--pid", "--root", f"--wd={self._place}", *words],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
            | {"LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
            | environ,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )

    def sh(self, script: str, **environ: str) -> str:
        """What a script prints; it must succeed."""
        done = self.run("sh", "-eu", "-c", script, **environ)
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    def dpkg(self, *words: str) -> str:
        """What it says; it must succeed."""
        done = self.run("dpkg", "--force-unsafe-io", *words)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def processes(self) -> list[str]:
        """Whatever runs from the programs of jobctl, or from folders of theirs that are gone."""
        found = self.sh("for file in /proc/[0-9]*/exe; do readlink $file || true; done")
        return [line for line in found.splitlines() if "/jobctl/" in line]

    def has_init(self) -> None:
        """From now on the host has an init of System V."""
        self.sh(_WITH_INIT)

    def files(self) -> set[str]:
        """Every file and folder, but those that come and go by themselves."""
        left_out = " -o ".join(f"-path /{folder}" for folder in _PASSING)
        return set(self.sh(f"find / -xdev \\( {left_out} \\) -prune -o -print").splitlines())


def start_gated(root: DebRoot, count: int) -> None:
    """So many commands, each known to have begun."""
    root.sh("rm -f /tmp/gate /tmp/pid-*")
    for number in range(count):
        root.sh(f"jobctl run -q --name gated-{number} -- {_GATED} {number}")
    root.sh(UNTIL.format(*[f'[ "$(cat /tmp/pid-* 2>/dev/null | wc -l)" = {count} ]'] * 2))


def alive(root: DebRoot) -> int:
    """How many of them are still who they were."""
    return int(root.sh("n=0; for pid in $(cat /tmp/pid-*); do kill -0 $pid && n=$((n + 1)); done; echo $n"))


def ends(root: DebRoot, count: int) -> list[int]:
    """The exit codes that are on record, when all have ended."""
    root.sh("touch /tmp/gate")
    found = []
    for number in range(count):
        run = root.sh(f"jobctl runs gated-{number} --limit 1 -o name").strip()
        root.run("jobctl", "wait", run)
        found.append(json.loads(root.sh(f"jobctl show --run {run} --json"))["exit_code"])
    return found


class Debs:
    """The package of a tree, and one of the same tree that calls itself later."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder
        self.now = build(tree, folder)
        self.version = version_of(self.now)
        other = folder / "tree"
        shutil.copytree(tree, other, symlinks=True, copy_function=os.link)
        self.later_version = self._call_later(other)
        self.later = build(other, folder)
        shutil.rmtree(other)

    def _call_later(self, tree: Path) -> str:
        """Its version, where it has it, and without the bytecode of what it was."""
        (module,) = tree.glob("lib/python3*/jobctl/__init__.py")
        later = f"{int(self.version.partition('.')[0]) + 1}.0.0"
        text = module.read_text().replace(f'"{self.version}"', f'"{later}"')
        module.unlink()
        module.write_text(text)
        for bytecode in module.parent.glob("__pycache__/__init__.*"):
            bytecode.unlink()
        return later

    def with_script(self, name: str, line: str) -> Path:
        """The later one, of whose maintainer scripts one does only that."""
        folder = self.folder / f"with-{name}"
        folder.mkdir()
        made = folder / "jobctl.deb"
        shutil.copy(self.later, made)
        _run("ar", "x", str(made), "control.tar", cwd=folder)
        _run("tar", "-xf", "control.tar", f"./{name}", cwd=folder)
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        _run("tar", "--delete", "-f", "control.tar", f"./{name}", cwd=folder)
        _run("tar", "-rf", "control.tar", f"./{name}", cwd=folder)
        _run("ar", "r", str(made), "control.tar", cwd=folder)
        return made


@functools.cache
def debs_of(tree: Path) -> Debs:
    """Made once, and removed when the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="jobctl-debs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Debs(tree, folder)


def build(tree: Path, folder: Path) -> Path:
    """By the script that everybody builds it with; not packed, which takes a minute and changes nothing."""
    made = _run(str(BUILD), str(tree), str(folder), DPKG_DEB_COMPRESSOR_TYPE="none", SOURCE_DATE_EPOCH="1800000000")
    return Path(made.strip())


def version_of(deb: Path) -> str:
    return _run("dpkg-deb", "-f", str(deb), "Version").strip()


def _run(*words: str, cwd: Path | None = None, **environ: str) -> str:
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def a_deb_root(lower: Path) -> Iterator[DebRoot]:
    """`lower` is a root of Debian, which stays as it is. The folder `given` is `/given` in there."""
    with tempfile.TemporaryDirectory(prefix="jobctl-deb-") as name:
        folder = Path(name)
        (folder / "mounts").mkdir()
        (folder / "given").mkdir()
        (folder / "first").write_text(_FIRST)
        environ = {"LOWER": str(lower), "FOLDER": str(folder / "mounts"), "GIVEN": str(folder / "given")}
        with subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _WORLD],
            env={**os.environ, **environ, "FIRST": str(folder / "first")},
            stdin=subprocess.DEVNULL,
        ) as holder:
            try:
                yield DebRoot(_first_of(holder), folder / "given")
            finally:
                holder.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _first_of(holder: "subprocess.Popen[bytes]") -> int:
    """The process that unshare has made, when it has become the first of that root."""
    while holder.poll() is None:
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        if children:
            with contextlib.suppress(OSError):
                if Path(f"/proc/{children[0]}/comm").read_text() == "init\n":
                    return int(children[0])
        os.sched_yield()
    raise AssertionError("no root could be made; unshare has said why")
