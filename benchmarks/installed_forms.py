"""How long the command line takes from each form it is installed in, as multiples of that form's own bare interpreter,
and how large each form is.

    python benchmarks/installed_forms.py RELEASE [--rounds N] [--deb]

RELEASE is a folder that `packaging/build --out RELEASE tree release` has filled.
`--deb` unpacks the package there (dpkg-deb -x; nothing is
installed). Rounds are interleaved and medians compared, so that a busy machine slows all alike. `ls` asks a socket that
answers at once with 50 jobs: what is measured is the client.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from cli_startup import LIMITS, answering, environ, installed, milliseconds

VERBS = ("--version", "ls")


def forms(release: Path, scratch: Path, *, deb: bool) -> dict[str, tuple[Path, Path, int]]:
    """By name: the program, its interpreter, and how many bytes it takes on disk."""
    (file,) = [path for path in release.glob("jobctl-*-linux-*") if path.is_file()]
    tree = file.with_name(f"{file.name}.tree")
    checkout, wheel = installed(scratch / "checkout"), scratch / "wheel/bin"
    subprocess.run([checkout / "python3", "-m", "venv", scratch / "wheel"], check=True)
    command = [wheel / "python3", "-m", "pip", "install", "--quiet", "--compile", *release.glob("*.whl")]
    subprocess.run(command, check=True, env=environ())
    unpacked = scratch / "unpacked"
    subprocess.run([file, "--version"], check=True, stdout=subprocess.DEVNULL, env=environ() | place(unpacked))
    (own,) = [path for path in unpacked.iterdir() if path.is_dir()]
    found = {
        "checkout, venv": (checkout / "jobctl", checkout / "python3", size(scratch / "checkout")),
        "wheel, venv": (wheel / "jobctl", wheel / "python3", size(scratch / "wheel")),
        "tree": (tree / "bin/jobctl", tree / "bin/python3", size(tree)),
        "one file": (file, own / "bin/python3", file.stat().st_size + size(unpacked)),
    }
    if deb:
        (package,) = release.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", package, scratch / "deb"], check=True)
        (python,) = scratch.glob("deb/usr/lib/jobctl/**/bin/python3")
        found["package"] = (python.with_name("jobctl"), python, size(scratch / "deb"))
    return found


def place(folder: Path) -> dict[str, str]:
    return {"JOBCTL_UNPACK_DIR": str(folder)}


def size(folder: Path) -> int:
    """Of its files, what is linked twice once."""
    found = {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    return sum(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description="start-up of the installed forms")
    parser.add_argument("release", type=Path)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--deb", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        found = forms(options.release.resolve(), scratch, deb=options.deb)
        env = (
            environ()
            | place(scratch / "unpacked")
            | {"JOBCTL_SOCKET": str(scratch / "s"), "HOME": os.path.expanduser("~")}
        )
        times: dict[tuple[str, str], list[float]] = {}
        with answering(scratch / "s"):
            for number in range(options.rounds + 1):
                for name, (program, python, _) in found.items():
                    commands = {"pass": [str(python), "-c", "pass"]} | {verb: [str(program), verb] for verb in VERBS}
                    for what, command in commands.items():
                        taken = milliseconds(command, env)
                        if number:  # the first round warms the page cache
                            times.setdefault((name, what), []).append(taken)
        print(f"{'form':<16}{'MB':>6}{'pass ms':>10}{'--version ms':>14}{'×':>7}{'ls ms':>8}{'×':>7}")
        over = False
        for name, (_, _, bytes_on_disk) in found.items():
            base, *values = (statistics.median(times[name, what]) for what in ("pass", *VERBS))
            shown = "".join(
                f"{value:>{width}.1f}{value / base:>7.2f}" for value, width in zip(values, (14, 8), strict=True)
            )
            print(f"{name:<16}{bytes_on_disk / 1e6:>6.0f}{base:>10.1f}{shown}")
            over = over or values[1] / base > LIMITS["ls"]
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
