# SPDX-License-Identifier: Apache-2.0
"""The box that an optimizer searches."""

from __future__ import annotations

import numpy as np

from ._errors import UsageError
from ._settings import reals, shown, undo_rounding


class Space:
    """A box of n variables: ``lower`` and ``upper`` (n,), finite, lower <= upper; ``x0`` (n,) a start point inside, by
    default its middle; ``names``, n texts. A variable with lower == upper is fixed; at least one must be free.

        Space([-1, -1], [1, 2])
        Space.of_pairs([(-1, 1), (-1, 2)])        # as SciPy writes bounds
    """

    def __init__(self, lower, upper, x0=None, names=None):
        self.lower, self.upper = (np.atleast_1d(reals(v, w)).copy() for v, w in ((lower, "lower"), (upper, "upper")))
        if self.lower.ndim != 1 or self.lower.shape != self.upper.shape or self.lower.size == 0:
            raise UsageError(f"bounds have shapes {self.lower.shape} and {self.upper.shape}: expected (n,) for both")
        wrong = np.flatnonzero(~((self.lower <= self.upper) & np.isfinite(self.lower) & np.isfinite(self.upper)))
        if wrong.size:
            i = wrong[0]
            raise UsageError(
                f"variable {i} has the bounds {self.lower[i]} and {self.upper[i]}: expected finite ones, lower <= upper"
            )
        if (self.lower == self.upper).all():
            raise UsageError("every variable is fixed (lower == upper): there is nothing to search")
        self._has_start = x0 is not None  # an optimizer evaluates it first
        if x0 is None:
            self.x0 = 0.5 * self.lower + 0.5 * self.upper
        else:
            given = np.atleast_1d(reals(x0, "x0"))
            if given.shape != self.lower.shape:
                raise UsageError(f"x0 has shape {given.shape}: expected ({self.n},)")
            self.x0 = undo_rounding(x0, given, self.lower, self.upper).copy()
        outside = np.flatnonzero(~((self.x0 >= self.lower) & (self.x0 <= self.upper)))
        if outside.size:
            i = outside[0]
            raise UsageError(f"x0[{i}] is {self.x0[i]}, outside of its bounds {self.lower[i]} and {self.upper[i]}")
        if isinstance(names, str):
            raise TypeError(f"names is {shown(names)}: expected a list of {self.n} texts")
        self.names = tuple(names) if names is not None else tuple(f"x{i}" for i in range(self.n))
        if len(self.names) != self.n:
            raise UsageError(f"there are {len(self.names)} names for {self.n} variables")

    @property
    def n(self) -> int:
        """Variables."""
        return self.lower.size

    @classmethod
    def of_pairs(cls, pairs, x0=None) -> "Space":
        """From n pairs (low, high). SciPy's None, for no bound, is refused: the box has to be finite."""
        a = _numbers(pairs)
        if a.ndim != 2 or a.shape[1] != 2:
            raise UsageError(f"bounds have shape {a.shape}: expected n pairs (low, high)")
        return cls(a[:, 0], a[:, 1], x0)

    @classmethod
    def of(cls, space, x0=None) -> "Space":
        """From a Space, an object that has one (an environment), ``scipy.optimize.Bounds``, (lower, upper),
        or n pairs.

        Two rows of two numbers can be read in both ways. They are refused where both readings are boxes,
        unless they are two arrays in a tuple, which are (lower, upper)."""
        inner = space if isinstance(space, cls) else getattr(space, "space", None)
        if isinstance(inner, cls):
            return inner if x0 is None else cls(inner.lower, inner.upper, x0, inner.names)
        for low, high in (("lb", "ub"), ("low", "high")):  # SciPy's Bounds, Gymnasium's Box
            if hasattr(space, low) and hasattr(space, high):
                lower, upper = (reals(getattr(space, v), f"bounds.{v}") for v in (low, high))
                shape = () if x0 is None else np.atleast_1d(reals(x0, "x0")).shape
                try:
                    lower, upper, _ = np.broadcast_arrays(lower, upper, np.empty(shape))
                except ValueError:
                    raise UsageError(
                        f"bounds have shapes {lower.shape} and {upper.shape}, x0 has {shape}: expected (n,) for all"
                    ) from None
                return cls(lower, upper, x0)
        if isinstance(space, (str, bytes, dict, set, frozenset)) or not hasattr(space, "__iter__"):
            raise TypeError(f"{shown(space)} is not a space: expected a Space, an environment, (lower, upper) or n pairs")
        return cls(*_read(space), x0)

    def fixed(self) -> np.ndarray:
        """(n,) bools: is lower == upper?"""
        return self.lower == self.upper

    def __eq__(self, other):
        return isinstance(other, Space) and all(
            map(np.array_equal, (self.lower, self.upper, self.x0), (other.lower, other.upper, other.x0))
        )

    __hash__ = None  # type: ignore[assignment]  # its arrays may be changed

    def __repr__(self):
        return f"<Space of {self.n} variables>"


def _numbers(rows) -> np.ndarray:
    """Rows of bounds as an array. None, SciPy's word for no bound, is refused."""
    if not isinstance(rows, np.ndarray):
        rows = list(rows)
        for row in rows:
            if isinstance(row, (list, tuple)) and any(v is None for v in row):
                raise UsageError(f"bounds: {row} has no bound on a side: expected finite ones, because optimizers search in a box")
    return reals(rows, "bounds")


def _read(bounds):
    """(lower, upper) from two rows of n numbers, or from n pairs."""
    arrays = isinstance(bounds, tuple) and len(bounds) == 2 and all(hasattr(v, "__array__") for v in bounds)
    if arrays:
        return bounds
    a = _numbers(bounds)
    if a.shape == (2, 2):
        return _read_square(bounds, a)
    if a.ndim == 2 and a.shape[0] == 2:
        return a[0], a[1]
    if a.ndim == 2 and a.shape[1] == 2:
        return a[:, 0], a[:, 1]
    raise UsageError(f"bounds have shape {a.shape}: expected (lower, upper) with n numbers each, or n pairs (low, high)")


def _is_box(lower, upper) -> bool:
    return bool(np.isfinite([lower, upper]).all() and (lower <= upper).all() and (lower < upper).any())


def _read_square(bounds, a):
    """Two rows of two numbers: the reading that is a box; both are: refused with a line that has both spellings."""
    as_rows, as_pairs = (a[0], a[1]), (a[:, 0], a[:, 1])
    if not _is_box(*as_pairs) and not _is_box(*as_rows):  # Space reports the error
        return as_pairs if all(isinstance(row, tuple) for row in bounds) else as_rows
    if not _is_box(*as_pairs) or np.array_equal(a, a.T):
        return as_rows
    if not _is_box(*as_rows):
        return as_pairs

    def words(lower, upper):
        return ", ".join(f"x{i} in {low:g}..{high:g}" for i, (low, high) in enumerate(zip(lower, upper)))

    def spelled(rows):
        return ", ".join(f"[{v[0]:g}, {v[1]:g}]" for v in rows)

    pairs = ", ".join(f"({v[0]:g}, {v[1]:g})" for v in a)
    raise UsageError(
        f"bounds {shown(bounds)} are ambiguous: as pairs they mean {words(*as_pairs)}: write diffsim.Space.of_pairs([{pairs}]) "
        f"or scipy.optimize.Bounds({spelled(a.T)}); as (lower, upper) {words(*as_rows)}: write diffsim.Space({spelled(a)})"
    )
