#!/bin/bash
# Installs jobctl from the checkout this file lies in, starts its daemon, and runs a first job through it.
# docs/operations.md tells what goes where; docs/decisions/0008-installation.md tells why.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # `sh install.sh`
set -eu
umask 022
# Settings for other environments than the one made here. The daemon's place is settled below.
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX JOBCTL_SOCKET
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_REQUIRE_VIRTUALENV PIP_NO_COMPILE PIP_PYTHON

usage() {
    cat <<'USAGE'
usage: ./install.sh [--python PATH] [--no-start]
       ./install.sh --uninstall [--purge]

Installs jobctl and jobd into an environment of their own: as root under /opt/jobctl for the whole host, as
anybody else under ~/.local/lib/jobctl for that user. Starts the daemon, arranges that it comes back after a
reboot and a logout, and runs a first job. Run again, it upgrades; running commands go on.

  --python PATH   the Python to use, 3.11 or newer (else /usr/bin/python3, then what PATH has)
  --no-start      set everything up, but start nothing now
  --uninstall     stop the daemon and remove the programs; jobs and history stay
  --purge         with --uninstall: remove jobs, history and settings too
  --help          this text

With JOBCTL_HOME=DIR the daemon keeps everything under DIR: a trial, which does not come back after a reboot.
Exit codes: 0 done, 1 something failed (what was installed before still works), 2 something is missing first.
USAGE
}

