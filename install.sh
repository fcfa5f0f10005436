#!/bin/bash
# Installs jobctl from the release or the checkout this file lies in, starts its daemon, and runs a first job through it.
# docs/operations.md tells what goes where; docs/decisions/0008-installation.md tells why.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # `sh install.sh`
set -eu
umask 022
# Settings for other environments than the one made here. The daemon's place is settled below.
unset PYTHONEXECUTABLE __PYVENV_LAUNCHER__ PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX JOBCTL_SOCKET
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_REQUIRE_VIRTUALENV PIP_NO_COMPILE PIP_PYTHON

usage() {
    cat <<'USAGE'
usage: ./install.sh [--from PATH] [--python PATH] [--no-start] [--no-first-job] [--crontab]
       ./install.sh --back [--with-copy] [--no-start]
       ./install.sh --uninstall [--purge]
       with each of them: [--dry-run] [--quiet]

Installs jobctl and jobd into a folder of their own: as root under /opt/jobctl for the whole host, as anybody else
under ~/.local/lib/jobctl for that user. Beside a release (jobctl-VERSION-linux-ARCH) it takes that one, which needs
neither Python nor a network; in a checkout it builds an environment. Starts the daemon, arranges that it comes back
after a reboot and a logout, and runs a first job. Run again, it upgrades; running commands go on. It asks nothing.

  --from PATH      the release to take: its folder, or its file beside SHA256SUMS
  --python PATH    for a checkout: the Python to use, 3.11 or newer (else /usr/bin/python3, then what PATH has)
  --no-start       set everything up, but start nothing now
  --no-first-job   start the daemon, but run no job
  --crontab        also put `crontab` beside jobctl: crontabs are then kept by jobd
  --back           go back to the version before; once more, and the newer one is back
  --with-copy      with --back: to the database, too, that was kept when the newer version changed its schema
  --uninstall      stop the daemon and remove the programs; jobs and history stay
  --purge          with --uninstall: remove jobs, history and settings too
  --dry-run        say what would be done, and change nothing
  --quiet          print nothing but what goes wrong
  --help           this text

With JOBCTL_HOME=DIR the daemon keeps everything under DIR: a trial, which does not come back after a reboot.
Exit codes: 0 done, 1 something failed (what was installed before still works), 2 refused, or something is missing
first (nothing was changed).
USAGE
}

say() { [ "$quiet" = yes ] || printf '%s\n' "$*"; }
step() { [ "$quiet" = yes ] || printf '  %-12s %s\n' "$1" "$2"; }
warn() { printf 'install.sh: %s\n' "$*" >&2; }
remark() { [ "$quiet" = yes ] || warn "$*"; } # nothing is wrong, but somebody may wonder
die() { # CODE MESSAGE [HINT]
    warn "$2"
    [ $# -lt 3 ] || printf '  %s\n' "$3" >&2
    exit "$1"
}
tail_of() { tail -n 15 "$1" | sed 's/^/  | /' >&2; }

# ── places ────────────────────────────────────────────────────────────────────
# For the tests: another folder than / in which the host's own files are looked for and made.
root=${JOBCTL_INSTALL_ROOT:-}
[ -d "$(pwd -P 2>/dev/null)" ] || cd / # the current folder was removed
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
        init_script=$root/etc/init.d/jobd
        tmpfiles=$root/etc/tmpfiles.d/jobctl.conf sysusers=$root/etc/sysusers.d/jobctl.conf
        bash_completion=$root/usr/local/share/bash-completion/completions/jobctl
        zsh_completion=$root/usr/local/share/zsh/site-functions/_jobctl
        fish_completion=$root/usr/local/share/fish/vendor_completions.d/jobctl.fish
    else
        case "${HOME:-}" in
        /*) ;;
        *) die 2 'HOME is not set to a folder' "set it, for example: HOME=/home/$(id -un 2>/dev/null || echo you) $0" ;;
        esac
        case "$HOME" in *$'\n'*) die 2 'HOME has a line break in its name: programs of a host cannot be pointed there' ;; esac
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

current() { readlink "$base/current" 2>/dev/null || true; }   # the folder in use, without its path
previous() { readlink "$base/previous" 2>/dev/null || true; } # the one of the version before
version_of() { printf '%s' "${1%%+*}"; }                      # FOLDER

# ── what is installed: a release, or a checkout ───────────────────────────────
find_source() { # sets source (release, checkout) and version
    if [ -z "$from" ] && [ -e "$here/jobctl/jobctl/__init__.py" ]; then
        source=checkout
        version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$here/jobctl/jobctl/__init__.py")
        [ -n "$version" ] || die 1 "$here is no checkout of jobctl: jobctl/jobctl/__init__.py names no version"
        return
    fi
    [ -z "$wanted_python" ] || die 2 '--python goes with a checkout: a release brings its own'
    source=release
    find_release "${from:-$here}"
    version=${release##*/jobctl-}
    version=${version%-linux-*}
    case "$version" in
    [!0-9]* | *[!0-9A-Za-z.]*) die 2 "${release##*/} is no release: $version is no version" ;;
    esac
    verify_release
}

