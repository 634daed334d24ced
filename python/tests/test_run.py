# SPDX-License-Identifier: Apache-2.0
"""Runs from Python equal dshost's to the last bit; searches over functions; resuming; result folders as
arrays."""

import os
import shutil
import signal
import subprocess
import threading
import time
import warnings

import numpy as np

import diffsim
from diffsim import _library
from support import FAULTY, Case, dshost, needs_faulty, record

BOX = ([-2.0, -1.0, -2.0], [2.0, 1.5, 2.0])
WITH_GRADIENT = ("adam", "alphaorder", "bo", "boleap", "ilqr", "lbfgsb", "leaprefine", "lm", "pbh", "racer", "randdescents")
WITHOUT = ("bo", "cem", "cmaes", "mppi", "nlopt", "rand", "turbo")
STEPWISE = ("apg", "ppo", "sac", "shac")


def bowl(x):
    return float(((x - 0.3) ** 2).sum())


def bowl_and_grad(x):
    return bowl(x), 2 * (x - 0.3)


class Runs(Case):
    def test_bits(self):
        """minimize(env) leaves the record of dshost run, to the last bit, for every number of jobs"""
        for env, opt, budget, settings, options in (
            ("cartpole", "boleap", 40, {"links": 2}, {"n_init": 5}),
            ("pinball", "cmaes", 60, {}, {}),
            ("analytic", "bo", 20, {"noise": 0.1, "dim": 3}, {}),
        ):
            flags = [f"--set=env.{k}={v}" for k, v in settings.items()] + [
                f"--set=opt.{k}={v}" for k, v in options.items()
            ]
            dshost(
                "run",
                "--env",
                env,
                "--opt",
                opt,
                "--budget",
                budget,
                "--seed",
                3,
                "--pictures",
                "false",
                "--out",
                self.path(env),
                *flags,
            )
            with diffsim.make(env, seed=3, jobs=2, **settings) as e:
                result = diffsim.minimize(e, opt, budget, out=self.path(env + "-python"), **options)
                self.assertEqual(record(self.path(env)), record(self.path(env + "-python")))
                again = diffsim.minimize(e, opt, budget, jobs=1, **options)
            self.same(again.history()["x"], result.history()["x"])
            self.assertEqual(result.evaluations, budget)
            self.assertEqual(result.best_loss, result.history()["loss"].min())
            self.assertFalse(again.folder.exists())
        self.no_new_children()

    def test_resume(self):
        """a run that Ctrl-C or progress() ended can be resumed, and then equals an uninterrupted one"""
        with diffsim.make("pinball", jobs=1) as env:
            whole = diffsim.minimize(env, "cmaes", 200)
            seen = []

            def stop(now):
                seen.append(now.evaluations)
                return now.evaluations >= 50

            out = self.path("run")
            part = diffsim.minimize(env, "cmaes", 200, out=out, progress=stop)
            self.assertEqual((part.ended, part.evaluations), ("signal", seen[-1]))
            self.assertLess(part.evaluations, 200)
            self.assertIn(
                "already",
                str(self.raises(diffsim.InputOutputError, "holds a run", diffsim.minimize, env, "cmaes", 200, out=out)),
            )
            for kind, words, call in (
                (
                    diffsim.UsageError,
                    "optimizer 'cmaes', not 'rand'",
                    lambda: diffsim.minimize(env, "rand", 200, out=out, resume=True),
                ),
                (
                    diffsim.UsageError,
                    "seed '0', not '1'",
                    lambda: diffsim.minimize(env, "cmaes", 200, seed=1, out=out, resume=True),
                ),
                (
                    diffsim.UsageError,
                    "opt.sigma0 '0.5', not '0.1'",
                    lambda: diffsim.minimize(env, "cmaes", 200, out=out, resume=True, sigma0=0.1),
                ),
            ):
                self.raises(kind, words, call)
            self.raises(
                diffsim.UsageError,
                "portable 'false', not 'true'",
                lambda: diffsim.minimize(env, "cmaes", 200, out=out, resume=True, run={"portable": True}),
            )
            full = diffsim.minimize(env, "cmaes", 200, out=out, resume=True, sigma0=0.50, run={"max_failed": 0.9})
            self.same(full.history()["x"], whole.history()["x"])
            self.assertEqual(full.ended, "budget")
            self.same(diffsim.load(out).history()["loss"], whole.history()["loss"])
            first = diffsim.minimize(env, "rand", 5, out=self.path("new"), resume=True)
            self.assertEqual(first.evaluations, 5, "resume begins a run where there is none")

    def test_resume_defaults(self):
        """a run resumes only with its own problem: a parameter that is left out has its default"""
        out = self.path("run")
        with diffsim.make("analytic", function="rosenbrock", dim=3, lower="-2*3", jobs=1) as env:
            diffsim.minimize(env, "cmaes", 20, out=out, seed=1, sigma0=0.1, target=1e-9)
            self.raises(
                diffsim.UsageError,
                "opt.sigma0 '0.1', not '0.5'",
                lambda: diffsim.minimize(env, "cmaes", 40, out=out, seed=1, target=1e-9, resume=True),
            )
            self.raises(
                diffsim.UsageError,
                "target '1e-09', not '-inf'",
                lambda: diffsim.minimize(env, "cmaes", 40, out=out, seed=1, sigma0=0.1, resume=True),
            )
        with diffsim.make("analytic", dim=3, lower=-2, jobs=1) as env:
            self.raises(
                diffsim.UsageError,
                "env.lower '-2.3', not '-2'",
                lambda: diffsim.minimize(env, "cmaes", 40, out=out, seed=1, sigma0=0.1, target=1e-9, resume=True),
            )
        with diffsim.make("analytic", dim=3, lower=[-2, -2, -2], jobs=1) as env:
            self.raises(
                diffsim.UsageError,
                "env.function 'rosenbrock', not 'sphere'",
                lambda: diffsim.minimize(env, "cmaes", 40, out=out, seed=1, sigma0=0.1, target=1e-9, resume=True),
            )
        self.assertEqual(diffsim.load(out).evaluations, 20)
        with diffsim.make("analytic", function="rosenbrock", dim=3, rotate=False, lower=[-2] * 3, jobs=2) as env:
            full = diffsim.minimize(
                env, "cmaes", 40, out=out, seed=1, sigma0=0.1, target=1e-9, resume=True, run={"start_timeout_s": 40}
            )
            self.assertEqual(full.evaluations, 40)

    @needs_faulty
    def test_interrupt(self):
        """Ctrl-C ends a run; everything is saved, and no process is left"""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with diffsim.make(FAULTY, work=0.05, jobs=2) as env:
            timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                diffsim.minimize(env, "cmaes", 1000, out=self.path("run"))
            timer.join()
            part = diffsim.load(self.path("run"))
            self.assertEqual(part.ended, "signal")
            self.assertTrue(0 < part.evaluations < 1000)
            known = part.history()
            full = diffsim.minimize(env, "cmaes", part.evaluations + 4, out=self.path("run"), resume=True)
            self.same(full.history()["x"][: len(known)], known["x"])
        self.no_new_children()

    def test_exception(self):
        """an exception in progress() ends the run and is passed on"""
        with diffsim.make("pinball", jobs=1) as env:

            def fail(now):
                raise RuntimeError("enough")

            with self.assertRaisesRegex(RuntimeError, "enough"):
                diffsim.minimize(env, "cmaes", 200, out=self.path("run"), progress=fail)
            self.assertGreater(diffsim.load(self.path("run")).evaluations, 0)
            self.raises(
                diffsim.ConfigError,
                "unknown parameter 'sigma'.*did you mean 'sigma0'",
                diffsim.minimize,
                env,
                "cmaes",
                10,
                sigma=1,
            )
            self.raises(diffsim.PluginError, "did you mean 'cmaes'", diffsim.minimize, env, "cmae", 10)
            self.raises(
                diffsim.UsageError, "bounds: not with an environment", diffsim.minimize, env, "cmaes", 10, bounds=BOX
            )
            self.raises(diffsim.UsageError, "budget is 0", diffsim.minimize, env, "cmaes", 0)
            self.raises(diffsim.InputOutputError, ".", diffsim.minimize, env, "cmaes", 10, out="/proc/nowhere")
            target = diffsim.minimize(env, "cmaes", 200, target=1e3)
            self.assertEqual(target.ended, "target")

    @needs_faulty
    def test_failing(self):
        """an environment that fails too often ends the run with its exception"""
        with diffsim.make(FAULTY, fault="segv", jobs=2) as env:
            e = self.raises(diffsim.EnvironmentFailed, ".", diffsim.minimize, env, "rand", 200, out=self.path("run"))
            self.assertEqual(e.status, 5)

    def test_step_by_step(self):
        """optimizers that step through episodes run, too"""
        with diffsim.make("cartpole_gym", jobs=1) as env:
            result = diffsim.minimize(env, "ppo", 12, seed=1)
            self.assertEqual(result.evaluations, 12)


