# SPDX-License-Identifier: Apache-2.0
"""Environments of diffsim as problems of other libraries, and optimizers of these libraries as plugins of
dshost.

    botorch     Problem: a test problem of BoTorch, with gradients by autograd
    optuna      objective(), Problem: an objective of a study; a benchmark as in OptunaHub
    nevergrad   function(): an ExperimentFunction
    ioh         problem(): a problem of IOHexperimenter, with its loggers
    pycma       objective(), fmin(): pycma
    scipy       problem(): the arguments of scipy.optimize
    sb3         VecEnv: a vector environment of Stable-Baselines3
    watch       a live run in TensorBoard and CSV
    peers()     the other direction: a file of plugins, for dshost --opt FILE:Pycma (Nevergrad, Optuna, SciPy, BoTorch, Ax)

Each module needs only the library of its name; none is imported before it is used."""
from __future__ import annotations

import os

import numpy as np

from .._environment import Environment, make
from .._errors import EvaluationError


def environment(env, **parameters) -> Environment:
    """An environment, from one or from its name and parameters."""
    if isinstance(env, Environment):
        if parameters:
            raise TypeError("parameters are for an environment that is named, this one has been made")
        return env
    return make(env, **parameters)


def loss_or_inf(env, x) -> float:
    """The loss, inf where the evaluation failed; x is moved into the box, which rounding may have left."""
    try:
        return float(env.loss(env.clip(x)))
    except EvaluationError:
        return float("inf")


def unscaled(env, u) -> np.ndarray:
    """The point of the box at u, in units of the box: (n,) numbers from 0 to 1."""
    return env.clip(env.lower + np.asarray(u, dtype=float) * (env.upper - env.lower))


def scaled(env, x) -> np.ndarray:
    """The inverse of :func:`unscaled`."""
    width = env.upper - env.lower
    return (np.asarray(x, dtype=float) - env.lower) / np.where(width > 0, width, 1.0)  # a fixed variable is at 0


def peers() -> str:
    """The path of plugins/peers.py, whose classes are optimizers for ``dshost --opt PATH:NAME`` and ``minimize(method=...)``."""
    # In its own folder: its imports must not find the modules here, which have the same names.
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugins", "peers.py")
