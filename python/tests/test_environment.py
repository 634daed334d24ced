# SPDX-License-Identifier: Apache-2.0
"""Environments from Python: the values of dshost eval to the last bit, batches, channels, scenes; bad input,
crashes, Ctrl-C, forks and threads give exceptions with clear words and leave no process."""

import ctypes
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import diffsim
from diffsim import _library
from support import CHANNELS, FAULTY, Case, dshost, evaluated, needs_faulty

SAMPLE = {
    "analytic": {"function": "rosenbrock", "dim": 5},
    "pinball": {},
    "cartpole": {},
    "swing": {},
    "bounce": {},
    "torus": {"preset": "small"},
    "ball_wall": {},
}


class Values(Case):
    def test_bits(self):
        """losses and gradients equal dshost eval to the last bit, one by one and in batches"""
        for name, settings in SAMPLE.items():
            with diffsim.make(name, jobs=2, **settings) as env:
                x = env.random(3, seed=1)
                loss, grad = env.loss_and_grad(x) if env.has_gradient else (env.loss(x), None)
                said = evaluated(name, x[0], **settings)
                self.assertEqual(said["loss"], loss[0], name)
                self.same(env.loss(x), loss, name)
                if grad is not None:
                    self.same(said["gradient"], grad[0], name)
                for _ in range(2):  # the second time by the fast path
                    self.assertEqual(env.loss(x[1]), loss[1], name)
                    if grad is not None:
                        one = env.loss_and_grad(x[1])
                        self.assertEqual(one[0], loss[1], name)
                        self.same(one[1], grad[1], name)
                self.same(env.grad(x[2]) if grad is not None else [], grad[2] if grad is not None else [])
        self.no_new_children()

    def test_isolation(self):
        """isolation, jobs and threads change nothing"""
        x = None
        for options in ({}, {"jobs": 1}, {"jobs": 3}, {"threads": 2}, {"isolation": "none"}):
            with diffsim.make("cartpole", **options) as env:
                x = env.random(5, seed=2) if x is None else x
                now = env.loss_and_grad(x)
                before = now if not options else before
                self.same(now[0], before[0])
                self.same(now[1], before[1])

    def test_noise(self):
        """without a key there is no noise, as in dshost eval; keys depend on seed and number, noise on the key"""
        with diffsim.make("analytic", noise=0.5, seed=7) as env, diffsim.make("analytic", noise=0.5, seed=8) as other:
            self.assertTrue(env.stochastic)
            self.assertEqual(env.loss(env.x0), evaluated("analytic", env.x0, noise=0.5)["loss"])
            self.assertEqual(env.loss(env.x0), env.loss(env.x0, 0))
            self.assertEqual(env.loss(env.x0, env.noise_key(2)), env.loss(env.x0, env.noise_key(2)))
            self.assertNotEqual(env.loss(env.x0, env.noise_key(1)), env.loss(env.x0, env.noise_key(2)))
            self.assertNotEqual(env.noise_key(1), other.noise_key(1))
            keys = [env.noise_key(i) for i in (1, 2, 3)]
            x = np.tile(env.x0, (3, 1))
            self.same(env.loss(x, keys), [env.loss(env.x0, k) for k in keys])
            self.same(env.loss(x, 0), np.full(3, env.loss(env.x0, 0)))

    def test_scenes(self):
        """a scene as a mapping is the same file; densities of points, of an episode, of a mesh"""
        scene = {
            "scene": {"gravity": [0, -1, 0]},
            "material dough": {"youngs_modulus": "variable 1000..20000 log start 5000"},
            "body lump": {"shape": "sphere", "material": "dough", "center": [0.5, 0.12, 0.5], "radius": 0.12, "count": 8000},
            "tool ball": {"shape": "sphere", "radius": 0.05, "position": (0.5, 0.3, 0.5), "speed": 0.01},
            "target cake": {"shape": "cylinder", "center": [0.5, 0.06, 0.5], "radius": 0.14, "height": 0.12, "count": 8000},
        }
        path = self.path("own.ini")
        with open(path, "w", encoding="utf-8") as f:
            for section, keys in scene.items():
                f.write(f"[{section}]\n")
                for key, value in keys.items():
                    f.write(f"{key} = {value if isinstance(value, (str, int, float)) else ' '.join(map(str, value))}\n")
        with diffsim.make("particles", scene=scene, preset="small") as env, diffsim.make(
            "particles", scene=path, preset="small"
        ) as same:
            x = env.random(seed=3)
            self.assertEqual(env.variables[-1].name, "dough.youngs_modulus")
            self.same(env.loss_and_grad(x)[1], same.loss_and_grad(x)[1])
            episode = env.trajectory(env.x0)
        end = episode.bodies["lump"].positions[-1]
        t = diffsim.density(episode, nodes=32)
        self.assertEqual(t.shape, (32, 32, 32))
        self.assertAlmostEqual(t.sum(), len(end) / 64**2, places=12)
        centre = np.stack(np.meshgrid(*[np.arange(32) / 32] * 3, indexing="ij"), axis=-1)
        np.testing.assert_allclose((centre * t[..., None]).sum(axis=(0, 1, 2)) / t.sum(), end.mean(axis=0), atol=1e-12)
        np.save(self.path("points.npy"), end)
        np.testing.assert_allclose(diffsim.density(self.path("points.npy"), nodes=32), t, rtol=0, atol=1e-15)
        with diffsim.make("particles", scene=scene, preset="small", target=t) as env:
            # the episode ends on the density that was made of it
            self.assertLess(env.trajectory(env.x0).metrics["density"][-1], 1e-12)
        with open(self.path("cube.obj"), "w", encoding="utf-8") as f:
            f.writelines(f"v {i >> 2 & 1} {i >> 1 & 1} {i & 1}\n" for i in range(8))
            f.write("f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n")
        cube = diffsim.density(self.path("cube.obj"), scale=0.25, center=(0.25, 0.25, 0.25), count=50000, particles=4000)
        self.assertAlmostEqual(cube.sum(), 4000 / 128**2, places=9)
        inside = cube[18:31, 18:31, 18:31]  # a node inside has the mass of its cell
        self.assertAlmostEqual(inside.mean(), 4000 / 128**2 / 16**3, delta=6e-7)
        self.assertEqual(cube[:15].sum() + cube[34:].sum(), 0)
        self.raises(diffsim.ConfigError, "yougs_modulus", diffsim.make, "particles", scene={**scene, "material dough": {"yougs_modulus": 3}})
        self.raises(TypeError, "expected a mapping of keys", diffsim.make, "particles", scene={"body a": 3})
        self.raises(diffsim.UsageError, "not the name of a section", diffsim.make, "particles", scene={"a]b": {}})
        self.raises(diffsim.UsageError, "is at 1.2 0 0: the grid of 64 nodes", diffsim.density, [[1.2, 0.0, 0.0]])
        self.raises(diffsim.UsageError, r"expected \(count, 3\)", diffsim.density, [1.0, 2.0])
        self.no_new_children()

    def test_input(self):
        """lists, single precision, whole numbers, views are taken, and nothing that was given is changed"""
        with diffsim.make("analytic", dim=4) as env:
            x = np.array([1.0, -2.0, 0.5, 3.0])
            kept, loss = x.copy(), env.loss(x)
            twice = np.repeat(x, 2)[::2]
            for given in (
                x.tolist(),
                tuple(x),
                x.astype(np.float32),
                twice,
                x.astype(object).tolist(),
                np.asfortranarray(x),
            ):
                self.assertEqual(env.loss(given), loss)
            self.assertEqual(env.loss([1, 2, 3, 4]), env.loss([1.0, 2.0, 3.0, 4.0]))
            self.same(x, kept)
            loss, grad = env.loss_and_grad(x)
            again = grad.copy()
            env.loss_and_grad(-x)
            self.same(grad, again, "a returned result does not change")
            self.assertIs(type(loss), float)
            frozen = x.copy()
            frozen.setflags(write=False)
            self.assertEqual(env.loss(frozen), loss)

    def test_describe(self):
        """names, bounds, space, settings"""
        with diffsim.make("cartpole", links=2, settings={"steps": 50}) as env:
            self.assertEqual(env.n, len(env.variables))
            v = env.variables[0]
            self.assertTrue(v.name and v.unit)
            self.assertEqual((v.lower, v.upper), (env.lower[0], env.upper[0]))
            self.assertEqual(env.space.names[0], v.name)
            self.assertEqual(env.settings, {"links": 2, "steps": 50})
            self.assertIn("links=2", repr(env))
            self.assertIn('<img src="data:image/png;base64,', env._repr_html_())
            with self.assertRaises(ValueError):
                env.x0[0] = 1
            with pickle.loads(pickle.dumps(env)) as again:
                self.assertEqual(again.loss(env.x0), env.loss(env.x0))

    def test_cheap(self):
        """calls leak nothing; their cost is printed, not judged"""
        with diffsim.make("analytic", isolation="none") as env:
            x = np.array(env.x0)
            for _ in range(1000):
                env.loss(x), env.loss_and_grad(x), env.loss(x[None])
            before, best = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 1.0
            for _ in range(100):
                begin = time.perf_counter()
                for _ in range(200):
                    env.loss(x)
                best = min(best, (time.perf_counter() - begin) / 200)
                for _ in range(200):
                    env.loss_and_grad(x)
                env.loss(np.tile(x, (50, 1)))
            self.assertLess(
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 2048, "KiB after 40000 evaluations"
            )
            print(f"# env.loss on analytic, in this process: {1e6 * best:.2f} us")