say() { printf '%s\n' "$*"; }
step() { printf '  %-12s %s\n' "$1" "$2"; }
warn() { printf 'install.sh: %s\n' "$*" >&2; }
die() { # CODE MESSAGE [HINT]
    warn "$2"
    [ $# -lt 3 ] || printf '  %s\n' "$3" >&2
    exit "$1"
}
tail_of() { tail -n 15 "$1" | sed 's/^/  | /' >&2; }

# ── places ────────────────────────────────────────────────────────────────────
# For the tests: another folder than / in which the host's own files are looked for and made.
root=${JOBCTL_INSTALL_ROOT:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
uid=$(id -u)
marker='# jobctl: starts the daemon' # the importer of crontabs knows it

xdg() { # VARIABLE DEFAULT: as the XDG specification says, a relative value counts as none
    case "${!1:-}" in
    /*) printf '%s' "${!1}" ;;
    *) printf '%s' "$HOME/$2" ;;
    esac
}

settle_places() {
    if [ "$uid" -eq 0 ]; then
        base=$root/opt/jobctl bin=$root/usr/local/bin man=$root/usr/local/share/man
        state=$root/var/lib/jobctl config=$root/etc/jobctl socket=$root/run/jobctl/jobd.sock
        units=$root/etc/systemd/system unit_kind=system systemctl=(systemctl)
        bash_completion=$root/usr/local/share/bash-completion/completions/jobctl
        zsh_completion=$root/usr/local/share/zsh/site-functions/_jobctl
        fish_completion=$root/usr/local/share/fish/vendor_completions.d/jobctl.fish
    else
        case "${HOME:-}" in
        /*) ;;
        *) die 2 'HOME is not set to a folder' "set it, for example: HOME=/home/$(id -un 2>/dev/null || echo you) $0" ;;
        esac
        if ! [ -d "$HOME" ] || ! [ -w "$HOME" ]; then die 2 "HOME is $HOME, which is no folder that you may write to"; fi
        base=$HOME/.local/lib/jobctl bin=$HOME/.local/bin man=$HOME/.local/share/man
        state=$(xdg XDG_STATE_HOME .local/state)/jobctl config=$(xdg XDG_CONFIG_HOME .config)/jobctl
        socket=$state/jobd.sock
        units=$(xdg XDG_CONFIG_HOME .config)/systemd/user unit_kind=user systemctl=(systemctl --user)
        bash_completion=$(xdg XDG_DATA_HOME .local/share)/bash-completion/completions/jobctl
        zsh_completion=$(xdg XDG_DATA_HOME .local/share)/zsh/site-functions/_jobctl
        fish_completion=$(xdg XDG_CONFIG_HOME .config)/fish/completions/jobctl.fish
    fi
    if [ -n "${JOBCTL_HOME:-}" ]; then
        JOBCTL_HOME=$(realpath -m -s "$JOBCTL_HOME")
        state=$JOBCTL_HOME/state config=$JOBCTL_HOME/config socket=$JOBCTL_HOME/run/jobd.sock
    fi
}

count_of() { # NUMBER NOUN VERB: "1 command runs", "2 commands run"
    if [ "$1" -eq 1 ]; then printf '1 %s %ss' "$2" "$3"; else printf '%s %ss %s' "$1" "$2" "$3"; fi
}

make_folder() { # PATH [MODE]: notes which folders it makes, so that the removal knows them
    local missing=$1 made=''
    while [ ! -d "$missing" ]; do
        made=$missing$'\n'$made
        missing=$(dirname "$missing")
    done
    mkdir -p "$1"
    [ -z "$made" ] || printf '%s' "$made" >>"$base/.made"
    if [ -n "$made" ] && [ $# -gt 1 ]; then chmod "$2" "$1"; fi
}

remove_made() { # LIST: those that are empty now, the innermost first
    local folder
    tac "$1" 2>/dev/null | while read -r folder; do rmdir "$folder" 2>/dev/null || true; done
}

current() { readlink "$base/current" 2>/dev/null || true; } # the folder in use, without its path

# ── Python ────────────────────────────────────────────────────────────────────
probe() { # PYTHON: prints "3.11.2 new|old venv|bare"
    "$1" -I -c '
import sys
try:
    import ensurepip, venv
    has = "venv"
except ImportError:
    has = "bare"
version = sys.version_info
print("%d.%d.%d" % version[:3], "new" if version >= (3, 11) else "old", has)' 2>/dev/null
}

candidates() {
    local name
    printf '%s\n' "$root/usr/bin/python3"
    for name in python3 python3.13 python3.12 python3.11; do type -P "$name" || true; done
}

find_python() { # sets python, python_version
    local list found version age has old='' bare=''
    python=''
    if [ -n "$wanted_python" ]; then list=$(type -P "$wanted_python" || true); else list=$(candidates); fi
    while read -r found; do
        read -r version age has <<<"$(probe "$found")" || true
        [ -n "$version" ] || continue
        python_version=$version
        if [ "$age" = old ]; then
            old="${old:+$old, }$found is $version"
        elif [ "$has" = bare ]; then
            bare=${bare:-$found}
        else
            python=$found
            return
        fi
    done <<<"$list"
    if [ -n "$bare" ]; then
        install_venv "$bare"
    elif [ -n "$old" ]; then
        die 2 "Python 3.11 or newer is needed; $old" "install one, or name it: ./install.sh --python PATH"
    elif [ -n "$wanted_python" ]; then
        die 2 "$wanted_python is no Python that runs"
    else
        die 2 'no python3 was found' 'as root: apt-get update && apt-get install -y python3 python3-venv'
    fi
}

install_venv() { # PYTHON without ensurepip, which Debian packs separately
    local package
    case "${1##*/}" in python3) package=python3-venv ;; *) package=${1##*/}-venv ;; esac
    if [ "$uid" -ne 0 ] || ! type -P apt-get >/dev/null; then
        die 2 "$1 cannot make environments: its venv module is not installed" \
            "as root: apt-get update && apt-get install -y $package"
    fi
    step packages "$package, with apt-get"
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"; } \
        >"$work/apt.log" 2>&1 </dev/null; then
        warn "apt-get could not install $package; it says:"
        tail_of "$work/apt.log"
        exit 2
    fi
    read -r python_version _ has <<<"$(probe "$1")" || true
    [ "$has" = venv ] || die 2 "$1 cannot make environments, although $package is installed"
    python=$1
}

# ── the environment ───────────────────────────────────────────────────────────
free_name() { # VERSION: itself, or with +1, +2, … An environment cannot be moved: its scripts name their Python.
    local name=$1 n=0
    while [ -e "$base/$name" ]; do
        n=$((n + 1))
        name=$1+$n
    done
    printf '%s' "$name"
}

make_environment() { # sets new, the folder's name
    local part began=$SECONDS
    new=$(free_name "$version")
    # Built from a copy: the checkout may belong to somebody else, and stays as it is.
    mkdir "$work/source"
    for part in pyproject.toml README.md LICENSE jobctl daemon tui man; do
        cp -R "$here/$part" "$work/source/" || die 1 "$here cannot be read"
    done
    chmod -R u+w "$work/source"
    find "$work/source" -name __pycache__ -prune -exec rm -rf {} +
    unfinished=$base/$new
    if ! "$python" -m venv "$base/$new" >"$work/pip.log" 2>&1; then
        warn "$python could not make an environment in $base/$new; it says:"
        tail_of "$work/pip.log"
        exit 1
    fi
    if ! "$base/$new/bin/python3" -m pip install --no-input --disable-pip-version-check --compile \
        "$work/source" >"$work/pip.log" 2>&1 </dev/null; then
        warn "pip could not install jobctl and what it needs (is the network there?); it says:"
        tail_of "$work/pip.log"
        [ -z "$(current)" ] || warn "nothing was changed: $(current) is still installed"
        exit 1
    fi
    if ! { "$base/$new/bin/jobctl" --version && "$base/$new/bin/jobd" --version; } >"$work/check.log" 2>&1; then
        warn 'what was installed does not run; it says:'
        tail_of "$work/check.log"
        exit 1
    fi
    step environment "$base/$new ($((SECONDS - began)) s)"
}

build_of() { # NAME: what its runners are named after; an environment from before there were builds has none
    "$base/$1/bin/python3" -I -c 'from jobctl_daemon.build import build_id; print(build_id())' 2>/dev/null || true
}

switch_to() { # NAME: one rename, so that there is no moment without a jobctl
    ln -sfn "$1" "$base/.next"
    mv -T "$base/.next" "$base/current"
    unfinished=''
}

is_ours() { # LINK
    [ -L "$1" ] && case "$(readlink "$1")" in "$base/current/"*) true ;; *) false ;; esac
}

