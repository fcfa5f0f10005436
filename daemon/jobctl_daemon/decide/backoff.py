"""How long a retry waits: exponential, with a cap and a jitter (docs/failures.md, "Retries")."""

import zlib

#: Doublings after which any delay is over any cap.
_DOUBLINGS_MAX = 60
_JITTER_SHARE = 0.2


def delay_ms(base_ms: int, cap_ms: int, nth: int, seed: str) -> int:
    """The delay before the retry that follows the `nth` failure (1, 2, …), in ms: above 0 and never above the cap.

    min(cap, base × 2^(n−1)) and up to a fifth on top; where that would pass the cap, off it. The jitter comes from
    `seed` and `nth` alone, so a decision made again is the same decision.
    """
    cap_ms = max(1, cap_ms)
    raw_ms = min(cap_ms, max(1, base_ms) << min(max(0, nth - 1), _DOUBLINGS_MAX))
    share = zlib.crc32(f"{seed}#{nth}".encode()) / 0xFFFF_FFFF
    spread_ms = round(raw_ms * _JITTER_SHARE * share)
    return raw_ms + spread_ms if raw_ms + spread_ms <= cap_ms else max(1, cap_ms - spread_ms)