find_release() { # FILE|FOLDER: sets release
    local arch found=() others=() file
    arch=$(uname -m)
    if [ -d "$1" ]; then
        for file in "$1"/jobctl-*-linux-*; do
            case "${file##*/}" in
            *-linux-*.*) ;; # the tree, or a file about the file
            *-linux-"$arch") [ ! -f "$file" ] || found+=("$file") ;;
            *) [ ! -f "$file" ] || others+=("${file##*-linux-}") ;;
            esac
        done
        if [ ${#found[@]} -gt 1 ]; then
            die 2 "there are ${#found[@]} releases in $1: ${found[*]##*/}" 'name one of them: --from FILE'
        elif [ ${#found[@]} -eq 1 ]; then
            release=$(realpath "${found[0]}")
        elif [ ${#others[@]} -gt 0 ]; then
            die 2 "the release in $1 is for ${others[*]}, and this host is $arch" "take the file that ends in -linux-$arch"
        else
            die 2 "there is no release in $1" "a file jobctl-VERSION-linux-$arch with its SHA256SUMS; name it: --from PATH"
        fi
    elif [ -f "$1" ]; then
        release=$(realpath "$1")
        case "${release##*/}" in
        jobctl-?*-linux-"$arch") ;;
        jobctl-?*-linux-*) die 2 "$1 is for ${release##*-linux-}, and this host is $arch" ;;
        *) die 2 "$1 is no release: it is not called jobctl-VERSION-linux-$arch" ;;
        esac
    else
        die 2 "there is no $1"
    fi
}

verify_release() { # a copy of it, which nobody else can change between this and its start
    local name=${release##*/} sums=${release%/*}/SHA256SUMS count sum
    [ -f "$sums" ] || die 2 "there is no SHA256SUMS beside $release: nobody can say whether the file is right" \
        'put it there, from the place where the file is from'
    read -r count sum <<<"$(awk -v name="$name" '
        length($1) == 64 && (substr($0, 65) == "  " name || substr($0, 65) == " *" name) { n++; sum = tolower($1) }
        END { print n + 0, sum }' "$sums")"
    if [ "$count" -eq 0 ] && grep -q $'\r' "$sums"; then
        die 2 "$sums has the line ends of Windows (CRLF), and so no entry for $name" 'fetch it again, as it is'
    fi
    [ "$count" -gt 0 ] || die 2 "$sums has no entry for $name"
    [ "$count" -eq 1 ] || die 2 "$sums has $count entries for $name, so none of them counts"
    cp "$release" "$work/release" || die 2 "$release cannot be copied to $work"
    read -r count _ <<<"$(sha256sum <"$work/release")"
    [ "$count" = "$sum" ] || die 2 "$name is not what $sums says: it is damaged, or another file" 'nothing was changed; fetch it again'
}

unpack_release() { # sets new, the folder's name
    local began=$SECONDS
    new=$(free_name "$version")
    # From here, since a file that was downloaded may not be executed, and the folder it is in may be mounted so.
    unfinished=("$base/.release" "$base/$new")
    install -m 755 "$work/release" "$base/.release" || die 1 "there is no room for the release in $base"
    rm -f "$work/release"
    if ! "$base/.release" unpack "$base/$new" >"$work/check.log" 2>&1 </dev/null 9>&-; then
        warn "$release could not be unpacked into $base/$new; it says:"
        tail_of "$work/check.log"
        tell_old_libc
        exit 1
    fi
    rm -f "$base/.release"
    must_run
    step release "$base/$new, from ${release##*/} ($((SECONDS - began)) s)"
}

must_run() { # before anything is switched to it
    if { "$base/$new/bin/jobctl" --version && "$base/$new/bin/jobd" --version; } >"$work/check.log" 2>&1; then return; fi
    warn 'what was installed does not run; it says:'
    tail_of "$work/check.log"
    tell_old_libc
    exit 1
}

tell_old_libc() { # the loader names the version of a symbol that it has not got: ld.so(8)
    local needs has
    needs=$(grep -o "GLIBC_[0-9.]*' not found" "$work/check.log" | tr -cd '0-9.\n' | sort -V | tail -n 1)
    has=$(getconf GNU_LIBC_VERSION 2>/dev/null) || has='no glibc'
    if [ -n "$needs" ]; then
        die 2 "this release needs glibc $needs, and this host has $has" 'take a newer Debian, or build from a checkout: ./install.sh there'
    elif [ "$has" = 'no glibc' ]; then
        die 2 'this release needs glibc, which this host has not got' 'build from a checkout: ./install.sh there'
    fi
}

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
    if [ "$dry" = yes ]; then
        step packages "$package would be installed, with apt-get"
        python=$1
        return
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

build_environment() { # sets new, the folder's name
    local part began=$SECONDS
    new=$(free_name "$version")
    # Built from a copy: the checkout may belong to somebody else, and stays as it is.
    mkdir "$work/source"
    for part in pyproject.toml README.md LICENSE jobctl daemon tui man packaging; do
        cp -R "$here/$part" "$work/source/" || die 1 "$here cannot be read"
    done
    chmod -R u+w "$work/source"
    find "$work/source" -name __pycache__ -prune -exec rm -rf {} +
    unfinished=("$base/$new")
    step building "$base/$new: what jobctl is built on is fetched, a minute or two"
    if ! "$python" -m venv "$base/$new" >"$work/pip.log" 2>&1; then
        warn "$python could not make an environment in $base/$new; it says:"
        tail_of "$work/pip.log"
        exit 1
    fi
    if ! "$base/$new/bin/python3" -m pip install --no-input --disable-pip-version-check --compile \
        "$work/source" >"$work/pip.log" 2>&1 </dev/null; then
        warn "pip could not install jobctl and what it needs; it says:"
        tail_of "$work/pip.log"
        if grep -q CERTIFICATE_VERIFY_FAILED "$work/pip.log"; then
            warn 'PIP_CERT=FILE names the certificates that its package index is trusted by; a release needs no pip'
        else
            warn 'is the network there? A release needs none'
        fi
        [ -z "$(current)" ] || warn "nothing was changed: $(current) is still installed"
        exit 1
    fi
    # What the host starts it by comes from its own folder, also when nobody has the checkout any more.
    mkdir -p "$base/$new/share/jobctl"
    for part in systemd sysv; do cp -R "$here/packaging/$part" "$base/$new/share/jobctl/"; done
    must_run
    step environment "$base/$new ($((SECONDS - began)) s)"
}

build_of() { # NAME: what its runners are named after; an environment from before there were builds has none
    "$base/$1/bin/python3" -I -c 'from jobctl_daemon.build import build_id; print(build_id())' 2>/dev/null || true
}

files_of() { printf '%s' "$base/$1/share/jobctl"; } # NAME: what the host starts that version by

switch_to() { # NAME: one rename, so that there is no moment without a jobctl
    point current "$1"
}

# ── a change of versions, and what undoes it when it ends half-way ────────────
begin_change() { # OLD NEW: written down before anything is switched; OLD may be empty
    if ! printf '%s\n' "$1" "$(previous)" "$2" "$start" >"$base/.change.new" || ! mv -T "$base/.change.new" "$base/.change"; then
        rm -f "$base/.change.new"
        die 1 "$base cannot be written to; nothing was changed"
    fi
    unfinished=()
}

end_change() { rm -f "$base/.change"; }

undo_change() { # a full disk, a signal, a version that does not start: back to what was before, its daemon too
    local old before new started
    trap : HUP INT TERM # not '': what is started here would never hear of them
    { read -r old && read -r before && read -r new && read -r started; } <"$base/.change" || true
    if [ -n "$old" ] && [ -x "$base/$old/bin/jobctl" ]; then
        if [ -n "$before" ]; then point previous "$before"; else rm -f "$base/previous"; fi
        if [ "$started" = yes ]; then
            start=yes
            return_to "$old" "$new"
        else
            warn "back to $old"
            point_host_at "$old" >"$work/back.log"
            [ "$how" != systemd ] || write_units "$old" || true
        fi
        # Neither there nor kept for later: nothing can be written, and the next start tries again.
        [ "$(current)" = "$old" ] || [ "$(previous)" = "$old" ] || return 0
        if [ "$(current)" = "$old" ] && [ "$new" != "$before" ] && ! in_use "$new"; then rm -rf "${base:?}/${new:?}"; fi
    fi
    end_change
}

mend() { # what an install.sh left that was ended by force
    local name
    if [ -e "$base/.change" ]; then
        warn 'an earlier change of versions did not come to its end'
        (undo_change) || true
    fi
    name=$(current)
    [ -n "$name" ] && [ "$name" = "$(previous)" ] || return 0
    rm -f "$base/previous"
    while read -r name; do
        if [ -x "$base/$name/bin/jobctl" ] && [ "$(version_of "$name")" != "$(version_of "$(current)")" ]; then
            point previous "$name"
            return
        fi
    done < <(cd "$base" && find . -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' -printf '%T@ %f\n' | sort -rn | cut -d ' ' -f 2-)
}

point() { # LINK NAME
    ln -sfn "$2" "$base/.next"
    mv -T "$base/.next" "$base/$1"
}

remember() { # NAME: what --back goes back to. A repair is no other version: what was before it stays.
    if [ -z "$1" ] || [ "$(version_of "$1")" = "$(version_of "$(current)")" ]; then return 0; fi
    point previous "$1"
}

tell_previous() {
    local name size
    name=$(previous)
    [ -n "$name" ] || return 0
    size=$(du -sm "$base/$name" | cut -f1)
    step 'for --back' "$(version_of "$name") stays, $size MB in $base/$name"
}

keep_installer() { # for the way back and the removal, when the download is gone
    [ "${BASH_SOURCE[0]}" -ef "$base/install.sh" ] && return
    if ! install -m 755 "${BASH_SOURCE[0]}" "$base/.install.sh" || ! mv -T "$base/.install.sh" "$base/install.sh"; then
        rm -f "$base/.install.sh"
        warn "$base/install.sh could not be written: keep this one, for the way back and the removal"
    fi
}

is_ours() { # LINK
    [ -L "$1" ] && case "$(readlink "$1")" in "$base/current/"*) true ;; *) false ;; esac
}

check_links() {
    local name
    for name in jobctl jobd $(wants_crontab && echo crontab); do
        if [ -e "$bin/$name" ] || [ -L "$bin/$name" ]; then
            is_ours "$bin/$name" || die 2 "$bin/$name is there and not from this installer" 'move it away first'
        fi
    done
}

wants_crontab() { [ "$crontab" = yes ] || is_ours "$bin/crontab"; } # once asked for, an upgrade keeps it

make_crontab() { # the same program by that name; the host's own stays where it is
    wants_crontab || return 0
    ln -sfn "$base/current/bin/jobctl" "$bin/crontab"
    hash -r
    local first
    first=$(type -P crontab || true)
    if [ "$first" = "$bin/crontab" ]; then
        step crontab "$bin/crontab; it comes first on this PATH$(other_crontab | sed 's/^/, before /')"
    else
        step crontab "$bin/crontab${first:+, but $first comes first on this PATH: put $bin before it}"
    fi
    if [ "$uid" -eq 0 ]; then
        step '' 'it keeps crontabs once jobd runs those of this host: jobctl import crontab --system --apply'
    fi
}

other_crontab() { # the first on PATH that is not this program
    local found
    while read -r found; do
        case "$(realpath -m "$found")" in "$(realpath -m "$base")"/*) ;; *)
            printf '%s\n' "$found"
            return
            ;;
        esac
    done < <(type -aP crontab)
}

make_links() {
    local name page target
    make_folder "$bin"
    for name in jobctl jobd; do ln -sfn "$base/current/bin/$name" "$bin/$name"; done
    for page in "$man"/man*/*; do
        if is_ours "$page" && [ ! -e "$page" ]; then rm -f "$page"; fi # the other version had it
    done
    for page in "$base"/current/share/man/man*/*; do
        [ -e "$page" ] || continue
        target=$man/${page#"$base"/current/share/man/}
        make_folder "${target%/*}"
        if [ ! -e "$target" ] || is_ours "$target"; then ln -sfn "$page" "$target" || warn "no manual page $target"; fi
    done
    step links "$bin/jobctl, $bin/jobd, manual pages in $man"
    make_crontab
}

completions() { printf '%s\n' "bash $bash_completion" "zsh $zsh_completion" "fish $fish_completion"; }

make_completions() {
    local shell file
    while read -r shell file; do
        if "$base/current/bin/jobctl" completion "$shell" >"$work/completion" 2>/dev/null </dev/null; then
            make_folder "${file%/*}"
            cp "$work/completion" "$file" || warn "no completion for $shell: $file could not be written"
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
    printf '%s\n' "$base/$1/" "$(realpath -m "$base")/$1/" >"$work/pattern" # a launcher names it without links
    grep -qsaF -f "$work/pattern" /proc/[0-9]*/cmdline && return
    readlink /proc/[0-9]*/exe 2>/dev/null | grep -qF -f "$work/pattern"
}

sweep() { # removes the folders that nobody needs; sets kept, those where a runner still watches its commands
    local folder name
    kept=''
    for folder in "$base"/*/; do
        name=$(basename "$folder")
        case "$name" in
        current | previous | '*' | "$(current)" | "$(previous)") continue ;;
        unpacked) [ "$action" = uninstall ] || continue ;; # of a release that is used as it is: it would unpack itself again
        esac
        if in_use "$name"; then kept="${kept:+$kept }$name"; else rm -rf "${base:?}/$name"; fi
    done
}

sweep_soon() { # runners that have nothing to do take a moment to end
    local n
    for ((n = 0; n < 30; n++)); do
        sweep
        # At first a runner may have another child than commands: it asks systemctl whether the host goes down.
        if [ -z "$kept" ] || { [ "$n" -ge 10 ] && [ "$(commands_running)" -gt 0 ]; }; then return; fi
        sleep 0.1
    done
}

# ── the daemon ────────────────────────────────────────────────────────────────
ask() { # NAME ARGUMENTS…: the jobctl of that environment, to the daemon of this place and no other
    local name=$1
    shift
    JOBCTL_SOCKET=$socket timeout --foreground "${limit_s:-0}" "$base/$name/bin/jobctl" "$@" </dev/null 2>"$work/ask.log" 9>&-
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
        [ -O "${file%/cmdline}" ] || continue # anybody can call a process so
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
    if [ -z "$pid" ] || ! grep -qsaF -e "$base/" -e "$(realpath -m "$base")/" -e jobctl_daemon "/proc/$pid/cmdline"; then return 0; fi
    kill -TERM "$pid" 2>/dev/null || return 0
    for ((n = 0; n < 300; n++)); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    warn "the daemon, process $pid, did not stop within 30 s"
    return 1
}

# ── coming back ───────────────────────────────────────────────────────────────
ways_back() { # how the daemon can come back on this host, the best way first
    [ -z "${JOBCTL_HOME:-}" ] || return 0
    if [ -d "$root/run/systemd/system" ]; then echo systemd; fi
    if [ "$uid" -eq 0 ] && init_runs; then
        echo init
    elif cron_runs; then
        echo cron
    fi
}

arrange_return() { # sets how (systemd, init, cron, none), returns (yes, no) and why
    local way
    how=none returns=no
    why="neither systemd nor a cron daemon runs on this host; start one and run install.sh again, or have $bin/jobd started"
    [ -z "${JOBCTL_HOME:-}" ] || why='JOBCTL_HOME is set: a trial, started by hand; jobctl daemon start starts it again'
    for way in $(ways_back); do
        if come_back_by "$way"; then
            how=$way returns=yes
            return
        fi
    done
}

come_back_by() { # WAY; sets why
    case "$1" in
    systemd)
        systemd_ready || return
        why='systemd starts jobd.service'
        [ "$uid" -eq 0 ] || why='systemd starts the user unit jobd.service, and lingering is on'
        remove_reboot_line
        ;;
    init)
        why='init runs, but update-rc.d could not arrange for /etc/init.d/jobd; update-rc.d jobd defaults says why'
        write_init_script || return
        why='init starts it, by /etc/init.d/jobd'
        ;;
    cron)
        why="a cron daemon runs, but the crontab could not be changed; add to it: @reboot $bin/jobd"
        add_reboot_line || return
        why='cron starts it, by an @reboot line in the crontab'
        ;;
    esac
}

systemd_ready() {
    [ "$uid" -ne 0 ] || return 0
    local user n
    user=$(id -un 2>/dev/null || id -u)
    if [ "$(loginctl show-user "$user" --property=Linger --value 2>/dev/null)" != yes ]; then
        if ! loginctl --no-ask-password enable-linger "$user" >/dev/null 2>&1; then
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

init_runs() { # init of System V, which reads /etc/inittab; OpenRC's as well
    local name=''
    { read -r name <"$root/proc/1/comm"; } 2>/dev/null || return 1
    [ "$name" = init ] && [ -e "$root/etc/inittab" ] && [ -d "$root/etc/init.d" ] && type -P update-rc.d >/dev/null
}

write_init_script() { # rather than a line in the crontab: jobd may be what takes the place of cron
    local text
    if [ -e "$init_script" ] && ! is_our_file "$init_script"; then
        warn "$init_script is there and not from this installer"
        return 1
    fi
    text=$(cat "$(files_of "$(current)")/sysv/jobd")
    text=${text//@CURRENT@/"${base#"$root"}/current"}
    text=${text//@STATE@/"${state#"$root"}"}
    text=${text//@DEFAULTS@//etc/default/jobd}
    printf '%s\n' "$text" >"$work/init"
    install -m 755 "$work/init" "$init_script"
    DPKG_ROOT=$root update-rc.d jobd defaults >"$work/update-rc.log" 2>&1 || { tail_of "$work/update-rc.log"; return 1; }
    remove_reboot_line
}

is_our_file() { grep -qs 'install.sh fills in the capitals' "$1"; }

remove_init_script() {
    if [ "$uid" -ne 0 ] || ! is_our_file "$init_script"; then return 0; fi
    rm -f "$init_script"
    DPKG_ROOT=$root update-rc.d jobd remove >/dev/null 2>&1 || warn 'update-rc.d could not remove the links to /etc/init.d/jobd'
    step init "$init_script is removed"
}

cron_runs() {
    [ -n "$(other_crontab)" ] || return 1
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
    LC_ALL=C "$(other_crontab)" -l >"$work/crontab" 2>"$work/crontab.err" || rc=$?
    if [ "$rc" -ne 0 ] && ! grep -qi 'no crontab' "$work/crontab.err"; then return 1; fi
    awk -v marker="$marker" '
        /^[ \t]*@reboot[ \t]/ && substr($0, length($0) - length(marker) + 1) == marker { next }
        { print }' "$work/crontab"
}

add_reboot_line() {
    other_lines >"$work/crontab.new" || return 1
    reboot_line >>"$work/crontab.new"
    cmp -s "$work/crontab" "$work/crontab.new" || "$(other_crontab)" - <"$work/crontab.new" 2>/dev/null
}

remove_reboot_line() {
    [ -n "$(other_crontab)" ] || return 0
    other_lines >"$work/crontab.new" || return 0
    if cmp -s "$work/crontab" "$work/crontab.new"; then return 0; fi
    local how=- # where nothing else was in it there was no crontab before
    [ -s "$work/crontab.new" ] || how=-r
    "$(other_crontab)" "$how" <"$work/crontab.new" || { warn 'the @reboot line could not be removed from the crontab'; return 0; }
    step crontab 'the @reboot line is removed'
}

record_return() { # the daemon reads it for `jobctl status`
    make_folder "$(dirname "$state")"
    [ -d "$state" ] || mkdir -m 700 "$state"
    { printf '%s\t%s\n' "$returns" "$why" >"$state/.returns-after-reboot" &&
        mv -T "$state/.returns-after-reboot" "$state/returns-after-reboot"; } ||
        warn "$state/returns-after-reboot could not be written: jobctl status cannot tell whether it comes back"
    if [ "$returns" = yes ]; then
        step reboot "it comes back: $why"
    else
        step reboot "it does NOT come back by itself after a reboot or logout: $why"
    fi
}

# ── the host's groups and folders ─────────────────────────────────────────────
prepare_host() { # of the system's daemon: the admin group, and the folder of the users' crontabs
    if [ "$uid" -ne 0 ] || [ -n "${JOBCTL_HOME:-}" ]; then return 0; fi
    local name made=''
    for name in jobctl crontab; do
        if ! group_exists "$name"; then
            make_group "$name" || { warn "the group $name could not be made"; continue; }
            printf '%s\n' "$name" >>"$base/.groups"
            made="$made${made:+, }$name"
        fi
    done
    make_spool
    [ -z "$made" ] || step groups "$made; who is in jobctl looks after everybody's jobs: adduser NAME jobctl"
    if [ -d "$root/run/systemd/system" ]; then
        make_folder "${tmpfiles%/*}"
        make_folder "${sysusers%/*}"
        cp "$(files_of "$(current)")/systemd/tmpfiles.d/jobctl.conf" "$tmpfiles"
        cp "$(files_of "$(current)")/systemd/sysusers.d/jobctl.conf" "$sysusers"
    fi
}

group_exists() { grep -qs "^$1:" "$root/etc/group" || { [ -z "$root" ] && getent group "$1" >/dev/null; }; }

make_group() { # the host's own way to name a number that is free
    if [ -n "$root" ]; then groupadd --system --prefix "$root" "$1"; else groupadd --system "$1"; fi >"$work/group.log" 2>&1
}

make_spool() { # as the package of Debian's cron makes it; one that is there stays as it is
    local spool=$root/var/spool/cron/crontabs group
    [ ! -d "$spool" ] || return 0
    make_folder "$spool"
    group=$(sed -n 's/^crontab:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group" | head -n 1)
    chown "0:${group:-0}" "$spool"
    chmod 1730 "$spool"
}

unmake_host() { # who is in a group was the operator's choice, so it goes only with everything else
    [ "$uid" -eq 0 ] || return 0
    rm -f "$tmpfiles" "$sysusers"
    if [ "$purge" = yes ] && grep -qsx jobctl "$base/.groups"; then
        if [ -n "$root" ]; then groupdel --prefix "$root" jobctl; else groupdel jobctl; fi >/dev/null 2>&1 ||
            warn 'the group jobctl could not be removed: groupdel jobctl'
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
        text=$(cat "$(files_of "$1")/systemd/$unit_kind/$unit")
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
    local run id limit_s=90 # a daemon that cannot start its runners would have it wait for ever
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
    [ "$quiet" = no ] || return 0
    tell_of_the_hosts_own
    say ''
    case ":$PATH:" in
    *":$bin:"*)
        hash -r
        found=$(type -P jobctl || true)
        [ -z "$found" ] || [ "$found" = "$bin/jobctl" ] || remark "another jobctl comes first on PATH: $found"
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
    local tables='jobctl import crontab           '
    [ "$uid" -ne 0 ] || tables='jobctl import crontab --system  '
    cat <<STEPS
Next:
  jobctl add hello --every 5s -- date    a job; prints when it fires next
  jobctl runs hello                      every run, and how it ended
  jobctl log hello                       its output
  $tables       what $([ "$uid" -eq 0 ] && echo "this host's crontabs" || echo 'your crontab') would become; nothing changes until --apply
To remove it again: $base/install.sh --uninstall
STEPS
    [ -z "$(previous)" ] || say "To go back to $(version_of "$(previous)"): $base/install.sh --back"
}

tell_of_the_hosts_own() { # a user may not have known that there is one for everybody
    [ "$uid" -ne 0 ] && [ -z "${JOBCTL_HOME:-}" ] && [ -S "$root/run/jobctl/jobd.sock" ] || return 0
    step host "it has a jobd for everybody already. From now on jobctl asks yours; the host's: jobctl --socket $root/run/jobctl/jobd.sock"
}

install_or_upgrade() {
    [ -e "$root/etc/debian_version" ] || remark 'this is not Debian: it may work, but nobody tried'
    find_source
    refuse_beside_the_package
    check_links
    local old with
    if [ "$source" = release ]; then
        with="from ${release##*/}, whose checksum is right"
    else
        find_python
        with="with $python ($python_version)"
    fi
    old=$(in_place)
    say "jobctl $version for $([ "$uid" -eq 0 ] && echo 'this host' || echo 'this user'), $with"
    if [ "$dry" = yes ]; then
        plan_install "$old"
        return
    fi
    make_base
    lock_base
    mend
    old=$(in_place)
    if [ "$source" = release ]; then unpack_release; else build_environment; fi
    if [ "$start" = yes ]; then fits "$new" || refuse_misfit "$new"; fi
    put_in_use "$old" "$new"
    if [ "$start" = yes ] && [ "$job" = yes ]; then first_job; fi
    tidy_up
    next_steps
}

in_place() { # the folder in use, if there is a program in it
    local name
    name=$(current)
    if [ -n "$name" ] && [ -x "$base/$name/bin/jobctl" ]; then printf '%s' "$name"; fi
}

refuse_beside_the_package() { # its units and this installer's have the same names, and its daemon the same state
    [ "$uid" -eq 0 ] && type -P dpkg-query >/dev/null || return 0
    case "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Status}' jobctl 2>/dev/null)" in *' installed')
        die 2 'the Debian package jobctl is installed on this host' \
            'upgrade that one, or remove it first: apt-get remove jobctl (jobs and history stay)'
        ;;
    esac
}

