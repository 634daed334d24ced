# SPDX-License-Identifier: Apache-2.0
"""Environments as functions of Nevergrad.

    import nevergrad as ng
    from diffsim.bridges.nevergrad import function
    f = function("pinball")
    found = ng.optimizers.NGOpt(f.parametrization, budget=100).minimize(f)
"""
from __future__ import annotations

import nevergrad as ng
from nevergrad.functions import ExperimentFunction

from . import environment, loss_or_inf


def function(env, **parameters) -> ExperimentFunction:
    """An ExperimentFunction of an array of n numbers within the bounds, from the start point of the environment; failed
    evaluations are inf."""
    e = environment(env, **parameters)
    x = ng.p.Array(init=e.x0.copy()).set_bounds(e.lower.copy(), e.upper.copy())

    def loss(x):
        return loss_or_inf(e, x)

    return ExperimentFunction(loss, x.set_name(e.name))
