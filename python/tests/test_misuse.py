# SPDX-License-Identifier: Apache-2.0
"""Misuse of the Python interfaces, as tables: every mistake is one exception of the right kind with one line, nothing is lost, nothing
hangs, and no wrong result passes for a right one."""

import copy
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading

import numpy as np

import diffsim
import misuse_plugins
from diffsim import _library
from diffsim._space import Space
from support import Case

PLUGINS = misuse_plugins.__file__
USAGE, CONFIG, PLUGIN = diffsim.UsageError, diffsim.ConfigError, diffsim.PluginError
BOX = ([-1.0, -2.0, -3.0], [1.0, 2.0, 3.0])
POINT = np.array([1.0, -2.0, 2.0])


def bowl(x):
    return float(((x - 0.3) ** 2).sum())


def points():
    """name -> (value, result of env.loss(): True, or the kind of the exception and its words); POINT where it
    is accepted."""
    p = POINT
    shape = r"x has shape .*: analytic takes \(3,\), or \(k, 3\) for k points"
    table = {
        "float64": (p, True),
        "float32": (p.astype("f4"), True),
        "float16": (p.astype("f2"), True),
        "longdouble": (p.astype("g"), True),
        "big endian": (p.astype(">f8"), True),
        "int8": (p.astype("i1"), True),
        "int64": (p.astype("i8"), True),
        "big endian int": (p.astype(">i4"), True),
        "list": (p.tolist(), True),
        "tuple": (tuple(p), True),
        "row": (p[None], True),
        "rows": (np.stack([p] * 4), True),
        "Fortran": (np.asfortranarray(np.stack([p] * 4)), True),
        "strides": (np.repeat(p, 2)[::2], True),
        "reversed": (p[::-1].copy()[::-1], True),
        "matrix": (np.asmatrix(p), True),
        "unmasked": (np.ma.array(p), True),
        "memory": (memoryview(p), True),
        "complex": (p.astype("c16"), (TypeError, "not complex numbers")),
        "object": (p.astype("O"), (TypeError, "not dtype object")),
        "text": (p.astype("U8"), (TypeError, "not dtype <U8")),
        "bytes": (b"abc", (TypeError, "not dtype .S3")),
        "date": (p.astype("M8[s]"), (TypeError, "not dtype datetime64")),
        "span": (p.astype("m8[s]"), (TypeError, "not dtype timedelta64")),
        "records": (np.zeros(3, [("a", "f8")]), (TypeError, "not dtype")),
        "None": (None, (TypeError, "not None")),
        "dict": ({0: 1}, (TypeError, "not dict")),
        "set": ({1, 2, 3}, (TypeError, "not set")),
        "generator": ((v for v in p), (TypeError, "not generator")),
        "large": ([10**30] * 3, (TypeError, "of int.: np.asarray")),
        "uint64": (np.array([2**53 + 1, 0, 0], "u8"), (USAGE, "9007199254740993 has more digits than a double")),
        "int64 below": (np.array([-(2**53) - 1, 0, 0]), (USAGE, "-9007199254740993 has more digits than a double")),
        "masked": (np.ma.array(p, mask=[0, 1, 0]), (USAGE, "an element is masked")),
        "masked element": ([np.ma.masked, 1.0, 1.0], (USAGE, "an element is masked")),
        "NaN": ([np.nan, 0, 0], (USAGE, "variable 0 is nan, outside of its bounds")),
        "inf": ([0, 0, -np.inf], (USAGE, "variable 2 is -inf, outside of its bounds")),
        "outside": ([0, 9, 0], (USAGE, "variable 1 is 9, outside of its bounds")),
        "number": (1.0, (USAGE, shape)),
        "column": (p[:, None], (USAGE, shape)),
        "more": (np.zeros(4), (USAGE, shape)),
        "empty": ([], (USAGE, shape)),
        "no rows": (np.zeros((0, 3)), (USAGE, shape)),
        "no columns": (np.zeros((2, 0)), (USAGE, shape)),
        "three axes": (np.zeros((1, 1, 3)), (USAGE, shape)),
        "ragged": ([[0.0], [0.0, 1.0]], (USAGE, "rows of equal length")),
    }
    return table


