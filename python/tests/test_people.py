# SPDX-License-Identifier: Apache-2.0
"""What makes the package pleasant in a notebook: tables of plugins, classes of a program as plugins, bars, plots, the viewer."""

import importlib.util
import os
import pickle
import subprocess
import sys
import unittest

import numpy as np

import diffsim
from support import Case


def there(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"there is no {name}")


class Bowl:
    """A bowl."""

    lower, upper = [-4, -4], [4, 4]

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def loss_and_grad(self, x):
        if x[0] > 3:
            raise ValueError("too far")
        return self.scale * (x @ x), 2 * self.scale * x


class Half:
    def loss(self, x):
        return 0.0


class Search:
    def run(self, objective):
        rng = objective.rng()
        while True:
            objective.evaluate(objective.lower + (objective.upper - objective.lower) * rng.random((4, objective.n)))


class Bar:
    """The part of tqdm that is used."""

    made = []

    def __init__(self, total=None, desc=""):
        self.total, self.desc, self.n, self.closed, self.said = total, desc, 0, False, {}
        Bar.made.append(self)

    def update(self, n):
        self.n += n

    def set_postfix(self, **said):
        self.said = said

    def close(self):
        self.closed = True


class Catalog(Case):
    def test_tables(self):
        """environments() and optimizers() are the tables of dshost list, also as HTML"""
        envs, opts = diffsim.environments(), diffsim.optimizers()
        self.assertIn("cartpole", envs)
        self.assertEqual(opts["adam"]["needs"], ["ds.env.gradient/1"])
        self.assertFalse(set(envs) & set(opts))
        self.assertEqual(set(envs.select(family="gradSim")), {k for k, v in envs.items() if v.get("family") == "gradSim"})
        self.assertEqual(envs._repr_html_().count("<tr>"), len(envs) + 1)
        self.assertIn(opts["adam"]["summary"], repr(opts))

    def test_help(self):
        """help() describes a plugin, refuses what is none in one line, and is Python's for the rest"""
        about = diffsim.help("cartpole")
        self.assertIn("links", [p["name"] for p in about.parameters])
        self.assertIn("links = 1", repr(about))
        self.assertEqual(about._repr_html_().count("<tr>"), len(about.parameters) + 1)
        for wrong in ("nosuchthing", "run"):
            with self.assertRaisesRegex(diffsim.DiffsimError, wrong):
                diffsim.help(wrong)

    def test_import(self):
        """`import diffsim` costs at most 1.3 times the time of NumPy"""
        code = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
        path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

        def cost(name):
            runs = [subprocess.run([sys.executable, "-c", code.format(name)], env=path, check=True, stdout=subprocess.PIPE) for _ in range(3)]
            return min(float(r.stdout) for r in runs)

        self.assertLess(cost("diffsim"), 1.3 * cost("numpy"))


class Classes(Case):
    def test_in_process(self):
        """a class in this process: losses, gradients, failures, pickling"""
        with diffsim.make(Bowl, isolation="none", scale=2.0) as env:
            self.assertEqual(env.loss([1, 1]), 4)
            loss, grad = env.loss_and_grad(np.ones((3, 2)))
            self.assertEqual((loss.tolist(), grad.tolist()), ([4.0] * 3, [[4.0, 4.0]] * 3))
            self.assertEqual(pickle.loads(pickle.dumps(env)).loss([1, 0]), 2)
            self.assertLess(diffsim.minimize(env, "racer", 40).best_loss, 1e-6)
            with self.assertRaisesRegex(ValueError, "too far"):
                env.loss([3.5, 0])
            with self.assertRaisesRegex(diffsim.UsageError, r"x\[1\] is 5"):
                env.loss([0, 5])
            with self.assertRaises(diffsim.UnsupportedError):
                env.trajectory([0, 0])
        with self.assertRaises(diffsim.ClosedError):
            env.loss([0, 0])
        with self.assertRaisesRegex(diffsim.UsageError, "scales.*scale"):
            diffsim.make(Bowl, isolation="none", scales=2.0)
        with self.assertRaisesRegex(diffsim.PluginError, "Half.*lower"):
            diffsim.make(Half, isolation="none")

    @there("cloudpickle")
    def test_in_workers(self):
        """a class and an instance in worker processes; the same numbers as in this process"""
        local = type("Local", (Bowl,), {"loss_and_grad": lambda self, x: (self.scale * float(x @ x), 2 * self.scale * x)})
        changed = local(1.0)
        changed.scale = 5.0
        for what, parameters, factor in ((local, {"scale": 2.0}, 2.0), (changed, {}, 5.0)):
            with diffsim.make(what, **parameters) as env:
                loss, grad = env.loss_and_grad([1, 0.5])
                self.assertEqual((loss, grad.tolist()), (factor * 1.25, [2 * factor, factor]))
        with self.assertRaises(diffsim.UsageError):
            diffsim.make(changed, scale=3.0)

    @there("cloudpickle")
    def test_optimizer(self):
        """a class with run() is an optimizer, with budget and record of a run"""
        run = diffsim.minimize("pinball", Search, 12)
        self.assertEqual((run.evaluations, run.ended), (12, "budget"))


