# SPDX-License-Identifier: Apache-2.0
"""Gymnasium: every environment with stepwise control, one by one and as vectors, by its own checkers; Stable-Baselines3 learns."""

import json
import os
import threading
import unittest
import warnings

import numpy as np

import diffsim
from support import Case, dshost

try:
    import gymnasium
except ImportError:
    gymnasium = None
try:
    import stable_baselines3
except ImportError:
    stable_baselines3 = None

SMALL = {
    "assembly",
    "chopsticks",
    "fluid",
    "move",
    "pinch",
    "rollingpin",
    "rope",
    "table",
    "torus",
    "triplemove",
    "writer",
}


def options(name):
    return {"preset": "small"} if name in SMALL else {}


@unittest.skipIf(gymnasium is None, "there is no Gymnasium")
class Gymnasium(Case):
    def test_complete(self):
        """all environments with stepwise control are registered"""
        listed = {p["id"] for p in json.loads(dshost("list", "--json")) if "ds.env.steps/1" in p.get("extensions", [])}
        listed.remove("cloth")  # it has steps with some scenes only
        self.assertEqual(listed, set(diffsim.gym.STEPWISE))
        self.assertTrue({diffsim.gym.gym_id(name) for name in listed} <= set(gymnasium.registry))

    def test_imports(self):
        """both orders of import register, gymnasium.make() imports diffsim, and diffsim alone does not import
        Gymnasium"""
        import subprocess
        import sys

        for code in (
            "import diffsim, sys; assert 'gymnasium' not in sys.modules; import gymnasium as g; g.make('diffsim/Cartpole-v0')",
            "import gymnasium as g, diffsim; g.register_envs(diffsim); g.make('diffsim/Cartpole-v0')",
            "import gymnasium as g; g.make('diffsim:diffsim/Cartpole-v0'); g.make_vec('diffsim:diffsim/Torus-v0', num_envs=2, preset='small')",
            "import diffsim; diffsim.gym.Env('cartpole')",
        ):
            subprocess.run(
                [sys.executable, "-W", "error::UserWarning", "-c", code],
                check=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )

    def test_check_env(self):
        """gymnasium's and Stable-Baselines3's check_env pass on all of them"""
        from gymnasium.utils.env_checker import check_env

        for name in diffsim.gym.STEPWISE:
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                env = gymnasium.make(
                    "diffsim:" + diffsim.gym.gym_id(name), render_mode="rgb_array", size=(160, 120), **options(name)
                )
                check_env(env.unwrapped)
                env.close()
                if stable_baselines3 is not None:
                    from stable_baselines3.common.env_checker import check_env as sb3_check_env

                    env = gymnasium.make(diffsim.gym.gym_id(name), **options(name))
                    sb3_check_env(env)
                    env.close()
        self.no_new_children()

    def test_episode(self):
        """an episode has the loss of evaluate(); rewards sum to minus the loss; termination and truncation
        differ"""
        for name, ends in (
            ("pendulum", {"terminated", "truncated"}),
            ("cartpole", {"terminated"}),
            ("cartpole_gym", {"terminated", "truncated"}),
        ):
            env = gymnasium.make(diffsim.gym.gym_id(name))
            env.action_space.seed(1)
            env.reset(seed=4)
            over, total, steps = False, 0.0, 0
            while not over:
                _, reward, terminated, truncated, info = env.step(env.action_space.sample())
                total, over, steps = total + reward, terminated or truncated, steps + 1
            self.assertIn("terminated" if terminated else "truncated", ends)
            inner = env.unwrapped.simulation
            if not inner.stochastic:
                self.assertEqual(inner.loss(info["x"]), info["loss"], name)
            with self.assertRaises(diffsim.UsageError):
                env.unwrapped.step(env.action_space.sample())
            env.close()

    def test_seeds(self):
        """equal seeds give equal episodes, alone and in a vector; others give others"""
        one = gymnasium.make("diffsim/CartpoleGym-v0", start="random")
        many = gymnasium.make_vec(
            "diffsim/CartpoleGym-v0", num_envs=3, vectorization_mode="vector_entry_point", jobs=2, start="random"
        )
        first, _ = many.reset(seed=10)
        for i in range(3):
            self.same(one.reset(seed=10 + i)[0], first[i])
        self.assertFalse(np.array_equal(first[0], first[1]))
        actions = (
            np.random.default_rng(0)
            .uniform(many.single_action_space.low, many.single_action_space.high, (40, 3, 1))
            .astype(np.float32)
        )
        seen = [many.step(a) for a in actions]
        one.reset(seed=11)
        over = False
        for k, a in enumerate(actions):
            if over:
                self.assertEqual(
                    (seen[k][1][1], bool(seen[k][2][1])), (0.0, False), "the step after an end begins the next episode"
                )
                break
            obs, reward, terminated, truncated, _ = one.step(a[1])
            self.same(seen[k][0][1], obs)
            self.assertEqual((seen[k][1][1], seen[k][2][1], seen[k][3][1]), (reward, terminated, truncated))
            over = terminated or truncated
        self.assertTrue(over, "cartpole_gym falls within 40 random steps")
        many.close()
        one.close()

    def test_vectors(self):
        """jobs change nothing in a vector of environments; too many, and wrong actions, are refused"""
        runs = []
        for jobs in (1, 3):
            v = gymnasium.make_vec(
                "diffsim/Cartpole-v0", num_envs=5, vectorization_mode="vector_entry_point", jobs=jobs, steps=20
            )
            v.reset(seed=1)
            v.action_space.seed(2)
            runs.append([v.step(v.action_space.sample()) for _ in range(45)])
            v.close()
        for a, b in zip(*runs):
            for part in range(4):
                self.same(a[part], b[part])
        self.raises(diffsim.UsageError, "num_envs is 65: allowed are 1 to 64", diffsim.gym.VectorEnv, "cartpole", 65)
        self.raises(diffsim.UnsupportedError, "bounce has no stepwise control", diffsim.gym.Env, "bounce")
        env = diffsim.gym.Env("cartpole")
        env.reset(seed=0)
        self.raises(diffsim.UsageError, "outside of its bounds", env.step, [1e6, 0.0])
        env.close()

    def test_wrong(self):
        """wrong actions, seeds, options and orders: one line each, and the episode continues"""
        usage = diffsim.UsageError
        env = diffsim.gym.Env("cartpole_gym")
        self.raises(usage, "no episode has begun: call reset", env.step, [0.0])
        env.reset(seed=1)
        for kind, words, action in (
            (usage, "number 0 of the action is nan", [np.nan]),
            (usage, "number 0 of the action is inf", [np.inf]),
            (usage, "number 0 of the action is 5, outside of its bounds -1 and 1", [5.0]),
            (usage, r"the action has shape \(2,\): expected \(1,\)", np.zeros(2)),
            (usage, r"the action has shape \(0,\)", []),
            (usage, "masked", np.ma.array([1.0], mask=[1])),
            (TypeError, "not dtype <U1", "a"),
            (TypeError, "not None", None),
            (TypeError, "not complex", np.array([1j])),
            (TypeError, "not dict", {}),
        ):
            self.raises(kind, words, env.step, action)
        for action in ([1], np.array([1], "f4"), np.array([[1.0]]), 0.5, np.array([True])):
            self.assertEqual(env.step(action)[1], 1.0)
        for kind, words, seed in (
            (usage, "seed is -1", -1),
            (usage, "allowed are 0 to", 2**70),
            (TypeError, "seed is 1.5", 1.5),
            (TypeError, "seed is 'a'", "a"),
            (TypeError, "seed is True", True),
        ):
            self.raises(kind, words, lambda s: env.reset(seed=s), seed)
        self.raises(usage, "there are no options", lambda: env.reset(options={"a": 1}))
        env.reset(seed=1, options={})
        while not any(env.step([0.0])[2:4]):
            pass
        self.raises(usage, "the episode is over", env.step, [0.0])
        env.close()
        env.close()
        self.raises(diffsim.ClosedError, "was closed", env.step, [0.0])
        self.raises(diffsim.ClosedError, "was closed", env.reset)
        self.raises(usage, "render_mode is 'human'", diffsim.gym.Env, "cartpole_gym", render_mode="human")
        self.raises(diffsim.UnsupportedError, "analytic has no stepwise control", diffsim.gym.Env, "analytic")
        for kind, count in ((usage, 0), (usage, -1), (usage, 65), (TypeError, 1.5), (TypeError, "2")):
            self.raises(kind, "num_envs is", diffsim.gym.VectorEnv, "cartpole_gym", count)
        many = diffsim.gym.VectorEnv("cartpole_gym", 3, jobs=1)
        self.raises(usage, "no episode has begun", many.step, np.zeros((3, 1)))
        for kind, seed in ((usage, -1), (TypeError, 1.5), (usage, [1, 2]), (TypeError, [1, 2, "x"])):
            self.raises(kind, "seed", lambda s: many.reset(seed=s), seed)
        many.reset(seed=[1, None, 3])
        for actions in (np.zeros((2, 1)), np.zeros((1, 3)), [[0.0], [0.0, 1.0], [0.0]]):
            self.raises(usage, "the action", many.step, actions)
        self.raises(usage, "number 0 of the action is nan.*episode 0", many.step, np.full((3, 1), np.nan))
        for chosen in ([1, 0, 1], [True], np.ones((3, 1), bool)):
            self.raises(usage, "reset_mask: expected 3", lambda c: many.reset(options={"reset_mask": c}), chosen)
        many.close()

    def test_reset_mask(self):
        """episodes that are over begin at once where reset() is asked for them, and the others continue"""
        one, many = diffsim.gym.VectorEnv("cartpole_gym", 1, jobs=1), diffsim.gym.VectorEnv("cartpole_gym", 2, jobs=1)
        start = many.reset(seed=0)[0][0]
        one.reset(seed=0)
        pushed, both = np.zeros((1, 1)), np.array([[0.0], [1.0]])
        over = np.zeros(2, bool)
        while not over.any():
            alone, (obs, _, ended, cut, _) = one.step(pushed), many.step(both)
            np.testing.assert_array_equal(obs[0], alone[0][0])
            over = ended | cut
        self.assertEqual(over.tolist(), [True, False])
        np.testing.assert_array_equal(many.reset(options={"reset_mask": over})[0], [start, 0 * start])
        first = one.step(pushed)  # begins anew, without a step
        np.testing.assert_array_equal(first[0][0], start)
        obs, reward, *_ = many.step(both)
        np.testing.assert_array_equal(obs[0], one.step(pushed)[0][0])
        self.assertEqual(reward[0], 1.0)
        many.close()
        one.close()

    def test_lanes(self):
        """several Gymnasium environments over one of ours, also in threads, have separate episodes"""
        with diffsim.make("cartpole_gym", start="random", jobs=2) as env:
            both = [diffsim.gym.Env(env), diffsim.gym.Env(env)]
            alone, got = [], [[], []]
            for i in (0, 1):
                with diffsim.make("cartpole_gym", start="random", jobs=1) as other:
                    one = diffsim.gym.Env(other)
                    alone.append([one.reset(seed=i)[0]] + [one.step([0.3])[0] for _ in range(8)])

            def play(i):
                got[i].append(both[i].reset(seed=i)[0])
                got[i].extend(both[i].step([0.3])[0] for _ in range(8))

            threads = [threading.Thread(target=play, args=(i,)) for i in (0, 1)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.same(got, alone)
            self.raises(diffsim.UsageError, "has 64 lanes, of which 2 are in use", diffsim.gym.VectorEnv, env, 63)
            both[1].close()
            self.raises(diffsim.ClosedError, "was closed", both[1].step, [0.0])
            self.assertFalse(env.closed, "it belongs to whoever opened it")
            both[0].step([0.3])
            diffsim.gym.VectorEnv(env, 63)

    def test_video(self):
        """RecordVideo works"""
        try:
            import moviepy  # noqa: F401
        except ImportError:
            self.skipTest("there is no moviepy")
        env = gymnasium.make("diffsim/Cartpole-v0", render_mode="rgb_array", size=(160, 128), steps=12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env = gymnasium.wrappers.RecordVideo(env, self.path("video"), disable_logger=True)
            env.reset(seed=0)
            over = False
            while not over:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                over = terminated or truncated
            env.close()
        films = [f for f in os.listdir(self.path("video")) if f.endswith(".mp4")]
        self.assertEqual(len(films), 1)
        self.assertGreater(os.path.getsize(os.path.join(self.path("video"), films[0])), 1000)


class Losses(gymnasium.Wrapper if gymnasium is not None else object):
    """Notes the losses of the episodes."""

    def __init__(self, env):
        super().__init__(env)
        self.seen = []

    def step(self, action):
        answer = self.env.step(action)
        if answer[2] or answer[3]:
            self.seen.append(answer[4]["loss"])
        return answer


def scaled(env, reward):
    """For learners: actions between -1 and 1, observations in single precision, rewards of size 1."""
    wrappers, space = gymnasium.wrappers, env.observation_space
    env = wrappers.RescaleAction(env, -1.0, 1.0)
    env = wrappers.TransformReward(env, lambda r: reward * r)
    single = gymnasium.spaces.Box(-np.inf, np.inf, space.shape, np.float32)
    return wrappers.TransformObservation(env, lambda o: o.astype(np.float32), single)


@unittest.skipIf(gymnasium is None or stable_baselines3 is None, "there is no Stable-Baselines3")
class Learners(Case):
    """Stable-Baselines3 compared with ppo and sac of diffsim: the same episodes, the loss in the first and in
    the last fifth of them."""

    def learned(self, task, learner, episodes, reward, settings):
        import torch

        torch.set_num_threads(1)
        env = Losses(gymnasium.make(f"diffsim:diffsim/{task.capitalize()}-v0"))
        steps = env.unwrapped.simulation.episodes.horizon
        model = getattr(stable_baselines3, learner.upper())(
            "MlpPolicy", scaled(env, reward), seed=1, device="cpu", learning_rate=1e-3,
            policy_kwargs={"net_arch": [64, 64]}, **settings,
        )
        model.learn(episodes * steps)
        ours = diffsim.minimize(env.unwrapped.simulation, learner, episodes, seed=1).history()["loss"]
        env.close()
        fifths = []
        for name, loss in (("Stable-Baselines3", np.array(env.seen[:episodes])), ("diffsim", ours)):
            first, last = loss[: episodes // 5].mean(), loss[-(episodes // 5) :].mean()
            print(f"# {task}, {learner} of {name}, {episodes} episodes: loss {first:.3f} at first, {last:.3f} at last")
            fifths.append((first, last))
        for first, last in fifths:
            self.assertLess(last, 0.85 * first, "it learns")
        self.assertLess(fifths[1][1], 1.6 * fifths[0][1], "ours learns what theirs does")

    def test_flip_sac(self):
        """SAC learns to turn the pancake of flip as ours does"""
        more = {"gamma": 1.0, "learning_starts": 100, "gradient_steps": 4, "batch_size": 256}
        self.learned("flip", "sac", 400, 20, more)

    def test_flip_ppo(self):
        """PPO learns to move the pan of flip as ours does"""
        self.learned("flip", "ppo", 1000, 20, {"gamma": 1.0, "n_steps": 100, "batch_size": 25})

    def test_cartpole_sac(self):
        """SAC learns to balance cartpole as ours does"""
        self.learned("cartpole", "sac", 100, 20, {"learning_starts": 1000, "batch_size": 256})

    def test_vector(self):
        """a vector environment: last observations and losses, episodes begin in the same step"""
        from diffsim.bridges.sb3 import VecEnv

        envs = VecEnv("cartpole_gym", 3, jobs=1, start="random")
        envs.seed(5)
        self.assertEqual(envs.env_is_wrapped(object), [False] * 3)
        obs, rng, over, length = envs.reset(), np.random.default_rng(0), 0, np.zeros(3, int)
        with diffsim.make("cartpole_gym", start="random", jobs=1) as alone:
            env = diffsim.gym.Env(alone)
            np.testing.assert_array_equal(env.reset(seed=5)[0], obs[0])
            playing = True
            while over < 20:
                action = rng.uniform(-1, 1, (3, 1)).astype(np.float32)
                obs, reward, done, infos = envs.step(action)
                length += 1
                if playing:
                    seen, r, ended, cut, about = env.step(action[0])
                    np.testing.assert_array_equal(infos[0]["terminal_observation"] if done[0] else obs[0], seen)
                    self.assertEqual((float(reward[0]), bool(done[0])), (np.float32(r), ended or cut))
                    if done[0]:
                        self.assertEqual(infos[0]["loss"], about["loss"])
                        np.testing.assert_array_equal(infos[0]["x"], about["x"])
                        playing = False
                for lane in np.flatnonzero(done):
                    self.assertFalse(infos[lane]["TimeLimit.truncated"])
                    self.assertGreater(length[lane], 1)
                    length[lane] = 0
                    over += 1
        self.assertFalse(playing)
        envs.close()

    def test_ppo(self):
        """PPO of Stable-Baselines3 learns to hold the pole of cartpole_gym: mean return above 300 of 500"""
        import torch

        torch.set_num_threads(1)
        env = gymnasium.make("diffsim/CartpoleGym-v0", start="random")
        from stable_baselines3.common.evaluation import evaluate_policy
        from stable_baselines3.common.monitor import Monitor

        env = Monitor(env)
        model = stable_baselines3.PPO(
            "MlpPolicy", env, seed=1, device="cpu", n_steps=1024, batch_size=64, gae_lambda=0.95, learning_rate=1e-3
        )
        before = evaluate_policy(model, env, 10)[0]
        model.learn(40000)
        after = evaluate_policy(model, env, 10)[0]
        print(f"# mean return before {before:.1f}, after 40000 steps {after:.1f}")
        self.assertGreater(after, 300)
        env.close()
