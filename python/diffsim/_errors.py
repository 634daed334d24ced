# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the package: one class for each exit status of dshost, with the line that dshost would print."""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "ConfigError",
    "ConformanceError",
    "DiffsimError",
    "EnvironmentFailed",
    "EvaluationError",
    "InputOutputError",
    "LibraryError",
    "LockedError",
    "OutOfMemory",
    "PluginError",
    "Stopped",
    "UnsupportedError",
    "UsageError",
]


class DiffsimError(Exception):
    """The root of all exceptions of diffsim; ``str(e)`` is one line: what happened, where, and what to do.

    ``status`` is the exit status of dshost for this error (``man dshost``)."""

    status = 1


class UsageError(DiffsimError, ValueError):
    """Status 2: an argument is wrong: a point outside of the bounds, a shape, a range."""

    status = 2


class UnsupportedError(UsageError):
    """Status 2: the environment does not offer the requested feature: gradients, scenes, episodes, a channel."""


class ClosedError(UsageError):
    """Status 2: the environment or optimizer was closed, or belongs to the process that this one was forked from."""


class ConfigError(DiffsimError, ValueError):
    """Status 3: a parameter or setting is unknown, misspelt or out of its range."""

    status = 3


class PluginError(DiffsimError, RuntimeError):
    """Status 4: a plugin is not there, was refused, failed, or crashed."""

    status = 4


class EnvironmentFailed(DiffsimError, RuntimeError):
    """Status 5: the environment failed too often, or cannot be started any more."""

    status = 5


class EvaluationError(EnvironmentFailed):
    """Status 5: a point has no loss, or no gradient. ``outcome`` is the reason ("crashed", "timeout",
    "diverged", "infeasible", "invalid", "error", "bad_gradient"), ``evaluation`` all results, also of the
    other points."""

    def __init__(self, line, outcome="error", evaluation=None):
        super().__init__(line)
        self.outcome = outcome
        self.evaluation = evaluation

    def __reduce__(self):
        return type(self), (self.args[0], self.outcome, None)


class InputOutputError(DiffsimError, OSError):
    """Status 6: a file or folder cannot be read or written, is damaged, or is in the way."""

    status = 6


class OutOfMemory(DiffsimError, MemoryError):
    """Status 7: there is not enough memory."""

    status = 7


class ConformanceError(DiffsimError, AssertionError):
    """Status 8: a check of a plugin or of a gradient failed."""

    status = 8


class LockedError(DiffsimError, RuntimeError):
    """Status 75: another process works on the folder."""

    status = 75


class Stopped(DiffsimError, RuntimeError):
    """Status 130: the call was stopped; recorded evaluations are saved."""

    status = 130


class LibraryError(DiffsimError, ImportError):
    """libdiffsim, or a program that comes with it, cannot be found or loaded, or is of another version."""

    status = 4


_BY_STATUS = {
    c.status: c
    for c in (
        UsageError,
        ConfigError,
        PluginError,
        EnvironmentFailed,
        InputOutputError,
        OutOfMemory,
        ConformanceError,
        LockedError,
        Stopped,
    )
}


def by_exit_status(status: int, line: str) -> DiffsimError:
    """The exception for an exit status of dshost."""
    if status == 143:
        status = 130
    kind = _BY_STATUS.get(status, DiffsimError)
    error = kind(line)
    error.status = status or 1
    return error