check_links() {
    local name
    for name in jobctl jobd; do
        if [ -e "$bin/$name" ] || [ -L "$bin/$name" ]; then
            is_ours "$bin/$name" || die 2 "$bin/$name is there and not from this installer" 'move it away first'
        fi
    done
}

make_links() {
    local name page target
    make_folder "$bin"
    for name in jobctl jobd; do ln -sfn "$base/current/bin/$name" "$bin/$name"; done
    for page in "$base"/current/share/man/man*/*; do
        [ -e "$page" ] || continue
        target=$man/${page#"$base"/current/share/man/}
        make_folder "${target%/*}"
        if [ ! -e "$target" ] || is_ours "$target"; then ln -sfn "$page" "$target"; fi
    done
    step links "$bin/jobctl, $bin/jobd, manual pages in $man"
}

completions() { printf '%s\n' "bash $bash_completion" "zsh $zsh_completion" "fish $fish_completion"; }

make_completions() {
    local shell file
    while read -r shell file; do
        if "$base/current/bin/jobctl" completion "$shell" >"$work/completion" 2>/dev/null </dev/null; then
            make_folder "${file%/*}"
            cp "$work/completion" "$file"
        else
            warn "no completion for $shell: jobctl completion $shell failed"
        fi
    done < <(completions)
    tell_completions
}

tell_completions() { # only of shells that are here, and what each of them needs
    if [ -e "$root/usr/share/bash-completion/bash_completion" ]; then
        step completions 'bash: in every new shell'
    else
        step completions "bash: the package bash-completion is missing; without it, in ~/.bashrc: . $bash_completion"
    fi
    if type -P zsh >/dev/null; then
        if [ "$uid" -eq 0 ]; then
            step '' 'zsh: in every new shell that runs compinit'
        else
            step '' "zsh: in ~/.zshrc, before compinit: fpath=(${zsh_completion%/*} \$fpath)"
        fi
    fi
    if type -P fish >/dev/null; then step '' 'fish: in every new shell'; fi
}

in_use() { # NAME: some process runs from that folder
    printf '%s' "$base/$1/" >"$work/pattern"
    grep -qsaF -f "$work/pattern" /proc/[0-9]*/cmdline
}

