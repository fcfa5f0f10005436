"""Every verb, in the order of the help, with one line each. Only the module of the verb in use is imported."""

from typing import Final, NamedTuple


class Verb(NamedTuple):
    """`words` is what is typed; `module` holds a function `verb`. Writing verbs may start a daemon."""

    words: str
    usage: str
    summary: str
    section: str
    writes: bool = False
    command: bool = False
    """Whether what follows `--` is a command to run."""

    @property
    def module(self) -> str:
        return "jobctl.cli." + _MODULES.get(self.words, self.words.replace(" ", "_"))


#: Where a file cannot have the verb's own name.
_MODULES: Final = {"import crontab": "import_crontab", "export crontab": "export_crontab"}

JOBS, RUNS, TIME, WATCHING, FILES, OPERATION = (
    "Jobs",
    "Runs",
    "Time",
    "Watching",
    "Crontabs",
    "Operation",
)

VERBS: Final = (
    Verb("add", "[NAME] OPTIONS -- COMMAND ARG…", "add a job", JOBS, writes=True, command=True),
    Verb("run", "JOB | -- COMMAND ARG…", "run a job now, or a command once", JOBS, writes=True, command=True),
    Verb("ls", "[JOB…]", "list jobs: state, next run, last result", JOBS),
    Verb("show", "JOB|RUN", "everything about one job or run", JOBS),
    Verb("pause", "JOB…", "stop starting a job, with a reason or until a time", JOBS, writes=True),
    Verb("resume", "JOB…", "start it again", JOBS, writes=True),
    Verb("rm", "JOB…", "remove jobs", JOBS, writes=True),
    Verb("runs", "[JOB]", "list runs, newest first", RUNS),
    Verb("log", "JOB|RUN", "what a run printed; -f follows", RUNS),
    Verb("wait", "RUN…", "wait for runs and end with their exit code", RUNS),
    Verb("kill", "RUN…", "KILL running runs now", RUNS, writes=True),
    Verb("cancel", "RUN…", "stop runs: TERM, the grace, KILL", RUNS, writes=True),
    Verb("why", "JOB", "why it ran, or did not", RUNS),
    Verb("next", "EXPRESSION|JOB", "when it fires next", TIME),
    Verb("explain", "EXPRESSION|JOB", "a schedule in words, with its clock changes", TIME),
    Verb("status", "", "the daemon and what is wrong", WATCHING),
    Verb("events", "", "what happens, as it happens", WATCHING),
    Verb("doctor", "", "look for what could go wrong on this host", WATCHING),
    Verb("import crontab", "[FILE]", "take over crontabs, line by line", FILES, writes=True),
    Verb("export crontab", "[JOB…]", "write jobs as a crontab", FILES),
    Verb("daemon run", "", "run the daemon in the foreground", OPERATION),
    Verb("daemon start", "", "start the daemon in the background", OPERATION),
    Verb("daemon stop", "", "stop the daemon; running commands go on", OPERATION),
    Verb("daemon status", "", "whether the daemon runs", OPERATION),
    Verb("completion", "bash|zsh|fish", "print a completion script for a shell", OPERATION),
    Verb("version", "", "the version of this program and of the daemon", OPERATION),
    Verb("help", "[VERB|TOPIC]", "help on a verb or a topic", OPERATION),
)

#: What --state takes, of jobs and of runs.
JOB_STATES: Final = ("ok", "failed", "running", "paused", "done", "parked")
RUN_STATES: Final = ("scheduled", "ready", "running", "succeeded", "failed", "cancelled", "skipped")
#: What --kind of events takes: a kind, or a noun for all of its kinds.
EVENT_KINDS: Final = (
    "job", "job.created", "job.deleted", "job.done", "job.parked", "job.paused", "job.resumed",
    "run", "run.scheduled", "run.ready", "run.held", "run.running", "run.succeeded", "run.failed", "run.cancelled",
    "run.skipped",
)  # fmt: skip
ALIASES: Final = {"list": "ls", "delete": "rm", "logs": "log"}
TOPICS: Final = ("time", "exit-codes", "environment", "format", "cron", "api")
GROUPS: Final = tuple(dict.fromkeys(verb.words.split()[0] for verb in VERBS if " " in verb.words))
BY_WORDS: Final = {verb.words: verb for verb in VERBS}

_EXAMPLES = (
    ('jobctl add backup --cron "0 3 * * *" -- /usr/local/bin/backup --full', "every day at 03:00"),
    ("jobctl ls", "state, next run and last result of each job"),
    ("jobctl run backup --follow", "run it now and watch it"),
    ("jobctl why backup --at 03:00", "did it run, and why not"),
    ("jobctl import crontab", "what your crontab would become"),
)


def overview() -> str:
    """`jobctl --help`: examples first, then every verb by section."""
    wide = max(len(command) for command, _ in _EXAMPLES[1:])
    parts = ["Usage: jobctl VERB [OPTIONS] [ARGUMENTS]", "", "Jobs on this host: what runs, when, and why not.", ""]
    parts += ["Examples:"]
    for command, comment in _EXAMPLES:
        parts.append(f"  {command}" if len(command) > wide else f"  {command:<{wide}}  {comment}")
    for section in dict.fromkeys(verb.section for verb in VERBS):
        parts += ["", f"{section}:"]
        parts += [f"  {verb.words:<16}{verb.summary}" for verb in VERBS if verb.section == section]
    parts += [
        "",
        "Without a verb: status. `jobctl VERB --help` tells its options; all verbs take --json.",
        "Topics: " + ", ".join(f"jobctl help {topic}" for topic in TOPICS[:3]) + ",",
        "        " + ", ".join(f"jobctl help {topic}" for topic in TOPICS[3:]),
    ]
    return "\n".join(parts) + "\n"