class Comfort(Case):
    def test_id(self):
        """minimize() takes the id of an environment"""
        with diffsim.make("pinball") as env:
            self.assertEqual(diffsim.minimize("pinball", "cmaes", 20).best_loss, diffsim.minimize(env, "cmaes", 20).best_loss)

    def test_bar(self):
        """progress= takes a bar of tqdm, its class or one that is open"""
        diffsim.minimize("pinball", "rand", 20, progress=Bar)
        own, bar = Bar.made[-1], Bar()
        self.assertEqual((own.total, own.n, own.closed, list(own.said)), (20, 20, True, ["best_loss"]))
        diffsim.minimize(lambda x: x @ x, "rand", 10, bounds=[(0, 1)] * 3, progress=bar)
        self.assertEqual((bar.total, bar.n, bar.closed), (10, 10, False))

    def test_view(self):
        """the viewer in a notebook, of a point and of a run"""
        with diffsim.make("cartpole") as env:
            page = env.view(env.x0)
        self.assertIn("<iframe srcdoc=", page._repr_html_())
        page.save(self.path("view.html"))
        run = diffsim.minimize("pinball", "rand", 3, out=self.path("run"))
        self.assertGreater(len(run.view().page), 10000)

    @there("matplotlib")
    def test_plots(self):
        """plots by matplotlib in one call"""
        import matplotlib

        matplotlib.use("Agg")
        for opt in ("rand", "cmaes"):
            for seed in (0, 1):
                diffsim.minimize("pinball", opt, 12, seed=seed, out=self.path(f"{opt}-{seed}"))
        runs = diffsim.load(self.room)
        axes = runs.plot()
        self.assertEqual([line.get_label() for line in axes.get_lines()], ["cmaes (2 runs)", "rand (2 runs)"])
        curves = np.array([r.history()["best_loss"] for r in runs.select(opt="rand")])
        np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), np.median(curves, axis=0))
        self.assertEqual(axes.get_ylabel(), "best loss")
        with diffsim.make("cartpole") as env:
            axes = env.trajectory(env.x0).plot("distance")
        self.assertIn("distance", axes.get_legend_handles_labels()[1][0])

    @there("pandas")
    def test_units(self):
        """a table of pandas knows the units"""
        run = diffsim.minimize("pinball", "rand", 3)
        self.assertEqual(run.to_pandas().attrs["units"]["bar.0.0"], "rad")
        self.assertIn("bar.0.0 [rad]", run.to_pandas(units=True).columns)

    @there("scipy")
    def test_constraints(self):
        """constraints of SciPy are refused by their names"""
        from scipy.optimize import LinearConstraint, minimize

        for given, name in ((LinearConstraint([1, 1], 0, 1), "LinearConstraint"), ({"type": "ineq", "fun": sum}, "ineq")):
            with self.assertRaisesRegex(diffsim.UnsupportedError, name):
                minimize(sum, [0, 0], bounds=[(0, 1)] * 2, method=diffsim.scipy("cmaes"), constraints=given)

    @there("torch")
    def test_pickled_torch(self):
        """a function of PyTorch can be pickled"""
        import torch

        with diffsim.make("pinball") as env:
            f = pickle.loads(pickle.dumps(diffsim.torch.loss(env)))
            x = torch.tensor(env.x0, requires_grad=True)
            f(x).backward()
            self.assertEqual(x.grad.tolist(), env.loss_and_grad(env.x0)[1].tolist())
            module = pickle.loads(pickle.dumps(diffsim.torch.Loss(env)))
            self.assertEqual(float(module(x)), env.loss(env.x0))

    @there("jax")
    def test_pickled_jax(self):
        """a function of JAX can be pickled"""
        with diffsim.make("pinball") as env:
            f = pickle.loads(pickle.dumps(diffsim.jax.loss(env)))
            self.assertAlmostEqual(float(f(env.x0)), env.loss(env.x0), places=5)