put_in_use() { # OLD NEW, names of folders; OLD may be empty. What does not come to its end, leave undoes.
    local mode
    mode=$([ "$uid" -eq 0 ] && echo 755 || echo 700)
    begin_change "$1" "$2"
    point_host_at "$2"
    keep_installer
    record_return
    make_folder "$config" "$mode"
    make_folder "$config/jobs.d" "$mode"
    if [ "$start" = no ]; then
        [ "$how" != systemd ] || write_units "$2" || die 1 'systemd did not take the units'
        step daemon 'not started, and not restarted (--no-start)'
    elif ! restart_daemon "$1" "$2"; then
        exit 1 # and so it is undone
    fi
    remember "$1"
    end_change
}

point_host_at() { # NAME: all that leads to a version; sets how and why it comes back
    switch_to "$1"
    make_links
    make_completions
    prepare_host
    arrange_return
}

return_to() { # OLD NEW: NEW did not start, or not for long
    local copy
    if ! fits "$1"; then
        copy=$(field "$2" copy <"$work/fits")
        if [ -z "$copy" ] || ! nothing_since "$2" "$copy"; then
            remember "$1"
            warn "$(version_of "$1") would not start now either: $(field "$2" message <"$work/fits")"
            [ -z "$copy" ] || warn "back to it, and to the database of before the upgrade: $base/install.sh --back --with-copy"
            return
        fi
        put_copy_back "$2" "$1" "$copy"
    fi
    warn "back to $1"
    point_host_at "$1" >"$work/back.log"
    restart_daemon "$2" "$1" >>"$work/back.log" || true
}

