"""The units under a real systemd: a user's manager, in namespaces of its own so that nothing of the host is touched.

/run and /root are other file systems in there, and the manager is an ordinary user's: no unit of the system's starts.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl import __version__
from kit import releases
from kit.host import IS_ROOT, ORDINARY, QUICK_PIP, Host, a_host

MANAGER = Path("/lib/systemd/systemd")
GROUP = "jobctl-test-{pid}"

# Words between ## are looked for in the output.
WORLD = """
set -eu
mount --make-rprivate /
for folder in /run /root; do mount -t tmpfs tmpfs "$folder"; done
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
chown {user}:{user} "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
for tree in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ -e "$tree/cgroup.procs" ] || continue
    mkdir "$tree/$GROUP" 2>/dev/null || continue
    chown -R {user}:{user} "$tree/$GROUP"
    echo 0 >"$tree/$GROUP/cgroup.procs" || true
done
as_user() {{ setpriv --reuid={user} --regid={user} --clear-groups "$@"; }}
cd /
as_user "$MANAGER" --user --unit=basic.target --log-target=console --log-level=notice >"$HOME/manager.log" 2>&1 &
for _ in $(seq 100); do as_user systemctl --user is-system-running >/dev/null 2>&1 && break; sleep 0.1; done
if ! as_user systemctl --user is-system-running >/dev/null 2>&1; then
    echo '##no manager##'
    exit 0
fi
as_user bash -eu "$STEPS"
as_user systemctl --user exit || true
"""

STEPS = r"""
jobctl=$HOME/.local/bin/jobctl
install() { "$CHECKOUT/install.sh" --python "$PYTHON"; }
running() { systemctl --user list-units --plain --no-legend 'jobctl-runner@*' | grep -c ' running ' || true; }
has_runners() { [ "$(running)" = "$1" ]; }
privileges() { sed -n 's/^NoNewPrivs:[^0-9]*//p' "$1"; }
pid_of() { systemctl --user show "$1" -p MainPID --value; }
until_it() { for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; }
running_version() { "$jobctl" daemon status --json | sed -n 's/.*"version": "\(.*\)".*/\1/p'; }
ready() { until_it "$jobctl" daemon status; }
is_another() { [ "$(pid_of jobd.service)" != "$before" ] && [ "$(pid_of jobd.service)" != 0 ]; }
is_running() { "$jobctl" show --run "$run" --json | grep -q '"running"'; }
outcome() { "$jobctl" wait "$1" >/dev/null 2>&1 || true; "$jobctl" show --run "$1" --json | tr -d '\n '; }

install
echo "##jobd is $(systemctl --user is-active jobd.service), $(systemctl --user is-enabled jobd.service)##"
echo "##runners $(running)##"
"$jobctl" status --json | grep returns_after_reboot

run=$("$jobctl" run -q -- sh -c 'sleep 3; exit 7')
before=$(pid_of jobd.service)
kill -KILL "$before"
until_it is_another
ready
systemctl --user restart jobd.service
echo "##after a crash and a restart: $(outcome "$run")##"

# jobd is in a sandbox, and so the third runner is the manager's to start: its commands are in none.
echo 'runners = 3' >"$HOME/.config/jobctl/jobd.toml"
systemctl --user reload jobd.service
until_it has_runners 3
ready
echo "##reloaded: $(systemctl --user is-active jobd.service), runners $(running)##"
cp "/proc/$(pid_of jobd.service)/status" "$HOME/status"
echo "##no new privileges: jobd $(privileges "$HOME/status"), commands $(for _ in 1 2 3; do
    "$jobctl" log "$("$jobctl" run -q --wait -- sed -n 's/^NoNewPrivs:[^0-9]*//p' /proc/self/status)"
done | xargs)##"

# A daemon that stands still says nothing to its watchdog.
dropins=$HOME/.config/systemd/user/jobd.service.d
mkdir "$dropins"
printf '[Service]\nWatchdogSec=2\n' >"$dropins/quick.conf"
systemctl --user daemon-reload
systemctl --user restart jobd.service
ready
run=$("$jobctl" run -q -- sh -c 'sleep 6; exit 7')
until_it is_running
before=$(pid_of jobd.service)
kill -STOP "$before"
until_it is_another
ready
echo "##after the watchdog: $(is_another && echo another), $(outcome "$run")##"
rm -r "$dropins"
systemctl --user daemon-reload

run=$("$jobctl" run -q -- sh -c 'sleep 3; exit 7')
until_it is_running
for runner in $(systemctl --user list-units --plain --no-legend 'jobctl-runner@*' | cut -d' ' -f1); do
    pid=$(pid_of "$runner")
    [ "$pid" = 0 ] || kill -KILL "$pid"
