# SPDX-License-Identifier: Apache-2.0
"""Environments and optimizers in Python: contents of a file that ``dshost --env FILE.py:NAME`` loads.

No import from here is required: a class with ``loss(x)`` is an environment, one with ``reset()``,
``step(action)`` and ``horizon`` a stepwise one, one with ``run(objective)`` an optimizer. This module has
what some of them need: ranges and units of parameters, failures of a simulation, random numbers that follow
from a noise key, and the end of a search.

    from typing import Annotated
    from diffsim.plugin import Real

    class Hill:
        '''A ball on a hill.'''
        lower, upper = [-4, -4], [4, 4]

        def __init__(self, mass: Annotated[float, Real(0.1, 10, "kg", "Mass of the ball.")] = 1.0):
            self.mass = mass

        def loss(self, x):
            return self.mass * (x[0] ** 2 + x[1] ** 2)"""
from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Diverged", "Infeasible", "Stopped", "Misused", "Real", "Int", "Bool", "Text", "Path", "Array", "List", "Choice",
           "rng", "should_stop"]


class Diverged(Exception):
    """Raised by ``loss()`` where the simulation has left its valid range: there is no loss at this x.

    ``step`` is the first output step with an error, -1 if it is unknown. A loss that is not finite means the
    same."""

    def __init__(self, why: str = "", step: int = -1):
        super().__init__(why)
        self.step = step


class Infeasible(Exception):
    """Raised by ``loss()`` where x describes no simulation at all."""


class Stopped(BaseException):
    """Raised by the objective in ``run()`` when budget, time, target or the user has ended the search.

    It is not an ``Exception``, so that ``except Exception`` in a search lets it pass. Code that catches it to
    save something (``Objective.save``) must return soon after."""


class Misused(RuntimeError):
    """Raised by the objective when it is called from a thread other than that of ``run()``, from a forked
    process, or during another call. The run ends with status 4, even if the exception is caught."""


@dataclass(frozen=True)
class _Parameter:
    type: int = 0
    min: float = -math.inf
    max: float = math.inf
    unit: str = ""
    doc: str = ""
    choices: tuple = field(default=())
    flags: int = 0


def Real(min: float = -math.inf, max: float = math.inf, unit: str = "", doc: str = "", *, log: bool = False,
         shape: bool = False, advanced: bool = False):
    """A number from ``min`` to ``max`` in ``unit``; ``log``: it is varied by factors; ``shape``: the number of
    variables depends on it; ``advanced``: left out of templates."""
    return _Parameter(3, min, max, unit, doc, flags=_flags(log, shape, advanced))


def Int(min: float = -math.inf, max: float = math.inf, unit: str = "", doc: str = "", *, log: bool = False,
        shape: bool = False, advanced: bool = False):
    """A whole number; as :func:`Real`."""
    return _Parameter(2, min, max, unit, doc, flags=_flags(log, shape, advanced))


def Bool(doc: str = "", *, shape: bool = False, advanced: bool = False):
    """True or False."""
    return _Parameter(1, 0, 1, "", doc, flags=_flags(False, shape, advanced))


def Text(doc: str = "", *, shape: bool = False, advanced: bool = False):
    """Any text."""
    return _Parameter(5, 0, 0, "", doc, flags=_flags(False, shape, advanced))


def Path(doc: str = "", *, shape: bool = False, advanced: bool = False):
    """A file that can be read; the class gets its absolute path, "" where none is named."""
    return _Parameter(6, 0, 0, "", doc, flags=_flags(False, shape, advanced))


def Array(doc: str = "", *, shape: bool = False, advanced: bool = False):
    """A ``.npy`` or ``.txt`` file; the class gets its numbers as an array, or None where none is named."""
    return _Parameter(8, -math.inf, math.inf, "", doc, flags=_flags(False, shape, advanced))


def List(min: float = -math.inf, max: float = math.inf, unit: str = "", doc: str = "", *, shape: bool = False,
         advanced: bool = False):
    """Numbers, each from ``min`` to ``max``; the class gets an array."""
    return _Parameter(7, min, max, unit, doc, flags=_flags(False, shape, advanced))


def Choice(*choices: str, doc: str = "", shape: bool = False, advanced: bool = False):
    """One of some words."""
    return _Parameter(4, 0, 0, "", doc, tuple(choices), _flags(False, shape, advanced))


def _flags(log, shape, advanced):
    return 8 * bool(log) + 4 * bool(shape) + 2 * bool(advanced)


def rng(key: int, name: str = "", index: int = 0):
    """A ``numpy.random.Generator`` (Philox) that follows from a noise key, or a seed, and the name of a stream alone.

    Streams of other names are independent of each other, and adding one never shifts another one.
    """
    import hashlib

    import numpy
    digest = hashlib.blake2b(f"{key}/{name}/{index}".encode(), digest_size=16).digest()
    words = [int.from_bytes(digest[k:k + 8], "little") for k in (0, 8)]
    return numpy.random.Generator(numpy.random.Philox(key=words))


_stop = [lambda: False]


def should_stop() -> bool:
    """Has the host requested the end of the call? A ``loss()`` of seconds checks it every 100 ms or so and
    returns any value."""
    return _stop[0]()
