# SPDX-License-Identifier: Apache-2.0
"""Environments for pycma.

    from diffsim.bridges.pycma import fmin
    x, es = fmin("pinball", sigma=0.3, options={"maxfevals": 300, "seed": 1})
"""
from __future__ import annotations

import cma

from . import environment, loss_or_inf, scaled, unscaled


def objective(env, **parameters):
    """(f, u0, options) for ``cma.fmin2(f, u0, sigma, options)``: f takes points in units of the box, 0 to 1, in which one
    step size fits all variables; failed evaluations are NaN, which pycma samples anew."""
    e = environment(env, **parameters)

    def f(u):
        loss = loss_or_inf(e, unscaled(e, u))
        return loss if loss != float("inf") else float("nan")

    return f, scaled(e, e.x0), {"bounds": [0, 1], "verbose": -9, "verb_log": 0}


def fmin(env, sigma: float = 0.3, options: dict | None = None, **parameters):
    """``cma.fmin2()`` of an environment; returns (best x in units of the environment, the CMAEvolutionStrategy)."""
    e = environment(env, **parameters)
    f, u0, mine = objective(e)
    u, es = cma.fmin2(f, u0, sigma, {**mine, **(options or {})})
    return unscaled(e, u), es
