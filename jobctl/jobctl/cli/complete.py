"""What could come next on a command line: `jobctl __complete WORD…`, the last word being the unfinished one.

Where nothing is printed, the shell offers names of files. A line without a name keeps it from that: what is expected is
known, and there is none of it.
Called by the completion scripts at every TAB: it starts no daemon, says nothing on errors, and gives up on a slow
daemon well within a second.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from jobctl.cli.render import FORMATS
from jobctl.cli.verbs import (
    ALIASES,
    BY_WORDS,
    EVENT_KINDS,
    FAILURE_CLASSES,
    GROUPS,
    JOB_STATES,
    LOOKS,
    PAGES,
    RUN_STATES,
    TOPICS,
    VERBS,
    Verb,
)
from jobctl.cli.world import World
from jobctl.errors import JobctlError
from jobctl.reading.safe import cell

_CONNECT_S: Final = 0.2
_ANSWER_S: Final = 0.4

_JOBS: Final = ("run", "ls", "show", "edit", "pause", "resume", "skip", "rm", "runs", "log", "wait", "retry", "kill",
                "cancel", "why", "next", "explain", "export crontab", "export jobs", "dlq ls")  # fmt: skip
#: They take the id of a dead letter.
_DEAD: Final = ("dlq show", "dlq replay", "dlq discard")
_QUEUES: Final = ("queue set", "queue pause", "queue resume")
_VALUES: Final = {
    "-o": FORMATS, "--output": FORMATS, "--color": ("auto", "always", "never"),
    "--overlap": ("allow", "skip", "queue", "replace"), "--misfire": ("once", "all", "skip"), "--runs": ("cancel",),
    "--on-failure": ("dead", "record"), "--on-lost": ("retry", "dead", "ask:"),
    "--notify": ("mail", "mail:", "exec:"), "--priority": ("high", "normal", "low"), "--concurrency": ("none",),
    "--mail-on": ("output", "failure", "always"), "--class": FAILURE_CLASSES, "--no-retry-on": FAILURE_CLASSES,
    "--state": JOB_STATES, "--kind": EVENT_KINDS,
    "--theme": LOOKS,
}  # fmt: skip
#: Options whose value is the name of a job or of a queue.
_OF_NAMES: Final = {"--after": "/v1/jobs", "--queue": "/v1/queues"}

#: Options whose value is a file or a folder.
_OF_FILES: Final = ("--cwd", "--env-file", "--payload", "--to", "--socket")

Candidate = tuple[str, str]
_NOTHING: Final = "\t\n"


def complete(words: Sequence[str], world: World) -> None:
    """Print the candidates, one a line, a tab and a description behind each."""
    before, current, joined = _split(words)
    found = _candidates(before, current, world)
    if found is None:
        return
    shown = [
        f"{joined}{value}\t{cell(text)}\n"
        for value, text in found
        if value.startswith(current) and cell(value) == value
    ]
    world.stdout.write("".join(shown) or _NOTHING)


def _split(words: Sequence[str]) -> tuple[list[str], str, str]:
    """What is finished, the word that is not, and what is in front of it in the same word: `--state=fa`.

    bash makes three words of that.
    """
    before, current = list(words[:-1]), words[-1] if words else ""
    if current == "=":
        return before, "", ""
    if before and before[-1] == "=":
        return before[:-1], current, ""
    option, equals, value = current.partition("=")
    if equals and option.startswith("--") and "--" not in before:
        return [*before, option], value, option + equals
    return before, current, ""


def _candidates(before: list[str], current: str, world: World) -> Iterable[Candidate] | None:
    """None where a file is expected, or who knows what."""
    if "--" in before or (before and before[-1] in _OF_FILES):
        return None
    if before and before[-1] == "--state" and "runs" in before:
        return [(value, "") for value in RUN_STATES]
    if before and before[-1] in _VALUES and not (before[-1] == "--runs" and "dlq" in before):
        return [(value, "") for value in _VALUES[before[-1]]]
    if before and before[-1] in _OF_NAMES:
        return _names(world, _OF_NAMES[before[-1]], current)
    typed = [word for word in before if not word.startswith("-")]
    if not typed:
        return _first_words() if not current.startswith("-") else [("--help", ""), ("--version", "")]
    word = ALIASES.get(typed[0], typed[0])
    if word in GROUPS and len(typed) == 1:
        return _members(word)
    if word == "help" and len(typed) == 2 and typed[1] in GROUPS:
        return _members(typed[1])
    verb = BY_WORDS.get(" ".join(typed[:2]) if word in GROUPS else word)
    if verb is None:
        return None
    return _options(verb) if current.startswith("-") else _arguments(verb, world, current)


def _first_words() -> list[Candidate]:
    plain = [(verb.words, verb.summary) for verb in VERBS if " " not in verb.words]
    return [*plain, *((group, "") for group in GROUPS)]


def _members(group: str) -> list[Candidate]:
    return [(verb.words.split()[1], verb.summary) for verb in VERBS if verb.words.startswith(group + " ")]


def _options(verb: Verb) -> list[Candidate]:
    from jobctl.cli.build import command_of

    found: list[Candidate] = []
    for param in command_of(verb).params:
        found += [(name, getattr(param, "help", None) or "") for name in param.opts if name.startswith("--")]
    return found


def _arguments(verb: Verb, world: World, current: str) -> list[Candidate] | None:
    if verb.words == "completion":
        return [(shell, "") for shell in ("bash", "zsh", "fish")]
    if verb.words == "help":
        pages = [(page, "page of the manual") for page in PAGES]
        return [*_first_words(), *pages, *((topic, "topic") for topic in TOPICS if topic not in PAGES)]
    if verb.words in _DEAD:
        return _dead(world)
    if verb.words in _QUEUES:
        return _names(world, "/v1/queues")
    return _names(world, "/v1/jobs", current) if verb.words in _JOBS else None


def _names(world: World, path: str, current: str = "") -> list[Candidate]:
    """Of jobs, with their schedules, out of the cache when that is as it is; of queues."""
    if path != "/v1/jobs":
        return [(str(item["name"]), "") for item in _listed(world, path)]
    from jobctl.cli import names
    from jobctl.client.discover import places

    sockets = places(world.environ, world.uid, None).sockets
    return names.offered(world, sockets, current, lambda target: _answer(world, target))


def _dead(world: World) -> list[Candidate]:
    return [(str(run["id"]), f"{run['job']}: {run['error'] or run['reason'] or ''}")
            for run in _listed(world, "/v1/dead?limit=100")]  # fmt: skip


def _listed(world: World, target: str) -> list[dict[str, Any]]:
    """The first page of a list; nothing when there is no quick answer."""
    found = _answer(world, target)
    try:
        items: list[dict[str, Any]] = json.loads(found)["items"] if found is not None else []
    except (ValueError, KeyError):
        return []
    return items


def _answer(world: World, target: str) -> bytes | None:
    """The body of a good answer; None when there is no quick one."""
    from jobctl.client.discover import AnyDaemon, places
    from jobctl.client.transport import Request, UnixTransport, checked

    try:
        daemon = AnyDaemon(
            places(world.environ, world.uid, None).sockets, lambda path: UnixTransport(path, timeout_s=_CONNECT_S)
        )
        return checked(daemon(Request("GET", target, timeout_s=_ANSWER_S))).read()
    except JobctlError:
        return None