class Searches(Case):
    def test_same_points(self):
        """a search over env.loss evaluates the points of a run of env"""
        with diffsim.make("bounce", jobs=1) as env:
            run = diffsim.minimize(env, "cmaes", 60, seed=2)
            search = diffsim.minimize(env.loss, "cmaes", 60, seed=2, bounds=env)
            self.same(search.history()["x"], run.history()["x"])
            self.same(search.history()["loss"], run.history()["loss"])
            run = diffsim.minimize(env, "boleap", 30, seed=2)
            search = diffsim.minimize(env.loss_and_grad, "boleap", 30, seed=2, bounds=env, jac=True)
            self.same(search.history()["x"], run.history()["x"])
            vectors = diffsim.minimize(env.loss_and_grad, "boleap", 30, seed=2, bounds=env, jac=True, vectorized=True)
            self.same(vectors.history()["x"], run.history()["x"])

    def test_all(self):
        """every optimizer by ask and tell; those that step through episodes are refused with a line"""
        listed = {
            line.split()[0]
            for line in dshost("list").partition("optimizers\n")[2].splitlines()
            if line.startswith("  ")
        }
        self.assertEqual(
            listed - {"nlopt"},
            (set(WITH_GRADIENT) | set(WITHOUT) | set(STEPWISE)) - {"nlopt"},
            "one is not tested here",
        )
        for name in sorted(listed):
            if name in STEPWISE:
                self.raises(diffsim.PluginError, "needs", diffsim.optimizer, name, BOX, budget=40)
                continue
            with_gradient = name in WITH_GRADIENT
            first = None
            with diffsim.optimizer(name, BOX, budget=40, seed=1, gradient=with_gradient) as opt:
                for x in opt:
                    self.assertTrue((x >= BOX[0]).all() and (x <= BOX[1]).all())
                    first = bowl(x[0]) if first is None else first
                    opt.tell([bowl(p) for p in x], [bowl_and_grad(p)[1] for p in x] if opt.wants_gradient else None)
            self.assertLessEqual(opt.used, 40)
            self.assertLessEqual(opt.best_loss, first, name)
            self.assertEqual(opt.best_loss, bowl(opt.best_x), name)

    def test_misuse(self):
        """ask and tell out of order, wrong shapes, closed"""
        with diffsim.optimizer("cmaes", BOX, budget=30) as opt:
            self.raises(diffsim.UsageError, r"tell\(\) without ask\(\)", opt.tell, [1.0])
            x = opt.ask()
            self.same(opt.ask(), x)
            self.raises(diffsim.UsageError, f"loss has shape .1,.: {len(x)} points", opt.tell, 1.0)
            self.raises(TypeError, "expected real numbers", opt.tell, ["a"] * len(x))
            opt.tell([np.nan] * len(x))
            self.assertEqual((opt.best_x, opt.best_loss, opt.used), (None, np.inf, len(x)))
            for x in opt:
                opt.tell([bowl(p) for p in x])
            self.assertTrue(opt.done and opt.ask() is None)
        self.raises(diffsim.ClosedError, "the search of cmaes was closed", opt.ask)
        self.assertEqual(opt.used, 30)
        with diffsim.optimizer("lbfgsb", BOX, budget=30, gradient=True) as opt:
            x = opt.ask()
            self.raises(diffsim.UsageError, "wants the gradients", opt.tell, [1.0] * len(x))
            self.raises(diffsim.UsageError, "grad has shape", opt.tell, [1.0] * len(x), np.zeros((len(x), 2)))
        self.raises(diffsim.UsageError, "variable 0 has the bounds", diffsim.optimizer, "cmaes", ([1.0], [0.0]))
        self.raises(
            diffsim.UsageError, "variable 1 has the bounds", diffsim.optimizer, "cmaes", ([0.0, 0.0], [1.0, np.inf])
        )
        self.raises(TypeError, "is not a space", diffsim.optimizer, "cmaes", 3)
        self.raises(diffsim.PluginError, "gradient=True in|needs gradients", diffsim.optimizer, "lbfgsb", BOX)

    def test_functions(self):
        """functions: separate gradients, threads, failures, exceptions, resuming a record"""
        separate = diffsim.minimize(bowl, "lbfgsb", 30, bounds=BOX, jac=lambda x: 2 * (x - 0.3))
        together = diffsim.minimize(bowl_and_grad, "lbfgsb", 30, bounds=BOX, jac=True, jobs=3)
        self.same(separate.history()["x"], together.history()["x"])
        self.assertLess(separate.best_loss, 1e-12)
        np.testing.assert_allclose(separate.history()["gradient"][0], 2 * (separate.history()["x"][0] - 0.3))
        half = diffsim.minimize(lambda x: bowl(x) if x[0] > 0 else np.nan, "rand", 50, bounds=BOX)
        self.assertEqual(set(half.history()["outcome"]), {"ok", "invalid"})
        self.assertEqual(np.isinf(half.history()["loss"]).sum(), (half.history()["x"][:, 0] <= 0).sum())
        low = diffsim.minimize(bowl, "cmaes", 500, bounds=BOX, target=1e-3)
        self.assertTrue(low.ended == "target" and low.best_loss <= 1e-3 and low.evaluations < 500)
        late = diffsim.minimize(lambda x: time.sleep(0.02) or bowl(x), "cmaes", 5000, bounds=BOX, seconds=0.2)
        self.assertTrue(late.ended == "time" and late.evaluations < 5000)

        calls = []

        def counted(x):
            calls.append(x)
            if len(calls) == 20:
                raise ZeroDivisionError("twenty")
            return bowl(x)

        with self.assertRaisesRegex(ZeroDivisionError, "twenty"):
            diffsim.minimize(counted, "cmaes", 60, bounds=BOX, out=self.path("run"))
        known = diffsim.load(self.path("run")).evaluations
        self.assertTrue(0 < known < 20)
        full = diffsim.minimize(counted, "cmaes", 60, bounds=BOX, out=self.path("run"), resume=True)
        self.assertEqual((full.evaluations, full.env, full.opt), (60, "counted", "cmaes"))
        self.assertEqual(len(calls), 20 + 60 - known + 1, "of the recorded points only the best is evaluated again")
        self.same(full.history()["x"], diffsim.minimize(bowl, "cmaes", 60, bounds=BOX).history()["x"])
        self.raises(diffsim.UsageError, "bounds are missing", diffsim.minimize, bowl)
        self.raises(TypeError, "neither an environment nor a function", diffsim.minimize, 3)
        self.raises(
            diffsim.UsageError,
            r"returned an array of shape \(3,\)",
            diffsim.minimize,
            lambda x: x,
            "rand",
            5,
            bounds=BOX,
        )
        self.raises(diffsim.UsageError, "jac=True", diffsim.minimize, lambda x: (1.0, 2.0), "rand", 5, bounds=BOX)
        self.raises(
            diffsim.UsageError,
            "holds a run already",
            diffsim.minimize,
            bowl,
            "rand",
            5,
            bounds=BOX,
            out=self.path("run"),
        )
        self.no_new_children()

    def test_scipy_constraints(self):
        """a method for SciPy refuses constraints, which it cannot respect, without SciPy"""
        method = diffsim.scipy("cmaes", 20)
        for constraints in (({"type": "ineq", "fun": bowl},), {"type": "ineq", "fun": bowl}, object()):
            self.raises(
                diffsim.UnsupportedError,
                "constraints.*: cmaes searches in a box",
                method,
                bowl,
                np.zeros(3),
                bounds=[(-2, 2)] * 3,
                constraints=constraints,
            )

    def test_many_threads(self):
        """searches in several threads give the results that each gives alone"""
        want = diffsim.minimize(bowl, "bo", 25, bounds=BOX, seed=4).history()["x"]
        got = [None] * 3

        def work(i):
            got[i] = diffsim.minimize(bowl, "bo", 25, bounds=BOX, seed=4).history()["x"]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for x in got:
            self.same(x, want)