sweep() { # removes the environments that nobody needs; sets kept, those where a runner still watches its commands
    local folder name
    kept=''
    for folder in "$base"/*/; do
        name=$(basename "$folder")
        case "$name" in current | '*' | "$(current)") continue ;; esac
        if in_use "$name"; then kept="${kept:+$kept }$name"; else rm -rf "${base:?}/$name"; fi
    done
}

sweep_soon() { # runners that have nothing to do take a moment to end
    local n
    for ((n = 0; n < 30; n++)); do
        sweep
        if [ -z "$kept" ] || [ "$(commands_running)" -gt 0 ]; then return; fi
        sleep 0.1
    done
}

# ── the daemon ────────────────────────────────────────────────────────────────
ask() { # NAME ARGUMENTS…: the jobctl of that environment, to the daemon of this place and no other
    local name=$1
    shift
    JOBCTL_SOCKET=$socket "$base/$name/bin/jobctl" "$@" </dev/null 2>"$work/ask.log" 9>&-
}

field() { # NAME PATH: one value of the JSON on stdin
    "$base/$1/bin/python3" -I -c '
import json, sys
value = json.load(sys.stdin).get(sys.argv[1])
print("" if value is None else value)' "$2" 2>/dev/null
}

running_version() { # NAME: of the daemon that answers, or nothing
    local status
    status=$(ask "$1" daemon status --json) || return 0
    printf '%s' "$status" | field "$1" version
}

runners() { # pids of this daemon's runners
    local file words
    for file in /proc/[0-9]*/cmdline; do
        { mapfile -d '' -t words <"$file"; } 2>/dev/null || continue
        case " ${words[*]} " in *" jobctl_daemon.runner --state $state "*)
            file=${file#/proc/}
            printf '%s\n' "${file%/cmdline}"
            ;;
        esac
    done
}

commands() { # the pids of what the runners have started
    local pid
    for pid in $(runners); do cat /proc/"$pid"/task/*/children 2>/dev/null || true; done
}

commands_running() { commands | wc -w; }

stop_daemon() { # NAME: with the jobctl of that environment
    local pid n
    # One that stood by takes over at once, with the version that it is of: as often as there are any.
    for ((n = 0; n < 10; n++)); do
        ask "$1" daemon stop >/dev/null || break
        ask "$1" daemon status >/dev/null || return 0
    done
    # It does not answer: the process that holds the lock, if it is one of ours.
    [ -e "$state/jobd.lock" ] || return 0
    pid=$(tr -cd '0-9' <"$state/jobd.lock")
    if [ -z "$pid" ] || ! grep -qsaF -e "$base/" -e jobctl_daemon "/proc/$pid/cmdline"; then return 0; fi
    kill -TERM "$pid" 2>/dev/null || return 0
    for ((n = 0; n < 300; n++)); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    warn "the daemon, process $pid, did not stop within 30 s"
    return 1
}

# ── coming back ───────────────────────────────────────────────────────────────
arrange_return() { # sets how (systemd, cron, none), returns (yes, no) and why
    how=none returns=no why='neither systemd nor a cron daemon runs on this host'
    if [ -n "${JOBCTL_HOME:-}" ]; then
        why='JOBCTL_HOME is set: a trial, started by hand'
    elif [ -d "$root/run/systemd/system" ] && systemd_ready; then
        how=systemd returns=yes why='systemd starts jobd.service'
        [ "$uid" -eq 0 ] || why='systemd starts the user unit jobd.service, and lingering is on'
    elif cron_runs; then
        if add_reboot_line; then
            how=cron returns=yes why='cron starts it, by an @reboot line in the crontab'
        else
            why='a cron daemon runs, but the crontab could not be changed'
        fi
    fi
}

systemd_ready() {
    [ "$uid" -ne 0 ] || return 0
    local user n
    user=$(id -un 2>/dev/null || id -u)
    if [ "$(loginctl show-user "$user" --property=Linger --value 2>/dev/null)" != yes ]; then
        if ! loginctl enable-linger "$user" >/dev/null 2>&1; then
            warn "loginctl enable-linger $user failed: systemd would stop the daemon at logout, so it is not used"
            return 1
        fi
        touch "$base/.linger"
    fi
    # With `su - USER` there is no session, but with lingering there is a manager.
    [ -n "${XDG_RUNTIME_DIR:-}" ] || export XDG_RUNTIME_DIR="$root/run/user/$uid"
    for ((n = 0; n < 50; n++)); do
        if "${systemctl[@]}" daemon-reload >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    warn "systemd runs no manager for $user (systemctl --user does not answer), so it is not used"
    return 1
}

cron_runs() {
    type -P crontab >/dev/null || return 1
    local file name
    for file in "$root"/proc/[0-9]*/comm; do
        { read -r name <"$file"; } 2>/dev/null || continue
        case "$name" in cron | crond) return 0 ;; esac
    done
    return 1
}

