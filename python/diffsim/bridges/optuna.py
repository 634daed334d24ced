# SPDX-License-Identifier: Apache-2.0
"""Environments for Optuna, and as benchmarks in the form of OptunaHub.

    import optuna
    from diffsim.bridges.optuna import objective
    optuna.create_study().optimize(objective("pinball"), n_trials=100)
"""
from __future__ import annotations

import math

import optuna
from optuna.distributions import FloatDistribution

from . import environment, loss_or_inf


class Problem:
    """A benchmark as OptunaHub's are: ``search_space`` (names of the variables and their ranges), ``directions``,
    ``evaluate(params)``, and a call with a trial, so that it is the objective of a study. Trials whose evaluation failed are
    pruned. Variables that are varied by factors have logarithmic ranges."""

    def __init__(self, env, **parameters):
        self.env = environment(env, **parameters)
        self._space = {v.name: FloatDistribution(v.lower, v.upper, log=v.log and v.lower > 0) for v in self.env.variables}

    @property
    def search_space(self) -> dict:
        return dict(self._space)

    @property
    def directions(self) -> list:
        return [optuna.study.StudyDirection.MINIMIZE]

    def evaluate(self, params: dict) -> float:
        """The loss at a value for each variable; inf where there is none."""
        return loss_or_inf(self.env, [params[name] for name in self._space])

    def __call__(self, trial) -> float:
        loss = self.evaluate({k: trial.suggest_float(k, d.low, d.high, log=d.log) for k, d in self._space.items()})
        if not math.isfinite(loss):
            raise optuna.TrialPruned("the evaluation failed")
        return loss


def objective(env, **parameters) -> Problem:
    """The argument of ``study.optimize()``."""
    return Problem(env, **parameters)
