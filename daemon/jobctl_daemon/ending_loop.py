"""The event loop of the daemon: it can also be closed where no thread can be had any more.

asyncio's own ends its pool of threads by one more thread, and fails where the process table is full.
"""

import asyncio
import concurrent.futures
from typing import Any, cast


class EndingLoop(asyncio.SelectorEventLoop):
    """A selector loop that ends cleanly."""

    async def shutdown_default_executor(self, *args: Any, **options: Any) -> None:
        """Waits for the threads of the pool, by itself if nobody else can."""
        try:
            await super().shutdown_default_executor(*args, **options)
        except RuntimeError:  # "can't start new thread"
            pool = cast("concurrent.futures.Executor | None", getattr(self, "_default_executor", None))
            if pool is not None:
                pool.shutdown(wait=True)
