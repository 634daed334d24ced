# SPDX-License-Identifier: Apache-2.0
"""Optimizers of other libraries, and environments of Gymnasium, as plugins of dshost: the same budget, record, resume and
statistics as ours.

    dshost --env pinball --opt py:pycma --budget 300
    dshost --env py:gymnasium --set env.id=Hopper-v5 --opt racer

All of them search in units of the box, from the start point of the environment, with seeds that follow from
the run's seed, so that the same seed gives the same search and a run can be resumed. Their libraries are
imported when they run."""
import math
import warnings
from typing import Annotated

import numpy as np

from diffsim.plugin import Int, Real, Text


class _Peer:
    version = "1"
    license = "Apache-2.0"

    def begin(self, objective):
        warnings.simplefilter("ignore")  # about packages that they could use, and finite bounds
        self.objective = objective
        self.width = objective.upper - objective.lower
        self.seed = int(objective.rng("peer").integers(1, 2**31 - 1))

    def points(self, u):
        o = self.objective
        return (o.lower + np.asarray(u, dtype=float) * self.width).clip(o.lower, o.upper)

    def scaled(self, x):
        return (np.asarray(x) - self.objective.lower) / self.width


class Pycma(_Peer):
    """CMA-ES of pycma, with restarts of doubled population (IPOP)."""

    citation = "N. Hansen, Y. Akimoto, P. Baudis: CMA-ES/pycma on Github, doi:10.5281/zenodo.2559634"

    def __init__(
        self,
        sigma: Annotated[float, Real(1e-9, 1, "", "First step size, as a share of the box.", log=True)] = 0.3,
        popsize: Annotated[int, Int(0, 100000, "", "Points of a generation; 0 = as pycma chooses.")] = 0,
    ):
        self.sigma, self.popsize = sigma, popsize

    def run(self, objective):
        self.begin(objective)
        import cma
        start, factor, restart = self.scaled(objective.x0), 1, 0
        while True:
            options = {"bounds": [0, 1], "seed": self.seed + restart, "verbose": -9, "verb_log": 0}
            size = self.popsize or 4 + int(3 * math.log(objective.n))
            es = cma.CMAEvolutionStrategy(start, self.sigma, {**options, "popsize": size * factor})
            while not es.stop():
                u = es.ask()
                loss = objective.evaluate(self.points(u), tag="generation", group=restart)
                es.tell(u, np.where(np.isfinite(loss), loss, np.nan).tolist())
            start = objective.rng("restart", restart).random(objective.n)
            factor, restart = factor * 2, restart + 1


class Nevergrad(_Peer):
    """An optimizer of Nevergrad, by its name."""

    citation = "J. Rapin, O. Teytaud: Nevergrad - A gradient-free optimization platform, 2018"
    uses_budget = True

    def __init__(
        self,
        name: Annotated[str, Text("Its name in nevergrad.optimizers.registry.")] = "NGOpt",
        workers: Annotated[int, Int(1, 1024, "", "Points that are asked at once, and evaluated in parallel.")] = 1,
    ):
        self.name, self.workers = name, workers

    def run(self, objective):
        self.begin(objective)
        import nevergrad as ng
        if self.name not in ng.optimizers.registry:
            raise ValueError(f"nevergrad has no optimizer {self.name!r}; some are NGOpt, OnePlusOne, DE, PSO, CMA, TBPSA")
        u = ng.p.Array(init=self.scaled(objective.x0)).set_bounds(0, 1)
        u.random_state.seed(self.seed)
        search = ng.optimizers.registry[self.name](u, budget=objective.budget or None, num_workers=self.workers)
        while True:
            asked = [search.ask() for _ in range(self.workers)]
            losses = objective.evaluate(self.points([a.value for a in asked]), tag="asked")
            for a, loss in zip(asked, losses):
                search.tell(a, float(loss))


class Optuna(_Peer):
    """The tree-structured Parzen estimator of Optuna, or another of its samplers."""

    citation = "T. Akiba, S. Sano, T. Yanase, T. Ohta, M. Koyama: Optuna, KDD 2019"

    def __init__(self, sampler: Annotated[str, Text("TPESampler, CmaEsSampler, GPSampler, RandomSampler, QMCSampler.")] = "TPESampler"):
        self.sampler = sampler

    def run(self, objective):
        self.begin(objective)
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        if not hasattr(optuna.samplers, self.sampler):
            raise ValueError(f"optuna.samplers has no {self.sampler}")
        study = optuna.create_study(sampler=getattr(optuna.samplers, self.sampler)(seed=self.seed))
        names = [f"x{i}" for i in range(objective.n)]
        study.enqueue_trial(dict(zip(names, self.scaled(objective.x0).tolist())))
        while True:
            trial = study.ask()
            loss = objective.loss(self.points([trial.suggest_float(k, 0, 1) for k in names]), tag="trial")
            failed = not math.isfinite(loss)
            study.tell(trial, None if failed else loss, state=optuna.trial.TrialState.FAIL if failed else None)


