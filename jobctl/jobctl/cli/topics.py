"""The texts of `jobctl help TOPIC`."""

from typing import Final

from jobctl.defaults import HEADING, Row, rows

_TIME = """\
Times

What you write
  in 10m, 2h30m            from now: units w d h m s ms, the largest first
  17:30                    the next half past five
  tomorrow 09:00, mon 09:00
  2026-12-01 09:00         in the zone of --tz, else the job's, else the host's
  2026-12-01 09:00 Europe/Berlin, 2026-12-01T09:00Z, 2026-12-01T09:00+01:00, @1796115600
  --since and --from look back: --since 2h is two hours ago

Zones
  A job has one zone: --tz when it was added, else the host's (/etc/localtime, /etc/timezone), else UTC.
  The TZ of your shell changes only how times are shown to you; --utc shows UTC.

Clock changes
  A fixed time that the clock skips runs once, right after the gap; one that occurs twice runs once, the first time.
  Wildcards such as */20 keep their rhythm. --dst-gap and --dst-overlap choose otherwise.
  `jobctl explain` shows those days.
"""

_FILTERS = """\
Filters

A filter is what -q takes, and what / asks for in `jobctl ui`. All its terms must hold. Case does not matter.

  backup                a part of the name; of dead letters also of the reason and of what they printed
  failed                a word that is a state's too means both: a part of the name, or state:failed; of runs also the
                        dead ones. Dead letters are looked for by their text alone
  "two words"           a part of the name, with whatever is in it; "failed" is no state
  /^db-[0-9]+$/         a regular expression: . [a-z] [^a-z] \\d \\w \\s ( ) | * + ? {2,3} ^ $
  state:failed,late     one of these
  -tag:test             not
  next<1h  last>2d      compared: units w d h m s ms

Keys
  state:    of jobs    failed late retrying running queued ok new manual paused quarantined parked skipping dead done:
                       whatever else holds beside it
            of runs    scheduled ready running succeeded failed dead cancelled skipped superseded discarded;
                       active, retrying, waiting, late
  name:     the whole name; * stands for anything, ? for one character, as in tag: queue: owner: source:
  tag:  queue:  owner:
  source:   where a job comes from: api, cli, crontab…, or the path of the file that has it
  command:  a part of what a job runs
  next      how long until a job fires, or a run is due
  last      how long ago the last run of a job ended, or the run
  dur       how long the last run of a job took, or the run took or has been running
  exit:     exit code, also exit>0
  class:    how it failed: exit_code, signal, oom, timed_out, cancelled, interrupted, spawn_error, lost, policy
  trigger:  schedule, catch_up, manual, boot, start, after, notice
  error:    a part of what it said when it failed, or of why it ended
  Of a job exit, class, trigger and error are those of its last run.

For a shell a filter stands in quotation marks:
  jobctl ls -q 'state:failed -tag:test'
  jobctl pause -q 'queue:mail next<1h' --why 'the provider is down'
  jobctl runs -q 'name:db-* dur>30m'
  jobctl dlq replay -q 'class:timed_out error:proxy'
"""

_FAILURES = """\
When it fails

Classes: how an attempt ended that did not succeed
  exit_code     another exit code than 0          spawn_error   it could not be started
  signal        a signal ended it                 lost          its end was not seen: a crash of the host, a power cut
  oom           the kernel, out of memory         interrupted   the host was going down
  timed_out     --timeout                         cancelled     somebody cancelled or killed it
  policy        its output could not be kept

Retries
  --retries N attempts after the first. The delay doubles from --backoff to --backoff-max, with up to 20 % on top by
  chance. A run that waits for its retry keeps its place before the next one of its job (--overlap), but no slot.
  Not retried: a program that is missing or may not be run, exit codes 64-68, 77, 78, 126, 127, what --no-retry-on
  names (codes and classes), and what was cancelled.
  What is lost has a budget of its own: --on-lost retry[:N], dead, or ask:COMMAND, which is run with the run's key and
  says whether the work was done (exit code 0), was not (1), or that nobody knows (any other).

Dead letters
  What failed for good waits with its reason, its log and its key (--on-failure record: it is only recorded).
  jobctl dlq ls                  by how they failed
  jobctl dlq show RUN|JOB        one of them, and what can be done; of a job the newest
  jobctl dlq replay RUN|JOB      again, under the same id and key: what checks the key does nothing twice
  jobctl dlq discard RUN|JOB     given up; it stays in the history
  jobctl retry RUN               a waiting retry now, a dead letter again, of another run a new one
  Five dead letters in a row pause a job (quarantined); jobctl resume releases it. Of a job 100 are kept.

Key and fence
  JOBCTL_RUN_KEY is the same in every attempt and replay of a run. JOBCTL_FENCE grows with each: whoever keeps the
  highest that he has seen, and refuses smaller ones, is never overtaken by an attempt that was thought dead.

Being told
  --notify mail, mail:ADDRESS or exec:COMMAND: the first failure at once, then hourly while it goes on, and the
  recovery. `jobctl status --check` is for monitors.
  --mail TO sends what a run prints, as cron does; --mail-on failure only of runs that failed for good.
"""

