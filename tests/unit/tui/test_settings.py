"""ui.toml: what it may say, where it lies, and what is said of a mistake in it."""

from pathlib import Path

import pytest

from jobctl.cli.verbs import LOOKS as VERBS_LOOKS
from jobctl.errors import InvalidInput
from jobctl_tui.settings import LOOKS, Settings, config_file, read_settings
from jobctl_tui.theme import ANSI, DARK, LIGHT, MONO, THEMES, theme_for
from jobctl_tui.words.glyphs import ASCII, UTF8, glyphs_for


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "ui.toml"
    path.write_text(text)
    return str(path)


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert read_settings(str(tmp_path / "none")) == read_settings(None) == Settings()


def test_all_that_a_file_may_say(tmp_path: Path) -> None:
    path = written(tmp_path, 'theme = "ansi"\nascii = true\nmouse = false\nread_only = true\n'
                             '[keys]\nquit = ["Q", "^q"]\n"job.kill" = "F9"\n')  # fmt: skip
    keys = {"quit": ("Q", "^q"), "job.kill": ("F9",)}
    assert read_settings(path) == Settings("ansi", ascii=True, mouse=False, read_only=True, keys=keys)


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("thme = 'ansi'", "there is no setting 'thme'", "theme"),
        ("theme = 'pink'", "there is no theme 'pink'", "mono"),
        ("mouse = 'no'", "mouse is 'no'", "true or false"),
        ("keys = 3", "keys is no table", "[keys]"),
        ("[keys]\nquit = 3", "keys.quit is 3", "list of keys"),
        ("theme = ", "is not TOML", "mend it"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_what_to_do(tmp_path: Path, text: str, words: str, hint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InvalidInput) as refused:
        read_settings(path)
    assert words in refused.value.message
    assert path in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"HOME": "/home/a"}, "/home/a/.config/jobctl/ui.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "/c"}, "/c/jobctl/ui.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "relative"}, "/home/a/.config/jobctl/ui.toml"),
        ({"HOME": "/home/a", "JOBCTL_HOME": "/t"}, "/t/config/ui.toml"),
        ({}, None),
    ],
)
def test_where_it_lies(environ: dict[str, str], path: str | None) -> None:
    assert config_file(environ) == path


def test_the_looks_are_the_same_everywhere() -> None:
    assert LOOKS == VERBS_LOOKS == tuple(THEMES)


@pytest.mark.parametrize(
    ("environ", "wanted", "theme"),
    [
        ({"TERM": "xterm-256color"}, None, DARK),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, None, DARK),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, None, LIGHT),
        ({"TERM": "xterm-256color", "COLORFGBG": "15;0"}, None, DARK),
        ({"TERM": "linux"}, None, ANSI),
        ({"TERM": "screen"}, None, ANSI),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, None, MONO),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, DARK, MONO),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, None, DARK),
        ({"TERM": "linux"}, LIGHT, LIGHT),
    ],
)
def test_the_look_for_a_terminal(environ: dict[str, str], wanted: str | None, theme: str) -> None:
    assert theme_for(environ, wanted) == theme


@pytest.mark.parametrize(
    ("environ", "utf8"),
    [
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "C.utf8"}, True),
        ({"LANG": "de_DE@euro"}, False),
        ({"LANG": "C"}, False),
        ({}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),  # PEP 538: said by the interpreter, not by the terminal
        ({"LANG": "de_DE.ISO-8859-1", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_ALL": "en_US.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "en_US.UTF-8", "JOBCTL_ASCII": "1"}, False),
        ({"LANG": "C", "JOBCTL_ASCII": "0"}, True),
    ],
)
def test_the_signs_for_a_locale(environ: dict[str, str], utf8: bool) -> None:
    assert glyphs_for(environ) is (UTF8 if utf8 else ASCII)


def test_signs_of_ascii_are_ascii_and_every_sign_is_as_wide_as_its_twin() -> None:
    for name in ASCII._fields:
        assert getattr(ASCII, name).isascii()
        if name not in ("enter", "space", "eighths"):
            assert len(getattr(ASCII, name)) == len(getattr(UTF8, name)), name
