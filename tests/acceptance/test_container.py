"""The Dockerfile's steps in a copy of this host's root, and jobd there as the first process of a container.

There is no engine: a mount and a process namespace, an overlay of / and chroot are what it would make of them. All of
it goes with the namespace.
"""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.host import CHECKOUT, IS_ROOT, QUICK_PIP, Host, a_host, seed

CONTAINER = CHECKOUT / "packaging/container"

# Words between ## are looked for in the output.
WORLD = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$W"
mkdir "$W/upper" "$W/work" "$W/root" "$W/state"
M=$W/root
if ! mount -t overlay overlay -o "lowerdir=/,upperdir=$W/upper,workdir=$W/work" "$M"; then
    echo '##no overlay##'
    exit 0
fi
mount --rbind /dev "$M/dev"
for folder in run tmp; do mount -t tmpfs tmpfs "$M/$folder"; done
chmod 1777 "$M/tmp"
for folder in "$FOLDER" "$SEED"; do # the checkout, and what the environment is made from
    mkdir -p "$M$folder"
    mount --bind "$folder" "$M$folder"
done
mkdir -p "$M/usr/local/bin"
ln -sf "$PYTHON" "$M/usr/local/bin/python"
in_image() { chroot "$M" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"; }
"""

RUNS = r"""
start() { # OUT WORDS…: the container; its first process is $first
    local out=$1
    shift
    : >"$W/$out.out"
    unshare --pid --fork --kill-child --mount-proc="$M/proc" chroot "$M" env -i PATH=/usr/local/bin:/usr/bin:/bin \
        DATABASE_URL=postgres://db/app SECRET=not-for-jobs "$@" >"$W/$out.out" 2>"$W/$out.err" &
    container=$!
    first=''
    for _ in $(seq 100); do
        first=$(cat "/proc/$container/task/$container/children" 2>/dev/null || true)
        [ -z "$first" ] || break
        sleep 0.1
    done
    first=${first% }
    for _ in $(seq 200); do execute $HEALTH >/dev/null 2>&1 && return; sleep 0.1; done
    echo "##not healthy: $(execute $HEALTH 2>&1 | tr '\n' ' ') $(tail -n 5 "$W/$out.err")##"
}
with_rights() { echo "setpriv --inh-caps=-all --bounding-set=-all,$1"; }
# What engines leave a container by default, and what it needs of that.
USUAL=+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap,+net_bind_service
USUAL=$USUAL,+sys_chroot,+kill,+audit_write
NEEDED=+setuid,+setgid,+kill,+chown,+dac_override,+fowner
user=''
execute() { nsenter --target "$first" --pid --mount --root --wd -- $user env PATH=/usr/local/bin:/usr/bin:/bin "$@"; }
stop() { kill -TERM "$first"; code=0; wait "$container" || code=$?; }
prints() { for _ in $(seq 100); do grep -qx "$2" "$W/$1.out" && return; sleep 0.1; done; echo "##$1 lacks $2##"; }

mount --bind "$W/state" "$M/var/lib/jobctl" # the volume
chmod 700 "$W/state"
echo 'pass_env = ["DATABASE_URL"]' >>"$M/etc/jobctl/jobd.toml"
printf '@reboot root echo "from a crontab: $DATABASE_URL$SECRET"\n@reboot nobody echo "as $(id -un)"\n' >"$W/crontab"
touch "$M/etc/crontab"
mount --bind -o ro "$W/crontab" "$M/etc/crontab"

start one $(with_rights $USUAL) $ENTRYPOINT
prints one 'echo\[[0-9]*\]: from a crontab: postgres://db/app'
prints one 'echo-2\[[0-9]*\]: as nobody'
printf '0 0 1 1 * true\n' | execute crontab -
echo "##crontab: $(execute crontab -l | tail -n 1)##"
run=$(execute jobctl run -q --name stays -- sh -c 'trap "echo bye; exit 0" TERM; echo up; sleep 600 & wait')
prints one "stays\[$run\]: up"
stop
echo "##stopped: $code, $(tail -n 1 "$W/one.out")##"

mount -o remount,ro "$M"
mount -t tmpfs tmpfs "$M/run"
start two $(with_rights $NEEDED) $ENTRYPOINT
prints two 'echo-2\[[0-9]*\]: as nobody'
echo "##recorded: $(execute jobctl show --run "$run" --json | tr -d '\n ')##"
echo "##read-only: $(execute sh -c 'touch /etc/x 2>/dev/null || echo refused')##"
execute jobctl run --wait -- echo works
prints two 'echo\[[0-9]*\]: works'
stop
echo "##stopped: $code##"

mount -o remount,rw "$M"
mkdir -p "$M/data/config"
cp "$M/etc/jobctl/jobd.toml" "$M/data/config/"
chown -R 4711:4711 "$M/data"
user='setpriv --reuid=4711 --regid=4711 --clear-groups env JOBCTL_HOME=/data'
start three setpriv --reuid=4711 --regid=4711 --clear-groups env JOBCTL_HOME=/data $ENTRYPOINT
execute jobctl run --wait --name who -- sh -c 'id -u; echo $HOME; echo $DATABASE_URL' >/dev/null
stop
echo "##of an ordinary user: $code, $(grep '^who' "$W/three.out" | sed 's/.*: //' | xargs)##"
printf 'pass_env = ["NOT_SET"]\n' >"$M/data/config/jobd.toml"
code=0
chroot "$M" env -i PATH=/usr/local/bin:/usr/bin:/bin $user $ENTRYPOINT 2>"$W/refused" || code=$?
echo "##refused: $code, $(head -n 1 "$W/refused")##"
"""


def instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile: word and rest, lines joined."""
    text = (CONTAINER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def as_script(checkout: Path) -> str:
    """What an engine does with them. The two stages share their root, so what is copied between them is there."""
    steps = []
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from="):
            *sources, target = rest.split()
            for source in sources:
                into = f"{target}{Path(source).name}" if target.endswith("/") else target
                steps.append(
                    f'mkdir -p "$M{Path(into).parent}"; cp -R {shlex.quote(str(checkout / source))} "$M{into}"'
                )
        elif word == "RUN":
            steps.append(f"in_image {' '.join(f'{k}={v}' for k, v in QUICK_PIP.items())} sh -c {shlex.quote(rest)} >&2")
    return "\n".join(steps)


def value_of(word: str) -> list[str]:
    """The words of ENTRYPOINT, or of the command of HEALTHCHECK."""
    (rest,) = [rest for found, rest in instructions() if found == word]
    words: list[str] = json.loads(rest[rest.index("[") :])
    return words


def test_all_that_the_dockerfile_copies_is_there_and_reaches_the_engine() -> None:
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from="):
            for source in rest.split()[:-1]:
                assert (CHECKOUT / source).exists(), source
                assert f"!{source.split('/')[0]}" in ignored, source
    assert [rest for word, rest in instructions() if word == "STOPSIGNAL"] == ["SIGTERM"]


@pytest.fixture
def host() -> Iterator[Host]:
    if not IS_ROOT or not all(map(shutil.which, ("unshare", "nsenter", "setpriv", "chroot"))):
        pytest.skip("needs root and namespaces")
    if subprocess.run(["unshare", "-fpm", "--mount-proc", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")
    with a_host() as made:
        yield made


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_image_runs_crontabs_echoes_stops_in_time_and_needs_neither_a_writable_root_nor_rights(host: Host) -> None:
    world = host.folder / "world"
    world.mkdir()
    script = WORLD + as_script(host.checkout) + RUNS
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", script],
        env=host.environ
        | {
            "W": str(world),
            "FOLDER": str(host.checkout.parent),
            "SEED": str(seed()),
            "PYTHON": str(host.quick_python()),
            "ENTRYPOINT": " ".join(value_of("ENTRYPOINT")),
            "HEALTH": " ".join(value_of("HEALTHCHECK")),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    words = done.stdout + done.stderr
    if "##no overlay##" in words:
        pytest.skip("no overlay of / can be mounted here")
    assert done.returncode == 0, words
    said = re.findall("##(.*?)##", done.stdout, re.S)
    assert len(said) == 7, words
    assert said[0] == "crontab: 0 0 1 1 * true"
    assert re.fullmatch(r"stopped: 0, stays\[\d+\]: bye", said[1]), words
    assert '"interrupted"' in said[2], words
    assert said[3] == "read-only: refused", words
    assert said[4] == "stopped: 0", words
    assert said[5] == "of an ordinary user: 0, 4711 / postgres://db/app", words
    assert said[6].startswith("refused: 2, jobd: "), words
    assert "`pass_env` names NOT_SET" in said[6]
