# SPDX-License-Identifier: Apache-2.0
"""Stepwise control for serve.py: episodes of a class with reset() and step(action), in Gymnasium's form or a
shorter one."""
from __future__ import annotations

import inspect
import math

import diffsim.plugin as api  # not `from . import`, which would load the whole package

from ._serve_errors import Refused, describe, numbers, one_number

MOST_OBSERVED = 1 << 20  # DS_MAX_OBSERVED
CONTINUES, TERMINATED, TRUNCATED = 0, 1, 2  # DS_STEPS_*


def has_steps(o):
    return callable(getattr(o, "reset", None)) and callable(getattr(o, "step", None))


def says_horizon(o, parameters=()):
    """Does the class state the number of steps: as an attribute, or as one of its parameters?"""
    return hasattr(o, "horizon") or "horizon" in parameters


def keywords_of(function):
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


TIME_LIMIT = ("step(action) says truncated at the horizon: set time_limit = True where the task would go on after it, or return "
              "terminated there")


class Steps:
    """The episodes of an object `e`: at most ``horizon`` steps, actions of ``n_act`` numbers, observations of
    ``n_obs``.

    `loss` is None, or the loss of a whole episode, as a function of all actions and the noise key; without it
    the loss of an episode is minus the sum of its rewards."""

    def __init__(self, e, whose, stochastic):
        self.e, self.whose, self.loss, self.stochastic = e, whose, None, stochastic
        horizon = getattr(e, "horizon", None)
        if not hasattr(horizon, "__index__") or isinstance(horizon, bool) or not 1 <= horizon.__index__() < 1 << 40:
            raise Refused(f"{whose}: horizon, the steps of an episode, has to be a whole number of at least 1, it is {horizon!r}")
        self.says_time_limit = hasattr(e, "time_limit")
        self.horizon, self.time_limit = horizon.__index__(), bool(getattr(e, "time_limit", False))
        takes = keywords_of(e.reset)
        self.noise = "noise" if "noise" in takes else "seed" if "seed" in takes else ""
        self.space = getattr(e, "action_space", None)
        self.n_obs, self.total, self.step = 0, 0.0, 0

    def space_bound(self, name):
        """The bounds of Gymnasium's action space where the class states none: numbers, or None."""
        if self.space is None:
            return None
        bound = getattr(self.space, {"lower": "low", "upper": "high"}[name], None)
        if bound is None:
            raise Refused(f"{self.whose}: its action_space is not a Box: actions are numbers between bounds; or set lower and upper")
        return bound

    def observed(self, obs, where):
        try:
            o = numbers(obs, "").reshape(-1)
        except Refused:
            raise Refused(f"{where} gave {describe(obs)} as observation: expected numbers") from None
        if self.n_obs == 0:
            self.n_obs = o.size
        if o.size != self.n_obs or o.size == 0:
            raise Refused(f"{where} gave {o.size} numbers as observation, expected {self.n_obs or 'at least 1'}")
        if o.size > MOST_OBSERVED:
            raise Refused(f"{where} gave {o.size} numbers as observation: at most {MOST_OBSERVED} are possible")
        return o

    def begin(self, key):
        """The first observation of an episode."""
        import numpy
        more = {self.noise: key if self.stochastic else 0} if self.noise else {}
        obs = self.e.reset(**more)
        if isinstance(obs, tuple) and len(obs) == 2 and isinstance(obs[1], dict):
            obs = obs[0]
        self.total, self.step = 0.0, 0
        first = self.observed(obs, "reset()")
        if not numpy.isfinite(first).all():
            raise Refused("reset() gave an observation that is not finite")
        return first

    def take(self, action):
        """(observation, reward, ended) of one step; an episode that leaves the numbers has diverged."""
        import numpy
        if self.space is not None and getattr(self.space, "shape", None):
            action = action.reshape(self.space.shape)
        answer = self.e.step(action)
        if not isinstance(answer, tuple) or len(answer) not in (2, 3, 5):
            what = f"{len(answer)} values" if isinstance(answer, tuple) else describe(answer)
            raise Refused(f"step(action) returned {what}: expected (observation, reward), (observation, reward, terminated), or the five "
                          "of Gymnasium")
        obs = self.observed(answer[0], "step(action)")
        reward = one_number(answer[1], "step(action) gave as reward")
        self.step += 1
        if not math.isfinite(reward) or not numpy.isfinite(obs).all():
            raise api.Diverged(f"step {self.step - 1}: reward or observation is not finite", self.step - 1)
        self.total -= reward
        ended = TERMINATED if len(answer) > 2 and answer[2] else TRUNCATED if len(answer) == 5 and answer[3] else CONTINUES
        if self.step == self.horizon and ended != TERMINATED:
            if ended == TRUNCATED and not self.time_limit:
                raise Refused(TIME_LIMIT)
            ended = TRUNCATED if self.time_limit else TERMINATED
        return obs, reward, ended

    def try_out(self, x):
        """Plays an episode in Gymnasium's form, five values a step, of a class without a horizon: if that
        truncates it, the class is refused now rather than in every evaluation."""
        for k, action in enumerate(x.reshape(self.horizon, -1)):
            if self.space is not None and getattr(self.space, "shape", None):
                action = action.reshape(self.space.shape)
            try:
                answer = self.e.step(action.copy())
            except Exception: # an evaluation will report it
                return
            if not isinstance(answer, tuple) or len(answer) != 5 or answer[2]:
                return
            if answer[3]:
                if k + 1 == self.horizon:
                    raise Refused(f"{self.whose}: {TIME_LIMIT}")
                return

    def roll(self, x, noise=0):
        """Minus the sum of the rewards of an episode with the actions x."""
        self.begin(noise)
        for action in x.reshape(self.horizon, -1):
            if self.take(action)[2] != CONTINUES:
                break
        return self.total
