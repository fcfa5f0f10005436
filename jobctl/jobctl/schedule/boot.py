"""Schedules that wait for an event and not for a time: the daemon knows when, these only say what for."""

from dataclasses import dataclass

from .base import Schedule


@dataclass(frozen=True, slots=True)
class OnBoot(Schedule):
    """Once for each boot of the host (`@reboot`)."""

    def next_after(self, t_ms: int) -> None:  # noqa: ARG002
        """No time is known beforehand."""
        return


@dataclass(frozen=True, slots=True)
class OnStart(Schedule):
    """Each time the daemon starts."""

    def next_after(self, t_ms: int) -> None:  # noqa: ARG002
        """No time is known beforehand."""
        return