_EXIT_CODES = """\
Exit codes

  0    done
  1    it failed, there is trouble (status --check, doctor), or there are differences
  2    wrong usage, a refused expression
  3    not found
  4    the daemon does not answer, or cannot do it now (its disk is full)
  5    conflict: exists, changed meanwhile, or not in that state
  6    no permission
  7    partly done: some of several failed
  8    versions of client and daemon do not match
  9    the database is damaged
  70   a bug of jobctl
  124  timed out
  126  run --wait: its program could not be started
  127  run --wait: there is no such program
  130  interrupted

  wait, run --wait and run --follow end with the command's own code: 128 + N when signal N killed it, 124 when it timed
  out, 1 when it was cancelled, skipped or lost. A dead letter is over: it ends with the code of its last attempt.
"""

_ENVIRONMENT = """\
Environment

What jobctl reads
  JOBCTL_HOME      one folder for config/, state/ and run/: another daemon, for trials
  JOBCTL_SOCKET    the socket to talk to
  JOBCTL_UNPACK_DIR  where the one file unpacks itself, once
  JOBCTL_DEBUG     set: tracebacks of bugs
  NO_COLOR         set and not empty: no colour
  COLUMNS, TERM    width, and whether the terminal can show colour
  TZ               the zone in which times are shown to you
  XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR
  XDG_CACHE_HOME   the names of jobs that completions offer are kept there

What a command sees
  JOBCTL_RUN_KEY        the same for every attempt of a run: check it where nothing may happen twice
  JOBCTL_RUN_ID, JOBCTL_JOB, JOBCTL_TRIGGER
  JOBCTL_ATTEMPT        1, 2, …
  JOBCTL_FENCE          grows with every attempt; refuse smaller ones
  JOBCTL_SCHEDULED_AT   the time it is for, with zone
  PATH, HOME, SHELL, LOGNAME, USER, LANG=C.UTF-8, PYTHONUNBUFFERED=1, and what --env and --env-file give;
  nothing of yours or the daemon's (but what pass_env in jobd.toml names). PATH is that of a login of the user
  it runs as; lines of crontabs begin with /etc/environment and /etc/default/locale, as with Debian's cron.
  PYTHONUNBUFFERED shows a Python program's lines as they are printed; --env PYTHONUNBUFFERED= switches that off.
  Other programs keep what they print to a file back until they end: stdbuf -oL PROGRAM (coreutils)
  Output and errors go to one file. Write >&2 in a script: > /dev/stderr opens that file anew and empties it.
"""

_FORMAT = """\
Formats

  -o table    for people (the default); on a terminal made to fit, piped never cut
  -o wide     more columns
  -o json     lists: {"schema": 1, "items": [...], "next": null}; one thing: the object. Also --json
  -o ndjson   one object a line; what -f gives with --json
  -o csv      RFC 4180 with a heading
  -o name     names of jobs, ids of runs, one a line

  Fields have the names of the API (jobctl help api). Times are RFC 3339 in UTC, durations seconds as numbers.
  Data goes to stdout, words to stderr. With --json an error is {"error": {"code", "message", "hint"}} on stderr.
  On a terminal, control characters in names, commands and logs are shown as escapes; `log --raw` lets them through.
"""

_CRON = """\
Cron expressions

  minute hour day-of-month month day-of-week
  *       every              1-5     a range        MON-FRI  names
  1,15    several            */10    every tenth    @hourly @daily @weekly @monthly @yearly

  When both days are restricted, either matches, as in cron.
  --on-boot is @reboot. Intervals that do not divide an hour are --every 90m.
  Try one: jobctl explain "30 2 * * 1-5" --tz Europe/Berlin
"""

