# SPDX-License-Identifier: Apache-2.0
"""Optimizers of diffsim as methods of scipy.optimize.minimize()."""

from __future__ import annotations

import warnings

import numpy as np

from ._errors import UnsupportedError, UsageError
from ._run import gradient_of, loss_of
from ._search import Optimizer
from ._settings import reals, shown, whole
from ._space import Space

_OPTIONS = ("budget", "maxfun", "maxfev", "seed")


def scipy(name, budget: int = 1000, *, seed: int = 0, settings: dict | None = None, **parameters):
    """A method for SciPy:

        scipy.optimize.minimize(f, x0, bounds=[(-1, 2)] * 5, method=diffsim.scipy("bo", budget=100))

    ``name`` and ``**parameters`` are as in :func:`diffsim.optimizer`. Finite bounds are needed; a variable
    with equal bounds is fixed. x0 is evaluated first, so that the result is never worse; outside of the
    bounds it is moved to the nearest point inside, with an OptimizeWarning. ``jac`` may be True or a
    function; without it optimizers that need gradients are refused. ``options`` may have ``budget`` (or
    ``maxfun``, ``maxfev``) and ``seed``; an OptimizeWarning names others. ``callback(x)`` is called with
    every better point; where it raises StopIteration, the search ends. Raises :class:`UnsupportedError` where
    there are ``constraints``."""
    budget = whole(budget, "budget", 1, 2**53)
    seed = whole(seed, "seed", 0, 2**64 - 1)

    def method(fun, x0, args=(), jac=None, hess=None, hessp=None, bounds=None, constraints=(), callback=None, **options):
        none = constraints is None or (isinstance(constraints, (list, tuple, dict)) and len(constraints) == 0)
        if not none:
            raise UnsupportedError(
                f"constraints ({_kinds(constraints)}): {name} searches in a box: leave them out, or add a penalty to the function"
            )
        from scipy.optimize import OptimizeResult, OptimizeWarning

        unknown = [key for key in options if key not in _OPTIONS]
        if unknown:
            warnings.warn(
                f"Unknown solver options: {', '.join(unknown)}; diffsim.scipy({name!r}) knows {', '.join(_OPTIONS)}",
                OptimizeWarning,
                stacklevel=3,
            )
        given = next(((k, options[k]) for k in ("budget", "maxfun", "maxfev") if options.get(k) is not None), ("budget", budget))
        limit = whole(given[1], given[0], 1, 2**53)
        start = np.atleast_1d(reals(x0, "x0"))
        space = _space(bounds, start)
        if not np.array_equal(space.x0, start):
            warnings.warn("x0 is outside of the bounds: it is moved to the nearest point inside", OptimizeWarning, stacklevel=3)
        if not callable(fun):
            raise TypeError(f"fun is {shown(fun)}: expected a function")
        args = args if isinstance(args, tuple) else (args,)

        def loss(p):
            return loss_of(fun(p.copy(), *args), "fun")

        def gradient(p):
            return gradient_of(jac(p.copy(), *args), space.n, "jac")

        best, best_x, evaluations, gradients, ended = np.inf, None, 0, 0, "the budget is used up"
        start_is_known = False
        with Optimizer(
            name,
            space,
            budget=limit,
            seed=options.get("seed", seed),
            gradient=callable(jac),
            settings=settings,
            **parameters,
        ) as search:
            for x in search:
                start_is_known = start_is_known or bool((x == space.x0).all(axis=1).any())
                losses = np.array([loss(p) for p in x])
                search.tell(losses, np.array([gradient(p) for p in x]) if search.wants_gradient else None)
                gradients += len(x) if search.wants_gradient else 0
                evaluations = search.used
                if search.best_loss < best:
                    best, best_x = search.best_loss, search.best_x
                    if callback is not None:
                        try:
                            if callback(np.copy(best_x)) is True:
                                raise StopIteration
                        except StopIteration:
                            ended = "the callback ended the search"
                            break
            else:
                ended = ended if evaluations >= limit else "the optimizer has ended by itself"
        if not start_is_known:  # by an optimizer that takes no start point
            first = loss(space.x0)
            evaluations += 1
            if first < best:
                best, best_x = first, space.x0.copy()
        found = best_x is not None
        return OptimizeResult(
            x=best_x if found else space.x0,
            fun=best,
            nfev=evaluations,
            njev=gradients,
            nit=evaluations,
            success=found,
            status=0 if found else 1,
            message=ended if found else "no evaluation has a finite loss",
        )

    method.__name__ = f"diffsim_{name}"
    return method


def _kinds(constraints) -> str:
    """The kinds of constraints, as SciPy calls them."""
    given = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    kinds = [str(c.get("type", "dict")) if isinstance(c, dict) else type(c).__name__ for c in given]
    return ", ".join(dict.fromkeys(kinds))


def _space(bounds, x0) -> Space:
    """The box with x0, moved into it. Bounds are SciPy's: an object with lb and ub, or n pairs."""
    if bounds is None:
        raise UsageError(
            "bounds are missing: optimizers of diffsim search in a box: minimize(..., bounds=[(low, high), ...])"
        )
    if x0.ndim != 1 or not np.isfinite(x0).all():
        raise UsageError(f"x0 is {shown(x0, 60)}: expected n finite numbers")
    space = Space.of(bounds, None) if isinstance(bounds, Space) else None
    if space is None and hasattr(bounds, "lb"):
        lower, upper = (reals(v, "bounds") for v in (bounds.lb, bounds.ub))
        try:
            space = Space(np.broadcast_to(lower, x0.shape), np.broadcast_to(upper, x0.shape))
        except ValueError as e:
            if isinstance(e, UsageError):
                raise
            raise UsageError(f"x0 has shape {x0.shape}, but bounds have {lower.shape} and {upper.shape}") from None
    space = Space.of_pairs(bounds) if space is None else space
    if x0.shape != space.lower.shape:
        raise UsageError(f"x0 has shape {x0.shape}, but there are bounds of {space.n} variables")
    return Space(space.lower, space.upper, np.clip(x0, space.lower, space.upper))
