"""What the pages tell people to type works, and prints what they say that it prints."""

import ast
import contextlib
import http.server
import os
import pwd
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kit import pages
from kit.accounts import accounts, public_folder
from kit.daemon import RealDaemon
from kit.own_host import needs_root, own_host
from kit.pages import Block, Typed

ALL = pages.pages()
BLOCKS = [block for page in ALL for block in pages.blocks(page)]


@dataclass(frozen=True)
class Typist:
    """Somebody at a shell."""

    types: Callable[[Sequence[Block]], Typed]
    names: dict[str, str] = field(default_factory=dict)
    """What is called otherwise in the pages."""


#: Programs that pages suppose. The daemon finds them as well as the shell does.
STAND_INS = {
    "pg_dump": '#!/bin/sh\nfor word; do case "$word" in --file=*) echo >"${word#--file=}" ;; esac; done\nsleep 2\n',
    "systemctl": "#!/bin/sh\n",
    "sendmail": "#!/bin/sh\ncat >/dev/null\n",
}
#: curl itself, but every host is the one below.
CURL = """#!/bin/sh
for word; do
    shift
    case "$word" in https://*) rest=${word#https://}; word=http://127.0.0.1:%d/${rest#*/} ;; esac
    set -- "$@" "$word"
done
exec %s "$@"
"""


