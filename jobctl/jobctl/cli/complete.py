"""What could come next on a command line: `jobctl __complete WORD…`, the last word being the unfinished one.

Called by the completion scripts at every TAB: it starts no daemon, says nothing on errors, and gives up on a slow
daemon well within a second.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from jobctl.cli.render import FORMATS
from jobctl.cli.safe import cell
from jobctl.cli.verbs import (
    ALIASES,
    BY_WORDS,
    EVENT_KINDS,
    FAILURE_CLASSES,
    GROUPS,
    JOB_STATES,
    RUN_STATES,
    TOPICS,
    VERBS,
    Verb,
)
from jobctl.cli.world import World
from jobctl.errors import JobctlError

_CONNECT_S: Final = 0.2
_ANSWER_S: Final = 0.4

_JOBS: Final = ("run", "ls", "show", "edit", "pause", "resume", "skip", "rm", "runs", "log", "wait", "retry", "kill",
                "cancel", "why", "next", "explain", "export crontab", "dlq ls")  # fmt: skip
#: They take the id of a dead letter.
_DEAD: Final = ("dlq show", "dlq replay", "dlq discard")
_QUEUES: Final = ("queue set", "queue pause", "queue resume")
_VALUES: Final = {
    "-o": FORMATS, "--output": FORMATS, "--color": ("auto", "always", "never"),
    "--overlap": ("allow", "skip", "queue", "replace"), "--misfire": ("once", "all", "skip"), "--runs": ("cancel",),
    "--on-failure": ("dead", "record"), "--on-lost": ("retry", "dead", "ask:"),
    "--notify": ("mail", "mail:", "exec:"), "--priority": ("high", "normal", "low"), "--concurrency": ("none",),
    "--class": FAILURE_CLASSES, "--no-retry-on": FAILURE_CLASSES,
    "--state": JOB_STATES, "--kind": EVENT_KINDS,
}  # fmt: skip
#: Options whose value is the name of a job or of a queue.
_OF_NAMES: Final = {"--after": "/v1/jobs", "--queue": "/v1/queues"}

Candidate = tuple[str, str]


def complete(words: Sequence[str], world: World) -> None:
    """Print the candidates, one a line, a tab and a description behind each."""
    current = words[-1] if words else ""
    found = _candidates(list(words[:-1]), current, world)
    shown = [f"{value}\t{cell(text)}" for value, text in found if value.startswith(current) and cell(value) == value]
    world.stdout.write("".join(line + "\n" for line in shown))


def _candidates(before: list[str], current: str, world: World) -> Iterable[Candidate]:
    if "--" in before:
        return []
    if before and before[-1] == "--state" and "runs" in before:
        return [(value, "") for value in RUN_STATES]
    if before and before[-1] in _VALUES and not (before[-1] == "--runs" and "dlq" in before):
        return [(value, "") for value in _VALUES[before[-1]]]
    if before and before[-1] in _OF_NAMES:
        return _names(world, _OF_NAMES[before[-1]])
    typed = [word for word in before if not word.startswith("-")]
    if not typed:
        return _first_words() if not current.startswith("-") else [("--help", ""), ("--version", "")]
    word = ALIASES.get(typed[0], typed[0])
    if word in GROUPS and len(typed) == 1:
        return [(verb.words.split()[1], verb.summary) for verb in VERBS if verb.words.startswith(word + " ")]
    verb = BY_WORDS.get(" ".join(typed[:2]) if word in GROUPS else word)
    if verb is None:
        return []
    return _options(verb) if current.startswith("-") else _arguments(verb, world)


def _first_words() -> list[Candidate]:
    plain = [(verb.words, verb.summary) for verb in VERBS if " " not in verb.words]
    return [*plain, *((group, "") for group in GROUPS)]


def _options(verb: Verb) -> list[Candidate]:
    from jobctl.cli.build import command_of

    found: list[Candidate] = []
    for param in command_of(verb).params:
        found += [(name, getattr(param, "help", None) or "") for name in param.opts if name.startswith("--")]
    return found


def _arguments(verb: Verb, world: World) -> list[Candidate]:
    if verb.words == "completion":
        return [(shell, "") for shell in ("bash", "zsh", "fish")]
    if verb.words == "help":
        return [*_first_words(), *((topic, "topic") for topic in TOPICS)]
    if verb.words in _DEAD:
        return _dead(world)
    if verb.words in _QUEUES:
        return _names(world, "/v1/queues")
    return _names(world, "/v1/jobs") if verb.words in _JOBS else []


def _names(world: World, path: str) -> list[Candidate]:
    """Of jobs, with their schedules; of queues."""
    described = path == "/v1/jobs"
    return [
        (str(item["name"]), str((item.get("schedule") or {}).get("words", "by hand")) if described else "")
        for item in _listed(world, f"{path}?limit=1000" if described else path)
    ]


def _dead(world: World) -> list[Candidate]:
    return [(str(run["id"]), f"{run['job']}: {run['error'] or run['reason'] or ''}")
            for run in _listed(world, "/v1/dead?limit=100")]  # fmt: skip


def _listed(world: World, target: str) -> list[dict[str, Any]]:
    """The first page of a list; nothing when there is no quick answer."""
    from jobctl.client.discover import AnyDaemon, places
    from jobctl.client.transport import Request, UnixTransport

    try:
        daemon = AnyDaemon(
            places(world.environ, world.uid, None).sockets, lambda path: UnixTransport(path, timeout_s=_CONNECT_S)
        )
        response = daemon(Request("GET", target, timeout_s=_ANSWER_S))
        items: list[dict[str, Any]] = json.loads(response.read())["items"] if response.status == 200 else []
    except (JobctlError, ValueError, KeyError):
        return []
    return items