class Inputs(Case):
    def test_points(self):
        """every dtype, shape and container: the right loss, or a line with the error"""
        with diffsim.make("analytic", function="rosenbrock", dim=3, jobs=1) as env:
            loss, grad = env.loss_and_grad(POINT)
            for name, (value, want) in points().items():
                for call in (env.loss, env.loss_and_grad, env.residuals, lambda v: env.evaluate(v, grad=True)):
                    with self.subTest(name):
                        if want is not True:
                            self.raises(*want, call, value)
                            continue
                        got = call(value)
                        if call == env.loss:
                            self.assertEqual(np.asarray(got).dtype, np.float64)
                            self.assertTrue((np.asarray(got) == loss).all())
                        elif call == env.loss_and_grad:
                            self.assertTrue((got[1] == grad).all() and (np.asarray(got[0]) == loss).all())

    def test_corners(self):
        """corners of the box in single and half precision are the corners, whose rounding may lie outside; nothing else is moved"""
        with diffsim.make("flip", jobs=1) as env:
            for corner in (env.lower, env.upper):
                single = corner.astype("f4")
                self.assertEqual(env.loss(single), env.loss(np.where(np.abs(single) > np.abs(corner), corner, single)))
            far = env.upper.copy()
            far[3] = np.nextafter(far[3], np.inf)
            self.raises(USAGE, "variable 3 is", env.loss, far)
            self.raises(USAGE, "variable 0 is", env.loss, (2 * env.upper).astype("f4"))

    def test_bounds(self):
        """bounds as pairs, as (lower, upper), as SciPy's; ambiguous ones are refused with both spellings"""

        class Bounds:  # as SciPy has it
            def __init__(self, lb, ub):
                self.lb, self.ub = lb, ub

        low, high = [0.0, 2.0], [1.0, 4.0]
        for given in (
            Space(low, high),
            Space.of_pairs([(0, 1), (2, 4)]),
            Bounds(low, high),
            (np.array(low), np.array(high)),
        ):
            self.same(Space.of(given).lower, low)
            self.same(Space.of(given).upper, high)
        for given in ([(-1, 1), (-1, 1)], ([-1, -1], [1, 1]), [[-1, 1], [-1, 1]], Bounds(-1, [1, 1])):
            self.same([Space.of(given).lower, Space.of(given).upper], [[-1.0, -1.0], [1.0, 1.0]])
        for given in ([(0, 1)] * 3, ([0] * 3, [1] * 3), np.array([[0, 1]] * 3)):
            self.same([Space.of(given).lower, Space.of(given).upper], [[0.0] * 3, [1.0] * 3])
        self.same(Space.of(Bounds(0, 1), [0.5] * 4).upper, [1.0] * 4)
        for given in ([(0, 1), (2, 4)], ([0, 2], [1, 4]), np.array([[0, 1], [2, 4]]), [(0, 0), (1, 2)]):
            e = self.raises(USAGE, "ambiguous", diffsim.minimize, bowl, "cmaes", 5, bounds=given)
            self.assertIn("write diffsim.Space.of_pairs([(", str(e))
            self.assertIn("write diffsim.Space([", str(e))
        for given, words in (
            ([(1, 0), (0, 1)], "variable 0 has the bounds"),
            ([(1, 0)] * 2, "variable 0 has the bounds 1.0 and 0.0"),
            ([(0, np.nan)] * 3, "variable 0 has the bounds"),
            ([(0, np.inf)] * 3, "variable 0 has the bounds 0.0 and inf"),
            ([(None, 1)] * 3, "has no bound on a side"),
            ([(1, 1)] * 3, "every variable is fixed"),
            ([(0, 1, 2)], r"bounds have shape \(1, 3\)"),
            ((0, 1), r"bounds have shape \(2,\)"),
            ([], r"bounds have shape \(0,\)"),
            ([(0, 1), (0,)], "rows of equal length"),
            (([0, 0, 0], [1, 1]), "rows of equal length"),
            (Bounds([0, 0], [1, 1, 1]), r"bounds have shapes \(2,\) and \(3,\)"),
        ):
            self.raises(USAGE, words, diffsim.minimize, bowl, "cmaes", 5, bounds=given)
        for given in (3, "0 1", {"lower": 0}, {(0, 1)}):
            self.raises(TypeError, "is not a space", diffsim.minimize, bowl, "cmaes", 5, bounds=given)
        self.raises(TypeError, "complex", diffsim.minimize, bowl, "cmaes", 5, bounds=[(0, 1j)] * 3)
        run = diffsim.minimize(bowl, "rand", 30, bounds=[(0, 1), (2, 4), (-1, 0)])
        x = run.history()["x"]
        self.assertTrue(((x >= [0, 2, -1]) & (x <= [1, 4, 0])).all())

    def test_start(self):
        """a start point is evaluated first, exactly, by every optimizer; fixed variables stay where they are"""
        start = [0.3, -0.7, 1.1]
        with diffsim.make("analytic", dim=3, jobs=1) as env:
            for method in ("rand", "cmaes", "bo", "racer", "cem", "turbo"):
                for f, more in ((env, {}), (bowl, {"bounds": BOX})):
                    self.same(diffsim.minimize(f, method, 3, x0=start, **more).history()["x"][0], start, method)
                    x = diffsim.minimize(f, method, 8, x0=start, fix={1: 0.25}, **more).history()["x"]
                    self.same(x[0], [0.3, 0.25, 1.1], method)
                    self.assertEqual(set(x[:, 1].tolist()), {0.25}, method)
        pairs = [(-1, 1), (0.5, 0.5), (-1, 1)]
        found = diffsim.minimize(bowl, "lbfgsb", 30, bounds=pairs, jac=lambda x: 2 * (x - 0.3))
        self.same(np.round(found.best_x, 6), [0.3, 0.5, 0.3])

    def test_answers(self):
        """a function returns one number, and n for its gradient"""
        for answer, kind, words in (
            (None, TypeError, "the loss of the function: expected real numbers, not None"),
            ("1", TypeError, "the loss of the function: expected real numbers, not dtype"),
            (1j, TypeError, "not complex"),
            (np.ma.masked, USAGE, "masked"),
            (np.zeros(3), USAGE, r"returned an array of shape \(3,\): expected one loss"),
            ([], USAGE, r"returned an array of shape \(0,\)"),
            ({}, TypeError, "not dict"),
        ):
            self.raises(kind, words, diffsim.minimize, lambda x: answer, "rand", 5, bounds=BOX)
        for grad, kind, words in (
            (None, TypeError, "the gradient of the function: expected real numbers, not None"),
            ([1.0], USAGE, "the gradient of the function has 1 numbers: expected 3"),
            (np.zeros(4), USAGE, "has 4 numbers: expected 3"),
            (np.zeros(3, complex), TypeError, "not complex"),
            ("abc", TypeError, "expected real numbers"),
        ):
            self.raises(kind, words, diffsim.minimize, lambda x: (1.0, grad), "lbfgsb", 5, bounds=BOX, jac=True)
            self.raises(kind, words, diffsim.minimize, lambda x: 1.0, "lbfgsb", 5, bounds=BOX, jac=lambda x: grad)
        for answer in (1.0, (1.0, 2.0, 3.0), np.zeros(2), None):
            self.raises(
                USAGE, "with jac=True expected .loss, gradient.", diffsim.minimize, lambda x: answer, "rand", 5, bounds=BOX, jac=True
            )
        for losses in (1.0, np.zeros(3), np.zeros((5, 1))):
            self.raises(
                USAGE, "losses of shape", diffsim.minimize, lambda x: losses, "rand", 5, bounds=BOX, vectorized=True
            )

        def spoils(x):  # a function may change its point
            loss = bowl(x)
            x[:] = 1e9
            return loss

        spoiled = diffsim.minimize(spoils, "lbfgsb", 15, bounds=BOX, jac=lambda x: 2 * (x - 0.3)).history()
        self.same(spoiled["x"], diffsim.minimize(bowl, "lbfgsb", 15, bounds=BOX, jac=lambda x: 2 * (x - 0.3)).history()["x"])


