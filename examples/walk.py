# SPDX-License-Identifier: Apache-2.0
"""An optimizer in Python: dshost --env pendulum --opt ./walk.py"""
from math import exp, inf
from typing import Annotated

from diffsim.plugin import Real


class Walk:
    """(1+1) evolution strategy with the one-fifth success rule.

    One normal step from the best point so far; a success widens the steps, else they shrink (Rechenberg 1973).
    """

    id = "walk"
    version = "1"
    license = "Apache-2.0"

    def __init__(
        self,
        sigma: Annotated[float, Real(1e-9, 1, "", "Standard deviation of the first step, as a share of the box.", log=True)] = 0.3,
    ):
        self.sigma = sigma

    def run(self, objective):
        random = objective.rng("walk")  # follows from the seed of the run
        width = objective.upper - objective.lower
        best, f_best, sigma, x = objective.x0, inf, self.sigma, objective.x0
        while True:  # the objective reports the end of the run
            f = objective.loss(x, tag="walk")
            if f <= f_best:
                best, f_best, sigma = x, f, min(sigma * exp(0.8), 1)
            else:
                sigma = max(sigma * exp(-0.2), 1e-15)
            step = sigma * width * random.standard_normal(objective.n)
            x = (best + step).clip(objective.lower, objective.upper)
