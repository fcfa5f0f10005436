"""How long the command line takes, as multiples of `python3 -c pass`.

    python benchmarks/cli_startup.py [--rounds N] [--venv DIR]

Installs the checkout as a user would, into a venv of its own with its bytecode, because a development checkout without
bytecode measures the compiler. Rounds are interleaved and medians compared, so that a busy machine slows all alike.
`ls` asks a socket that answers at once with 50 jobs: what is measured is the client.
"""

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LIMITS = {"--version": 3.0, "--help": 7.0, "ls": 8.0}


def installed(folder: Path) -> Path:
    """A venv with jobctl in it; its bin folder."""
    place = folder / "bin"
    if not (place / "jobctl").exists():
        venv.create(folder, with_pip=True)
        command = [str(place / "python"), "-m", "pip", "install", "--quiet", "--compile", str(CHECKOUT)]
        subprocess.run(command, check=True, env=environ())
    return place


def environ() -> dict[str, str]:
    """Without what would keep bytecode from being written, or this checkout from being left out."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JOBCTL"))}


def page() -> bytes:
    """50 jobs as the API lists them."""
    sys.path[:0] = [str(CHECKOUT / "tests")]
    from unit.client.fake_daemon import job

    items = [job(number, f"job-{number:02d}") for number in range(50)]
    body = json.dumps({"schema": 1, "items": items, "next": None}).encode()
    head = f"HTTP/1.1 200 OK\r\nJobctl-Protocol: 1\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


@contextlib.contextmanager
def answering(path: Path) -> Iterator[None]:
    """A socket that gives every caller the page."""
    answer = page()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(16)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def milliseconds(command: list[str], env: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1000


def measure(place: Path, rounds: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        env = environ() | {"JOBCTL_SOCKET": str(path)}
        commands = {"pass": [str(place / "python3"), "-c", "pass"]}
        commands |= {verb: [str(place / "jobctl"), verb] for verb in LIMITS}
        times: dict[str, list[float]] = {name: [] for name in commands}
        with answering(path):
            for number in range(rounds + 1):
                for name, command in commands.items():
                    taken = milliseconds(command, env)
                    if number:  # the first round warms the page cache
                        times[name].append(taken)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description="start-up of the command line")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--venv", type=Path, help="keep the installation here, and use one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        times = measure(installed(options.venv or Path(scratch) / "venv"), options.rounds)
    base = statistics.median(times["pass"])
    print(f"{'command':<12}{'best ms':>9}{'median ms':>11}{'× pass':>9}{'limit':>8}")
    over = False
    for name, values in times.items():
        ratio = statistics.median(values) / base
        limit = LIMITS.get(name)
        over = over or (limit is not None and ratio > limit)
        shown = "" if limit is None else f"{limit:g}"
        print(f"{name:<12}{min(values):>9.1f}{statistics.median(values):>11.1f}{ratio:>9.2f}{shown:>8}")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
