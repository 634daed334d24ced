# SPDX-License-Identifier: Apache-2.0
"""Bridges (diffsim.bridges): environments are problems of other libraries with the same losses, and the
optimizers of those libraries are plugins that search, resume and repeat themselves."""

import csv
import glob
import math
import os
import tempfile
import unittest

import numpy as np

import diffsim
from diffsim import bridges
from support import Case, dshost, record


def needs(name):
    """Skips a test where a library is not there."""
    try:
        __import__(name)
        return lambda test: test
    except ImportError:
        return unittest.skip(f"there is no {name}")


class Problems(Case):
    """Every bridge gives the loss of the environment at the point."""

    def setUp(self):
        super().setUp()
        self.env = diffsim.make("pinball", jobs=1)
        self.addCleanup(self.env.close)
        self.x = self.env.random(seed=1)
        self.loss = self.env.loss(self.x)

    @needs("botorch")
    def test_botorch(self):
        """BoTorch: values, gradients by autograd, negation, a fit"""
        import torch
        from diffsim.bridges.botorch import Problem
        p = Problem(self.env)
        x = torch.tensor(self.x, requires_grad=True)
        y = p(x.unsqueeze(0))
        self.assertEqual(y.shape, (1,))
        self.assertEqual(y.item(), self.loss)
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), self.env.grad(self.x))
        self.assertEqual(Problem(self.env, negate=True)(x.detach().unsqueeze(0)).item(), -self.loss)
        np.testing.assert_array_equal(p.bounds.numpy(), [self.env.lower, self.env.upper])
        from botorch.acquisition import LogExpectedImprovement
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        unit = torch.rand(8, p.dim, dtype=torch.double, generator=torch.Generator().manual_seed(0))
        points = p.bounds[0] + unit * (p.bounds[1] - p.bounds[0])
        model = SingleTaskGP(unit, -p(points).unsqueeze(-1))
        u, _ = optimize_acqf(LogExpectedImprovement(model, -p(points).min()), torch.stack([torch.zeros(p.dim), torch.ones(p.dim)]).double(),
                             q=1, num_restarts=2, raw_samples=16)
        self.assertTrue(math.isfinite(p(p.bounds[0] + u * (p.bounds[1] - p.bounds[0])).item()))

    @needs("optuna")
    def test_optuna(self):
        """Optuna: a study searches; the benchmark has spaces and directions as OptunaHub's"""
        import optuna
        from diffsim.bridges.optuna import objective
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        p = objective(self.env)
        names = [v.name for v in self.env.variables]
        self.assertEqual(list(p.search_space), names)
        self.assertEqual(p.directions, [optuna.study.StudyDirection.MINIMIZE])
        self.assertEqual(p.evaluate(dict(zip(names, self.x))), self.loss)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(p, n_trials=20)
        self.assertEqual(study.best_value, self.env.loss(np.array([study.best_params[k] for k in names])))

    @needs("nevergrad")
    def test_nevergrad(self):
        """Nevergrad: an ExperimentFunction, minimised"""
        import nevergrad as ng
        from diffsim.bridges.nevergrad import function
        f = function(self.env)
        self.assertEqual(f(self.x), self.loss)
        np.testing.assert_array_equal(f.parametrization.value, self.env.x0)
        found = ng.optimizers.OnePlusOne(f.parametrization, budget=30).minimize(f)
        self.assertLessEqual(self.env.loss(self.env.clip(found.value)), self.env.loss(self.env.x0))
        self.assertEqual(f.copy()(self.x), self.loss)

    @needs("ioh")
    def test_ioh(self):
        """IOHexperimenter: a problem from 0 to 1, with its loggers"""
        import ioh
        from diffsim.bridges.ioh import problem
        f = problem(self.env)
        self.assertEqual(f.meta_data.n_variables, self.env.n)
        u = bridges.scaled(self.env, self.x)
        self.assertEqual(f(u), self.env.loss(bridges.unscaled(self.env, u)))
        with tempfile.TemporaryDirectory() as room:
            logger = ioh.logger.Analyzer(root=room, folder_name="log")
            f.attach_logger(logger)
            for k in range(5):
                f(bridges.scaled(self.env, self.env.random(seed=k)))
            self.assertEqual(f.state.evaluations, 6)  # and the one above
            f.detach_logger()
            logger.close()
            self.assertTrue(glob.glob(os.path.join(room, "log", "*.json")))

    @needs("cma")
    def test_pycma(self):
        """pycma: fmin in units of the box"""
        from diffsim.bridges.pycma import fmin
        x, es = fmin(self.env, options={"maxfevals": 60, "seed": 1})
        self.assertEqual(self.env.loss(x), es.result.fbest)
        self.assertTrue(((x >= self.env.lower) & (x <= self.env.upper)).all())

    @needs("scipy")
    def test_scipy(self):
        """SciPy: L-BFGS-B with our gradients, differential evolution"""
        from scipy.optimize import differential_evolution, minimize
        from diffsim.bridges.scipy import problem
        found = minimize(**problem(self.env), method="L-BFGS-B", options={"maxfun": 30})
        self.assertEqual(found.fun, self.env.loss(self.env.clip(found.x)))
        self.assertLessEqual(found.fun, self.env.loss(self.env.x0))
        found = differential_evolution(**problem(self.env, globally=True), maxiter=2, popsize=4, seed=0, polish=False)
        self.assertEqual(found.fun, self.env.loss(found.x))
        with diffsim.make("cartpole_gym") as plain:
            self.assertNotIn("jac", problem(plain))

    def test_failures(self):
        """failed evaluations are inf, and pruned"""
        from support import FAULTY
        with diffsim.make(FAULTY, fault="diverge", jobs=1) as bad:
            self.assertEqual(bridges.loss_or_inf(bad, bad.x0), math.inf)


