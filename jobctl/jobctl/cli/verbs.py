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
_MODULES: Final = {"import crontab": "import_crontab", "export crontab": "export_crontab", "export jobs": "export_jobs"}

JOBS, RUNS, DEAD, QUEUES, TIME, WATCHING, FILES, OPERATION = (
    "Jobs",
    "Runs",
    "Dead letters",
    "Queues",
    "Time",
    "Watching",
    "Crontabs and files",
    "Operation",
)

VERBS: Final = (
    Verb("add", "[NAME] OPTIONS -- COMMAND ARG…", "add a job", JOBS, writes=True, command=True),
    Verb("run", "JOB | -- COMMAND ARG…", "run a job now, or a command once", JOBS, writes=True, command=True),
    Verb("ls", "[JOB…]", "list jobs: state, next run, last result", JOBS),
    Verb("show", "JOB|RUN", "everything about one job or run", JOBS),
    Verb(
        "edit",
        "JOB [OPTIONS] [-- COMMAND ARG…]",
        "change a job; shows what comes of it",
        JOBS,
        writes=True,
        command=True,
    ),
    Verb("pause", "JOB…", "stop starting a job, with a reason or until a time", JOBS, writes=True),
    Verb("resume", "JOB…", "start it again", JOBS, writes=True),
    Verb("skip", "JOB…", "leave out the next times of a job", JOBS, writes=True),
    Verb("rm", "JOB…", "remove jobs", JOBS, writes=True),
    Verb("runs", "[JOB]", "list runs, newest first", RUNS),
    Verb("log", "JOB|RUN", "what a run printed; -f follows", RUNS),
    Verb("wait", "RUN…", "wait for runs and end with their exit code", RUNS),
    Verb("retry", "RUN|JOB…", "run again what failed", RUNS, writes=True),
    Verb("kill", "RUN…", "KILL running runs now", RUNS, writes=True),
    Verb("cancel", "RUN…", "stop runs: TERM, the grace, KILL", RUNS, writes=True),
    Verb("why", "JOB", "why it ran, or did not", RUNS),
    Verb("dlq ls", "[JOB]", "what failed for good, by how it failed", DEAD),
    Verb("dlq show", "RUN|JOB", "one of them: why, its attempts, its log, what to do", DEAD),
    Verb("dlq replay", "[RUN…|JOB]", "run them again, under the same key", DEAD, writes=True),
    Verb("dlq discard", "[RUN…|JOB]", "give them up", DEAD, writes=True),
    Verb("queue ls", "", "queues: limits, what runs and waits, pauses", QUEUES),
    Verb("queue set", "NAME", "how many of its runs may run at once", QUEUES, writes=True),
    Verb("queue pause", "NAME", "stop starting the jobs of a queue", QUEUES, writes=True),
    Verb("queue resume", "NAME", "start them again", QUEUES, writes=True),
    Verb("next", "EXPRESSION|JOB", "when it fires next", TIME),
    Verb("explain", "EXPRESSION|JOB", "a schedule in words, with its clock changes", TIME),
    Verb("status", "", "the daemon and what is wrong", WATCHING),
    Verb("events", "", "what happens, as it happens", WATCHING),
    Verb("ui", "", "the screens: jobs, runs, dead letters, live", WATCHING),
    Verb("doctor", "", "look for what could go wrong on this host", WATCHING),
    Verb("import crontab", "[FILE]", "take over crontabs, line by line", FILES, writes=True),
    Verb("export crontab", "[JOB…]", "write jobs as a crontab", FILES),
    Verb("export jobs", "[JOB…]", "write jobs as a file that declares them", FILES),
    Verb("apply", "[FILE|DIR…]", "make jobs what files of jobs say", FILES, writes=True),
    Verb("diff", "[FILE|DIR…]", "what apply would change, field by field", FILES),
    Verb("validate", "[FILE|DIR…]", "look for mistakes in files of jobs", FILES),
    Verb("crontab", "[-u USER] FILE | -n FILE | -e | -l | -r [-i]", "your crontab, as crontab(1)", FILES, writes=True),
    Verb("daemon run", "", "run the daemon in the foreground", OPERATION),
    Verb("daemon start", "", "start the daemon in the background", OPERATION),
    Verb("daemon stop", "", "stop the daemon; running commands go on", OPERATION),
    Verb("daemon status", "", "whether the daemon runs", OPERATION),
    Verb("daemon log", "", "the last lines that the daemon has said of itself", OPERATION),
    Verb("daemon pause", "", "stop starting anything but by hand", OPERATION),
    Verb("daemon resume", "", "start it all again", OPERATION),
    Verb("owner ls", "", "the accounts that have jobs, for root", OPERATION),
    Verb("owner rename", "OLD NEW", "say whose an account's jobs are now, for root", OPERATION, writes=True),
    Verb("backup", "FILE|FOLDER", "copy the database while the daemon runs", OPERATION),
    Verb("restore", "FILE", "put a backup in the place of the database", OPERATION),
    Verb("completion", "bash|zsh|fish", "print a completion script for a shell", OPERATION),
    Verb("version", "", "the version of this program and of the daemon", OPERATION),
    Verb("help", "[VERB|TOPIC]", "help on a verb or a topic", OPERATION),
)

