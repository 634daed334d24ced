# SPDX-License-Identifier: Apache-2.0
"""Environments with stepwise control, and with batches, good ones and bad ones, for test_stepwise.py."""

import numpy as np

from diffsim.plugin import Diverged, Infeasible, Int, rng


class Glide:
    """A thing is to go to 0, from a place that the noise decides."""

    lower, upper, x0, dt, stochastic = -1, 1, 0.1, 0.1, True
    horizon: Int(1, 100, "", "Steps.", shape=True) = 12

    def reset(self, noise=0):
        self.place = 1 + (0.3 * rng(noise).standard_normal() if noise else 0)
        self.path = [self.place]
        return [self.place, 0.0]

    def step(self, action):
        self.place += 0.1 * action[0]
        self.path.append(self.place)
        return [self.place, action[0]], -(self.place**2)

    def metrics(self):
        return {"place": (self.path, "m")}


class Box:
    """The space of Gymnasium, without it."""

    low, high, shape = np.array([-1, -2], np.float32), np.array([1, 2], np.float32), (2,)


class Gym:
    """In Gymnasium's form; terminates when it goes too far, otherwise its time limit truncates it."""

    horizon, time_limit, action_space = 20, True, Box

    def reset(self, *, seed=None, options=None):
        self.place = 0.0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.place += action.sum()
        return np.array([self.place], np.float32), float(abs(self.place)), abs(self.place) > 5, False, {}


class Own:
    """Its own loss and gradient, in addition to the steps."""

    horizon, lower, upper = 6, [-1, -1], [1, 2]

    def loss_and_grad(self, x):
        return float(x @ x), 2 * x

    def reset(self):
        self.sum = 0.0
        return [0.0]

    def step(self, action):
        self.sum += float(action @ action)
        return [self.sum], -float(action @ action)


class Lost:
    """Diverges in step 3, or where the action is large."""

    horizon, lower, upper = 5, -1, 1

    def reset(self):
        self.t = -1
        return 0.0

    def step(self, action):
        self.t += 1
        if action[0] > 0.9:
            raise Diverged("too fast", self.t)
        return 0.0, np.nan if self.t == 3 else 0.0


class Unfinished:
    lower, upper = -1, 1

    def reset(self):
        return 0.0

    def step(self, action):
        return 0.0, 0.0, False, True, {}


class Untold(Unfinished):
    horizon = 1


class Nowhere(Untold):
    def reset(self):
        return np.nan


class Wide(Untold):
    def reset(self):
        return np.zeros(2**20 + 1)


class Shown:
    """Over before its horizon, with a scene, a number for the episode, and a start of all its steps."""

    horizon, lower, upper, x0 = 9, [-1], [1], [0.25] * 9

    def reset(self):
        self.places = [0.0]
        return [0.0]

    def step(self, action):
        self.places.append(self.places[-1] + action[0])
        return [self.places[-1]], -1.0, self.places[-1] >= 1

    def metrics(self):
        return {"goal": (1.0, "m")} if self.with_metrics else {}

    def scene(self):
        return {"bodies": {"it": {"frames": [[[p, 0, 0]] for p in self.places]}}}

    with_metrics = True


class Seen(Shown):
    with_metrics = False


class Short(Untold):
    def step(self, action):
        return 0.0


class Changing(Untold):
    def step(self, action):
        return [0.0, 1.0], 0.0


class Discrete(Unfinished):
    horizon, lower, upper = 3, None, None

    class action_space:
        n = 2


class Rows:
    """Many points in one call."""

    lower, upper = [-1] * 4, 1

    def loss_and_grad_batch(self, x):
        loss = x[:, 0] ** 2 + x[:, 1] ** 2 + x[:, 2] ** 2 + x[:, 3] ** 2
        return np.where(x[:, 0] > 0.9, np.nan, loss), 2 * x


class Crowd(Rows):
    """Reports whether it is alone."""

    def loss_and_grad_batch(self, x):
        if len(x) == 1:
            raise Infeasible("alone")
        return super().loss_and_grad_batch(x)


class Noisy:
    """A loss alone and in batches, with noise; a batch with a point beyond 0.9 fails as a whole."""

    lower, upper, stochastic = [-1] * 2, 1, True

    def loss(self, x, noise):
        return x[0] * x[1] + noise % 7

    def loss_batch(self, x, noise):
        if (x > 0.9).any():
            raise ValueError("too far")
        return x[:, 0] * x[:, 1] + noise % 7


class Odd(Rows):
    def loss_and_grad_batch(self, x):
        return x.sum(), x


class Twice(Rows):
    """Gradients of a single point are not requested where its loss alone is."""

    def loss_batch(self, x):
        return Rows.loss_and_grad_batch(self, x)[0]

    def loss_and_grad_batch(self, x):
        if len(x) == 1:
            raise ValueError("gradients for nothing")
        return super().loss_and_grad_batch(x)