tidy_up() {
    sweep_soon
    tell_previous
    [ -z "$kept" ] || step kept "$kept: processes still run from there; the next install removes it"
}

# ── one version and another ───────────────────────────────────────────────────
fits() { # NAME: whether it could start with these settings and this database; its answer is in $work/fits
    "$base/$1/bin/python3" -I -m jobctl_daemon.fits >"$work/fits" 2>/dev/null </dev/null && return
    # One of before this question gives no answer, and finds out at its start.
    [ -z "$(field "$1" code <"$work/fits")" ]
}

refuse_misfit() { # NAME, which does not fit
    die 2 "$(version_of "$1") would not start: $(field "$1" message <"$work/fits")" "$(field "$1" hint <"$work/fits")"
}

go_back() {
    local old new copy=''
    if [ "$dry" = no ] && [ -n "$(current)" ]; then
        lock_base
        mend
    fi
    old=$(current) new=$(previous)
    if [ -z "$old" ]; then die 2 "jobctl is not installed here: there is no $base"; fi
    if [ -z "$new" ] || [ ! -x "$base/$new/bin/jobctl" ]; then die 2 "no version before $(version_of "$old") is kept in $base"; fi
    say "jobctl $(version_of "$new"), $(direction "$new" "$old") from $(version_of "$old")"
    if ! fits "$new"; then
        copy=$(field "$old" copy <"$work/fits")
        [ -n "$copy" ] || refuse_misfit "$new"
        weigh "$old" "$new" "$copy"
    elif [ "$with_copy" = yes ]; then
        die 2 "$(version_of "$new") can work with the database as it is" 'leave out --with-copy, so that nothing is lost'
    fi
    if [ "$dry" = yes ]; then
        plan_back "$old" "$new" "$copy"
        return
    fi
    if [ -n "$copy" ]; then
        begin_change "$old" "$new"
        put_copy_back "$old" "$new" "$copy"
    fi
    put_in_use "$old" "$new"
    tidy_up
    say ''
    say "To change the two again: $base/install.sh --back"
}

