"""The pages of the manual: in step with the code, whole, and without a warning of those who show them."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from jobctl.cli.topics import TEXTS
from jobctl.cli.verbs import FAILURE_CLASSES, JOB_STATES, PAGES, RUN_STATES, VERBS
from jobctl.filters.keys import KEYS as FILTER_KEYS
from jobctl.manual import Block, plain, read
from jobctl.manual.read import HYPHEN, STIFF
from jobctl_daemon import settings as daemon_settings
from jobctl_daemon.__main__ import _options as daemon_program
from jobctl_tui import settings as screen_settings
from jobctl_tui.actions import Scope
from jobctl_tui.keys import ACTIONS

ROOT = Path(__file__).parents[3]
MAN = ROOT / "man"
FILES = sorted(MAN.glob("*.[158]"))
TEXT = {path.name: path.read_text(encoding="utf-8") for path in FILES}
LINKS = {name for name, text in TEXT.items() if text.startswith(".so ")}
WHOLE = sorted(set(TEXT) - LINKS)
#: Pages of others that ours name.
OTHERS = {"bash(1)", "crontab(1)", "crontab(5)", "fish(1)", "man(1)", "signal(7)", "stdbuf(1)", "systemd(1)",
          "systemd.service(5)", "usermod(8)", "zsh(1)"}  # fmt: skip
ASK_FOR = {"1": ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "SEE ALSO"), "5": ("NAME", "DESCRIPTION", "EXAMPLES"),
           "8": ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "EXAMPLES")}  # fmt: skip


def the_drawer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_manual", ROOT / "docs" / "draw_manual.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRAWER = the_drawer()


def sections(name: str) -> dict[str, list[Block]]:
    found: dict[str, list[Block]] = {}
    title = ""
    for block in read(TEXT[name]):
        if block.kind == "heading":
            title = block.lines[0]
        else:
            found.setdefault(title, []).append(block)
    return found


def said(blocks: list[Block]) -> str:
    text = " ".join(" ".join((block.tag, *block.lines)) for block in blocks)
    return text.replace(HYPHEN, "-").replace(STIFF, " ")


def page_of(words: str) -> str:
    """The file that tells of a verb, also where its own is a link."""
    name = f"jobctl-{words.replace(' ', '-')}.1"
    return TEXT[name].split("/", 1)[1].strip() if name in LINKS else name


# ── in step ───────────────────────────────────────────────


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_drawn_is_what_the_code_has(name: str) -> None:
    assert TEXT[name] == DRAWER.page(TEXT[name]), "python docs/draw_manual.py"


def test_what_belongs_to_a_family_has_a_link_and_nothing_else_has_one() -> None:
    assert {name: TEXT[name] for name in LINKS} == DRAWER.links(), "python docs/draw_manual.py"


@pytest.mark.parametrize("words", [verb.words for verb in VERBS])
def test_every_verb_has_a_page_with_its_synopsis_options_and_examples(words: str) -> None:
    text = TEXT[page_of(words)]
    if words == "crontab":  # as crontab(1): written by hand, but every option of the verb is there
        found = set(re.findall(r"\\-([a-z])\b", text.replace("\\fR", "")))
        options = {name[1] for param in DRAWER.command_of(DRAWER.BY_WORDS[words]).params for name in param.opts}
        assert options - {"-", "o", "F", "f"} <= found
        return
    assert re.search(rf"^\.\\\" drawn: synopsis of (?:.*, )?{words}(?:,.*)?$", text, re.MULTILINE)
    assert f'\n.\\" drawn: options of {words}\n' in text
    assert f'\n.\\" drawn: examples of {words}\n' in text or words == "version"


@pytest.mark.parametrize("name", WHOLE)
def test_every_page_has_its_sections_and_says_in_one_line_what_it_is(name: str) -> None:
    found = list(sections(name))
    wanted = [*ASK_FOR[name[-1]], *(["OPTIONS"] if name.startswith("jobctl-") and name[-1] == "1" else [])]
    assert set(wanted) <= set(found)
    assert found[0] == "NAME"
    assert found[-1] == "SEE ALSO"
    stem = name.rpartition(".")[0]
    (line,) = sections(name)["NAME"]
    names, dash, what = said([line]).strip().partition(" - ")
    assert stem in names.split(", ")
    assert dash
    assert 10 < len(what) < 80


def test_the_pages_that_help_names_are_there() -> None:
    for name in PAGES.values():
        assert any(f"{name}.{section}" in TEXT for section in "158"), name


def test_every_setting_of_the_daemon_and_of_the_screens_has_its_entry() -> None:
    for key in daemon_settings.Settings.__struct_fields__:
        assert f'\n.\\" drawn: setting {key}\n' in TEXT["jobd.toml.5"]
    tags = {block.tag.strip("[]") for block in sections("jobctl-ui.1")["SETTINGS"] if block.tag}
    assert tags == set(screen_settings.Settings.__dataclass_fields__)


def test_every_part_of_the_screens_has_its_keys() -> None:
    drawn = set(re.findall(r'^\.\\" drawn: keys of (\w+)$', TEXT["jobctl-ui.1"], re.MULTILINE))
    assert {Scope[name] for name in drawn} == {action.scope for action in ACTIONS}


def test_states_classes_and_variables_are_told() -> None:
    ours = sections("jobctl.1")
    assert {block.tag for block in ours["FAILURE CLASSES"]} - {""} == set(FAILURE_CLASSES)
    for states, page in ((JOB_STATES, "jobctl-ls.1"), (RUN_STATES, "jobctl-runs.1")):
        tags = {word for block in sections(page)["DESCRIPTION"] for word in block.tag.split(", ")}
        assert set(states) <= tags
    keys = {word.rstrip(":") for block in ours["FILTERS"] for word in block.tag.split(", ")}
    assert set(FILTER_KEYS) <= keys
    names = set(re.findall(r"\b(JOBCTL_[A-Z_]+|NO_COLOR|XDG_[A-Z_]+)\b", TEXTS["environment"]))
    assert names <= set(re.findall(r"\w+", said(ours["ENVIRONMENT"])))


def test_the_page_of_the_daemon_has_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        daemon_program(["--help"])
    options = set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    assert options == set(re.findall(r"--[a-z]+", " ".join(block.tag for block in sections("jobd.8")["OPTIONS"])))


@pytest.mark.parametrize("name", WHOLE)
def test_every_page_that_is_named_exists(name: str) -> None:
    named = set(re.findall(r"\b([a-z][a-z.-]*\([1-8]\))", said(list(read(TEXT[name])))))
    ours = {f"{file.rpartition('.')[0]}({file[-1]})" for file in TEXT}
    assert named - ours <= OTHERS
    see = set(re.findall(r"([a-z][a-z.-]*\([1-8]\))", said(sections(name)["SEE ALSO"])))
    assert see
    assert f"{name.rpartition('.')[0]}({name[-1]})" not in see


@pytest.mark.parametrize("name", sorted(TEXT))
def test_pages_are_ascii_so_that_any_man_shows_them(name: str) -> None:
    assert TEXT[name].isascii()


# ── those who show them ───────────────────────────────────


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} on this host")
    return found


def test_groff_has_nothing_to_say_of_them() -> None:
    groff = program("groff")
    for name in WHOLE:
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww", "-z", str(MAN / name)], capture_output=True, text=True, check=True
        )
        assert (name, done.stderr) == (name, "")


def test_mandoc_has_nothing_to_warn_of() -> None:
    done = subprocess.run(
        [program("mandoc"), "-T", "lint", "-W", "warning", *(str(MAN / name) for name in WHOLE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""


def test_man_itself_has_nothing_to_warn_of(tmp_path: Path) -> None:
    """With the links, in a tree as it is installed."""
    man = program("man")
    program("groff")
    for name in TEXT:
        folder = tmp_path / f"man{name[-1]}"
        folder.mkdir(exist_ok=True)
        shutil.copy(MAN / name, folder)
    environ = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANPATH": str(tmp_path), "MANWIDTH": "80",
               "MANROFFSEQ": "", "HOME": str(tmp_path)}  # fmt: skip
    for name in ("jobctl-add", "jobctl-dlq-replay", "jobd.toml", "jobd"):
        done = subprocess.run([man, "--warnings", name], env=environ, capture_output=True, text=True, check=True)
        assert (name, done.stderr) == (name, "")
        assert "SEE ALSO" in done.stdout


@pytest.mark.parametrize("columns", [78, 118])
def test_our_own_text_is_laid_out_as_groff_lays_it_out(columns: int) -> None:
    """Line by line, without justified margins, hyphenation and wide spaces between sentences."""
    groff = program("groff")
    version = subprocess.run([groff, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    if " 1.22." not in version:
        pytest.skip(f"the layout is that of groff 1.22; here is {version}")
    for name in WHOLE:
        source = re.sub(r"^(\.TH .*)$", r"\1\n.ad l\n.nh\n.ss 12 0", TEXT[name], count=1, flags=re.MULTILINE)
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-P-cbou", f"-rLL={columns}n", "-rcR=1", "-rHY=0"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
        )
        body = done.stdout.rstrip("\n").split("\n")
        assert body[0].startswith(name.rpartition(".")[0].upper())
        theirs = "\n".join(line.rstrip() for line in body[1:-1]).strip("\n")
        assert plain(TEXT[name], columns).rstrip("\n") == theirs, name


@pytest.mark.parametrize("columns", [1, 20, 40])
def test_a_narrow_terminal_gets_all_words(columns: int) -> None:
    for name in WHOLE:
        assert plain(TEXT[name], columns).split() != []
        words = re.sub(r"\s", "", plain(TEXT[name], columns))
        assert words == re.sub(r"\s", "", plain(TEXT[name], 200)), name
