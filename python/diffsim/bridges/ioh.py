# SPDX-License-Identifier: Apache-2.0
"""Environments as problems of IOHexperimenter, whose loggers write what IOHanalyzer reads.

    import ioh
    from diffsim.bridges.ioh import problem
    f = problem("pinball")
    f.attach_logger(ioh.logger.Analyzer(root="data"))
    f([0.5] * f.meta_data.n_variables)
"""
from __future__ import annotations

import ioh

from . import environment, loss_or_inf, unscaled


def problem(env, name: str | None = None, **parameters):
    """A problem of real variables from 0 to 1, because IOHexperimenter has one range for all variables: 0 is
    the lower and 1 the upper bound of each variable (:func:`diffsim.bridges.unscaled`). Failed evaluations
    are inf."""
    e = environment(env, **parameters)

    def loss(u):
        return loss_or_inf(e, unscaled(e, u))

    name = name or e.name
    ioh.problem.wrap_real_problem(loss, name, ioh.OptimizationType.MIN, lb=0.0, ub=1.0)
    return ioh.get_problem(name, 0, e.n)
