# SPDX-License-Identifier: Apache-2.0
"""Environments with stepwise control as vector environments of Stable-Baselines3, in the worker processes of one environment.

    from stable_baselines3 import PPO
    from diffsim.bridges.sb3 import VecEnv
    envs = VecEnv("cartpole_gym", 16, jobs=4)
    PPO("MlpPolicy", envs, seed=0).learn(100_000)
"""
from __future__ import annotations

import numpy as np
from stable_baselines3.common.vec_env import base_vec_env

from .. import gym


class VecEnv(base_vec_env.VecEnv):
    """``count`` episodes side by side. ``env`` and ``options`` are those of :class:`diffsim.gym.VectorEnv`, which is ``envs``.

    An episode that is over begins anew in the same step, as Stable-Baselines3 wants it: its ``info`` has the last observation
    (``terminal_observation``), ``TimeLimit.truncated``, and the ``loss``, ``outcome`` and ``x`` of the episode."""

    def __init__(self, env="cartpole", count: int = 1, **options):
        self.envs = gym.VectorEnv(env, count, **options)
        self.render_mode = self.envs.render_mode
        super().__init__(self.envs.num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self):
        given = any(s is not None for s in self._seeds)
        obs, _ = self.envs.reset(seed=self._seeds if given else None)
        self._reset_seeds()
        return obs

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        obs, reward, terminated, truncated, about = self.envs.step(self._actions)
        over = terminated | truncated
        infos = [{} for _ in range(self.num_envs)]
        for lane in np.flatnonzero(over):
            infos[lane] = {key: value[lane] for key, value in about.items() if not key.startswith("_")}
            infos[lane]["terminal_observation"] = obs[lane].copy()
            infos[lane]["TimeLimit.truncated"] = bool(truncated[lane] and not terminated[lane])
        if over.any():
            obs[over] = self.envs.reset(options={"reset_mask": over})[0][over]
        return obs, reward.astype(np.float32), over, infos

    def close(self):
        self.envs.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name, value, indices=None):
        raise AttributeError(f"{attr_name} cannot be set for single episodes")

    def env_method(self, method_name, *args, indices=None, **kwargs):
        raise AttributeError(f"{method_name} cannot be called for single episodes")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self):
        return list(self.envs.render() or ())