class Hooks(http.server.BaseHTTPRequestHandler):
    """The other side of webhooks: not there at first, and there is no such thing as /nowhere."""

    server: "HookServer"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.keys.append(self.headers["Idempotency-Key"])
        self.send_response(404 if self.path == "/nowhere" else 503 if len(self.server.keys) == 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


class HookServer(http.server.ThreadingHTTPServer):
    """On a port of its own."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hooks)
        self.keys: list[str] = []


@contextlib.contextmanager
def hooks() -> Iterator[HookServer]:
    """A server that is gone afterwards."""
    with HookServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def programs(folder: Path, hook_port: int, home: Path | None) -> None:
    """What somebody who types, and a job of the daemon at `home`, find in `folder`."""
    pages.install_jobctl(folder, home)
    for name, text in STAND_INS.items():
        if not (folder / name).exists():
            pages.stand_in(folder, name, text)
    if curl := shutil.which("curl"):
        pages.stand_in(folder, "curl", CURL % (hook_port, curl))


def _daemon(folder: Path) -> RealDaemon:
    """Its commands find the programs of `folder` too."""
    (folder / "host/var/spool/cron/crontabs").mkdir(parents=True)
    daemon = RealDaemon(folder / "jobctl")
    daemon.settings(f'pass_env = ["PATH"]\ncrontabs = "on"\nhost_root = "{folder}/host"\n')
    daemon.environ["PATH"] = f"{folder}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return daemon


@contextlib.contextmanager
def as_whoever(folder: Path) -> Iterator[Typist]:
    """Whoever runs the tests."""
    home = folder / "home"
    home.mkdir()
    daemon = _daemon(folder)
    daemon.environ["HOME"] = str(home)
    environ = pages.environ(folder / "bin", home, JOBCTL_HOME=str(daemon.home))
    name = pwd.getpwuid(os.geteuid()).pw_name
    try:
        daemon.start()
        yield Typist(lambda told: pages.typed([], told, environ, home), {str(home): "/home/ada", name: "ada"})
    finally:
        daemon.close()


@contextlib.contextmanager
def as_a_user(folder: Path) -> Iterator[Typist]:
    """An ordinary user of this host, with a daemon of his own; only root can make one."""
    with accounts() as made:
        user = made.user()
        (folder / "jobctl").mkdir()
        os.chown(folder / "jobctl", user.uid, user.gid)
        daemon = _daemon(folder)
        daemon.environ |= user.environ | {"PATH": daemon.environ["PATH"]}
        # A user may not raise what whoever runs the tests has lowered.
        daemon.within = lambda words: ["nice", "-n", str(-os.nice(0)), *user.command(words)]
        environ = pages.environ(folder / "bin", user.home, JOBCTL_HOME=str(daemon.home))
        try:
            daemon.start()
            yield Typist(
                lambda told: pages.typed(user.command([]), told, environ, user.home),
                {str(user.home): "/home/ada", user.name: "ada"},
            )
        finally:
            daemon.close()


@contextlib.contextmanager
def as_root(folder: Path) -> Iterator[Typist]:
    """Root on a host of its own."""
    with own_host(folder) as host:
        host.with_systemd()
        host.write("/etc/crontab", "0 3 1 1 * root true\n", 0o644)
        host.path("/etc/jobctl/jobs.d").mkdir(parents=True)
        (host.folder / "web.toml").write_text('[job.renew]\ncron = "15 4 1 1 *"\ncommand = ["/bin/true"]\n')
        host.run("mount", "-t", "tmpfs", "tmpfs", "/srv")
        host.start_jobd()
        host.jobctl("run", "--wait", "--", "true")
        environ = pages.environ(host.bin, Path("/root"))
        yield Typist(lambda told: pages.typed(host.command(), told, environ, host.folder))


#: Who types the blocks of a place. A user has a home of his own, which his jobs find as well as his shell.
WHO = {"daemon": as_a_user, "root": as_root}
#: These say that root and everybody else can type them.
BOTH = ("README.md", "docs/tutorial.md")
#: They begin behind an installation, which has run something first.
FIRST = Block("install.sh", 1, "daemon", "", "jobctl run --wait -- /bin/echo 'hello from jobctl'\n", None)
#: They have a file of tests of their own, which looks at more than what is printed.
ELSEWHERE = ("docs/moving-from-cron.md", "docs/moving-from-systemd-timers.md")
NEEDED = ("curl", "jq")


def _sessions() -> Iterator[Any]:
    for page in ALL:
        for place in sorted({block.how or "" for block in pages.blocks(page)} & set(WHO)):
            if page not in ELSEWHERE:
                for who in [WHO[place], *([as_whoever] if place == "daemon" and page in BOTH else [])]:
                    marks = [needs_root] if who in (as_root, as_a_user) else []
                    yield pytest.param(page, place, who, marks=marks, id=f"{page}-{who.__name__}")


@pytest.mark.long
@pytest.mark.parametrize(("page", "place", "who"), [*_sessions()])
def test_what_a_page_says_is_typed_and_prints_what_it_says(page: str, place: str, who: Any) -> None:
    told = [block for block in pages.blocks(page) if block.how == place]
    for name in NEEDED:
        if shutil.which(name) is None and any(name in block.text for block in told):
            pytest.skip(f"there is no {name}")
    with public_folder() as folder, hooks() as server, who(folder) as typist:
        programs(folder / "bin", server.server_port, None if place == "root" else folder / "jobctl")
        if page in BOTH:
            typist.types([FIRST]).must_be_as_told([FIRST], {})
        typist.types(told).must_be_as_told(told, typist.names)
        assert len(set(server.keys)) < len(server.keys) or not server.keys, "a retry has the key of its first attempt"


@pytest.mark.parametrize("page", ALL)
def test_each_block_of_a_page_says_how_it_is_tested(page: str) -> None:
    found = list(pages.blocks(page))
    assert len(found) == len(re.findall(r"^ *```sh", pages.text_of(page), re.MULTILINE))
    assert len([block for block in found if block.prints is not None]) == pages.text_of(page).count("```text\n"), page
    assert "```bash" not in pages.text_of(page)
    assert not re.findall(r"^ {4,}jobctl [a-z].*", pages.sentences(page), re.MULTILINE), (
        "commands stand in blocks of sh"
    )
    for block in found:
        assert block.prints is None or block.how != "shown", f"{block}: nobody compares what it prints"
        assert block.how in pages.PLACES, f"{block}: <!-- tested: {' | '.join(pages.PLACES)} -->"
        assert (block.how == "shown") == bool(block.why), f"{block}: what is only shown says why, and nothing else does"


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_is_read_by_the_shell_and_its_command_lines_by_jobctl(block: Block) -> None:
    done = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in pages.calls(block.text):
        pages.must_parse(words)


@pytest.mark.parametrize("page", ALL)
def test_every_command_line_in_the_sentences_is_one(page: str) -> None:
    for span in pages.spans(page):
        for words in pages.calls(span) if span.startswith("jobctl ") else ():
            pages.must_parse(words, named=True)


OTHERS = {
    "./install.sh": [str(pages.CHECKOUT / "install.sh"), "--help"],
    "packaging/build": [str(pages.CHECKOUT / "packaging/build"), "--help"],
    "jobd": [sys.executable, "-m", "jobctl_daemon", "--help"],
}


@pytest.mark.parametrize("program", OTHERS)
def test_every_option_of_the_other_programs_is_there(program: str) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(OTHERS[program], env=environ, capture_output=True, text=True, check=True)
    told = {
        (page, option)
        for page in ALL
        for words in re.findall(rf"(?<![\w/]){re.escape(program)}((?: [^\s#`|;&)]+)+)", pages.text_of(page))
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", words)
    }
    assert told or program == "packaging/build"
    assert {(page, option) for page, option in told if option not in done.stdout} == set()


@pytest.mark.parametrize("fences", [(1, 2), (2, 1)])
def test_the_table_of_fences_lets_nobody_overtake(fences: tuple[int, int]) -> None:
    page = pages.text_of("docs/howto/refuse-an-old-fence.md")
    (text,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    create, begin, end = (part for part in text.split(";\n") if part.strip())
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(create)

        def rows(statement: str, fence: int) -> int:
            return len(database.execute(statement, {"key": "k", "fence": fence}).fetchall())

        older, newer = sorted(fences)
        begun = [rows(begin, fence) for fence in fences]
        assert begun == ([1, 1] if fences == (older, newer) else [1, 0])
        assert rows(end, older) == 0
        assert rows(end, newer) == 1
        assert rows(begin, newer + 1) == 0, "it is done, whoever comes"
        assert rows(end, newer) == 0


FOLDER = re.compile(
    r"^\| `((?:jobctl/jobctl|daemon/jobctl_daemon|tui/jobctl_tui)[/a-z_]*)` \| [^|]* \| ([^|]*) \|$", re.MULTILINE
)


@pytest.mark.parametrize(("folder", "told"), FOLDER.findall(pages.text_of("docs/architecture.md")))
def test_a_folder_imports_what_the_architecture_says_and_no_more(folder: str, told: str) -> None:
    found = {
        _part(module)
        for path in (pages.CHECKOUT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for module in _imported(node)
    } - {folder.rpartition("/")[2], ""}
    assert found <= set(told.split(", ")) | {"floor" if folder == "daemon/jobctl_daemon" else ""}


def test_the_architecture_names_every_folder_of_the_project() -> None:
    told = {folder for folder, _ in FOLDER.findall(pages.text_of("docs/architecture.md"))}
    there = {
        str(path.parent.relative_to(pages.CHECKOUT))
        for package in ("jobctl/jobctl", "daemon/jobctl_daemon")
        for path in (pages.CHECKOUT / package).glob("*/__init__.py")
    }
    assert told == there | {"tui/jobctl_tui"}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [f"{node.module}.{name.name}" for name in node.names] if isinstance(node, ast.ImportFrom) else []


def _part(module: str) -> str:
    """What the page calls it; nothing for what is not of this project."""
    package, *rest = module.split(".")
    if package == "jobctl_tui":
        return package
    where = {"jobctl": "jobctl/jobctl", "jobctl_daemon": "daemon/jobctl_daemon"}.get(package)
    if where is None:
        return ""
    if rest and (pages.CHECKOUT / where / rest[0]).is_dir():
        return rest[0]
    return "ground" if package == "jobctl" else "floor"


@pytest.mark.parametrize("page", ALL)
def test_every_file_and_page_that_a_page_names_is_there(page: str) -> None:
    folder = (pages.CHECKOUT / page).parent
    text = pages.text_of(page)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith("http"):
            path, _, anchor = target.partition("#")
            there = folder / path if path else pages.CHECKOUT / page
            assert there.exists(), f"{page}: {target}"
            if anchor:
                assert anchor in _anchors(there.read_text("utf-8")), f"{page}: {target}"


def _anchors(text: str) -> set[str]:
    """Those that a heading gets where pages are shown."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    }