class Results(Case):
    def test_run(self):
        """a run as a table, as its environment again, as HTML"""
        out = self.path("run")
        dshost("run", "--env", "bounce", "--opt", "boleap", "--budget", "30", "--seed", "5", "--out", out)
        run = diffsim.load(out)
        rows = run.history()
        self.assertEqual(rows.dtype.names[:4], ("evaluation", "loss", "best_loss", "outcome"))
        self.assertEqual((len(rows), rows["x"].shape, rows["gradient"].shape), (30, (30, 3), (30, 3)))
        self.assertTrue((np.diff(rows["best_loss"]) <= 0).all())
        self.assertEqual(set(rows["tag"]), {"sample", "descent"})
        self.assertEqual((run.env, run.opt, run.seed, run.ended), ("bounce", "boleap", 5, "budget"))
        self.same(run.best_x, rows["x"][rows["loss"].argmin()])
        with run.environment(jobs=1) as env:
            self.assertEqual(env.loss(run.best_x), run.best_loss)
        self.assertIn("data:image/png;base64,", run._repr_html_())
        self.assertTrue(run.picture().startswith(b"\x89PNG"))
        self.assertEqual(len(run.names), 3)
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        table = run.to_pandas()
        self.assertEqual(list(table.columns[-6:]), [*run.names, *("g." + v for v in run.names)])
        self.assertEqual(table["loss"].min(), run.best_loss)

    def test_identify(self):
        """identify() gives what dshost identify writes, and its errors are exceptions"""
        case = self.path("case.ini")
        with open(case, "w", encoding="utf-8") as f:
            f.write(
                "[run]\nenv = double_pendulum\n[env]\nvariant = synthetic\nwrap = false\n"
                "[identify]\npoints = 0\nbootstrap = 0\nprofile = no\n"
            )
        found = diffsim.identify(
            case, out=self.path("found"), settings={"env.n_samples": 60, "env.held_out": 20}, budget=300, recovery=0, page=False
        )
        low, high = found.parameters["inertia.2"]["interval"]
        self.assertTrue(low < found["inertia.2"] < high)
        self.assertTrue(0.001 < found.fit_rmse < 0.004 and found.heldout_rmse > 0)
        self.assertEqual((found.undetermined, len(found.parameters)), ([], 7))
        self.assertTrue((found.folder / "summary.json").exists() and found.minima[0]["within_noise"])
        self.raises(diffsim.ConfigError, "unknown parameter 'variants'", diffsim.identify, case, out="x", settings={"env.variants": 1})
        self.raises(diffsim.UsageError, "check_only is not a setting", diffsim.identify, case, out="x", check_only=True)

    def test_many(self):
        """experiments, folders of runs, landscapes; folders that are none of these"""
        with open(self.path("b.ini"), "w", encoding="utf-8") as f:
            f.write(
                "[bench]\nenvs = bounce pinball\nopts = rand cmaes\nruns = 2\n[run]\nbudget = 10\npictures = false\n"
            )
        dshost("bench", self.path("b.ini"), "--out", self.path("bench"))
        runs = diffsim.load(self.path("bench"))
        table = runs.table()
        self.assertEqual(
            [tuple(r)[:4] for r in table[["env", "opt", "seed", "evaluations"]].tolist()],
            [
                (e, o, s, 10)
                for e in ("bounce", "pinball")
                for o in ("cmaes", "rand")
                for s in sorted(set(table["seed"].tolist()))
            ],
        )
        self.assertEqual(len(runs.select(opt="rand")), 4)
        self.assertIn("<table>", runs._repr_html_())
        dshost("landscape", "--env", "bounce", "--grid", "7x5", "--out", self.path("land"))
        land = diffsim.load(self.path("land"))
        self.assertEqual((land.loss.shape, land.c0.shape, land.center.shape), ((5, 7), (7,), (3,)))
        with diffsim.make("bounce") as env:
            x = land.center.copy()
            x[:2] = land.c0[3], land.c1[2]
            self.assertEqual(env.loss(x), land.loss[2, 3])
        self.assertIn("<img", land._repr_html_())
        self.assertRaisesRegex(AttributeError, "a landscape has no 'g7'; it has ", lambda: land.g7)
        self.raises(diffsim.InputOutputError, "no such folder", diffsim.load, self.path("none"))
        os.mkdir(self.path("empty"))
        self.raises(diffsim.InputOutputError, "neither runs nor a landscape", diffsim.load, self.path("empty"))

    def test_long_list(self):
        """a list longer than a line equals the environment's, too"""
        discs = np.round(np.random.default_rng(1).uniform(3, 9, 48), 12)
        with diffsim.make("roomba", discs=discs.tolist(), jobs=1) as env:
            result = diffsim.minimize(env, "rand", 3, out=self.path("run"))
            self.same([float(v) for v in result.settings["env"]["discs"].split()], discs)
            with result.environment(jobs=1) as again, diffsim.make("roomba", discs=result.settings["env"]["discs"]) as third:
                self.assertEqual(again.loss(result.best_x), result.best_loss)
                self.assertEqual(third.loss(result.best_x), result.best_loss)
            more = diffsim.minimize(env, "rand", 5, out=self.path("run"), resume=True)
            self.assertEqual(more.evaluations, 5)

    def test_variants(self):
        """variants of an experiment have their names, as in its report; remains of a killed merge are not a
        run"""
        with open(self.path("b.ini"), "w", encoding="utf-8") as f:
            f.write(
                "[bench]\nenvs = sph ras\nopts = rand cmaes\nruns = 1\n[run]\nbudget = 5\npictures = false\n"
                "[env sph]\nplugin = analytic\nfunction = sphere\n[env ras]\nplugin = analytic\nfunction = rastrigin\n"
                "[sweep opt cmaes]\nsigma0 = 0.1 | 0.2\n"
            )
        out = self.path("bench")
        dshost("bench", self.path("b.ini"), "--out", out)
        seed = next(name for name in os.listdir(os.path.join(out, "sph", "rand")) if name.startswith("seed-"))
        for left in (f".{seed}.new", f".{seed}.old"):
            shutil.copytree(os.path.join(out, "sph", "rand", seed), os.path.join(out, "sph", "rand", left))
        runs = diffsim.load(out)
        want = [(e, o) for e in ("ras", "sph") for o in ("cmaes@sigma0=0.1", "cmaes@sigma0=0.2", "rand")]
        self.assertEqual(runs.table()[["env", "opt"]].tolist(), want)
        (one,) = runs.select(env="ras", opt="cmaes@sigma0=0.2")
        self.assertEqual((one.env_id, one.opt_id), ("analytic", "cmaes"))
        self.assertEqual(diffsim.load(one.folder).opt, one.opt)
        self.assertEqual(float(one.settings["opt"]["sigma0"]), 0.2)
        with one.environment(jobs=1) as env:
            self.assertEqual(env.loss(one.best_x), one.best_loss)

    def test_stale(self):
        """a run that was extended, or killed then, follows its record, not its older summary.json"""
        out, old = self.path("run"), self.path("old.json")
        dshost("run", "--env", "analytic", "--opt", "rand", "--budget", 10, "--pictures", "false", "--out", out)
        shutil.copy(os.path.join(out, "summary.json"), old)
        seen = []
        with diffsim.make("analytic", jobs=1) as env:

            def look(now):
                run = diffsim.load(out)
                seen.append((run.ended, run.summary, run.evaluations >= 10))
                return len(seen) == 2

            diffsim.minimize(env, "rand", 5000, out=out, resume=True, progress=look)
        self.assertEqual(seen, [("", {}, True)] * 2)
        run = diffsim.load(out)
        self.assertEqual((run.ended, run.evaluations), ("signal", len(run.history())))
        whole = run.evaluations
        shutil.copy(old, os.path.join(out, "summary.json"))
        with self.assertWarnsRegex(UserWarning, "differs from run.sqlite"):
            run = diffsim.load(out)
        self.assertEqual((run.ended, run.evaluations, run.seed, run.env), ("signal", whole, 0, "analytic"))
        self.assertEqual(run.best_loss, run.history()["loss"].min())
        command = [_library.program(), "resume", out, "--budget", "100000000", "--jobs", "1"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
            log, end = os.path.join(out, "run.sqlite-wal"), time.monotonic() + 20
            while time.monotonic() < end and not (os.path.exists(log) and os.path.getsize(log) > 100000):
                time.sleep(0.01)
            self.assertEqual((diffsim.load(out).ended, diffsim.load(out).summary), ("", {}))
            p.kill()
        run = diffsim.load(out)
        self.assertEqual((run.ended, run.summary), ("", {}))
        self.assertGreater(run.evaluations, whole)
        self.assertEqual(run.evaluations, len(run.history()))

    def test_damaged(self):
        """a damaged record is refused with the line of the host"""
        out = self.path("run")
        dshost("run", "--env", "bounce", "--opt", "rand", "--budget", "30", "--pictures", "false", "--out", out)
        with open(os.path.join(out, "run.sqlite"), "r+b") as f:
            f.seek(4096)
            f.write(b"\xa5" * 4096)
        run = diffsim.load(out)
        self.raises(diffsim.InputOutputError, "damaged", run.history)


warnings.simplefilter("error", ResourceWarning)