class Channels(Case):
    def test_residuals(self):
        """residuals, J v, J' w and the Jacobian agree with loss and gradient"""
        with diffsim.make("analytic", function="rosenbrock", dim=4, jobs=2) as env:
            x, rng = env.random(seed=3), np.random.default_rng(0)
            r, (loss, grad) = env.residuals(x), env.loss_and_grad(x)
            self.assertAlmostEqual((r**2).sum() / loss, 1, places=12)
            jacobian = env.jacobian(x)
            self.assertEqual(jacobian.shape, (r.size, env.n))
            np.testing.assert_allclose(2 * jacobian.T @ r, grad, rtol=1e-10)
            v, w = rng.normal(size=env.n), rng.normal(size=r.shape)
            np.testing.assert_allclose(env.jvp(x, v), jacobian @ v, rtol=1e-12)
            np.testing.assert_allclose(env.vjp(x, w), jacobian.T @ w, rtol=1e-12)
            many = env.random(3, seed=4)
            self.same(env.residuals(many)[1], env.residuals(many[1]))
            self.same(env.jvp(many, v)[2], env.jvp(many[2], v))
            self.same(
                env.channel_values(x)["residuals" if "residuals" in env.channels else next(iter(env.channels))], r
            )

    @needs_faulty
    def test_kinds(self):
        """channels of all roles, shapes and types; products are adjoint; second derivatives"""
        with diffsim.make(CHANNELS, jobs=2) as env:
            x, many, rng = env.random(seed=1), env.random(3, seed=2), np.random.default_rng(0)
            one, three = env.channel_values(x), env.channel_values(many)
            for name, ch in env.channels.items():
                self.assertEqual((one[name].shape, one[name].dtype), (ch.shape, ch.dtype))
                self.assertEqual(three[name].shape, (3, *ch.shape))
                self.same(three[name][2], env.channel_values(many[2], name)[name])
                if "jv" in ch.can and "jtv" in ch.can:
                    v, w = rng.normal(size=env.n), rng.normal(size=ch.shape)
                    self.assertAlmostEqual((w * env.jvp(x, v, name)).sum(), env.vjp(x, w, name) @ v, places=13)
                    self.same(env.vjp(many, w, name)[1], env.vjp(many[1], w, name))
            self.assertEqual(
                {ch.role for ch in env.channels.values()}, {"residual", "constraint", "image", "state", "loss"}
            )
            h, v = 1e-5, np.array([1.0, -0.5, 0.25])
            np.testing.assert_allclose(env.hvp(x, v), (env.grad(x + h * v) - env.grad(x - h * v)) / (2 * h), atol=1e-8)
            self.assertAlmostEqual(one["cost"].item(), env.loss(x))

    def test_refused(self):
        """channels that there are not, wrong shapes"""
        with diffsim.make("pinball") as env, diffsim.make("analytic", dim=4) as other:
            self.raises(diffsim.UnsupportedError, "pinball has no residuals", env.residuals, env.x0)
            self.raises(diffsim.UsageError, "no channel 'error'; it has ", env.channel_values, env.x0, "error")
            self.raises(diffsim.UsageError, r"v has shape \(3,\): expected \(4,\)", other.jvp, other.x0, [1, 2, 3])


