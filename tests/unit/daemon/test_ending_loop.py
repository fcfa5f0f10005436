"""The loop ends where no thread can be had."""

import os
import subprocess
import sys

SCRIPT = """
import asyncio, os, resource, sys
from jobctl_daemon.ending_loop import EndingLoop
if os.geteuid() == 0:  # nothing limits root
    os.setresuid(*[64_123] * 3)
async def work():
    await asyncio.to_thread(int)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    try:
        await asyncio.gather(*[asyncio.to_thread(sys.stdin.read) for _ in range(3)])
    except RuntimeError as error:
        print(error)
with asyncio.Runner(loop_factory=EndingLoop) as runner:
    runner.run(work())
print("ended")
"""


def test_a_loop_whose_threads_cannot_be_more_ends_without_an_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=b"",
        capture_output=True,
        check=False,
        timeout=30,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"can't start new thread\nended\n"
