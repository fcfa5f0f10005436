"""The package where systemd runs: its maintainer scripts and units, with a stand-in for systemctl and Debian's helpers.

The stand-in starts what the units say, so that a daemon and runners are there as under systemd; no systemd is booted.
"""

import shutil
from pathlib import Path
from typing import Final

import pytest

from kit.deb_root import UNTIL, DebRoot, a_deb_root, alive, debs_of, ends, start_gated
from kit.own_host import needs_root

pytestmark = [pytest.mark.long, needs_root]

SYSTEMCTL: Final = r"""#!/bin/sh
# Two units: what is enabled is a link, and what runs is a process. Every act is written down.
words=$(printf '%s\n' "$@" | sed '/^--/d' | xargs)
verb=${words%% *} unit=${words#* }
pid=/run/stand-in-$unit
wants=/etc/systemd/system/multi-user.target.wants
for file in /etc/systemd/system /run/systemd/system /usr/lib/systemd/system; do
    case "$unit" in jobctl-runner@*) file=$file/jobctl-runner@.service ;; *) file=$file/$unit ;; esac
    [ ! -e "$file" ] || break
done
active() { [ -e "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null; }
until_it() { for _ in $(seq 100); do if "$@"; then return; fi; sleep 0.1; done; return 1; }
ready() { jobctl daemon status >/dev/null 2>&1; }
ended() { ! active; }
begin() {
    instance=${unit#*@} instance=${instance%.service}
    line=$(sed -n 's/^ExecStart=//p' "$file" | sed "s/%i/$instance/")
    env -i PATH="$PATH" $(sed -n 's/^Environment=//p' "$file") setsid $line </dev/null >/dev/null 2>&1 &
    echo $! >"$pid"
    case "$unit" in jobd.*) until_it ready ;; *) until_it test -S "/var/lib/jobctl/runner/$instance.sock" ;; esac
}
end() { if active; then kill "$(cat "$pid")"; until_it ended; fi; }
case "$verb" in
is-system-running) echo running; exit ;;
is-enabled) if [ -L "$wants/$unit" ]; then echo enabled; else echo disabled; exit 1; fi; exit ;;
is-active) active; exit ;;
preset) mkdir -p "$wants"; ln -sf "$file" "$wants/$unit"; exit ;; # Debian enables what is installed
daemon-reload | start | restart | stop) echo "$words" >>/run/asked ;;
*) echo "not known to the stand-in: $words" >>/run/asked; exit 1 ;;
esac
case "$verb" in
start) active || begin ;;
restart) end; begin ;;
stop) end ;;
esac
"""


def asked(root: DebRoot) -> list[str]:
    """What systemctl was asked to do since the last time, but for the runners, for which jobd asks. Debian's helpers
    have their own units read anew as well."""
    acts = [line for line in root.sh("cat /run/asked; : >/run/asked").splitlines() if "runner" not in line]
    return [act for act, before in zip(acts, ["", *acts], strict=False) if act != before]


def test_systemd_keeps_the_daemon_and_its_runners_through_upgrade_removal_and_purge(
    debian_root: Path, release_tree: Path
) -> None:
    debs = debs_of(release_tree)
    with a_deb_root(debian_root) as root:
        shutil.copy(debs.now, root.given / "now.deb")
        shutil.copy(debs.later, root.given / "later.deb")
        root.sh("mkdir -p /run/systemd/system /etc/systemd/system")
        (root.given / "systemctl").write_text(SYSTEMCTL)
        root.sh("install -m 755 /given/systemctl /usr/bin/systemctl; : >/run/asked")
        before = root.files()

        root.dpkg("-i", "/given/now.deb")
        assert asked(root) == ["daemon-reload", "start jobd.service"]
        wanted = "/etc/systemd/system/multi-user.target.wants/jobd.service"
        assert root.sh(f"readlink -f {wanted}") == "/usr/lib/systemd/system/jobd.service\n"
        assert "comes back after a reboot: systemd starts jobd.service" in root.sh("jobctl status")
        # The units name the build that this jobd has, or it would start runners of its own beside them.
        build = root.sh("jobd --version").partition("(build ")[2].rstrip(")\n")
        assert root.sh("grep -c '^Wants=jobctl-runner@$1-1.service jobctl-runner@$1-2.service$' "
                       "/usr/lib/systemd/system/jobd.service".replace("$1", build)) == "1\n"  # fmt: skip
        assert root.sh(f"cd /run; ls -d stand-in-jobctl-runner@{build}-*").split() == [
            f"stand-in-jobctl-runner@{build}-{number}.service" for number in (1, 2)
        ]

        start_gated(root, 2)
        root.dpkg("-i", "/given/later.deb")
        assert asked(root) == ["daemon-reload", "restart jobd.service"]
        assert f"jobd {debs.later_version}, pid" in root.sh("jobctl daemon status")
        assert (alive(root), ends(root, 2)) == (2, [7, 7])

        # An administrator's choice not to have it started stands; what runs in spite of it is restarted.
        root.sh(f"rm {wanted}")
        root.dpkg("-i", "/given/now.deb")
        assert (asked(root), root.run("ls", wanted).returncode) == (["daemon-reload", "restart jobd.service"], 2)
        root.sh("systemctl stop jobd.service")
        root.dpkg("-i", "/given/later.deb")
        assert asked(root) == ["stop jobd.service", "daemon-reload"]
        root.sh(f"ln -s /usr/lib/systemd/system/jobd.service {wanted}; systemctl start jobd.service")

        # A removal with commands running: systemd knows what to do with their runners until the next boot.
        start_gated(root, 2)
        unit = root.sh("cat /usr/lib/systemd/system/jobctl-runner@.service")
        asked(root)
        root.dpkg("-r", "jobctl")
        assert asked(root) == ["stop jobd.service", "daemon-reload"]
        assert root.sh("cat /run/systemd/system/jobctl-runner@.service") == unit
        assert root.sh("readlink /etc/systemd/system/jobd.service") == "/dev/null\n", "else the init script is started"
        assert alive(root) == 2
        root.sh("touch /tmp/gate; " + UNTIL.format(*["! ls -l /proc/[0-9]*/exe | grep -q jobctl"] * 2))

        root.dpkg("-i", "/given/later.deb")
        assert asked(root) == ["daemon-reload", "restart jobd.service"], "dpkg knows of a version before"
        assert root.run("ls", "/run/systemd/system/jobctl-runner@.service").returncode == 2
        assert ends(root, 2) == [7, 7]

        # What install.sh left behind because commands ran would be in front of the package's own.
        root.sh("echo '# install.sh fills in the capitals' >/etc/systemd/system/jobctl-runner@.service")
        root.dpkg("-i", "/given/later.deb")
        assert root.run("ls", "/etc/systemd/system/jobctl-runner@.service").returncode == 2

        root.dpkg("-P", "jobctl")
        assert {name for name in root.files() ^ before if "gshadow-" not in name} == set()