direction() { # NAME NAME: the other of the two may be the newer one
    local older
    older=$(printf '%s\n' "$(version_of "$1")" "$(version_of "$2")" | sort -V | head -n 1)
    if [ "$older" = "$(version_of "$1")" ]; then echo back; else echo forward; fi
}

nothing_since() { # NAME COPY: asked of the newer version; its answer is in $work/since
    if ! "$base/$1/bin/python3" -I -m jobctl_daemon.fits --since "$2" >"$work/since" 2>/dev/null </dev/null; then
        die 1 "what was recorded since $2 was made cannot be told" "$(field "$1" message <"$work/since")"
    fi
    [ "$(field "$1" events <"$work/since")" -eq 0 ]
}

weigh() { # OLD NEW COPY: the database is of a newer schema, and there is a copy of before that: what would be lost?
    local ended changes of
    if nothing_since "$1" "$3"; then # a version that never got so far as to do anything
        step database "nothing was recorded since its copy of $(field "$1" copy_of <"$work/since")"
        return
    fi
    of=$(field "$1" copy_of <"$work/since")
    ended=$(counted "$(field "$1" ended <"$work/since")" run)
    changes=$(counted "$(field "$1" changes <"$work/since")" change)
    if [ "$with_copy" = yes ]; then
        step database "changed by $(version_of "$1"), so that $(version_of "$2") cannot use it; its copy is of $of"
        step 'since then' "$ended ended, $changes of jobs and queues; kept in $state/replaced"
        return
    fi
    warn "$(version_of "$2") cannot use the database, which $(version_of "$1") has changed; nothing was done"
    cat >&2 <<ADVICE
  A copy of before the upgrade is there, of $of: $3
  What was recorded since is not in it: $ended ended, $changes of jobs and queues. It would be kept in $state/replaced.
  Running commands go on, and are recorded. To go back to the copy: $base/install.sh --back --with-copy
ADVICE
    exit 2
}

