# SPDX-License-Identifier: Apache-2.0
"""Environments and optimizers that misbehave, each in its own way, for tests/cli/plugins/python_plugins.sh."""
import ctypes
import os
import signal
import time
from typing import Annotated, Literal

import numpy as np

from diffsim.plugin import Diverged, Infeasible, Real, rng


class Box:
    lower, upper = [-1.0, -1.0, -1.0], 1


class Raises(Box):
    def loss(self, x):
        return [][1]


class Exits(Box):
    def loss(self, x):
        os._exit(3)


class Crashes(Box):
    def loss(self, x):
        ctypes.string_at(0)


class Hangs(Box):
    def loss(self, x):
        time.sleep(1000)


class Short(Box):
    def loss_and_grad(self, x):
        return 1.0, np.zeros(2)


class Alone(Box):
    def loss_and_grad(self, x):
        return 1.0


class Word(Box):
    def loss(self, x):
        return "much"


class Nan(Box):
    def loss(self, x):
        return np.nan


class NanGradient(Box):
    def loss_and_grad(self, x):
        return 1.0, [0, np.nan, 1]


class Fast(Box):
    def loss(self, x):
        raise Diverged("too fast", 3)


class Negative(Box):
    def loss(self, x):
        raise Infeasible("negative mass")


class Large(Box):
    def loss(self, x):
        np.ones(10**12)


class Odd(Box):
    def __init__(self, size: int = 3):
        raise ValueError(f"size {size} is odd")

    def loss(self, x):
        return 0


class Boundless:
    def loss(self, x):
        return 0


class Noisy(Box):
    """Its noise follows from the noise key alone."""

    stochastic = True

    def loss(self, x, noise=0):
        return x @ x + (rng(noise, "wind").normal() if noise else 0)


class Sometimes(Box):
    """It dies in one of twenty places."""

    def loss(self, x):
        if int(abs(x[0]) * 1e6) % 20 == 0:
            os._exit(3)
        return x @ x


class Wrong(Box):
    """A bowl with an error of 0.2 % in one component of its gradient."""

    def loss(self, x):
        return x[0] ** 2 + 3 * x[1] ** 2 + x[2] ** 2

    def loss_and_grad(self, x):
        return self.loss(x), [2 * x[0], 5.99 * x[1], 2 * x[2]]


class Decay:
    """A decay and its recording: least squares."""

    lower, upper = [0.1, 0.1], 4
    t = np.arange(20) * 0.2

    def residuals(self, x):
        return x[0] * np.exp(-x[1] * self.t) - 2 * np.exp(-0.5 * self.t) - 0.01 * np.cos(7 * self.t)

    def jacobian(self, x):
        e = np.exp(-x[1] * self.t)
        return np.stack([e, -x[0] * self.t * e], axis=1)


class Skewed(Decay):
    """The same with wrong slopes."""

    def jacobian(self, x):
        return 0.99 * super().jacobian(x)


class Bare(Box):
    def loss():
        return 0


class Outside:
    def run(self, objective):
        objective.loss(objective.upper + 1)


class Breaks:
    def run(self, objective):
        objective.loss(objective.x0)
        raise RuntimeError("no more ideas")


class Leaves:
    """It ends its process, and says that all is well."""

    def run(self, objective):
        objective.loss(objective.x0)
        os._exit(0)


class Crashing:
    """It dies by a signal, which the thread that follows it has blocked."""

    def run(self, objective):
        objective.loss(objective.x0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(9)


class Quits:
    def run(self, objective):
        objective.loss(objective.x0)
        raise SystemExit(0)


class Slow:
    """One point after another, with time between them for a signal."""

    def run(self, objective):
        while True:
            objective.loss(objective.lower + 0.5 * (objective.upper - objective.lower))
            time.sleep(0.02)


class Kept(Box):
    """Its parameters are those of the class that it is derived from."""

    scale: Real(0, 9, doc="Of the loss.") = 1.0
    shift: Real(-9, 9, doc="Of the loss.") = 0.0

    def loss(self, x):
        return self.scale * (x @ x) + self.shift


class Heir(Kept):
    """Derived, with a default of its own for one of them."""

    shift = 5.0


class Picture(Box):
    """A scene with a body that is not there, a place that is none, and ground at no height."""

    steps = 1

    def loss(self, x):
        return x @ x

    def scene(self):
        p = np.zeros((2, 2, 3))
        p[1, 0] = np.nan
        return {"bodies": {"some": {"frames": p}, "none": {"frames": np.zeros((2, 0, 3))}}, "ground": -np.inf}


def bowl(x, scale: float = 1.0):
    """A function is an environment, too: its keywords are the parameters."""
    return scale * (x @ x)


bowl.lower, bowl.upper = [-1.0, -1.0], 1.0


class Choice:
    """Its choices are numbers, and numbers are what it gets."""
    lower, upper = -1, 1

    def __init__(self, order: Literal[1, 2] = 2, exact: Annotated[Literal[True, False], "Exactly?"] = True):
        self.order, self.exact = order, exact

    def loss(self, x):
        return 0.5 if self.order == 2 and self.exact is True else 0.25 if self.order == 1 and self.exact is False else 1000.0

    n = 1


class NanDefault:
    lower, upper, n = -1, 1, 1

    def __init__(self, limit: float = float("nan")):
        pass

    def loss(self, x):
        return 0.0


class LateTolerance:
    lower, upper, n = -1, 1, 1

    def __init__(self):
        self.tolerance = 1e-9

    def loss(self, x):
        return 0.0


class Batched:
    """Losses of many points at once, gradients of one."""
    lower, upper, n = -1, 1, 2

    def loss(self, x):
        return float(x @ x)

    def loss_batch(self, x):
        return np.array([float(row @ row) for row in x])

    def loss_and_grad(self, x):
        return float(x @ x), 2 * x