class Arguments(Case):
    def test_table(self):
        """arguments of make(), minimize(), optimizer(), scipy(): one line, of the right kind"""
        env = diffsim.make("analytic", dim=3, jobs=1)
        pole = diffsim.make("cartpole", jobs=1)
        self.addCleanup(env.close)
        self.addCleanup(pole.close)
        f = {"bounds": BOX}
        make, minimize, optimizer = diffsim.make, diffsim.minimize, diffsim.optimizer
        for kind, words, call, arguments, keywords in (
            (PLUGIN, "no environment 'analitic'.*did you mean 'analytic'", make, ["analitic"], {}),
            (PLUGIN, "is an optimizer, but an environment is expected", make, ["cmaes"], {}),
            (TypeError, "the name of the environment is None", make, [None], {}),
            (CONFIG, "^analytic: unknown parameter 'dimm'; did you mean 'dim'", make, ["analytic"], {"dimm": 3}),
            (CONFIG, "^analytic: dim = 2.5: expected a whole number", make, ["analytic"], {"dim": 2.5}),
            (TypeError, "seed is '1': expected a whole number", make, ["analytic"], {"seed": "1"}),
            (USAGE, "seed is -1", make, ["analytic"], {"seed": -1}),
            (USAGE, "jobs is -1", make, ["analytic"], {"jobs": -1}),
            (TypeError, "timeout is '1'", make, ["analytic"], {"timeout": "1"}),
            (USAGE, "timeout is nan", make, ["analytic"], {"timeout": np.nan}),
            (USAGE, "memory_mb is -5", make, ["analytic"], {"memory_mb": -5}),
            (TypeError, "memory_mb is 'x'", make, ["analytic"], {"memory_mb": "x"}),
            (USAGE, "on_failure is None", make, ["analytic"], {"on_failure": None}),
            (USAGE, "isolation is 3", make, ["analytic"], {"isolation": 3}),
            (USAGE, "budget is 0", minimize, [bowl, "cmaes", 0], f),
            (USAGE, "budget is -1", minimize, [bowl, "cmaes", -1], f),
            (TypeError, "budget is 1.5", minimize, [bowl, "cmaes", 1.5], f),
            (TypeError, "budget is nan", minimize, [bowl, "cmaes", np.nan], f),
            (TypeError, "budget is '10'", minimize, [bowl, "cmaes", "10"], f),
            (TypeError, "budget is True", minimize, [bowl, "cmaes", True], f),
            (TypeError, "budget is None", minimize, [env, "cmaes", None], {}),
            (PLUGIN, "no optimizer 'cmaess'.*did you mean 'cmaes'", minimize, [bowl, "cmaess", 5], f),
            (PLUGIN, "no optimizer 'cmaess'.*did you mean 'cmaes'", minimize, [env, "cmaess", 5], {}),
            (PLUGIN, "is an environment, but an optimizer is expected", minimize, [bowl, "torus", 5], f),
            (TypeError, "the name of the optimizer is None", minimize, [bowl, None, 5], f),
            (TypeError, "method is 3", minimize, [env, 3, 5], {}),
            (PLUGIN, "needs gradients.*jac=", minimize, [bowl, "lbfgsb", 5], f),
            (CONFIG, "^cmaes: unknown parameter 'sigma'; did you mean 'sigma0'", minimize, [env, "cmaes", 5], {"sigma": 1}),
            (CONFIG, "^cmaes: sigma0 = -1", minimize, [bowl, "cmaes", 5], {**f, "sigma0": -1}),
            (CONFIG, "^run: unknown parameter 'foo'", minimize, [env, "cmaes", 5], {"run": {"foo": 1}}),
            (TypeError, "run is 3", minimize, [env, "cmaes", 5], {"run": 3}),
            (USAGE, "run: foo: these settings are for environments", minimize, [bowl, "cmaes", 5], {**f, "run": {"foo": 1}}),
            (USAGE, "bounds: not with an environment", minimize, ["torus"], f),
            (USAGE, "bounds are missing", minimize, [bowl], {}),
            (USAGE, r"x0\[0\] is 5.0, outside of its bounds -1.0 and 1.0", minimize, [bowl, "cmaes", 5], {**f, "x0": [5, 0, 0]}),
            (USAGE, r"x0\[1\] is nan", minimize, [bowl, "cmaes", 5], {**f, "x0": [0, np.nan, 0]}),
            (USAGE, r"x0 has shape \(2,\): expected \(3,\)", minimize, [bowl, "cmaes", 5], {**f, "x0": [0, 0]}),
            (TypeError, "x0: expected real numbers", minimize, [bowl, "cmaes", 5], {**f, "x0": "abc"}),
            (USAGE, "bounds: not with an environment", minimize, [env, "cmaes", 5], {"bounds": BOX}),
            (USAGE, r"x0\[2\] is 99.0, outside of its bounds", minimize, [env, "cmaes", 5], {"x0": [0, 0, 99]}),
            (USAGE, r"x0 has shape \(2,\): expected \(3,\)", minimize, [env, "cmaes", 5], {"x0": [0, 0]}),
            (USAGE, "fix: there is no variable 'y'", minimize, [env, "cmaes", 5], {"fix": {"y": 0}}),
            (USAGE, "fix: the number of a variable is 3", minimize, [bowl, "cmaes", 5], {**f, "fix": {3: 0}}),
            (USAGE, "fix: x0 = 5: outside of its bounds", minimize, [bowl, "cmaes", 5], {**f, "fix": {0: 5}}),
            (TypeError, "fix is 3", minimize, [bowl, "cmaes", 5], {**f, "fix": 3}),
            (USAGE, "every variable is fixed", minimize, [bowl, "cmaes", 5], {**f, "fix": {0: 0, 1: 0, 2: 0}}),
            (TypeError, "jac is 'exact'", minimize, [bowl, "cmaes", 5], {**f, "jac": "exact"}),
            (TypeError, "target is 'low'", minimize, [bowl, "cmaes", 5], {**f, "target": "low"}),
            (USAGE, "target is NaN", minimize, [env, "cmaes", 5], {"target": np.nan}),
            (USAGE, "seconds is -1", minimize, [env, "cmaes", 5], {"seconds": -1}),
            (TypeError, "seed is 0.0", minimize, [bowl, "cmaes", 5], {**f, "seed": 0.0}),
            (USAGE, "jobs is -2", minimize, [bowl, "cmaes", 5], {**f, "jobs": -2}),
            (TypeError, "progress is 'yes'", minimize, [env, "cmaes", 5], {"progress": "yes"}),
            (TypeError, "vectorized is 'no'", minimize, [bowl, "cmaes", 5], {**f, "vectorized": "no"}),
            (TypeError, "resume is 'yes'", minimize, [env, "cmaes", 5], {"resume": "yes", "out": self.path("a")}),
            (USAGE, "resume: name the folder", minimize, [env, "cmaes", 5], {"resume": True}),
            (TypeError, "out is 3", minimize, [env, "cmaes", 5], {"out": 3}),
            (USAGE, "out is ''", minimize, [env, "cmaes", 5], {"out": ""}),
            (diffsim.InputOutputError, "/proc/none", minimize, [bowl, "cmaes", 5], {**f, "out": "/proc/none"}),
            (USAGE, "'A b': the name of what is evaluated", minimize, [bowl, "cmaes", 5], {**f, "record_as": "A b", "out": self.path("a")}),
            (USAGE, "needs a budget", optimizer, ["cmaes", BOX], {"folder": self.path("a")}),
            (TypeError, "gradient is 'yes'", optimizer, ["cmaes", BOX], {"gradient": "yes"}),
            (TypeError, "the name of the optimizer is 7", optimizer, [7, BOX], {}),
            (TypeError, "is not a space", optimizer, ["cmaes", "box"], {}),
            (PLUGIN, "ppo needs stepwise control", optimizer, ["ppo", BOX], {}),
            (USAGE, "budget is 0", diffsim.scipy, ["cmaes", 0], {}),
            (TypeError, "seed is 'a'", diffsim.scipy, ["cmaes"], {"seed": "a"}),
            (diffsim.InputOutputError, "no such folder", diffsim.load, [self.path("none")], {}),
            (TypeError, "size is 480: expected .width, height. in pixels", pole.render, [pole.x0, -1, 480], {}),
            (TypeError, "size: the height is 'b'", pole.render, [pole.x0, -1, (64, "b")], {}),
            (USAGE, "size: the width is 4: allowed are 16 to 8192", pole.render, [pole.x0, -1, (4, 64)], {}),
            (USAGE, "frame is 101: there are 101 frames", pole.render, [pole.x0, 101], {}),
            (TypeError, "frame is 'last'", pole.render, [pole.x0, "last"], {}),
            (TypeError, "expected str, bytes or os.PathLike", pole.trajectory(pole.x0).save, [3], {}),
            (USAGE, "no point is given, and none was evaluated", env.render, [], {}),
            (USAGE, "frames is 'some'", env.trajectory, [], {"frames": "some"}),
            (USAGE, "no channel 'x'", env.channel_values, [env.x0, "x"], {}),
            (USAGE, "v has 2 rows for 1 points", env.jvp, [env.x0, np.zeros((2, 3))], {}),
            (USAGE, "v has a value that is not finite", env.jvp, [env.x0, [np.nan, 0, 0]], {}),
            (USAGE, "noise_key", env.loss, [env.x0, 0.5], {}),
            (USAGE, "noise_key", env.loss, [env.x0, "a"], {}),
            (USAGE, "number is 0", env.noise_key, [0], {}),
            (USAGE, "k is -1", env.random, [-1], {}),
            (TypeError, "seed is 'a'", env.random, [3, "a"], {}),
            (USAGE, r"x has shape \(\): analytic takes", env.clip, [0.5], {}),
        ):
            with self.subTest(words):
                self.raises(kind, words, call, *arguments, **keywords)
        self.assertFalse(os.path.exists(self.path("a")), "nothing was begun")

    def test_words(self):
        """lines of the library name arguments of Python, not flags and places in settings"""
        for line, words in (
            ("settings:3: cmaes: sigma0 = -1: expected", "cmaes: sigma0 = -1: expected"),
            ("d has 10 evaluations already: --budget must not", "d has 10 evaluations already: budget= must not"),
            ("continue anyway with --verify false; nothing", 'continue anyway with run={"verify": False}; nothing'),
            ("must be set (x), for example with --set env.file=...", "must be set (x): file=..."),
            ("worker ran longer than timeout_s = 2", "worker ran longer than timeout= = 2"),
        ):
            self.assertEqual(_library.in_python(line), words)


