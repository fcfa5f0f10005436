"""The patterns of one question, which have one measure of work between them."""

from .pattern import WORK_MAX, Pattern, TooCostly, Work


class Search:
    """However many patterns a question has and however often it looks, all of it together takes `work_max` steps."""

    def __init__(self, work_max: int = WORK_MAX) -> None:
        self._work = Work(work_max)
        self._patterns: dict[str, Pattern] = {}
        self.costly = False
        """It was given up."""

    def found(self, source: str, text: object) -> bool:
        """Whether the pattern matches any part of the text; it does not where there is none. `TooCostly`: given up."""
        try:
            pattern = self._patterns.get(source)
            if pattern is None:
                pattern = self._patterns[source] = Pattern(source, self._work)
            return text is not None and pattern.found_in(str(text))
        except TooCostly:
            self.costly = True
            raise
