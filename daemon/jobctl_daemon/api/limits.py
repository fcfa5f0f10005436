"""What one client may take: sizes, times, and how many may come at once."""

from typing import Final

BODY_BYTES_MAX: Final = 1 << 20
HEAD_BYTES_MAX: Final = 16 << 10
HEADERS_MAX: Final = 100
QUERY_FIELDS_MAX: Final = 64

#: A connection without a request.
IDLE_S: Final = 75.0
#: From the first byte of a head to its last, and the same for a body.
ARRIVE_S: Final = 30.0
#: A reader that takes nothing; and a closed connection whose last bytes nobody takes.
STALL_S: Final = 30.0
#: What a refused body may still send, so that its sender gets to read the refusal.
LINGER_S: Final = 2.0
#: How often the limits of time are looked at, while anybody is connected.
SWEEP_S: Final = 5.0

#: `?wait=` of a run.
WAIT_S_MAX: Final = 60.0
PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1000
#: Rows of a window, and how far down it may begin.
WINDOW_MAX: Final = 500
OFFSET_MAX: Final = 1 << 40
PREVIEW_MAX: Final = 1000
#: Runs whose durations are told.
DURATIONS_MAX: Final = 500
#: Of a look at what is coming: hours, cells of a lane, and lanes of a page.
UPCOMING_HOURS_MAX: Final = 192
UPCOMING_CELLS_MAX: Final = 240
UPCOMING_PAGE_MAX: Final = 500
#: Fires that a dry run shows.
PREVIEWED: Final = 3
IMPORT_MAX: Final = 10_000
KEY_CHARS_MAX: Final = 255
WHY_CHARS_MAX: Final = 1000
#: `count` of a skip.
SKIPPED_MAX: Final = 100
#: Runs of one queue at once: far more than a host has slots for.
CONCURRENCY_MAX: Final = 100_000
#: Seconds between two starts of a replay.
PACE_S_MAX: Final = 3600
#: Dead letters of one replay or discard.
DEAD_MAX: Final = PAGE_MAX
#: A text in a query or a filter.
QUERY_CHARS_MAX: Final = 255