class States(Case):
    def test_closed(self):
        """closed twice, used after that, in `with`; copies are opened anew"""
        with diffsim.make("analytic", dim=3, jobs=1) as env:
            again = pickle.loads(pickle.dumps(env))
            third = copy.copy(env)
            search = diffsim.optimizer("cmaes", env, budget=5)
        env.close()
        loss = {again.loss(POINT), third.loss(POINT)}
        self.assertEqual(len(loss), 1)
        again.close(), third.close()
        for call in (env.loss, env.evaluate, lambda x: diffsim.minimize(env, "rand", 3), again.loss):
            self.raises(diffsim.ClosedError, r"analytic was closed: make\(\) another one", call, POINT)
        self.raises(TypeError, "the search of cmaes cannot be pickled or copied", pickle.dumps, search)
        self.raises(TypeError, "the search of cmaes cannot be pickled or copied", copy.copy, search)
        search.close(), search.close()
        self.raises(diffsim.ClosedError, "the search of cmaes was closed", search.ask)
        self.raises(diffsim.ClosedError, "the search of cmaes was closed", search.tell, [1.0])
        self.no_new_children()

    def test_resume(self):
        """another function does not continue the record of this one; recorded evaluations stay unchanged"""
        out = self.path("run")
        diffsim.minimize(bowl, "lbfgsb", 20, bounds=BOX, out=out, jac=lambda x: 2 * (x - 0.3), record_as="f")
        before = diffsim.load(out).history()
        begun = {name: os.stat(os.path.join(out, name)).st_size for name in os.listdir(out)}

        def again(f, grad=lambda x: 2 * (x - 0.3), **more):
            return diffsim.minimize(f, "lbfgsb", 40, bounds=BOX, out=out, jac=grad, record_as="f", resume=True, **more)

        for f, grad, words in (
            (lambda x: bowl(x) + 1, lambda x: 2 * (x - 0.3), "has the loss 1 now: the function has changed since"),
            (lambda x: np.nan, lambda x: 2 * (x - 0.3), "fails now"),
            (bowl, lambda x: 2 * (x - 0.3) + 1, "has another gradient now"),
        ):
            e = self.raises(PLUGIN, words, again, f, grad)
            self.assertEqual(e.status, 4)
            self.assertIn('run={"verify": False}', str(e))
            self.assertEqual(begun, {name: os.stat(os.path.join(out, name)).st_size for name in os.listdir(out)})
        self.same(diffsim.load(out).history(), before)
        self.raises(
            USAGE, "holds a search with other bounds", diffsim.minimize, bowl, "lbfgsb", 40, bounds=(BOX[0], [0.1] * 3), out=out,
            jac=lambda x: 2 * (x - 0.3), record_as="f", resume=True,
        )
        whole = again(bowl)
        self.assertEqual(whole.evaluations, 40)
        self.same(whole.history()["x"][:20], before["x"])
        more = diffsim.minimize(
            lambda x: 0.5 * bowl(x), "lbfgsb", 45, bounds=BOX, out=out, jac=lambda x: x - 0.3, record_as="f", resume=True,
            run={"verify": False},
        )
        self.assertEqual(more.evaluations, 45)

    def test_exceptions(self):
        """exceptions of functions and callbacks are passed on unchanged; minimize() within a function is a
        separate run"""

        def fails(x):
            raise KeyError("inside")

        def stops(x):
            raise StopIteration

        for f, kind in ((fails, KeyError), (stops, StopIteration)):
            with self.assertRaises(kind):
                diffsim.minimize(f, "rand", 5, bounds=BOX)
        with self.assertRaises(KeyError):
            diffsim.minimize(fails, "rand", 5, bounds=BOX, jobs=2)
        inner = diffsim.minimize(
            lambda x: diffsim.minimize(bowl, "rand", 3, bounds=BOX, x0=x).best_loss, "rand", 4, bounds=BOX
        )
        self.assertEqual(inner.evaluations, 4)

        def forks(x):  # a process that leaves by the function leaves the folder of its parent alone
            pid = os.fork()
            if pid == 0:
                raise SystemExit(0)
            os.waitpid(pid, 0)
            return bowl(x)

        parent = os.getpid()
        try:
            self.assertEqual(diffsim.minimize(forks, "rand", 2, bounds=BOX).evaluations, 2)
        finally:
            if os.getpid() != parent:
                os._exit(0)

    def test_scipy(self):
        """a method for SciPy refuses errors without SciPy"""
        method = diffsim.scipy("cmaes", 20)
        f = {"bounds": [(-1, 1)] * 3}
        for kind, words, x0, keywords in (
            (USAGE, "bounds are missing", np.zeros(3), {}),
            (USAGE, "x0 has shape .2,., but there are bounds of 3 variables", np.zeros(2), f),
            (USAGE, "expected n finite numbers", [np.nan, 0, 0], f),
            (USAGE, "expected n finite numbers", np.zeros((1, 3)), f),
            (USAGE, "has no bound on a side", np.zeros(3), {"bounds": [(None, 1)] * 3}),
            (TypeError, "fun is 3", np.zeros(3), {**f, "fun": 3}),
            (TypeError, "the loss of fun: expected real numbers, not None", np.zeros(3), {**f, "fun": lambda x: None}),
            (TypeError, "not complex", np.zeros(3), {**f, "fun": lambda x: np.complex128(1)}),
            (USAGE, "budget is 0", np.zeros(3), {**f, "budget": 0}),
            (TypeError, "maxfun is 2.5", np.zeros(3), {**f, "maxfun": 2.5}),
        ):
            try:
                import scipy.optimize  # noqa: F401
            except ImportError:
                self.skipTest("there is no SciPy")
            self.raises(kind, words, lambda x0, fun=bowl, **more: method(fun, x0, **more), x0, **keywords)


