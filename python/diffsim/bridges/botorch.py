# SPDX-License-Identifier: Apache-2.0
"""Environments as test problems of BoTorch.

    from diffsim.bridges.botorch import Problem
    problem = Problem("pinball")
    y = problem(x)                  # x: (..., n) tensor in problem.bounds; gradients by autograd
"""
from __future__ import annotations

import torch
from botorch.test_functions.base import BaseTestProblem

from .. import torch as layers
from . import environment


class Problem(BaseTestProblem):
    """The loss of an environment, to be minimised (``negate=True``: its negative, to be maximised, as BoTorch's acquisition
    functions want it). ``env`` is an environment or its name, with its parameters as further keywords; ``noise_std`` adds
    normal noise as BoTorch's own problems do. Failed evaluations are NaN (an environment with ``on_failure="raise"`` raises)."""

    num_objectives = 1

    def __init__(self, env, noise_std: float | None = None, negate: bool = False, dtype: torch.dtype = torch.double, **parameters):
        self.env = environment(env, **parameters)
        self.dim = self.env.n
        self._bounds = list(zip(self.env.lower.tolist(), self.env.upper.tolist()))
        self.continuous_inds = list(range(self.dim))
        self.discrete_inds, self.categorical_inds = [], []
        super().__init__(noise_std=noise_std, negate=negate, dtype=dtype)
        self._loss = layers.loss(self.env)

    def _evaluate_true(self, X):
        return self._loss(X)

    evaluate_true = _evaluate_true