class Scenes(Case):
    def test_metrics(self):
        """metrics equal dshost eval --metrics, scenes --trajectory"""
        import json

        file = self.path("t.npz")
        said = json.loads(dshost("eval", "--env", "cartpole", "--metrics", "--trajectory", file, "--json"))
        with diffsim.make("cartpole") as env:
            scene = env.trajectory(env.x0)
            for name, values in env.metrics(env.x0).items():
                self.same(np.array([np.nan if v is None else v for v in said["metrics"][name]]), values, name)
            scene.save(self.path("u.npz"))
            self.assertEqual(scene.loss, env.loss(env.x0))
            env.loss(env.upper)
            self.assertEqual(env.trajectory().loss, env.loss(env.upper), "x=None is the point evaluated last")
        with np.load(file) as theirs, np.load(self.path("u.npz")) as ours:
            for key in ("time", "frame", "box", "bodies", "tip_poses", "link1_shape", "target_role"):
                self.assertTrue(np.array_equal(theirs[key], ours[key]) or theirs[key].shape[0] == 1, key)
        self.assertEqual(scene.units["tip_x"], "m")
        self.assertEqual(scene.bodies["tip"].positions.shape, (scene.frames, 1, 3))

    def test_saved_scenes(self):
        """Scene.save() writes the arrays of --trajectory: the same names, shapes and values; few frames have all times"""
        for name, settings in (("pinball", {}), ("swing", {"duration": 0.15, "hold": 0.1}), ("rope", {"preset": "small"})):
            file, flags = self.path(name + ".npz"), [f"--set=env.{k}={v}" for k, v in settings.items()]
            dshost("eval", "--env", name, *flags, "--trajectory", file)
            with diffsim.make(name, jobs=1, **settings) as env:
                env.trajectory(env.x0).save(self.path("all.npz"))
                few = env.trajectory(env.x0, frames="few")
                few.save(self.path("few.npz"))
            with np.load(file) as theirs, np.load(self.path("all.npz")) as ours, np.load(self.path("few.npz")) as some:
                self.assertEqual(ours.files, theirs.files)
                self.assertEqual(some.files, theirs.files)
                for key in theirs.files:
                    self.assertEqual((ours[key].shape, ours[key].dtype.kind), (theirs[key].shape, theirs[key].dtype.kind), key)
                    if ours[key].dtype.kind == "U":
                        self.assertEqual(ours[key].tolist(), theirs[key].tolist(), key)
                    else:
                        self.same(ours[key], theirs[key], key)
                metric = next(key for key in some.files if key.startswith("metrics/"))
                self.same(some["time"], theirs["time"])
                self.assertEqual(some[metric].shape, some["time"].shape)
                self.same(some["time"][some["frame"].astype(int)], few.time)

    def test_pictures(self):
        """pictures of frames, flat and not, as arrays"""
        for name, settings in (("cartpole", {}), ("torus", {"preset": "small"})):
            with diffsim.make(name, **settings) as env:
                scene = env.trajectory(env.upper)
                first, last = scene.render(0, (120, 90)), scene.render(-1, (120, 90))
                self.assertEqual((last.shape, last.dtype), ((90, 120, 3), np.uint8))
                self.assertGreater((last != 255).any(axis=2).mean(), 0.02)
                self.assertGreater((last != first).any(axis=2).sum(), 20)
        with diffsim.make("cartpole") as env:
            film = env.render(env.upper, None, (64, 48))
            self.assertEqual(film.shape, (101, 48, 64, 3))
            self.same(film[7], env.render(env.upper, 7, (64, 48)))
            self.raises(diffsim.UsageError, "frame is 101: there are 101 frames", env.render, env.upper, 101)
            self.raises(diffsim.UsageError, "16 to 8192", env.render, env.upper, 0, (4, 4))
        with diffsim.make("analytic") as env:
            self.raises(diffsim.UnsupportedError, "analytic has no scene", env.render, env.x0)
        block = scene._block([0, 5])
        for bad in (b"", b"junk" * 100, block[:-8], block + b"12345678", block[:40] + b"\xff" * 8 + block[48:]):
            with self.assertRaises(diffsim.PluginError):
                _library.dshost("frames", data=bad)
        self.assertEqual(len(_library.dshost("frames", data=block)), 2 * 480 * 360 * 3)
        self.raises(diffsim.UsageError, "frame 2 does not exist", lambda: _library.dshost("frames", "--frame", "2", data=block))
        self.no_new_children()