shell_word() { # for sh; in a crontab % ends the command
    local word=$1
    case "$word" in *[!A-Za-z0-9_./+:@,-]*) word="'${word//\'/\'\\\'\'}'" ;; esac
    printf '%s' "${word//%/\\%}"
}

reboot_line() {
    local name settings=''
    # cron gives jobd a bare environment; it must find the same places as today.
    if [ "$uid" -ne 0 ]; then
        for name in XDG_STATE_HOME XDG_CONFIG_HOME; do
            case "${!name:-}" in /*) settings="$settings$name=$(shell_word "${!name}") " ;; esac
        done
    fi
    printf '@reboot %s%s %s\n' "$settings" "$(shell_word "$bin/jobd")" "$marker"
}

other_lines() { # the crontab without our line; fails where it cannot be read
    local rc=0
    LC_ALL=C crontab -l >"$work/crontab" 2>"$work/crontab.err" || rc=$?
    if [ "$rc" -ne 0 ] && ! grep -qi 'no crontab' "$work/crontab.err"; then return 1; fi
    awk -v marker="$marker" '
        /^[ \t]*@reboot[ \t]/ && substr($0, length($0) - length(marker) + 1) == marker { next }
        { print }' "$work/crontab"
}

add_reboot_line() {
    other_lines >"$work/crontab.new" || return 1
    reboot_line >>"$work/crontab.new"
    cmp -s "$work/crontab" "$work/crontab.new" || crontab - <"$work/crontab.new" 2>/dev/null
}

remove_reboot_line() {
    type -P crontab >/dev/null || return 0
    other_lines >"$work/crontab.new" || return 0
    if cmp -s "$work/crontab" "$work/crontab.new"; then return 0; fi
    crontab - <"$work/crontab.new" || { warn 'the @reboot line could not be removed from the crontab'; return 0; }
    step crontab 'the @reboot line is removed'
}

record_return() { # the daemon reads it for `jobctl status`
    make_folder "$(dirname "$state")"
    [ -d "$state" ] || mkdir -m 700 "$state"
    printf '%s\t%s\n' "$returns" "$why" >"$state/.returns-after-reboot"
    mv -T "$state/.returns-after-reboot" "$state/returns-after-reboot"
    if [ "$returns" = yes ]; then
        step reboot "it comes back: $why"
    else
        step reboot "it does NOT come back by itself after a reboot or logout: $why"
    fi
}

unit_word() { # a word of a unit file: %, $ and \ have a meaning there
    local word=${1//\\/\\\\}
    word=${word//%/%%}
    case "$word" in *[\ \"]*) word="\"${word//\"/\\\"}\"" ;; esac
    printf '%s' "${word//\$/\$\$}"
}

unit_environment() {
    local name
    for name in XDG_STATE_HOME XDG_CONFIG_HOME; do
        case "${!name:-}" in /*)
            local value=${!name//\\/\\\\}
            value=${value//%/%%}
            printf 'Environment="%s=%s"\n' "$name" "${value//\"/\\\"}"
            ;;
        esac
    done
}

write_units() { # NAME
    local unit text build
    build=$(build_of "$1")
    make_folder "$units"
    for unit in jobd.service jobctl-runner@.service; do
        text=$(cat "$here/packaging/systemd/$unit_kind/$unit")
        text=${text//@BUILD@/"${build:-${1%%+*}}"}
        text=${text//@CURRENT@/"$(unit_word "${base#"$root"}/current")"}
        text=${text//@DIR@/"$(unit_word "${base#"$root"}/$1")"}
        text=${text//@STATE@/"$(unit_word "${state#"$root"}")"}
        local environment
        environment=$(unit_environment)
        text=${text//@ENVIRONMENT@/"${environment:+$environment
}"}
        printf '%s\n' "$text" >"$work/unit"
        cp "$work/unit" "$units/$unit"
    done
    "${systemctl[@]}" daemon-reload
    "${systemctl[@]}" enable jobd.service >/dev/null 2>&1
}

start_daemon() { # NAME
    if [ "$how" = systemd ]; then
        write_units "$1" || { warn 'systemd did not take the units'; return 1; }
        "${systemctl[@]}" restart jobd.service >"$work/start.log" 2>&1 9>&- && return
    elif (cd / && exec "$base/$1/bin/jobd" </dev/null >"$work/start.log" 2>&1 9>&-); then
        return
    fi
    warn 'the daemon did not start; it says:'
    tail_of "$work/start.log"
    [ ! -s "$state/jobd.log" ] || warn "its log: $state/jobd.log"
    return 1
}

restart_daemon() { # OLD NEW, either an environment's name; OLD may be empty
    local before='' now running
    if [ -n "$1" ]; then before=$(running_version "$1"); fi
    [ -n "$before" ] || before=$(running_version "$2")
    running=$(commands_running)
    # A daemon that systemd did not start would hold the place of the one that it starts.
    if [ "$how" != systemd ] || ! "${systemctl[@]}" is-active --quiet jobd.service; then
        stop_daemon "${1:-$2}" || return 1
    fi
    start_daemon "$2" || return 1
    now=$(running_version "$2")
    [ -n "$now" ] || { warn "the daemon was started but does not answer at $socket"; return 1; }
    if [ -z "$before" ]; then
        step daemon "jobd $(named "$2" "$now") runs"
    else
        step daemon "jobd $(named "$1" "$before") → $(named "$2" "$now"); commands that go on: $running"
    fi
}

named() { # NAME VERSION: the build, where that environment is of this version, since a repair has the same version
    local build=''
    if [ -n "$1" ]; then build=$(build_of "$1"); fi
    case "$build" in "$2"-*) printf '%s' "$build" ;; *) printf '%s' "$2" ;; esac
}

# ── the ends ──────────────────────────────────────────────────────────────────
first_job() {
    local run id
    if ! run=$(ask current run --name first-job --timeout 60s --wait --json -- /bin/echo 'hello from jobctl'); then
        warn 'the first job did not succeed; jobctl says:'
        printf '%s\n' "$run" >>"$work/ask.log"
        tail_of "$work/ask.log"
        return 1
    fi
    id=$(printf '%s' "$run" | field current id)
    step 'first job' "/bin/echo 'hello from jobctl': run $id, $(printf '%s' "$run" | field current state), exit code $(
        printf '%s' "$run" | field current exit_code), output: $(ask current log "$id")"
}

next_steps() {
    local rc=.profile found
    say ''
    case ":$PATH:" in
    *":$bin:"*)
        hash -r
        found=$(type -P jobctl || true)
        [ -z "$found" ] || [ "$found" = "$bin/jobctl" ] || warn "another jobctl comes first on PATH: $found"
        ;;
    *)
        case "${SHELL:-}" in */zsh) rc=.zshrc ;; esac
        if [ "$uid" -eq 0 ]; then
            say "$bin is not on PATH. For this shell, and in ~/$rc for every later one:"
            say "  export PATH=\"$bin:\$PATH\""
        else
            say "$bin is not on PATH. For this shell, and in ~/$rc for every later one:"
            # shellcheck disable=SC2016  # to be pasted as it is
            say '  export PATH="$HOME/.local/bin:$PATH"'
        fi
        say ''
        ;;
    esac
    cat <<STEPS