done
echo "##after the runners' death: $(outcome "$run")##"

run=$("$jobctl" run -q -- sh -c "until [ -e $HOME/gate ]; do sleep 0.1; done; exit 7")
until_it is_running
install
echo "##after a repair, running: $("$jobctl" show --run "$run" --json | grep -c '"running"')##"

"$RELEASE/install.sh" --quiet --no-first-job
echo "##upgraded to $(running_version), running: $("$jobctl" show --run "$run" --json | grep -c '"running"')##"
"$HOME/.local/lib/jobctl/install.sh" --back --quiet
echo "##back at $(running_version), running: $("$jobctl" show --run "$run" --json | grep -c '"running"')##"
"$CHECKOUT/install.sh" --uninstall
echo "##uninstalled: runners $(running), $(cd "$HOME/.config/systemd/user" && ls)##"
touch "$HOME/gate"
until_it has_runners 0
"$CHECKOUT/install.sh" --uninstall
echo "##then: runners $(running), $(ls -A "$HOME/.config" "$HOME/.local" | xargs)##"
install
echo "##recorded by the next one: $(outcome "$run")##"

"$CHECKOUT/install.sh" --uninstall --purge
echo "##left: $(systemctl --user list-units --plain --no-legend 'jobd*' | wc -l)##"
"""


@pytest.fixture
def host() -> Iterator[Host]:
    if not IS_ROOT or not MANAGER.exists() or shutil.which("unshare") is None:
        pytest.skip("needs root, systemd and unshare: a manager gets a world of its own")
    if subprocess.run(["unshare", "-fpmC", "--mount-proc", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")
    with a_host() as made:
        try:
            yield made
        finally:
            _remove_groups()


def _remove_groups() -> None:
    name = GROUP.format(pid=os.getpid())
    for tree in ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"):
        for folder, _, _ in os.walk(f"{tree}/{name}", topdown=False):
            os.rmdir(folder)


@pytest.mark.timeout(400)
@pytest.mark.long
def test_commands_outlive_the_daemon_and_the_runners_under_a_real_systemd(host: Host) -> None:
    host.stand_in("loginctl", "#!/bin/sh\nexit 0\n")
    steps = host.folder / "steps"
    steps.write_text(STEPS)
    steps.chmod(0o644)
    environ = {name: value for name, value in host.environ.items() if name != "JOBCTL_INSTALL_ROOT"}
    environ |= {
        "XDG_RUNTIME_DIR": f"/run/user/{ORDINARY}",
        "MANAGER": str(MANAGER),
        "GROUP": GROUP.format(pid=os.getpid()),
        "STEPS": str(steps),
        "CHECKOUT": str(host.checkout),
        "RELEASE": str(releases.kept("99.0.0")),
        "PYTHON": str(host.quick_python()),
        **QUICK_PIP,
    }
    done = subprocess.run(
        ["unshare", "-fpmC", "--kill-child", "--mount-proc", "bash", "-c", WORLD.format(user=ORDINARY)],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=360,
    )
    if "##no manager##" in done.stdout:
        pytest.skip("systemd does not start a manager here")
    said = re.findall("##(.*?)##", done.stdout)
    words = done.stdout + done.stderr
    assert done.returncode == 0, words
    assert said[:2] == ["jobd is active, enabled", "runners 2"], words
    assert '"returns_after_reboot": true' in done.stdout, words
    assert '"outcome":"exit_code"' in said[2], words
    assert '"exit_code":7' in said[2], words
    assert said[3:5] == ["reloaded: active, runners 3", "no new privileges: jobd 1, commands 0 0 0"], words
    assert said.pop(5).startswith("after the watchdog: another, ")
    assert '"exit_code":7' in done.stdout.split("##after the watchdog: ")[1].partition("##")[0], words
    # Its parent was gone when it ended. Where the kernel cannot tell a stranger the exit code, the run is lost.
    assert '"exit_code":7' in said[5] or '"outcome":"lost"' in said[5], words
    assert said[6] == "after a repair, running: 1", words
    assert said[7:9] == ["upgraded to 99.0.0, running: 1", f"back at {__version__}, running: 1"], words
    del said[7:9]
    # The runner's unit stays with it, or systemd would end the command with the runner.
    assert said[7] == "uninstalled: runners 1, jobctl-runner@.service", words
    assert said[8] == f"then: runners 0, {host.home}/.config: jobctl {host.home}/.local: state", words
    assert '"exit_code":7' in said[9], words
    assert said[10] == "left: 0", words
