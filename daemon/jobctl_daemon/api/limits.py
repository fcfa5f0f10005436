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
PREVIEW_MAX: Final = 1000
IMPORT_MAX: Final = 10_000
KEY_CHARS_MAX: Final = 255