Next:
  jobctl add hello --every 5s -- date    a job; prints when it fires next
  jobctl runs hello                      every run, and how it ended
  jobctl log hello                       its output
  jobctl import crontab                  what your crontab would become; nothing changes until --apply
  $here/install.sh --uninstall
STEPS
}

install_or_upgrade() {
    version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$here/jobctl/jobctl/__init__.py")
    [ -n "$version" ] || die 1 "$here is no checkout of jobctl: jobctl/jobctl/__init__.py names no version"
    [ -e "$root/etc/debian_version" ] || warn 'this is not Debian: it may work, but nobody tried'
    check_links
    find_python
    make_base
    lock_base
    local old
    old=$(current)
    [ -x "$base/$old/bin/jobctl" ] || old=''
    say "jobctl $version for $([ "$uid" -eq 0 ] && echo 'this host' || echo 'this user'), with $python ($python_version)"
    make_environment
    switch_to "$new"
    make_links
    make_completions
    arrange_return
    record_return
    make_folder "$config" "$([ "$uid" -eq 0 ] && echo 755 || echo 700)"
    if [ "$start" = yes ]; then
        if ! restart_daemon "$old" "$new"; then
            [ -n "$old" ] || exit 1
            warn "back to $old"
            switch_to "$old"
            start_daemon "$old" || true
            exit 1
        fi
        first_job
    else
        [ "$how" != systemd ] || write_units "$new" || die 1 'systemd did not take the units'
        step daemon 'not started, and not restarted (--no-start)'
    fi
    sweep_soon
    [ -z "$kept" ] || step kept "$kept: processes still run from there; the next install removes it"
    next_steps
}

