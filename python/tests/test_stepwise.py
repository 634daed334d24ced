# SPDX-License-Identifier: Apache-2.0
"""Plugins in Python with stepwise control, which ppo and sac learn on, and with batches: as the same things in C."""

import os
import unittest

import numpy as np

import diffsim
from support import ALL, Case, dshost, record

PLUGINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stepwise_plugins.py")


def plugin(name):
    return f"{PLUGINS}:{name}"


class Stepwise(Case):
    """reset() and step()."""

    def test_kit(self):
        """episodes have the loss of loss() at their actions, are repeatable and end correctly: dshost check"""
        kinds = (("Gym", "20 steps of 2 numbers, 1 observed"), ("Own", "6 steps of 2 numbers, 1 observed"),
                 ("Glide", "12 steps of 1 numbers, 2 observed"), ("Lost", "5 steps of 1 numbers, 1 observed"))
        for name, episodes in kinds if ALL else kinds[:2]:
            said = dshost("check", plugin(name), "--only", "rl,scene")
            self.assertIn(episodes, said)
            self.assertNotIn("not ok", said)

    def test_space(self):
        """bounds of an action, or of the action space; parameters may set the number of steps"""
        with diffsim.make(plugin("Glide"), horizon=7, jobs=1) as env:
            self.assertTrue(env.stepwise)
            self.assertEqual((env.n, env.episodes.horizon, env.episodes.n_act, env.episodes.n_obs), (7, 7, 1, 2))
            self.same(env.x0, np.full(7, 0.1))
            place = 1 + 0.1 * np.cumsum(env.x0)
            self.assertAlmostEqual(env.loss(env.x0), (place**2).sum(), 12)
            self.assertEqual(env.trajectory(env.x0).metrics["place"].shape, (8,))
        with diffsim.make(plugin("Gym"), jobs=1) as env:
            self.same(env.lower, np.tile([-1.0, -2.0], 20))
            self.same(env.upper, np.tile([1.0, 2.0], 20))
        with diffsim.make(plugin("Own"), jobs=1) as env:
            self.same(env.loss_and_grad(env.upper)[1], 2 * env.upper)

    def test_scene(self):
        """an episode that ended early has fewer frames, also with a metric of one number; a start may set all
        steps"""
        for name, metrics in (("Shown", ["goal"]), ("Seen", [])):
            with diffsim.make(plugin(name), jobs=1) as env:
                self.same(env.x0, np.full(9, 0.25))
                seen = env.trajectory(env.x0)
                self.same(seen.bodies["it"].positions[:, 0, 0], np.arange(5) / 4)
                self.assertEqual([m for m in seen.metrics if m == "goal"], metrics)

    def test_learners(self):
        """ppo and sac learn on it, the same for every number of jobs, and continue after an end"""
        for method, keywords in (("ppo", {"envs": 2, "n_steps": 24}), ("sac", {"hidden": [8, 8], "batch": 16})):
            runs = []
            for jobs in (1, 2):
                out = self.path(f"{method}-{jobs}")
                with diffsim.make(plugin("Glide"), jobs=jobs) as env:
                    if jobs == 2:
                        diffsim.minimize(env, method, 4, seed=2, out=out, **keywords)
                    diffsim.minimize(env, method, 6, seed=2, out=out, resume=jobs == 2, **keywords)
                runs.append(record(out))
            self.assertEqual(runs[0], runs[1])
            self.assertEqual(diffsim.load(out).evaluations, 6)

    def test_wrong(self):
        """errors of one are a line that says what to do"""
        for name, words in (
            ("Unfinished", "horizon, the steps of an episode, has to be a whole number of at least 1, it is None"),
            ("Discrete", "its action_space is not a Box"),
            ("Nowhere", "reset.. gave an observation that is not finite"),
            ("Wide", "reset.. gave 1048577 numbers as observation: at most 1048576 are possible"),
            ("Untold", "create.. failed: .*step.action. says truncated at the horizon: set time_limit = True"),
        ):
            self.raises(diffsim.PluginError, words, diffsim.make, plugin(name))
        for name, words in (
            ("Short", "step.action. returned float: expected .observation, reward., .observation, reward, terminated., or the five"),
            ("Changing", "step.action. gave 2 numbers as observation, expected 1"),
            ("Lost", "step 3: reward or observation is not finite"),
        ):
            with diffsim.make(plugin(name), jobs=1) as env:
                self.raises(diffsim.EvaluationError, words, env.loss, env.x0)
        with diffsim.make(plugin("Lost"), jobs=1) as env:
            self.assertEqual(env.evaluate([[1, 0, 0, 0, 0]]).outcome[0], "diverged")
        self.no_new_children()


class Batches(Case):
    """loss_batch() and loss_and_grad_batch()."""

    def test_kit(self):
        """many points in one call give the bits of single calls: dshost check"""
        for name in ("Rows", "Noisy"):
            self.assertNotIn("not ok", dshost("check", plugin(name), "--only", "ext"))

    def test_many(self):
        """a batch is one call with a separate result for each point; only a point without a loss has diverged"""
        with diffsim.make(plugin("Rows"), jobs=1, on_failure="inf") as env:
            x = env.random(300)
            x[7, 0] = 0.95
            far = x[:, 0] > 0.9
            loss, grad = env.loss_and_grad(x)
            for k in range(20):
                self.same(env.loss_and_grad(x[k])[0], loss[k])
            self.assertTrue(np.isinf(loss[far]).all() and np.isfinite(loss[~far]).all())
            self.same(grad[~far], 2 * x[~far])
            self.same(env.loss(x), loss)
            self.assertIn("loss(x) is nan", env.evaluate(x[[7]]).message[0])
        with diffsim.make(plugin("Twice"), jobs=1) as env:
            self.assertEqual(env.loss([0.5, 0, 0, 0.5]), 0.5)
        with diffsim.make(plugin("Crowd"), jobs=1, on_failure="inf") as env:
            for loss in (env.loss(x), env.loss_and_grad(x)[0]):
                self.assertGreater(np.isfinite(loss).sum(), 200)

    def test_failed(self):
        """a batch that fails as a whole is evaluated point by point, with noise"""
        with diffsim.make(plugin("Noisy"), jobs=1) as env:
            x = env.random(64)
            x[3] = 0.95
            self.same(env.loss(x), x[:, 0] * x[:, 1])
        with diffsim.make(plugin("Odd"), jobs=1) as env:
            self.raises(diffsim.EvaluationError, r"the losses of a batch have the shape \(\), expected \(1,\)", env.loss, env.x0)


if __name__ == "__main__":
    unittest.main()
