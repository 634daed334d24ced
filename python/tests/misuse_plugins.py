# SPDX-License-Identifier: Apache-2.0
"""Plugins for test_misuse.py: each one returns, states or does one wrong thing."""

import concurrent.futures
import multiprocessing
import os

import numpy as np

# Results of loss_and_grad(), by the integer in x[0]; words of the line that refuses it.
ANSWERS = [
    ((None, [0.0, 0.0]), "loss.x. returned NoneType: expected one number"),
    (("1.5", [0.0, 0.0]), "loss.x. returned str: expected one number"),
    ((1 + 1j, [0.0, 0.0]), "loss.x. returned complex: expected one number"),
    ((np.complex128(2), [0.0, 0.0]), "loss.x. returned complex128.*one number"),
    ((np.ma.masked, [0.0, 0.0]), "loss.x. returned MaskedConstant.*one number"),
    ((np.zeros(2), [0.0, 0.0]), "loss.x. returned ndarray of shape .2,.: expected one number"),
    (([], [0.0, 0.0]), "loss.x. returned list: expected one number"),
    ((np.datetime64("2020"), [0.0, 0.0]), "loss.x. returned datetime64.*one number"),
    ((1.0, None), "the gradient of loss_and_grad.x.: expected real numbers, not None"),
    ((1.0, ["1", "2"]), "the gradient of loss_and_grad.x.: expected real numbers, not dtype"),
    ((1.0, np.array([1j, 0])), "not complex numbers"),
    ((1.0, np.ma.array([1.0, 2.0], mask=[0, 1])), "an element is masked"),
    ((1.0, [0.0]), "returned a gradient of shape .1,.*expected .2,."),
    ((1.0, [[0.0, 0.0]]), "returned a gradient of shape .1, 2.*expected .2,."),
    ((1.0, [[0.0], [1.0, 2.0]]), "expected rows of equal length"),
    (1.0, "loss_and_grad.x. returned float: expected .loss, gradient."),
    ((1.0, 2.0, 3.0), "loss_and_grad.x. returned tuple: expected .loss, gradient."),
    (np.array([1.0, 2.0]), "loss_and_grad.x. returned ndarray.*: expected .loss, gradient."),
]

# Results of scene(): of a body of three vertices, and of the rest.
BODIES = [
    ({"index": [[0, 1, 2**32]]}, "index of body 'm' has 4294967296: its vertices are 0 to 2"),
    ({"index": [[0, 1, -1]]}, "index of body 'm' has -1: its vertices are 0 to 2"),
    ({"index": [[0, 1, 1.5]]}, "index of body 'm' is list: expected rows of 3 whole numbers"),
    ({"index": [0, 1]}, "index of body 'm' is list: expected rows of 3 whole numbers"),
    ({"variety": 2.5}, "variety of body 'm' is 2.5: expected a whole number from 0"),
    ({"size": [1, 2, 3, 4, 5]}, "the size .*: expected 1 to 4 finite lengths"),
    ({"size": float("nan")}, "the size .*: expected 1 to 4 finite lengths"),
    ({"frames": np.zeros((1, 3, 3), complex)}, "frames of body 'm': expected real numbers, not complex"),
]


class Answers:
    """Returns ANSWERS[x[0]]; above those, a scene with BODIES."""

    lower, upper = [0, 0], [1000, 1]

    def loss_and_grad(self, x):
        self.number = int(x[0])
        return ANSWERS[self.number][0] if self.number < len(ANSWERS) else (float(x @ x), 2 * x)

    def loss(self, x):
        return self.loss_and_grad(x)[0]

    def scene(self):
        body = {"frames": np.zeros((1, 3, 3)), "shape": "mesh", "index": [[0, 1, 2]], **BODIES[self.number - 500][0]}
        return {"bodies": {"m": body}}


class Facts:
    """Has the attribute `fact`."""

    lower, upper = [-1, -1], [1, 1]

    def __init__(self, fact: str = ""):
        name, _, value = fact.partition("=")
        if name:
            setattr(self, name, float(value) if value else value)

    def loss(self, x):
        return float(x @ x)


class Residuals:
    """As many residuals as x[0]."""

    lower, upper, x0 = [1, 0], [5, 1], [2, 0]

    def residuals(self, x):
        return np.ones(int(x[0]))


class Steps:
    """Five values a step, truncated at a horizon without stating time_limit."""

    lower, upper, horizon = -1, 1, 3

    def reset(self):
        self.t = 0
        return [0.0]

    def step(self, action):
        self.t += 1
        return [0.0], 0.0, False, self.t == 3, {}


# ---- searches ----


class Pool:
    """The finding itself: threads share the objective."""

    def run(self, objective):
        points = np.linspace(objective.lower, objective.upper, 200)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(objective.loss, points))


class Swallows:
    """A thread calls it, and the exception is ignored."""

    def run(self, objective):
        objective.loss(objective.x0)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(objective.loss, objective.x0).exception()
        try:
            objective.loss(objective.x0)
        except Exception:
            pass


class Forks:
    """A process that was forked calls it, and returns from run(), too."""

    def run(self, objective):
        objective.loss(objective.x0)
        pid = os.fork()
        if pid == 0:
            objective.loss(objective.x0)
            return
        os.waitpid(pid, 0)
        objective.loss(objective.x0)


class Returns:
    """A forked process returns from run() without a call, which is allowed."""

    def run(self, objective):
        objective.loss(objective.x0)
        pid = os.fork()
        if pid != 0:
            os.waitpid(pid, 0)
            objective.evaluate([objective.x0, objective.lower])


class Pickles:
    """Processes of multiprocessing are given it."""

    def run(self, objective):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            pool.map(objective.loss, [objective.x0])


class Within:
    """A call within a call, by an array that calls it when it is read."""

    def run(self, objective):
        class Point:
            def __array__(self, *_, **__):
                objective.loss(objective.x0)
                return np.array(objective.x0)

        objective.loss(Point())


class Keywords:
    """Wrong arguments are exceptions in the search, which may continue."""

    def run(self, objective):
        x, wrong = [objective.x0], 0
        for call in (
            lambda: objective.evaluate(x, noise=0.5),
            lambda: objective.evaluate(x, noise=[-1]),
            lambda: objective.evaluate(x, noise=[1, 2]),
            lambda: objective.evaluate(x, group=-1),
            lambda: objective.evaluate(x, tag="a tag that is too long"),
            lambda: objective.evaluate(np.array(x, complex)),
            lambda: objective.evaluate([["a"] * objective.n]),
            lambda: objective.evaluate(np.ma.array(x, mask=True)),
            lambda: objective.evaluate(objective.x0),
            lambda: objective.evaluate([]),
            lambda: objective.save("a", "text"),
        ):
            try:
                call()
            except (TypeError, ValueError):
                wrong += 1
        if wrong != 11:
            raise AssertionError(f"{wrong} of 11 are exceptions")
        objective.evaluate(x)


SEARCHES = [
    ("Pool", "objective.evaluate.. was called from another thread than that of run.."),
    ("Swallows", "objective.evaluate.. was called from another thread than that of run.."),
    ("Forks", "objective.evaluate.. was called from a process that run.. has forked"),
    ("Pickles", "the objective cannot be pickled"),
    ("Within", "objective.evaluate.. was called while a call was under way"),
]