make_base() { # its list of made folders begins with those that it lies in
    local missing=$base made=''
    while [ ! -d "$missing" ]; do
        made=$missing$'\n'$made
        missing=$(dirname "$missing")
    done
    mkdir -p "$base"
    printf '%s' "$made" >>"$base/.made"
}

lock_base() {
    exec 9>"$base/.lock"
    flock -n 9 || die 1 'another install.sh is at work here'
}

nothing_installed() {
    [ ! -d "$base" ] && [ ! -e "$units/jobd.service" ] && ! is_ours "$bin/jobctl" && ! is_ours "$bin/jobd"
}

refuse_while_commands_run() {
    local running=$1 hint='wait, or end them:'
    if [ "$running" -eq 1 ]; then hint='wait, or end it:'; fi
    if [ -x "$bin/jobctl" ]; then
        hint="$hint $bin/jobctl kill \$($bin/jobctl runs --state running --limit 1000 -o name)"
    else
        hint="$hint kill $(commands | xargs)"
    fi
    die 1 "$(count_of "$running" command run); nothing was removed" "$hint"
}

remove_units() { # The runners' unit stays as long as they: without it systemd would end their commands with them.
    if [ -e "$units/jobd.service" ]; then
        "${systemctl[@]}" disable --now jobd.service >/dev/null 2>&1 || warn 'systemctl could not disable jobd.service'
        rm -f "$units/jobd.service"
        step systemd 'jobd.service is stopped and removed'
    fi
}

remove_runner_unit() {
    if [ -e "$units/jobctl-runner@.service" ] && [ -z "$(runners)" ]; then rm -f "$units/jobctl-runner@.service"; fi
    if [ -d "$root/run/systemd/system" ]; then "${systemctl[@]}" daemon-reload >/dev/null 2>&1 || true; fi
}

