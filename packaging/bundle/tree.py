"""The tree: everything that is the product, in one folder that can be moved, and that nobody needs to write into.

bin/        jobctl, jobd, crontab, python3: one launcher under four names
lib/jobctl/ the interpreter, the libraries it needs, and a line of Python for each program
lib/python3.x/  the standard library and the packages side by side: one folder to look into
share/      manual pages, completions, what an installer needs, documentation
"""

import os
import shutil
from pathlib import Path
from typing import Final

from bundle import interpreter, wheels
from bundle.places import CHECKOUT, HERE, epoch, name
from bundle.run import need, run, say

_ENTRIES: Final = {
    "jobctl": "from jobctl.cli.main import main\n\nmain()\n",
    "jobd": "from jobctl_daemon.__main__ import main\n\nraise SystemExit(main())\n",
    "crontab": "from jobctl.cli.main import main\n\nmain()\n",
}
_COMPLETIONS: Final = {"bash": "jobctl.bash", "zsh": "_jobctl", "fish": "jobctl.fish"}
#: Of an installed package: what is for those who build or test it.
_NOT_NEEDED: Final = (
    "*.pyx",
    "*.pxd",
    "*.pxi",
    "*.pyi",
    "*.c",
    "*.h",
    "*.hash",
    "tests",
    "test_utils.py",
    "pytest_plugin.py",
)

#: Of five hundred languages, those that a traceback on a terminal is painted in.
_LEXERS: Final = frozenset({"python", "special"})


def make(out: Path) -> Path:
    """Build it anew. It takes its place when it is whole."""
    need("gcc", "strip", "patchelf", files={"/usr/include/stdlib.h": "libc6-dev"})
    final = out / f"{name()}.tree"
    tree = out / f".{name()}.tree.new"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    library = interpreter.make(tree)
    wheels.install(library)
    for pattern in _NOT_NEEDED:
        for found in sorted(library.glob(f"*/**/{pattern}")):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    for lexer in sorted((library / "pygments/lexers").glob("[a-z]*.py")):
        if lexer.stem not in _LEXERS:
            lexer.unlink()
    interpreter.close(tree)
    _entries(tree)
    _compile(tree, library)
    _share(tree)
    _settle(tree)
    shutil.rmtree(final, ignore_errors=True)
    tree.rename(final)
    say(f"tree        {final} ({_size(final) / 1e6:.0f} MB)")
    return final


def _entries(tree: Path) -> None:
    for program, line in _ENTRIES.items():
        (tree / "lib/jobctl" / program).write_text(line)
    shutil.copy(HERE / "sweep.py", tree / "lib/jobctl")
    (tree / "bin").mkdir()
    launcher = tree / "bin/jobctl"
    run(
        "gcc",
        "-std=gnu11",
        "-D_GNU_SOURCE",
        "-Os",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-static",
        "-s",
        "-o",
        launcher,
        HERE / "launcher.c",
    )
    for program in ("jobd", "crontab", "python3"):
        os.link(launcher, tree / "bin" / program)


def _compile(tree: Path, library: Path) -> None:
    """Bytecode that is never compared with its source: a tree that lies where nobody may write is as fast as any."""
    program = (
        "import compileall, sys; from py_compile import PycInvalidationMode as M; "
        "sys.exit(not compileall.compile_dir(sys.argv[1], quiet=1, force=True, stripdir=sys.argv[1], prependdir='.', "
        "invalidation_mode=M.UNCHECKED_HASH))"
    )
    python = tree / "lib/jobctl/python3"
    env = {"PYTHONHASHSEED": "0", "PYTHONHOME": str(tree), "LC_ALL": "C.UTF-8"}
    run(python, "-B", "-S", "-s", "-P", "-c", program, library, env=env)


def _share(tree: Path) -> None:
    share = tree / "share"
    for page in sorted((CHECKOUT / "man").glob("*.[1-8]")):
        folder = share / "man" / f"man{page.suffix[1:]}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, folder)
    for part in ("systemd", "sysv", "jobs.d"):
        shutil.copytree(CHECKOUT / "packaging" / part, share / "jobctl" / part)
    documents = share / "doc/jobctl"
    documents.mkdir(parents=True)
    for part in ("README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(CHECKOUT / part, documents)
    (share / "completions").mkdir()
    for shell, file in _COMPLETIONS.items():
        (share / "completions" / file).write_text(
            run(tree / "bin/jobctl", "completion", shell, env={"LC_ALL": "C.UTF-8"})
        )


def _settle(tree: Path) -> None:
    """Modes as they are to be for everybody, and one time for everything."""
    moment = epoch()
    for folder, names, files in os.walk(tree):
        for file in files:
            path = os.path.join(folder, file)
            os.chmod(path, 0o755 if os.stat(path).st_mode & 0o100 else 0o644)
            os.utime(path, (moment, moment))
        for inner in names:
            os.chmod(os.path.join(folder, inner), 0o755)
    for folder, _, _ in os.walk(tree, topdown=False):
        os.utime(folder, (moment, moment))
    os.chmod(tree, 0o755)


def _size(tree: Path) -> int:
    seen = {(found.st_ino): found.st_size for path in tree.rglob("*") if not path.is_dir() for found in [path.stat()]}
    return sum(seen.values())
