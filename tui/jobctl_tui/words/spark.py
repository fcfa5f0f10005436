"""A row of numbers as one line of blocks, such as the durations of the last runs."""

from collections.abc import Sequence


def spark(values: Sequence[float | None], blocks: str, cells: int) -> str:
    """The last `cells` of the values, one a cell; `blocks` from the lowest to the highest, a space where there is none.

    The scale begins at zero, so that runs which take about the same look about the same.
    """
    shown = values[-cells:] if cells > 0 else []
    top = max((value for value in shown if value is not None), default=0.0)
    return "".join(" " if value is None else _block(value, top, blocks) for value in shown)


def _block(value: float, top: float, blocks: str) -> str:
    share = value / top if top > 0 else 0.0
    return blocks[min(len(blocks) - 1, max(0, round(share * len(blocks) + 0.499) - 1))]