class Threads(Case):
    def test_tell(self):
        """a thread cannot tell losses for points that another one has told, because the points may have
        changed"""
        with diffsim.optimizer("rand", BOX, budget=1000) as search:
            x, wrong = search.ask(), []

            def work():
                mine = search.ask()
                self.same(mine, x)
                search.tell([bowl(p) for p in mine])
                search.ask()

            def late():
                try:
                    search.tell([bowl(p) for p in x])
                except USAGE as e:
                    wrong.append(str(e))

            t = threading.Thread(target=work)
            t.start()
            t.join()
            late()
            self.assertIn("another thread has answered", wrong[0])
            y = search.ask()  # in step again
            search.tell([bowl(p) for p in y])
            z = search.ask()
            t = threading.Thread(target=lambda: search.tell([bowl(p) for p in z]))  # handed over
            t.start()
            t.join()
            self.assertEqual(search.used, len(x) + len(y) + len(z))
            rows = {tuple(p) for a in (x, y, z) for p in a}
            self.assertEqual(search.best_loss, min(bowl(np.array(p)) for p in rows))

    def test_loop(self):
        """a loop over a search that never tells ends with an exception; two searches do not share a folder"""
        with diffsim.optimizer("cmaes", BOX, budget=20, folder=self.path("run")) as search:
            self.raises(USAGE, "have no losses yet: call tell", list, search)
            for more in ({}, {"resume": True}):
                self.raises(diffsim.LockedError, "is working on this run", diffsim.optimizer, "cmaes", BOX, budget=20, folder=self.path("run"), **more)

    def test_share(self):
        """searches over one environment in several threads"""
        with diffsim.make("analytic", dim=3, jobs=1) as env:
            want = diffsim.minimize(env.loss, "cmaes", 60, bounds=env).history()
            got = diffsim.minimize(env.loss, "cmaes", 60, bounds=env, jobs=4).history()
            self.same(got["loss"], want["loss"])

    def test_interrupt(self):
        """Ctrl-C in a function ends the search; the record can be resumed"""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        out, count = self.path("run"), []

        def f(x):
            count.append(1)
            if len(count) == 30:
                os.kill(os.getpid(), signal.SIGINT)
            return bowl(x)

        with self.assertRaises(KeyboardInterrupt):
            diffsim.minimize(f, "cmaes", 60, bounds=BOX, out=out)
        self.assertEqual(diffsim.load(out).ended, "signal")
        self.same(
            diffsim.minimize(f, "cmaes", 60, bounds=BOX, out=out, resume=True).history()["x"],
            diffsim.minimize(bowl, "cmaes", 60, bounds=BOX).history()["x"],
        )