_FILES = """\
Files of jobs

  version = 1
  [defaults]                        what holds for all jobs of this file, unless they say otherwise
  timezone = "Europe/Berlin"
  [job.backup]
  cron = "30 3 * * *"               or every, at, after, on_boot, on_start; without one it is run by hand
  command = ["/usr/local/bin/backup", "--full"]
  timeout = "2h"
  retry = { max = 5, backoff = "5m" }
  [job."weekly report"]
  cron = "0 8 * * mon"
  shell = "./collect | mail -s week boss"
  cwd = "/srv/report"
  env = { LANG = "C.UTF-8" }

  Keys are the options of `jobctl add` with _ for -; what it is called there as well: timezone (--tz), payload_ref
  (--payload), tags (--tag), and retry with max, backoff, backoff_max, no_retry_on, on_lost and lost. All of them, and
  when a file is taken over: man jobs.toml

  jobctl validate FILE   every mistake, with its place and how to mend it; needs no daemon
  jobctl diff FILE       what would change, field by field, with the next times
  jobctl apply FILE      do it; --prune removes what the file had and has no more
  jobctl export jobs     the jobs that there are, as such a file

  Files in jobs.d are applied by themselves: /etc/jobctl/jobs.d of the system's daemon, ~/.config/jobctl/jobs.d of your
  own.
"""

_API = """\
The HTTP API

  HTTP/1.1 on the daemon's socket; the kernel says who calls. JSON, UTF-8.
  curl --unix-socket "$(jobctl status --json | jq -r .socket)" http://jobd/v1/jobs

  POST   /v1/jobs                    add; Idempotency-Key; ?dry_run=1
  GET    /v1/jobs                    list: state queue owner q tag source declared done limit cursor
  GET    /v1/jobs/window             a part of it as a screen shows it: sort reverse q offset limit around
  GET    /v1/jobs/{id}               by id, name or beginning of the uid; its ETag is the rev
  PATCH  /v1/jobs/{id}               the fields to change; If-Match; ?dry_run=1
  DELETE /v1/jobs/{id}               ?runs=cancel
  POST   /v1/jobs/{id}/pause, /resume, /skip, /runs
  GET    /v1/jobs/{id}/runs, /ledger, /next
  POST   /v1/apply                   the jobs that a file declares; without one what is in jobs.d
  GET    /v1/crontabs                the tables that are run as they stand; POST /v1/crontabs/live takes them over
  GET    /v1/crontab                 your own; PUT and DELETE
  POST   /v1/runs                    a command once
  GET    /v1/runs, /v1/runs/{id}     ?wait=SECONDS
  GET    /v1/runs/window             what has not ended, then the newest ends: q offset limit around
  GET    /v1/runs/{id}/work, /attempts, /log
  POST   /v1/runs/{id}/cancel, /kill, /retry
  GET    /v1/dead, /v1/dead/groups   list: job class fingerprint q since until limit cursor
  POST   /v1/dead/replay, /discard   by ids or the same filter; replay: Idempotency-Key
  GET    /v1/queues                  PUT /v1/queues/{name}
  POST   /v1/queues/{name}/pause, /resume
  POST   /v1/daemon/pause, /resume, /stop
  GET    /v1/events                  server-sent events; Last-Event-ID resumes
  POST   /v1/schedule/preview
  GET    /v1/status, /v1/health/live, /v1/health/ready

  Errors are application/problem+json with code, title and hint.
"""


def _defaults() -> str:
    """The table of `jobctl.defaults`, a block for each way a job comes to be: side by side it is too wide."""
    lines = ["Defaults", "", "What holds where nothing is said", ""]
    for at in range(1, len(HEADING)):
        lines += [HEADING[at], *(f"  {row.label:<24}{row[at]}" for row in _said(at)), ""]
    lines.append("`jobctl add --dry-run` and `jobctl show JOB` say what holds for one job.")
    return "\n".join(lines) + "\n"


def _said(at: int) -> tuple[Row, ...]:
    """The rows that mean something for this way."""
    return tuple(row for row in rows() if row[at] != "–")


TEXTS: Final = {
    "time": _TIME,
    "filters": _FILTERS,
    "failures": _FAILURES,
    "defaults": _defaults(),
    "exit-codes": _EXIT_CODES,
    "environment": _ENVIRONMENT,
    "format": _FORMAT,
    "cron": _CRON,
    "files": _FILES,
    "api": _API,
}