class Wrong(Case):
    def test_settings(self):
        """parameters are refused with the line of the host, and its kind"""
        e = self.raises(
            diffsim.ConfigError,
            "unknown parameter 'presett'.*did you mean 'preset'",
            diffsim.make,
            "torus",
            presett="small",
        )
        self.assertEqual(e.status, 3)
        self.raises(diffsim.ConfigError, "dim = -1", diffsim.make, "analytic", dim=-1)
        self.raises(diffsim.ConfigError, "nan", diffsim.make, "analytic", noise=float("nan"))
        self.raises(diffsim.PluginError, "no environment 'cartpol'.*did you mean 'cartpole'", diffsim.make, "cartpol")
        self.raises(diffsim.UsageError, "a text of one line", diffsim.make, "torus", preset="small\nseed = 1")
        self.raises(diffsim.UsageError, "'a = b' is not a name", diffsim.make, "torus", settings={"a = b": 1})
        self.raises(TypeError, "settings = 3: expected a mapping", diffsim.make, "torus", settings=3)
        for text, why in (
            ("sphere ; rastrigin", "begins a comment"),
            ("; sphere", "begins a comment"),
            (" sphere", "a blank at an end"),
            ("sph\udce4re", "not UTF-8 text"),
            ("/" + "long/" * 1600 + "name", "too long for a line.*a shorter path"),
        ):
            self.raises(diffsim.UsageError, why, diffsim.make, "analytic", settings={"function": text})
        with diffsim.make("analytic", function="sphere", dim=3, lower=" -2, -1*2 ", jobs=1) as env:
            self.same(env.lower, [-2.0, -1.0, -1.0])
        self.raises(
            diffsim.UsageError,
            "preset is given twice",
            diffsim.make,
            "torus",
            preset="small",
            settings={"preset": "full"},
        )
        self.raises(TypeError, "preset = None", diffsim.make, "torus", preset=None)
        self.raises(diffsim.UsageError, "isolation is 'thread': allowed", diffsim.make, "torus", isolation="thread")
        self.raises(diffsim.UsageError, "jobs is 5000: allowed are 0 to 1024", diffsim.make, "torus", jobs=5000)
        self.raises(TypeError, "seed is 1.5: expected a whole number", diffsim.make, "torus", seed=1.5)
        self.raises(diffsim.UsageError, "timeout is -1", diffsim.make, "torus", timeout=-1)
        self.raises(TypeError, "the name of the environment is 5: ", diffsim.make, 5)

    def test_points(self):
        """points of a wrong shape, kind, or place"""
        with diffsim.make("cartpole") as env:
            env.loss(env.x0)
            for _ in range(2):
                self.raises(
                    diffsim.UsageError,
                    r"x has shape \(3,\): cartpole takes \(200,\), or \(k, 200\)",
                    env.loss,
                    [1, 2, 3],
                )
                self.raises(diffsim.UsageError, r"x has shape \(2, 3\)", env.loss, np.zeros((2, 3)))
                self.raises(diffsim.UsageError, r"x has shape \(0, 200\)", env.loss, np.zeros((0, 200)))
                self.raises(diffsim.UsageError, r"x has shape \(1, 1, 200\)", env.loss_and_grad, np.zeros((1, 1, 200)))
                self.raises(TypeError, "expected real numbers, not dtype <U5", env.loss, ["hello"] * 200)
                self.raises(TypeError, "not complex numbers", env.loss, np.zeros(200, complex))
                self.raises(diffsim.UsageError, "x: expected rows of equal length", env.loss, [[0.0], [0.0, 1.0]])
                self.raises(TypeError, "not dtype object", env.loss, np.array([None] * 200))
                bad = np.array(env.x0)
                bad[7] = np.nan
                self.raises(diffsim.UsageError, r"nan", env.loss, bad)
                bad[7] = env.upper[7] * (1 + 1e-15)
                self.raises(diffsim.UsageError, "bounds", env.loss, bad)
                self.raises(diffsim.UsageError, "point 1, variable 7 is ", env.loss, np.stack([env.x0, bad]))
                self.raises(diffsim.UsageError, "noise_key", env.loss, env.x0, -1)
                self.raises(diffsim.UsageError, "noise_key", env.loss, env.x0, 0.5)
            self.assertEqual(env.loss(env.clip(bad)), env.loss(np.where(np.arange(200) == 7, env.upper, env.x0)))
        with diffsim.make("cartpole_gym") as env:
            self.raises(diffsim.UnsupportedError, "cartpole_gym has no gradient", env.loss_and_grad, env.x0)
        with diffsim.make("analytic") as env:
            self.raises(diffsim.UnsupportedError, "no stepwise control", lambda: env.episodes)

    def test_closed(self):
        """a closed environment reports it, and may be closed again"""
        env = diffsim.make("cartpole")
        env.loss(env.x0)
        env.loss(env.x0)
        env.close()
        env.close()
        for call in (env.loss, env.loss_and_grad, env.residuals, env.metrics, env.render, lambda x: env.noise_key(1)):
            self.raises(diffsim.ClosedError, r"cartpole was closed: make\(\) another one", call, np.array(env.x0))
        self.assertIn("closed", repr(env))
        self.no_new_children()

    @needs_faulty
    def test_failures(self):
        """crashes, hangs and other failures are exceptions; the environment continues to work"""
        for fault, outcome, words in (
            ("segv", "crashed", "SIGSEGV|signal 11|Segmentation"),
            ("abort", "crashed", "."),
            ("exit", "crashed", "exit"),
            ("loop", "timeout", "0.2"),
            ("nan", "invalid", "."),
            ("error", "error", "."),
            ("diverge", "diverged", "."),
            ("infeasible", "infeasible", "."),
        ):
            with diffsim.make(FAULTY, fault=fault, above=0.5, jobs=1, timeout=0.2) as env:
                good, bad = np.array([0.1, 0.2]), np.array([0.9, 0.2])
                for _ in range(2):
                    self.assertAlmostEqual(env.loss(good), 0.05, places=15)
                    e = self.raises(diffsim.EvaluationError, words, env.loss, bad)
                    self.assertEqual((e.outcome, e.status), (outcome, 5), fault)
                e = self.raises(diffsim.EvaluationError, "row 1: ", env.loss_and_grad, [good, bad, good])
                self.assertEqual(e.evaluation.outcome, ["ok", outcome, "ok"])
                self.same(e.evaluation.loss, [env.loss(good), np.inf, env.loss(good)])
                self.same(np.isnan(e.evaluation.grad), [[False] * 2, [True] * 2, [False] * 2])
            with diffsim.make(FAULTY, fault=fault, above=0.5, jobs=2, timeout=0.2, on_failure="inf") as env:
                self.same(env.loss([good, bad]), [env.loss(good), np.inf])
                loss, grad = env.loss_and_grad(bad)
                self.assertTrue(loss == np.inf and np.isnan(grad).all())
                loss, grad = env.loss_and_grad(bad)
                self.assertTrue(loss == np.inf and np.isnan(grad).all())
        with diffsim.make(FAULTY, fault="nangrad", jobs=1) as env:
            self.assertAlmostEqual(env.loss(good), 0.05)
            self.assertEqual(self.raises(diffsim.EvaluationError, ".", env.loss_and_grad, good).outcome, "bad_gradient")
        self.raises(diffsim.PluginError, ".", diffsim.make, FAULTY, fault="segv", stage="create")
        self.no_new_children()