#: What --state takes of jobs; the last three hold beside one of the others.
JOB_STATES: Final = (
    "ok", "failed", "running", "retrying", "paused", "done", "parked", "dead", "quarantined", "skipping",
)  # fmt: skip
#: Words of jobctl.states, which is not loaded for them at a start; a test compares.
RUN_STATES: Final = (
    "scheduled", "ready", "running", "dead", "succeeded", "failed", "cancelled", "skipped", "superseded", "discarded",
)  # fmt: skip
FAILURE_CLASSES: Final = (
    "exit_code", "signal", "oom", "timed_out", "cancelled", "interrupted", "spawn_error", "lost", "policy",
)  # fmt: skip
#: What --kind of events takes: a kind, or a noun for all of its kinds.
EVENT_KINDS: Final = (
    "job", "job.created", "job.edited", "job.deleted", "job.done", "job.parked", "job.paused", "job.resumed",
    "job.unskipped", "job.quarantined", "job.skipping", "job.recovered",
    "run", "run.scheduled", "run.waiting", "run.ready", "run.held", "run.running", "run.retrying", "run.dead",
    "run.replayed", "run.succeeded", "run.failed", "run.cancelled", "run.skipped", "run.superseded", "run.discarded",
    "occurrence", "occurrence.skipped", "queue", "queue.set", "queue.paused", "queue.resumed",
    "daemon", "daemon.paused", "daemon.resumed", "daemon.restored", "clock", "clock.stepped",
    "access", "access.denied", "owner", "owner.renamed",
)  # fmt: skip
#: What --theme of ui takes.
LOOKS: Final = ("jobctl-dark", "jobctl-light", "ansi", "mono")
ALIASES: Final = {"list": "ls", "delete": "rm", "logs": "log"}
TOPICS: Final = (
    "time", "filters", "failures", "defaults", "exit-codes", "environment", "format", "cron", "files", "api",
)  # fmt: skip
#: Pages of the manual that are no verb's, by what `jobctl help` calls them. Where there are none, `cron` is a topic.
PAGES: Final = {
    "jobctl": "jobctl", "jobd": "jobd", "jobd.toml": "jobd.toml", "jobs.toml": "jobs.toml", "cron": "jobctl-cron",
}  # fmt: skip
#: Of -q in every verb that has it.
FILTER_HELP: Final = "`state:failed tag:db -tag:test next<1h NAME`, see `jobctl help filters`"
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
        "Pages of the manual, by `jobctl help NAME`: all verbs, " + ", ".join(PAGES) + ".",
        "Topics, by `jobctl help TOPIC`: " + ", ".join(topic for topic in TOPICS if topic not in PAGES) + ".",
    ]
    return "\n".join(parts) + "\n"
