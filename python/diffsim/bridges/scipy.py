# SPDX-License-Identifier: Apache-2.0
"""Environments for scipy.optimize. The other way, optimizers of diffsim as methods of SciPy, is ``diffsim.scipy()``.

    from scipy.optimize import differential_evolution, minimize
    from diffsim.bridges.scipy import problem
    minimize(**problem("pinball"), method="L-BFGS-B")
    differential_evolution(**problem("pinball", globally=True), seed=0)
"""
from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds

from . import environment, loss_or_inf


def problem(env, globally: bool = False, **parameters) -> dict:
    """The arguments of ``scipy.optimize.minimize``: fun, x0, bounds, and jac with gradients; with
    ``globally`` those of ``differential_evolution``, ``dual_annealing``, ``shgo`` and ``direct``: func and
    bounds. Failed evaluations are inf, their gradients 0."""
    e = environment(env, **parameters)
    bounds = Bounds(e.lower, e.upper)
    if globally or not e.has_gradient:
        def func(x, *_):
            return loss_or_inf(e, x)
        return {"func": func, "bounds": bounds} if globally else {"fun": func, "x0": e.x0.copy(), "bounds": bounds}

    def fun(x, *_):
        answer = e.evaluate(e.clip(x), grad=True)
        return (answer.loss, answer.grad) if answer.ok else (np.inf, np.zeros(e.n))

    return {"fun": fun, "jac": True, "x0": e.x0.copy(), "bounds": bounds}