class PluginFaults(Case):
    def test_answers(self):
        """results of a class in Python are checked: kinds, shapes, masks; bodies, meshes"""
        with diffsim.make(PLUGINS + ":Answers", jobs=1) as env:
            for i, (_, words) in enumerate(misuse_plugins.ANSWERS):
                with self.subTest(words):
                    self.raises(diffsim.EvaluationError, words, env.loss_and_grad, [i, 0])
            for i, (_, words) in enumerate(misuse_plugins.BODIES):
                with self.subTest(words), self.assertRaisesRegex(diffsim.DiffsimError, words):
                    env.trajectory([500 + i, 0])
            self.assertEqual(env.loss([300, 1]), 300.0**2 + 1)

    def test_facts(self):
        """attributes of a class are checked when it is opened"""
        for name, fact, words in (
            ("Facts", "floor=nan", "floor is nan: expected a lower bound of the loss"),
            ("Facts", "dt=inf", "dt is inf: expected finite seconds of a step"),
            ("Facts", "steps=2.5", "steps is 2.5: expected a whole number from 0"),
            ("Facts", "variables=", "variables is str: expected a list of 2 names"),
            ("Steps", None, "Steps: step.action. says truncated at the horizon: set time_limit = True"),
        ):
            more = {} if fact is None else {"fact": fact}
            self.raises(PLUGIN, words, diffsim.make, f"{PLUGINS}:{name}", jobs=1, **more)
        with diffsim.make(PLUGINS + ":Residuals", jobs=1) as env:
            self.assertEqual(env.loss([2, 0]), 2.0)
            self.raises(diffsim.EvaluationError, r"residuals\(x\) has the shape \(4,\), at the start point it had \(2,\)", env.loss, [4, 0])

    def test_searches(self):
        """an objective that threads or forked processes call ends the run with status 4, also where the exception is swallowed"""
        with diffsim.make("analytic", dim=2, jobs=1) as env:
            for name, words in misuse_plugins.SEARCHES:
                with self.subTest(name):
                    e = self.raises(PLUGIN, words, diffsim.minimize, env, f"{PLUGINS}:{name}", 300, out=self.path(name))
                    self.assertEqual(e.status, 4)
                    rows = diffsim.load(self.path(name)).history()
                    self.same(rows["loss"], [env.loss(x) for x in rows["x"]])
            for name, count in (("Returns", 3), ("Keywords", 1)):
                self.assertEqual(diffsim.minimize(env, f"{PLUGINS}:{name}", 300).evaluations, count)
        self.no_new_children()


class Limits(Case):
    def test_files(self):
        """more workers than open files are allowed: a line with the possible number, never an endless wait"""
        code = (
            "import diffsim\n"
            "for jobs in (1, 400):\n"
            "    try:\n"
            "        with diffsim.make('analytic', jobs=jobs) as env:\n"
            "            print(jobs, len(env.loss(env.random(9, seed=1))))\n"
            "            print(diffsim.minimize(env, 'cmaes', 9, jobs=300).evaluations)\n"
            "    except diffsim.InputOutputError as e:\n"
            "        print(e)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        said = done.stdout.decode().splitlines()
        self.assertEqual((done.returncode, len(said)), (0, 3), done.stderr.decode())
        self.assertEqual(said[0], "1 9")
        for line in said[1:]:
            self.assertRegex(line, r"workers need \d+ open files, but only 128 are allowed.*set jobs to \d+ or less")