class Processes(Case):
    def test_threads(self):
        """threads may share an environment, and each gets its own results"""
        with diffsim.make("cartpole", jobs=2) as env:
            x = env.random(8, seed=5)
            want = env.loss(x)
            got, wrong = {}, []

            def work(i):
                try:
                    for _ in range(20):
                        got.setdefault(i, set()).add(env.loss(x[i]))
                        if i % 3 == 0:
                            env.loss(x)
                except Exception as e:  # it is checked below
                    wrong.append(e)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(wrong, [])
            self.assertEqual(got, {i: {want[i]} for i in range(8)})
            self.same(env.loss(x), want)

    def test_fork(self):
        """in a forked process the parent's environments report it, and new ones work; the parent continues"""
        env = diffsim.make("cartpole", jobs=1)
        loss = env.loss(env.x0)
        search = diffsim.optimizer("cmaes", env, budget=10)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                said = 0
                for call in (lambda: env.loss(env.x0), lambda: env.loss(np.array(env.x0)), search.ask):
                    try:
                        call()
                    except diffsim.ClosedError as e:
                        said += f"belongs to process {os.getppid()}" in str(e)
                env.close()
                search.close()
                with diffsim.make("cartpole", jobs=1) as own:
                    code = 0 if said == 3 and own.loss(own.x0) == loss else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(env.loss(env.x0), loss)
        self.assertIsNotNone(search.ask())
        search.close()
        env.close()
        self.no_new_children()

    @needs_faulty
    def test_interrupt(self):
        """Ctrl-C ends an evaluation that hangs; the environment can be used again, and no process is left"""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        self.addCleanup(signal.signal, signal.SIGINT, before)
        env = diffsim.make(FAULTY, fault="sleep", above=0.5, jobs=2)
        good, bad = np.array([0.1, 0.2]), np.array([0.9, 0.0])
        for call in (
            lambda: env.loss(bad),
            lambda: env.loss_and_grad(bad),
            lambda: env.loss([bad, good, bad]),
            lambda: env.trajectory(bad),
        ):
            for _ in range(3):
                self.assertAlmostEqual(env.loss(good), 0.05)
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            begin = time.monotonic()
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                call()
            timer.join()
            self.assertLess(time.monotonic() - begin, 8)
        self.same(env.loss([good, good]), [env.loss(good)] * 2)
        self.assertFalse(env.closed)
        env.close()
        self.no_new_children()

    def test_exit(self):
        """a program may end with living workers, and by an exception: no worker stays, and there is no output"""
        for end in ("", "raise SystemExit(3)", "import os; os.kill(os.getpid(), 9)"):
            code = f"import diffsim, os; e = diffsim.make('cartpole', jobs=2); e.loss(e.random(4)); s = diffsim.optimizer('bo', e); s.ask(); print(os.getpid(), flush=True)\n{end}"
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self.assertEqual((done.returncode, done.stderr), ({"": 0, "raise SystemExit(3)": 3}.get(end, -9), b""), end)
            mark = f"PPid:\t{int(done.stdout)}\n"
            for _ in range(100):
                left = [p for p in filter(str.isdigit, os.listdir("/proc")) if mark in _status(p)]
                if not left:
                    break
                time.sleep(0.02)
            self.assertEqual(left, [], end)


def _status(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""
