"""The one file, built for real: in a Debian without Python, and where somebody or something is against it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.host import CHECKOUT
from kit.own_host import needs_root
from kit.release import inside, wait_until

pytestmark = [pytest.mark.long, needs_root]

FAILED, WRONG_USAGE = 126, 2
NOBODY = 65534


def start(file: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """As root, with nothing in the environment but that."""
    return subprocess.run(
        [file, *words], env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """With one line that has these words, and nothing else."""
    assert (done.returncode, done.stdout) == (FAILED, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr


def trees(base: Path) -> list[Path]:
    return [path for path in base.iterdir() if path.is_dir() and not path.name.startswith(".")]


@pytest.fixture(scope="module")
def unpacked(one_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder into which it has unpacked itself, by three first starts at once after one that was killed halfway."""
    base = tmp_path_factory.mktemp("unpacked") / "base"
    killed = subprocess.Popen(
        [one_file, "--version"], env={"JOBCTL_UNPACK_DIR": str(base)}, start_new_session=True, umask=0o077
    )
    wait_until(lambda: (base / ".new/lib").exists())
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert [path.name for path in base.iterdir() if path.name != ".lock"] == [".new"]
    starts = [
        subprocess.Popen([one_file, "--version"], env={"JOBCTL_UNPACK_DIR": str(base)}, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [process.communicate()[0].split()[0] for process in starts] == [b"jobctl"] * 3
    assert len(trees(base)) == 1
    assert not (base / ".new").exists()
    yield base
    shutil.rmtree(base)


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=755,{request.param}", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


# ── in a Debian without Python ───────────────────────────────


def test_without_python_its_daemon_fires_and_records_a_job_and_keeps_a_crontab_and_its_pages_and_completions_are_there(
    one_file: Path, debian_root: Path, tmp_path: Path
) -> None:
    shutil.copy(one_file, tmp_path / "file")
    shutil.copy(CHECKOUT / "packaging/root/try", tmp_path)
    tmp_path.chmod(0o755)
    said = inside(
        debian_root,
        tmp_path,
        """
        for name in jobctl jobd crontab; do ln -s /given/file /usr/local/bin/$name; done
        sh /given/try /usr/local/bin
        ls -d /opt/jobctl/unpacked/*
        /given/file unpack /opt/tree
        ls /opt/tree/share/completions /opt/tree/share/man/* /opt/tree/share/jobctl
        find /opt/tree /opt/jobctl/unpacked -writable -not -user root
        /opt/tree/bin/python3 -c 'import bz2, ctypes, lzma, sqlite3, ssl, uuid, zlib; print("libraries are there")'
        mkdir -m 700 /home/other
        chown 1000:1000 /home/other
        cd /home/other
        as_other="setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/home/other"
        echo "seen: $($as_other /given/file jobctl --version) $(ls .local/share/jobctl/unpacked | wc -l)"
        echo "from root's: $($as_other /opt/tree/bin/jobctl --version)"
        """,
    )
    assert said.count("    ok  ") == 4, said
    for name in ("jobctl.bash", "_jobctl", "jobctl.fish", "jobctl.1", "jobs.toml.5", "jobd.8", "systemd"):
        assert name in said.split()
    assert "libraries are there" in said
    assert "seen: jobctl" in said
    assert "from root's: jobctl" in said


# ── names and places ─────────────────────────────────────────


def test_its_name_or_its_first_word_says_which_program_it_is(one_file: Path, unpacked: Path, tmp_path: Path) -> None:
    place = {"JOBCTL_UNPACK_DIR": str(unpacked), "HOME": str(tmp_path)}
    for name in ("jobd", "crontab", "jobctl", "anything"):
        (tmp_path / name).symlink_to(one_file)
    assert start(tmp_path / "jobd", "--version", **place).stdout.startswith("jobd ")
    assert start(one_file, "jobd", "--version", **place).stdout.startswith("jobd ")
    assert start(tmp_path / "anything", "jobctl", "--version", **place).stdout.startswith("jobctl ")
    assert start(tmp_path / "anything", "--version", **place).stdout.startswith("jobctl ")
    assert "usage:\tcrontab" in start(tmp_path / "crontab", "-h", **place).stdout
    assert "Usage: jobctl crontab" in start(tmp_path / "jobctl", "crontab", "--help", **place).stdout


def test_others_may_read_what_root_has_unpacked_whatever_roots_umask_was(unpacked: Path) -> None:
    (tree,) = trees(unpacked)
    assert [path.stat().st_mode & 0o777 for path in (unpacked, tree, tree / "bin/jobctl")] == [0o755] * 3


def test_no_variable_says_which_interpreter_it_is(one_file: Path, unpacked: Path) -> None:
    """CPython reads these two even where it is isolated; runners are started as `sys.executable`."""
    hostile = {"PYTHONEXECUTABLE": "/x", "__PYVENV_LAUNCHER__": "/x", "PYTHONHOME": "/x", "PYTHONPATH": "/x"}
    program = "import os, sys; print(sys.executable, 'PYTHONEXECUTABLE' in os.environ)"
    done = start(one_file, "python3", "-c", program, JOBCTL_UNPACK_DIR=str(unpacked), **hostile)
    (tree,) = trees(unpacked)
    assert done.stdout.split() == [f"{tree}/bin/python3", "False"]


def test_it_unpacks_to_a_folder_of_ones_own_only_when_that_is_empty_and_the_tree_there_can_be_moved(
    one_file: Path, release_tree: Path, tmp_path: Path
) -> None:
    assert start(one_file, "unpack", str(tmp_path / "a/b")).returncode == 0
    again = start(one_file, "unpack", str(tmp_path / "a/b"))
    assert (again.returncode, len(again.stderr.splitlines())) == (WRONG_USAGE, 1)
    assert start(one_file, "unpack").returncode == WRONG_USAGE
    (tmp_path / "a/b").rename(tmp_path / "moved")
    moved = tmp_path / "moved"
    same = subprocess.run(["diff", "-r", moved, release_tree], capture_output=True, text=True, check=False)
    assert same.stdout == ""
    # Neither variables, nor the folder one is in, nor what root may write change what runs, or are changed by it.
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    hostile = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path), "LD_LIBRARY_PATH": str(tmp_path)}
    shutil.copy(moved / "lib/jobctl/libz.so.1", tmp_path / "libcrypto.so.3")
    code = "import sys, jobctl_daemon.app, jobctl_tui.app, ssl; print(sys.prefix, sys.executable, len(sys.path))"
    done = subprocess.run(
        [moved / "bin/python3", "-c", code], cwd=tmp_path, env=hostile, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{moved} {moved}/bin/python3 3\n", done.stderr
    same = subprocess.run(["diff", "-r", moved, release_tree], capture_output=True, text=True, check=False)
    assert same.stdout == ""
    shutil.rmtree(moved)


@pytest.mark.parametrize("encoding", ["gbk", "euc_jp", "euc_kr", "big5", "koi8_r"])
def test_it_knows_the_encoding_of_every_locale(release_tree: Path, encoding: str) -> None:
    """Python does not even start where it cannot name files in the encoding of the locale."""
    program = f"print('a'.encode({encoding!r}).decode({encoding!r}))"
    assert start(release_tree / "bin/python3", "-c", program).stdout == "a\n"


def test_pages_and_completions_of_the_tree_are_all_that_there_are(release_tree: Path) -> None:
    pages = {page.name for page in (CHECKOUT / "man").glob("*.[1-8]")}
    assert {page.name for page in release_tree.glob("share/man/man?/*")} == pages
    assert all(page.suffix[1:] == page.parent.name[3:] for page in release_tree.glob("share/man/man?/*"))
    for file, shell in (("jobctl.bash", "bash"), ("_jobctl", "zsh"), ("jobctl.fish", "fish")):
        printed = start(release_tree / "bin/jobctl", "completion", shell).stdout
        assert (release_tree / "share/completions" / file).read_text() == printed


# ── against it ───────────────────────────────────────────────


@pytest.mark.parametrize("how", ["cut short", "changed"])
def test_a_damaged_file_unpacks_nothing(one_file: Path, tmp_path: Path, how: str) -> None:
    damaged = tmp_path / "jobctl"
    data = bytearray(one_file.read_bytes())
    if how == "changed":
        data[-1_000_000] ^= 1
    damaged.write_bytes(data if how == "changed" else data[:-1_000_000])
    damaged.chmod(0o755)
    refused(start(damaged, "--version", JOBCTL_UNPACK_DIR=str(tmp_path / "base")), "this file is damaged")
    assert [path.name for path in (tmp_path / "base").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("small_disk", "why"),
    [
        ("size=30m", "too little room"),
        ("size=300m,nr_inodes=900", "No space left on device"),
        ("size=300m,noexec", "noexec"),
        ("size=300m,ro", "Read-only file system"),
    ],
    indirect=["small_disk"],
)
def test_a_disk_that_does_not_take_it_is_named_in_one_line_and_nothing_is_left(
    one_file: Path, small_disk: Path, why: str
) -> None:
    refused(start(one_file, "ls", HOME="/", JOBCTL_UNPACK_DIR=str(small_disk / "base")), why, "JOBCTL_UNPACK_DIR")
    left = [path.name for path in small_disk.rglob("*")]
    assert left in ([], ["base", ".lock"])


def test_a_limit_on_the_size_of_files_is_named_as_well(one_file: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    limited = ["prlimit", "--fsize=100000", one_file, "--version"]
    environ = {"JOBCTL_UNPACK_DIR": str(base), "PATH": os.environ["PATH"]}
    refused(subprocess.run(limited, env=environ, capture_output=True, text=True, check=False), "File too large")
    assert [path.name for path in base.iterdir()] == [".lock"]


@pytest.mark.parametrize("how", ["everybody's", "the group's", "sticky", "somebody else's", "below somebody else's"])
def test_it_neither_unpacks_nor_starts_where_somebody_else_could_change_it(
    one_file: Path, unpacked: Path, tmp_path: Path, how: str
) -> None:
    """The tree in there is whole: only who may write there is not as it should be."""
    above = tmp_path / "above"
    base = above / "base"
    base.mkdir(parents=True, mode=0o755)
    (tree,) = trees(unpacked)
    subprocess.run(["cp", "-al", tree, base / tree.name], check=True)
    shown = {"somebody else's": base / tree.name, "below somebody else's": above}.get(how, base)
    if "else" in how:
        os.chown(shown, NOBODY, NOBODY)
    else:
        shown.chmod({"everybody's": 0o757, "the group's": 0o775, "sticky": 0o1777}[how])
    os.chown(base, -1, NOBODY)
    refused(start(one_file, "--version", JOBCTL_UNPACK_DIR=str(base)), "somebody else could change it", f"{shown} ")
    shutil.rmtree(base / tree.name)
    if shown != base / tree.name:
        refused(start(one_file, "--version", JOBCTL_UNPACK_DIR=str(base)), "somebody else could change it", f"{shown} ")
        assert trees(base) == []


def test_without_a_home_or_with_a_place_that_is_none_it_says_so(one_file: Path) -> None:
    assert start(one_file, "ls", JOBCTL_UNPACK_DIR="here").returncode == WRONG_USAGE
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", "-i"]
    for place, why in (("X=", "HOME is not set"), ("HOME=/nonexistent", "Permission denied")):
        # Its folder belongs to root alone: the file is handed over as a descriptor's path would be.
        with one_file.open("rb") as file:
            done = subprocess.run(
                [*as_nobody, place, f"/proc/self/fd/{file.fileno()}", "ls"],
                pass_fds=[file.fileno()],
                capture_output=True,
                text=True,
                check=False,
            )
        refused(done, why)


# ── versions before ──────────────────────────────────────────


def test_a_newer_version_removes_those_before_it_but_the_last_and_those_in_use(tmp_path: Path) -> None:
    if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
        pytest.skip("in a container not every process can be seen, and nothing is removed")
    for name in ("1", "2", "3", "4"):
        python = tmp_path / name / "lib/jobctl/python3"
        python.parent.mkdir(parents=True)
        shutil.copy("/bin/sleep", python)
    (tmp_path / ".lock").touch()
    elsewhere = tmp_path / "by-another-path"
    os.link(tmp_path / "2/lib/jobctl/python3", elsewhere)
    running = subprocess.Popen([elsewhere, "600"])
    try:
        wait_until(lambda: os.readlink(f"/proc/{running.pid}/exe") == str(elsewhere))
        subprocess.run([sys.executable, CHECKOUT / "packaging/bundle/sweep.py", tmp_path], check=True)
        assert sorted(path.name for path in trees(tmp_path)) == ["2", "4"]
    finally:
        running.kill()
        running.wait()
    subprocess.run([sys.executable, CHECKOUT / "packaging/bundle/sweep.py", tmp_path], check=True)
    assert [path.name for path in trees(tmp_path)] == ["4"]