class SciPy(_Peer):
    """scipy.optimize: local methods from random starts, or a global one."""

    citation = "P. Virtanen et al.: SciPy 1.0, Nature Methods 17, 2020"
    uses_gradient = True

    def __init__(
        self,
        method: Annotated[str, Text("Of minimize(): L-BFGS-B, TNC, SLSQP, trust-constr, Nelder-Mead, Powell, ...; or differential_evolution, "
                                    "dual_annealing, direct, shgo.")] = "L-BFGS-B",
    ):
        self.method = method

    def _loss(self, u, *_):
        return self.objective.loss(self.points(u))

    def _loss_and_grad(self, u, *_):
        loss, grad = self.objective.loss_and_grad(self.points(u))
        return loss, grad * self.width

    def run(self, objective):
        self.begin(objective)
        from scipy import optimize
        n = objective.n
        if self.method in ("differential_evolution", "dual_annealing", "direct", "shgo"):
            search, restart = getattr(optimize, self.method), 0
            while True:  # until the budget is used up
                more = {"seed": self.seed + restart} if self.method in ("differential_evolution", "dual_annealing") else {}
                search(self._loss, [(0.0, 1.0)] * n, **more)
                if not more:
                    return  # it would do the same again
                restart += 1
        slopes = objective.has_gradient and self.method not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
        start, restart = self.scaled(objective.x0), 0
        while True:
            optimize.minimize(self._loss_and_grad if slopes else self._loss, start, jac=slopes or None, method=self.method,
                              bounds=optimize.Bounds(0.0, 1.0))
            start = objective.rng("restart", restart).random(n)
            restart += 1


class BoTorch(_Peer):
    """Bayesian optimization by BoTorch: a Gaussian process with its default prior, and the logarithm of the expected improvement."""

    citation = "M. Balandat et al.: BoTorch, NeurIPS 2020; S. Ament et al.: Unexpected Improvements to Expected Improvement, NeurIPS 2023"

    def __init__(
        self,
        initial: Annotated[int, Int(0, 100000, "", "Sobol points before the first model; 0 = 2 n + 1, at most 20.")] = 0,
        batch: Annotated[int, Int(1, 256, "", "Points that are chosen together (qLogEI), and evaluated in parallel.")] = 1,
    ):
        self.initial, self.batch = initial, batch

    def run(self, objective):
        self.begin(objective)
        import torch
        from botorch.acquisition import qLogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.manual_seed(self.seed)  # the process is this optimizer's own
        torch.set_num_threads(1)  # the order of sums, and so the search, does not depend on the machine
        n = objective.n
        box = torch.stack([torch.zeros(n), torch.ones(n)]).double()
        sobol = torch.quasirandom.SobolEngine(n, scramble=True, seed=self.seed)
        first = sobol.draw((self.initial or min(2 * n + 1, 20)) - 1, dtype=torch.double).numpy()
        u = np.vstack([self.scaled(objective.x0), first])
        loss = objective.evaluate(self.points(u), tag="initial")
        while True:
            kept = np.isfinite(loss)
            if kept.sum() < 2:  # nothing to learn from yet
                new = sobol.draw(self.batch, dtype=torch.double).numpy()
            else:
                x, y = torch.from_numpy(u[kept]), torch.from_numpy(-loss[kept])[:, None]
                y = (y - y.mean()) / (y.std() if y.std() > 0 else 1)
                model = SingleTaskGP(x, y)
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
                sampler = SobolQMCNormalSampler(torch.Size([128]), seed=self.seed)
                gain = qLogExpectedImprovement(model, y.max(), sampler=sampler)
                new = optimize_acqf(gain, box, q=self.batch, num_restarts=4, raw_samples=128)[0].numpy()
            u = np.vstack([u, new])
            loss = np.append(loss, objective.evaluate(self.points(new), tag="improvement"))


class Ax(_Peer):
    """The default strategy of Ax: Sobol points, then Bayesian optimization."""

    citation = "M. Olson et al.: Ax: A Platform for Adaptive Experimentation, AutoML 2025"

    def __init__(self, batch: Annotated[int, Int(1, 256, "", "Trials that are asked at once, and evaluated in parallel.")] = 1):
        self.batch = batch

    def run(self, objective):
        self.begin(objective)
        import logging

        import torch
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        logging.disable(logging.WARNING)
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        names = [f"x{i}" for i in range(objective.n)]
        client = Client(random_seed=self.seed)
        client.configure_experiment(parameters=[RangeParameterConfig(name=k, bounds=(0.0, 1.0), parameter_type="float") for k in names])
        client.configure_optimization(objective="-loss")
        start = dict(zip(names, self.scaled(objective.x0).tolist()))
        asked = {client.attach_trial(parameters=start): start}
        while True:
            losses = objective.evaluate(self.points([[p[k] for k in names] for p in asked.values()]), tag="trial")
            for trial, loss in zip(asked, losses):
                if math.isfinite(loss):
                    client.complete_trial(trial_index=trial, raw_data={"loss": float(loss)})
                else:
                    client.mark_trial_failed(trial_index=trial)
            asked = client.get_next_trials(max_trials=self.batch)


class Gymnasium:
    """An environment of Gymnasium, by its id; the loss is minus the sum of the rewards."""

    version = "1"
    citation = "M. Towers et al.: Gymnasium, 2024"
    horizon, time_limit = 1, True  # of the class; instances have their own

    def __init__(
        self,
        id: Annotated[str, Text("Its id, such as Pendulum-v1, CartPole-v1 or Hopper-v5.")] = "Pendulum-v1",
        steps: Annotated[int, Int(0, 10**6, "", "Steps of an episode; 0 = the limit of the environment.")] = 0,
    ):
        from diffsim.gym import as_environment

        self._task = as_environment(id, steps=steps)()
        self.horizon, self.lower, self.upper, self.dt = (getattr(self._task, k) for k in ("horizon", "lower", "upper", "dt"))
        self.reset, self.step = self._task.reset, self._task.step

    def reset(self):
        """Replaced by that of the instance."""

    def step(self, action):
        """Replaced by that of the instance."""


# As `py:NAME` names them.
pycma, nevergrad, optuna, scipy, botorch, ax, gymnasium = Pycma, Nevergrad, Optuna, SciPy, BoTorch, Ax, Gymnasium