class Peers(Case):
    """Optimizers of other libraries are plugins."""

    def search(self, name, *more):
        """Three runs: whole, repeated, and resumed from a part; the record of the first."""
        with tempfile.TemporaryDirectory() as room:
            os.environ.setdefault("DIFFSIM_PYTHON", __import__("sys").executable)
            run = lambda out, budget: dshost("run", "--env", "analytic", "--set", "env.function=rastrigin", "--set", "env.dim=3", "--opt",
                                             f"{bridges.peers()}:{name}", "--budget", budget, "--seed", 5, "--out", f"{room}/{out}",
                                             "--pictures", "no", *more)
            run("a", 40)
            run("b", 40)
            self.assertEqual(record(f"{room}/a"), record(f"{room}/b"))
            dshost("resume", f"{room}/a", "--budget", 60, "--trust-plugin", bridges.peers())
            self.assertEqual(record(f"{room}/a").splitlines()[:41], record(f"{room}/b").splitlines())
            self.assertEqual(diffsim.load(f"{room}/a").evaluations, 60)

    @needs("cma")
    def test_pycma(self):
        """pycma as a plugin: repeated, resumed"""
        self.search("Pycma")

    @needs("nevergrad")
    def test_nevergrad(self):
        """Nevergrad as a plugin: repeated, resumed"""
        self.search("Nevergrad", "--set", "opt.name=DE")

    @needs("optuna")
    def test_optuna(self):
        """Optuna as a plugin: repeated, resumed"""
        self.search("Optuna")

    @needs("botorch")
    def test_botorch(self):
        """BoTorch as a plugin: repeated, resumed"""
        self.search("BoTorch")
        self.search("BoTorch", "--set", "opt.batch=4")

    @needs("ax")
    def test_ax(self):
        """Ax as a plugin: repeated, resumed"""
        self.search("Ax")

    @needs("scipy")
    def test_scipy(self):
        """SciPy as a plugin: repeated, resumed"""
        self.search("SciPy")
        self.search("SciPy", "--set", "opt.method=differential_evolution")


class Autograd(Case):
    """Losses of PyTorch and JAX are plugins without a line for the gradient."""

    def check(self, text):
        with tempfile.TemporaryDirectory() as room:
            os.environ.setdefault("DIFFSIM_PYTHON", __import__("sys").executable)
            with open(f"{room}/auto.py", "w") as f:
                f.write(text)
            said = dshost("check", f"{room}/auto.py:Chain", "--only", "grad.difference,pure.want,pure.process,pure.repeat")
            self.assertNotIn("SKIP", said)
            self.assertNotIn("not ok", said)
            self.assertIn("100 % agree", said)

    @needs("torch")
    def test_torch(self):
        """PyTorch: dshost check passes"""
        self.check("""
import torch
class Chain:
    lower, upper = [-2.0] * 4, 2.0
    def loss(self, x: torch.Tensor):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
""")

    @needs("jax")
    def test_jax(self):
        """JAX: dshost check passes"""
        self.check("""
import jax, jax.numpy as jnp
class Chain:
    lower, upper = [-2.0] * 4, 2.0
    autograd = "jax"
    def loss(self, x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
""")


class Watching(Case):
    """A run in CSV and TensorBoard, through one observer."""

    def test_csv(self):
        """CSV: the progress of a run of this program, and the record of a folder"""
        from diffsim.bridges.watch import Csv, Observer, follow
        with tempfile.TemporaryDirectory() as room, diffsim.make("analytic", jobs=1) as env:
            with Observer(Csv(f"{room}/live.csv")) as observer:
                result = diffsim.minimize(env, "cmaes", 3000, out=f"{room}/run", progress=observer)
            with open(f"{room}/live.csv", newline="") as f:
                rows = list(csv.DictReader(f))
            self.assertTrue(rows and int(rows[-1]["evaluation"]) <= 3000)
            self.assertEqual(follow(f"{room}/run", Csv(f"{room}/all.csv")), 3000)
            with open(f"{room}/all.csv", newline="") as f:
                rows = list(csv.DictReader(f))
            self.assertEqual([float(r["loss"]) for r in rows], result.history()["loss"].tolist())
            self.assertEqual(float(rows[-1]["best_loss"]), result.best_loss)

    @needs("tensorboard")
    def test_tensorboard(self):
        """TensorBoard: its own reader finds the curve"""
        from diffsim.bridges.watch import TensorBoard, follow
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        with tempfile.TemporaryDirectory() as room, diffsim.make("analytic", jobs=1) as env:
            result = diffsim.minimize(env, "rand", 30, out=f"{room}/run")
            follow(f"{room}/run", TensorBoard(f"{room}/log"))
            events = EventAccumulator(f"{room}/log")
            events.Reload()
            curve = events.Scalars("best_loss")
            self.assertEqual([e.step for e in curve], list(range(1, 31)))
            self.assertAlmostEqual(curve[-1].value, result.best_loss, 5)


if __name__ == "__main__":
    unittest.main()