counted() { # NUMBER NOUN
    if [ "$1" -eq 1 ]; then printf '1 %s' "$2"; else printf '%s %ss' "$1" "$2"; fi
}

put_copy_back() { # OLD NEW COPY
    [ "$start" = yes ] || die 2 'putting a copy back stops the daemon: that does not go with --no-start'
    if [ -d "$root/run/systemd/system" ] && "${systemctl[@]}" is-active --quiet jobd.service; then
        "${systemctl[@]}" stop jobd.service || die 1 'systemd did not stop jobd.service'
    else
        stop_daemon "$1" || exit 1
    fi
    if ! "$base/$2/bin/jobctl" restore "$3" >"$work/restore.log" 2>&1 </dev/null 9>&-; then
        warn "the copy could not be put in place; jobctl restore says:"
        tail_of "$work/restore.log"
        arrange_return
        start_daemon "$1" || true
        exit 1
    fi
    step database "as it was in $3"
    sed 's/^/               /' "$work/restore.log" | while read -r line; do step '' "$line"; done
}

# ── what would be done ────────────────────────────────────────────────────────
plan_install() { # OLD
    local name
    name=$(free_name "$version")
    step programs "would come to $base/$name"
    plan_switch "$1" "$name"
    if [ "$start" = yes ] && [ "$job" = yes ]; then step 'first job' 'would be run'; fi
    plan_sweep "$1" "$name"
}