tell_kept() { # what still runs from the environments that stay
    local pid home
    case "$(commands_running)" in
    0) ;;
    1) step 'goes on' '1 command, undisturbed; the next installation records how it ended' ;;
    *) step 'goes on' "$(commands_running) commands, undisturbed; the next installation records how they ended" ;;
    esac
    printf '%s' "$base/" >"$work/pattern"
    for pid in $(grep -lsaF -f "$work/pattern" /proc/[0-9]*/cmdline | tr -cd '0-9\n'); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q '/bin/jobd ' || continue
        home=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^JOBCTL_HOME=//p') || true
        step 'goes on' "a daemon of $(stat -c %U "/proc/$pid")${home:+ with JOBCTL_HOME=$home}; kill $pid stops it"
    done
    step kept "$base: programs that still run; ./install.sh --uninstall once more, or an install, removes them later"
}

uninstall() {
    local file name pid running installed=yes
    if nothing_installed; then installed=no; fi
    if [ -d "$base" ]; then lock_base; fi
    running=$(commands_running)
    if [ "$purge" = yes ] && [ "$running" -gt 0 ]; then refuse_while_commands_run "$running"; fi
    if [ "$installed" = no ] && { [ "$purge" = no ] || ! { [ -d "$state" ] || [ -d "$config" ]; }; }; then
        remove_reboot_line
        say "jobctl is not installed here: there is no $base"
        [ ! -d "$state" ] || step kept "jobs and history in $state (--uninstall --purge removes them)"
        return
    fi
    remove_units
    stop_daemon current || exit 1
    [ "$installed" = no ] || step daemon "stopped; commands that go on: $running"
    remove_reboot_line
    for name in jobctl jobd; do if is_ours "$bin/$name"; then rm -f "$bin/$name"; fi; done
    for file in "$man"/man*/*; do if is_ours "$file"; then rm -f "$file"; fi; done
    while read -r _ file; do
        if grep -qs 'jobctl completion for' "$file"; then rm -f "$file"; fi
    done < <(completions)
    if [ -e "$base/.linger" ]; then
        step lingering "stays on; loginctl disable-linger $(id -un) switches it off"
    fi
    # They end after their last command, and leave what nobody has recorded yet to the next installation's.
    for pid in $(runners); do kill -TERM "$pid" 2>/dev/null || true; done
    rm -f "$base/current"
    sweep_soon
    remove_runner_unit
    rm -f "$state/returns-after-reboot"
    rmdir "$config" 2>/dev/null || true
    if [ "$purge" = yes ]; then
        rm -rf "${state:?}" "${config:?}"
        step purged "$state, $config"
    fi
    # A user's socket has a second name there.
    rmdir "${socket%/*}" "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/jobctl}" 2>/dev/null || true
    cp "$base/.made" "$work/made" 2>/dev/null || true
    if [ -z "$kept" ]; then
        rm -rf "${base:?}"
        [ "$installed" = no ] || step programs 'removed'
    else
        tell_kept
    fi
    remove_made "$work/made"
    if [ "$purge" = no ]; then
        step kept "jobs and history in $state$([ ! -d "$config" ] || echo ", settings in $config") (--uninstall --purge removes them)"
    fi
}

main() {
    action=install wanted_python='' start=yes purge=no
    while [ $# -gt 0 ]; do
        case "$1" in
        --python)
            [ $# -gt 1 ] || die 2 '--python needs a path'
            wanted_python=$2
            shift
            ;;
        --python=*) wanted_python=${1#*=} ;;
        --no-start) start=no ;;
        --uninstall) action=uninstall ;;
        --purge) purge=yes ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) die 2 "unknown option $1" 'see ./install.sh --help' ;;
        esac
        shift
    done
    [ "$purge" = no ] || [ "$action" = uninstall ] || die 2 '--purge goes with --uninstall'
    settle_places
    unfinished='' work=$(mktemp -d)
    # A failed or interrupted install leaves what was there before.
    trap 'rm -rf "$work" ${unfinished:+"$unfinished"}' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    case "$action" in
    install) install_or_upgrade ;;
    uninstall) uninstall ;;
    esac
}

main "$@"
