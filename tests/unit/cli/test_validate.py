"""`jobctl validate`: every mistake of a file at once, in lines that a newcomer can mend; it needs no daemon."""

import shutil
from pathlib import Path

import pytest

from unit.cli.conftest import Cli

DATA = Path(__file__).parents[2] / "data" / "jobfiles"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_ten_mistakes_are_ten_lines(alone: Cli, here: Path) -> None:
    shutil.copy(DATA / "ten.toml", here)
    result = alone("validate", "ten.toml")
    assert (result.code, result.out) == (1, (DATA / "ten.txt").read_text())
    assert result.err == "10 mistakes in 1 file\n"
    assert len(result.out.splitlines()) == 10


def test_the_same_for_programs(alone: Cli, here: Path) -> None:
    shutil.copy(DATA / "ten.toml", here)
    result = alone("validate", "--json", "ten.toml")
    assert result.code == 1
    (item,) = result.json()["items"]
    assert (item["path"], len(item["problems"])) == ("ten.toml", 10)
    assert item["problems"][1] == {
        "path": "ten.toml",
        "line": 8,
        "column": 1,
        "text": 'crno = "0 3 * * *"',
        "reason": "unknown key `crno`",
        "hint": "did you mean `cron`?",
    }


def test_a_folder_is_read_as_the_daemon_reads_it_and_its_files_together(alone: Cli, here: Path) -> None:
    for name in ("a.toml", "b.toml", ".hidden.toml", "c.toml~"):
        (here / name).write_text("[job.web]\nshell = 'true'\n")
    result = alone("validate", ".")
    assert result.code == 1
    assert result.out.splitlines() == [
        "./a.toml: 1 job, no mistakes",
        './b.toml:1:6: ./a.toml has a job "web" too – choose another name',
    ]
    (here / "b.toml").unlink()
    assert alone("validate", ".", "a.toml").code == 0


def test_what_is_odd_is_a_warning_and_told_once(alone: Cli, here: Path) -> None:
    text = "".join(f'[job.a{number}]\ncommand = ["cd", "/srv"]\ncwd = "/"\n' for number in range(7))
    (here / "a.toml").write_text(text)
    result = alone("validate", "a.toml")
    assert (result.code, result.out) == (0, "a.toml: 7 jobs, no mistakes\n")
    (warning,) = [line for line in result.err.splitlines() if "word of the shell" in line]
    assert warning.startswith("warning: a.toml: a0, a1, a2, a3, a4 and others: cd is a word of the shell")


def test_a_file_that_is_not_there_or_not_to_be_read(alone: Cli, here: Path) -> None:
    assert alone("validate", "nothing.toml").code == 3
    (here / "link.toml").symlink_to("nowhere")
    result = alone("validate", "link.toml")
    assert result.code == 1
    assert result.out.startswith("link.toml:1:1: the file cannot be read: No such file or directory")


def test_a_hostile_file_does_not_reach_the_terminal_as_it_is(alone: Cli, here: Path) -> None:
    (here / "a.toml").write_text('[job."\\u001b[31m"]\nshell = "x"\n[job.b]\n"\\u0007" = 1\nshell = "x"\n')
    result = alone("validate", "a.toml")
    assert result.code == 1
    assert "\x1b" not in result.out
    assert "\x07" not in result.out