plan_back() { # OLD NEW COPY
    plan_switch "$1" "$2"
    [ -z "$3" ] || step database "would be the copy $3; the one of now would be kept in $state/replaced"
}

plan_removal() {
    step daemon "would be stopped; commands that would go on: $(commands_running)"
    step programs "$base and the links to it would be removed, but for what still runs from there"
    if [ "$purge" = yes ]; then
        step purged "$state and $config would be: jobs, history and settings"
    else
        step kept "jobs and history in $state"
    fi
}

plan_switch() { # OLD NEW
    local way
    if [ -n "$1" ]; then
        step current "$base/current would lead to $2, no more to $1"
    else
        step commands "jobctl and jobd would come to $bin, manual pages to $man"
    fi
    way=$(ways_back | head -n 1)
    step reboot "the daemon would come back by: ${way:-nothing, on this host}"
    if [ "$start" = no ]; then
        step daemon 'would neither be started nor restarted (--no-start)'
    elif [ -n "$1" ] && [ -n "$(running_version "$1")" ]; then
        step daemon "would be restarted; commands that would go on: $(commands_running)"
    else
        step daemon 'would be started'
    fi
}

plan_sweep() { # OLD NEW
    local folder name stays
    stays=$(previous)
    if [ -n "$1" ] && [ "$(version_of "$1")" != "$(version_of "$2")" ]; then stays=$1; fi
    [ -z "$stays" ] || step 'for --back' "$stays would stay"
    for folder in "$base"/*/; do
        name=$(basename "$folder")
        case "$name" in current | previous | unpacked | '*' | "$stays") continue ;; esac
        if in_use "$name"; then
            step kept "$name would stay: processes run from there"
        else
            step removed "$name would be"
        fi
    done
}

# ── the base folder ───────────────────────────────────────────────────────────
make_base() { # its list of made folders begins with those that it lies in
    local missing=$base made=''
    while [ ! -d "$missing" ]; do
        made=$missing$'\n'$made
        missing=$(dirname "$missing")
    done
    mkdir -p "$base"
    if [ "$uid" -eq 0 ]; then chmod 755 "$base"; fi # one file of root's, started with umask 077, may have made it
    printf '%s' "$made" >>"$base/.made"
}

# shellcheck disable=SC2317  # a trap calls it
leave() { # a failed or interrupted install leaves what was there before
    trap : HUP INT TERM
    set +e
    [ "$locked" = no ] || [ ! -e "$base/.change" ] || (undo_change)
    rm -rf ${unfinished[@]+"${unfinished[@]}"}
    if [ "$fresh" = yes ] && [ -z "$(current)" ]; then
        cp "$base/.made" "$work/made"
        rm -rf "${base:?}"
        remove_made "$work/made"
    fi
    rm -rf "$work"
}

lock_base() {
    exec 9>>"$base/.lock"
    flock -n 9 || die 1 'another install.sh is at work here'
    [ "$base/.lock" -ef /proc/self/fd/9 ] || die 1 'another install.sh was at work here; start this one again'
    locked=yes
    # Only who has the lock knows whether anything was here, and removes it.
    if [ -z "$(find "$base" -mindepth 1 ! -name .lock ! -name .made -print -quit)" ]; then fresh=yes; fi
}

nothing_installed() {
    [ ! -d "$base" ] && [ ! -e "$units/jobd.service" ] && ! is_ours "$bin/jobctl" && ! is_ours "$bin/jobd"
}

refuse_while_the_host_is_ours() { # cron was stopped for jobd, and nothing else would run the tables of this host
    local file
    for file in "$state"/imports/*/manifest.json; do
        if grep -qs '^  "host": {' "$file" && ! grep -qsE '^  "state": "(undoing|rolled back)"' "$file"; then
            die 1 'jobd runs the crontabs of this host in the place of cron; nothing was removed' \
                "give them back first: $bin/jobctl import crontab --rollback"
        fi
    done
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
    printf '%s\n' "$base/" "$(realpath -m "$base")/" >"$work/pattern"
    for pid in $(grep -lsaF -f "$work/pattern" /proc/[0-9]*/cmdline | tr -cd '0-9\n'); do
        { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -q '/jobd ' || continue
        home=$({ tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | sed -n 's/^JOBCTL_HOME=//p') || true
        step 'goes on' "a daemon of $(stat -c %U "/proc/$pid")${home:+ with JOBCTL_HOME=$home}; kill $pid stops it"
    done
    step kept "$base: programs that still run; $base/install.sh --uninstall once more, or an install, removes them later"
}

uninstall() {
    local file name pid running installed=yes
    if nothing_installed; then installed=no; fi
    if [ -d "$base" ] && [ "$dry" = no ]; then lock_base; fi
    refuse_while_the_host_is_ours
    running=$(commands_running)
    if [ "$purge" = yes ] && [ "$running" -gt 0 ]; then refuse_while_commands_run "$running"; fi
    if [ "$dry" = yes ]; then
        plan_removal
        return
    fi
    if [ "$installed" = no ] && { [ "$purge" = no ] || ! { [ -d "$state" ] || [ -d "$config" ]; }; }; then
        remove_reboot_line
        say "jobctl is not installed here: there is no $base"
        [ ! -d "$state" ] || step kept "jobs and history in $state (--uninstall --purge removes them)"
        return
    fi
    remove_units
    remove_init_script
    stop_daemon current || exit 1
    [ "$installed" = no ] || step daemon "stopped; commands that go on: $running"
    remove_reboot_line
    for name in jobctl jobd crontab; do if is_ours "$bin/$name"; then rm -f "$bin/$name"; fi; done
    unmake_host
    for file in "$man"/man*/*; do if is_ours "$file"; then rm -f "$file"; fi; done
    while read -r _ file; do
        if grep -qs 'jobctl completion for' "$file"; then rm -f "$file"; fi
    done < <(completions)
    if [ -e "$base/.linger" ]; then
        step lingering "stays on; loginctl disable-linger $(id -un) switches it off"
    fi
    # They end after their last command, and leave what nobody has recorded yet to the next installation's.
    for pid in $(runners); do kill -TERM "$pid" 2>/dev/null || true; done
    rm -f "$base/current" "$base/previous" "$base/.change"
    sweep_soon
    remove_runner_unit
    rm -f "$state/returns-after-reboot"
    rmdir "$config/jobs.d" "$config" 2>/dev/null || true
    if [ "$purge" = yes ]; then
        step purging "$state, $config"
        rm -rf "${state:?}" "${config:?}"
    fi
    # A user's socket has a second name there.
    rmdir "${socket%/*}" "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/jobctl}" 2>/dev/null || true
    cp "$base/.made" "$work/made" 2>/dev/null || true
    if [ -z "$kept" ]; then
        [ "$installed" = no ] || step programs "$base is removed"
        rm -rf "${base:?}"
    else
        tell_kept
    fi
    remove_made "$work/made"
    if [ "$purge" = no ]; then
        step kept "jobs and history in $state$([ ! -d "$config" ] || echo ", settings in $config") (--uninstall --purge removes them)"
    fi
}

main() {
    action=install from='' wanted_python='' start=yes job=yes purge=no crontab=no with_copy=no dry=no quiet=no
    while [ $# -gt 0 ]; do
        case "$1" in
        --python | --from)
            [ $# -gt 1 ] || die 2 "$1 needs a path"
            if [ "$1" = --from ]; then from=$2; else wanted_python=$2; fi
            shift
            ;;
        --python=*) wanted_python=${1#*=} ;;
        --from=*) from=${1#*=} ;;
        --no-start) start=no ;;
        --no-first-job) job=no ;;
        --crontab) crontab=yes ;;
        --back) action=back ;;
        --with-copy) with_copy=yes ;;
        --uninstall) action=uninstall ;;
        --purge) purge=yes ;;
        --dry-run) dry=yes ;;
        --quiet) quiet=yes ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) die 2 "unknown option $1" 'see ./install.sh --help' ;;
        esac
        shift
    done
    [ "$purge" = no ] || [ "$action" = uninstall ] || die 2 '--purge goes with --uninstall'
    [ "$crontab" = no ] || [ "$action" = install ] || die 2 '--crontab goes with an installation'
    [ "$with_copy" = no ] || [ "$action" = back ] || die 2 '--with-copy goes with --back'
    [ -z "$from$wanted_python" ] || [ "$action" = install ] || die 2 '--from and --python go with an installation'
    settle_places
    unfinished=() fresh=no locked=no work=$(mktemp -d)
    trap leave EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    case "$action" in
    install) install_or_upgrade ;;
    back) go_back ;;
    uninstall) uninstall ;;
    esac
}

# The file may be replaced or removed meanwhile: nothing of it is read after this line.
main "$@"; exit
