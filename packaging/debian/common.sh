# ── for all maintainer scripts ────────────────────────────────────────────────
programs=/usr/lib/jobctl
state=/var/lib/jobctl

say() { printf 'jobctl: %s\n' "$*"; }
warn() { printf 'jobctl: %s\n' "$*" >&2; }

has_systemd() { [ -d /run/systemd/system ]; }

in_use() { # FOLDER: some process runs from there, or nobody can tell
    [ ! -e /proc/self ] || [ -n "$(find /proc -mindepth 2 -maxdepth 2 -name exe -lname "$1/*" -print -quit 2>/dev/null)" ]
}

sweep() { # NAME: removes the folders of programs from which nothing runs, but this one; sets kept
    kept=''
    for folder in "$programs"/[0-9]*/ "$programs"/.[0-9]*/; do
        folder=${folder%/}
        if [ ! -d "$folder" ] || [ "${folder##*/}" = "$1" ]; then continue; fi
        if in_use "$folder"; then kept="$kept $folder"; else rm -rf "$folder"; fi
    done
}

runners() { # the runners of this system's daemon; /proc may show those of other roots as well
    for process in /proc/[0-9]*; do
        if { tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null | grep -q " jobctl_daemon.runner --state $state " &&
            [ "$(stat -Lc %d:%i "$process/root" 2>/dev/null)" = "$(stat -c %d:%i /)" ]; then
            echo "${process#/proc/}"
        fi
    done
}

commands() { # how many commands these runners have started and not seen the end of
    for pid in $(runners); do cat "/proc/$pid/task/$pid/children" 2>/dev/null || true; done | wc -w
}
