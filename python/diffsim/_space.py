# SPDX-License-Identifier: Apache-2.0
"""The box that an optimizer searches."""

from __future__ import annotations

import numpy as np

from ._errors import UsageError
from ._settings import reals


class Space:
    """A box of n variables: ``lower`` and ``upper`` (n,), finite, lower < upper; ``x0`` (n,) a start point inside, by
    default its middle; ``names``, n texts.

        Space([-1, -1], [1, 2])
        Space.of_pairs([(-1, 1), (-1, 2)])        # as SciPy writes bounds
    """

    def __init__(self, lower, upper, x0=None, names=None):
        self.lower, self.upper = reals(lower, "lower").copy(), reals(upper, "upper").copy()
        if self.lower.ndim != 1 or self.lower.shape != self.upper.shape or self.lower.size == 0:
            raise UsageError(f"bounds have shapes {self.lower.shape} and {self.upper.shape}: (n,) is wanted for both")
        wrong = np.flatnonzero(~((self.lower < self.upper) & np.isfinite(self.lower) & np.isfinite(self.upper)))
        if wrong.size:
            i = wrong[0]
            raise UsageError(
                f"variable {i} has the bounds {self.lower[i]} and {self.upper[i]}: finite ones are wanted, lower < upper"
            )
        self._has_start = x0 is not None  # an optimizer evaluates it first
        self.x0 = 0.5 * self.lower + 0.5 * self.upper if x0 is None else reals(x0, "x0").copy()
        if self.x0.shape != self.lower.shape:
            raise UsageError(f"x0 has shape {self.x0.shape}: ({self.n},) is wanted")
        outside = np.flatnonzero(~((self.x0 >= self.lower) & (self.x0 <= self.upper)))
        if outside.size:
            i = outside[0]
            raise UsageError(f"x0[{i}] is {self.x0[i]}, outside of its bounds {self.lower[i]} and {self.upper[i]}")
        self.names = tuple(names) if names is not None else tuple(f"x{i}" for i in range(self.n))
        if len(self.names) != self.n:
            raise UsageError(f"there are {len(self.names)} names for {self.n} variables")

    @property
    def n(self) -> int:
        """Variables."""
        return self.lower.size

    @classmethod
    def of_pairs(cls, pairs, x0=None) -> "Space":
        """From n pairs (low, high)."""
        a = reals([[np.nan if v is None else v for v in pair] for pair in pairs], "bounds")
        if a.ndim != 2 or a.shape[1] != 2:
            raise UsageError("bounds: n pairs (low, high) are wanted")
        return cls(a[:, 0], a[:, 1], x0)

    @classmethod
    def of(cls, space) -> "Space":
        """From a Space, something that has one (an environment), or a pair (lower, upper) of arrays."""
        if isinstance(space, cls):
            return space
        inner = getattr(space, "space", None)
        if isinstance(inner, cls):
            return inner
        try:
            lower, upper = space
        except (TypeError, ValueError):
            raise TypeError(f"{space!r:.80} is no space: a Space, an environment or (lower, upper) is wanted") from None
        return cls(lower, upper)

    def __eq__(self, other):
        return isinstance(other, Space) and all(
            map(np.array_equal, (self.lower, self.upper, self.x0), (other.lower, other.upper, other.x0))
        )

    __hash__ = None  # type: ignore[assignment]  # its arrays may be changed

    def __repr__(self):
        return f"<Space of {self.n} variables>"
