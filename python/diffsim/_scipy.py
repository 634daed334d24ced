# SPDX-License-Identifier: Apache-2.0
"""Optimizers of diffsim as methods of scipy.optimize.minimize()."""

from __future__ import annotations

import warnings

import numpy as np

from ._errors import UnsupportedError, UsageError
from ._search import Optimizer
from ._space import Space

_OPTIONS = ("budget", "maxfun", "maxfev", "seed")


def scipy(name, budget: int = 1000, *, seed: int = 0, settings: dict | None = None, **parameters):
    """A method for SciPy:

        scipy.optimize.minimize(f, x0, bounds=[(-1, 2)] * 5, method=diffsim.scipy("bo", budget=100))

    ``name`` and ``**parameters`` are those of :func:`diffsim.optimizer`. Finite bounds are needed; x0 is a start
    point for optimizers that take one. ``jac`` may be True or a function; without it optimizers that need gradients are
    refused. ``options`` may have ``budget`` (or ``maxfun``, ``maxfev``) and ``seed``; of others an OptimizeWarning tells the names.
    ``callback(x)`` is called with every better point; where it raises StopIteration, the search ends. Raises
    :class:`UnsupportedError` where there are ``constraints``."""

    def method(fun, x0, args=(), jac=None, hess=None, hessp=None, bounds=None, constraints=(), callback=None, **options):
        none = constraints is None or (isinstance(constraints, (list, tuple, dict)) and len(constraints) == 0)
        if not none:
            raise UnsupportedError(
                f"constraints: {name} searches in a box: leave them out, or add a penalty to the function"
            )
        from scipy.optimize import OptimizeResult, OptimizeWarning

        unknown = [key for key in options if key not in _OPTIONS]
        if unknown:
            warnings.warn(
                f"Unknown solver options: {', '.join(unknown)}; diffsim.scipy({name!r}) knows {', '.join(_OPTIONS)}",
                OptimizeWarning,
                stacklevel=3,
            )
        limit = options.get("budget") or options.get("maxfun") or options.get("maxfev") or budget
        space = _space(bounds, np.asarray(x0, float))
        best, best_x, evaluations, gradients, ended = np.inf, None, 0, 0, "the budget is used up"
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
                losses = np.array([float(np.squeeze(fun(p, *args))) for p in x])
                grads = np.array([jac(p, *args) for p in x], float) if search.wants_gradient else None
                search.tell(losses, grads)
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


def _space(bounds, x0) -> Space:
    if bounds is None:
        raise UsageError(
            "bounds are missing: optimizers of diffsim search in a box: minimize(..., bounds=[(low, high), ...])"
        )
    if hasattr(bounds, "lb"):
        lower, upper = (np.broadcast_to(np.asarray(v, float), x0.shape) for v in (bounds.lb, bounds.ub))
        space = Space(lower, upper)
    else:
        space = Space.of_pairs(bounds)
    if x0.shape != space.lower.shape:
        raise UsageError(f"x0 has shape {x0.shape}, but there are bounds of {space.n} variables")
    return Space(space.lower, space.upper, np.clip(x0, space.lower, space.upper))
