# SPDX-License-Identifier: Apache-2.0
"""Environments with stepwise control for Gymnasium: `gymnasium.make("diffsim:diffsim/Cartpole-v0")`, and as vector environments
whose copies are played by the worker processes of one diffsim environment."""

from __future__ import annotations

import weakref

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from . import _library
from ._environment import OUTCOMES, Environment, make
from ._errors import ClosedError, UnsupportedError, UsageError
from ._library import lib
from ._settings import reals, shown, whole

#: The environments of diffsim that are registered, each as diffsim/Name-v0.
STEPWISE = (
    "assembly",
    "cartpole",
    "cartpole_gym",
    "chopsticks",
    "flip",
    "fluid",
    "friction",
    "move",
    "particles",
    "pendulum",
    "pinch",
    "planar_hand",
    "push",
    "push_far",
    "pusher1d",
    "robot",
    "rollingpin",
    "roomba",
    "rope",
    "spring_wall",
    "table",
    "torus",
    "triplemove",
    "writer",
)
_TERMINATED, _TRUNCATED = 1, 2


def gym_id(name: str) -> str:
    """ "cartpole_gym" -> "diffsim/CartpoleGym-v0"."""
    return "diffsim/" + "".join(part.capitalize() for part in name.split("_")) + "-v0"


def register() -> None:
    """Registers all of STEPWISE with Gymnasium; `import diffsim` does so, now or when Gymnasium is imported."""
    for name in STEPWISE:
        if gym_id(name) not in gymnasium.registry:
            gymnasium.register(
                gym_id(name),
                entry_point="diffsim.gym:Env",
                vector_entry_point="diffsim.gym:VectorEnv",
                kwargs={"env": name},
            )


def _spaces(env, info):
    """Action space (float32, as learners have it) and observation space (float64) of one episode."""
    lower, upper = env.lower.reshape(-1, info.n_act), env.upper.reshape(-1, info.n_act)
    low, high = lower.max(axis=0), upper.min(axis=0)
    if (lower != low).any() or (upper != high).any():
        low, high = lower.min(axis=0), upper.max(axis=0)  # a step with narrower bounds refuses other actions
    return (
        gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32),
        gymnasium.spaces.Box(-np.inf, np.inf, (info.n_obs,), np.float64),
    )


class _Lanes:
    """Episodes 0 .. count - 1 in lanes of an environment that nothing else uses, and their buffers.

    All of it changes under the lock of the environment, so that threads take turns."""

    def __init__(self, env, options, count):
        count = whole(count, "num_envs", 1, 2**32)
        self.owned, self.closed = not isinstance(env, Environment), False
        if not isinstance(env, Environment):
            env = make(env, **options)
        elif options:
            raise UsageError(f"{', '.join(options)}: not with an environment that is open already")
        if not env.stepwise:
            raise UnsupportedError(f"{env.name} has no stepwise control: {', '.join(STEPWISE)} have")
        whole(count, "num_envs", 1, env._lane_count())
        self.env, self.info, self.count = env, env.episodes, count
        self.own = np.array(env._take_lanes(count), np.uint64)
        self.release = weakref.finalize(self, env._lanes.difference_update, self.own.tolist())
        i = self.info
        self.lower, self.upper = env.lower.reshape(i.horizon, i.n_act), env.upper.reshape(i.horizon, i.n_act)
        self.x = np.zeros((count, i.horizon, i.n_act))  # the actions in each lane
        self.steps = np.zeros(count, np.int64)
        self.key = np.zeros(count, np.uint64)
        self.begun = np.zeros(count, bool)
        self.lane = self.own.copy()
        self.action = np.zeros((count, i.n_act))
        self.obs = np.zeros((count, i.n_obs))
        self.reward, self.loss = np.zeros(count), np.zeros(count)
        self.ended, self.outcome = np.zeros(count, np.uint32), np.zeros(count, np.uint32)

    def _call(self, function, lanes, **more):
        """Calls the library with a row for each of `lanes`, whose data lie at the front of the buffers."""
        self.lane[: len(lanes)] = self.own[lanes]
        rows = _library.StepRows(count=len(lanes), lane=self.lane.ctypes.data, **more)
        results = _library.StepResults(
            obs=self.obs.ctypes.data,
            reward=self.reward.ctypes.data,
            ended=self.ended.ctypes.data,
            loss=self.loss.ctypes.data,
            outcome=self.outcome.ctypes.data,
        )
        return self.env._step_rows(function, rows, results)

    def reset(self, lanes, keys):
        """The first observations, (len(lanes), n_obs)."""
        chosen = np.ascontiguousarray(keys, np.uint64)
        with self.env._lock:
            self.check_open()
            self.begun[lanes] = False  # until it has worked
            self.key[lanes], self.steps[lanes] = keys, 0
            said = self._call(lib.ds_environment_reset, lanes, noise_key=chosen.ctypes.data)
            if self.outcome[: len(lanes)].any():
                raise _library.by_status(-9, said)
            self.begun[lanes] = True
            return self.obs[: len(lanes)].copy()

    def actions(self, actions, rows):
        """Actions as doubles, (rows, n_act)."""
        a = reals(actions, "the action")
        if a.size != rows * self.info.n_act or (rows > 1 and a.shape[0] != rows):
            wanted = f"({rows}, {self.info.n_act})" if rows > 1 else f"({self.info.n_act},)"
            raise UsageError(f"the action has shape {a.shape}: expected {wanted}")
        return a.reshape(rows, self.info.n_act)

    def step(self, lanes, actions):
        """(observations, rewards, ended, abouts) of the lanes; abouts has the _info() of those that have ended."""
        with self.env._lock:
            self.check_open()
            if not self.begun[lanes].all():
                raise UsageError("no episode has begun: call reset() first")
            t, i = self.steps[lanes], self.info
            if t.max() >= i.horizon:
                raise UsageError(f"the episode of {i.horizon} steps is over: reset() begins another one")
            low, high = self.lower[t], self.upper[t]
            near = np.clip(actions, low, high)  # single precision of learners may lie a rounding outside
            slack = 1e-6 * (high - low) + 1e-7 * np.maximum(np.abs(low), np.abs(high))
            wrong = np.argwhere(~(np.abs(near - actions) <= slack))  # NaN, too
            if wrong.size:
                row, k = wrong[0]
                raise UsageError(
                    f"number {k} of the action is {actions[row, k]:.10g}, outside of its bounds {low[row, k]:.10g} and "
                    f"{high[row, k]:.10g}" + (f" (episode {lanes[row]})" if self.count > 1 else "")
                )
            self.action[: len(lanes)] = near
            said = self._call(lib.ds_environment_step, lanes, action=self.action.ctypes.data)
            self.x[lanes, t] = near
            self.steps[lanes] += 1
            self.said = said.decode("utf-8", "replace")
            ended = self.ended[: len(lanes)].copy()
            about = {int(lane): _info(self, row, lane) for row, lane in enumerate(lanes) if ended[row]}
            return self.obs[: len(lanes)].copy(), self.reward[: len(lanes)].copy(), ended, about

    def picture(self, lane, size):
        """The scene of the current episode in a lane: its actions so far, and the start point's for the rest."""
        with self.env._lock:
            t, key = int(self.steps[lane]), int(self.key[lane])
            x = self.env.x0.reshape(self.x.shape[1:]).copy()
            x[:t] = self.x[lane, :t]
        scene = self.env.trajectory(x.ravel(), noise_key=key)
        return scene.render(min(round(t * (scene.frames - 1) / self.info.horizon), scene.frames - 1), size)

    def close(self):
        """Closes the environment where it was opened here; else only leaves its lanes."""
        self.closed = True
        self.release()
        if self.owned:
            self.env.close()

    def check_open(self):
        self.env._check_open()
        if self.closed:
            raise ClosedError(f"the Gymnasium environment over {self.env.name} was closed: make another one")

    def fps(self):
        dt = self.info.dt or self.env.dt
        return max(1, round(1 / dt)) if dt else 30


def _seed(seed):
    return None if seed is None else whole(seed, "seed", 0, 2**64 - 1)


def _no_options(options):
    if options:
        raise UsageError(f"reset(options={shown(options)}): there are no options: pass parameters to make()")


def _key(rng, env):
    """The noise of an episode: of the generator that Gymnasium has seeded; none where the environment has none."""
    return int(rng.integers(1, 2**63)) if env.stochastic else 0


class Env(gymnasium.Env):
    """One environment of diffsim, step by step.

    Actions are n_act numbers within their bounds, observations n_obs numbers. The sum of the rewards of an episode is minus its
    loss, up to a constant that depends on the start. ``info`` of the last step has ``loss``, ``outcome`` ("ok", or why the
    simulation failed, which terminates it without a reward), ``message`` and ``x``, the actions of all steps: the point whose loss it is.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, env="cartpole", render_mode: str | None = None, size=(480, 360), **options):
        if render_mode is not None and render_mode != "rgb_array":
            raise UsageError(f"render_mode is {shown(render_mode)}: allowed are None and 'rgb_array'")
        self.render_mode, self._size = render_mode, size
        self._lanes = _Lanes(env, {"jobs": 1, **options} if not isinstance(env, Environment) else options, 1)
        self.metadata = {**self.metadata, "render_fps": self._lanes.fps()}
        self.action_space, self.observation_space = _spaces(self._lanes.env, self._lanes.info)
        self._over = True

    @property
    def simulation(self) -> Environment:
        """The diffsim environment below."""
        return self._lanes.env

    def reset(self, *, seed=None, options=None):
        _no_options(options)
        super().reset(seed=_seed(seed))
        obs = self._lanes.reset([0], [_key(self.np_random, self._lanes.env)])[0]
        self._over = False
        return obs, {}

    def step(self, action):
        if self._over and self._lanes.begun[0] and not self._lanes.closed:
            raise UsageError("the episode is over: reset() begins another one")
        obs, reward, ended, about = self._lanes.step([0], self._lanes.actions(action, 1))
        self._over = bool(ended[0])
        return (
            obs[0],
            float(reward[0]),
            bool(ended[0] == _TERMINATED),
            bool(ended[0] == _TRUNCATED),
            about.get(0, {}),
        )

    def render(self):
        if self.render_mode is None:
            gymnasium.logger.warn('render() without a render mode: make(..., render_mode="rgb_array")')
            return None
        return self._lanes.picture(0, self._size)

    def close(self):
        self._lanes.close()


def _info(lanes, row, lane):
    """About an episode that is over."""
    outcome = OUTCOMES[min(int(lanes.outcome[row]), 8)]
    x = lanes.env.x0.reshape(lanes.x.shape[1:]).copy()
    t = int(lanes.steps[lane])
    x[:t] = lanes.x[lane, :t]
    return {
        "loss": float(lanes.loss[row]),
        "outcome": outcome,
        "message": "" if outcome == "ok" else lanes.said,
        "x": x.ravel(),
    }


class VectorEnv(gymnasium.vector.VectorEnv):
    """Several episodes of one environment at once, played in parallel by its worker processes (``jobs``).

    An episode that is over is begun anew by the next step, whose action for it is ignored (AutoresetMode.NEXT_STEP), or before it
    by ``reset(options={"reset_mask": over})``."""

    metadata = {
        "render_modes": ["rgb_array"],
        "render_fps": 30,
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(self, env="cartpole", num_envs: int = 1, render_mode: str | None = None, size=(480, 360), **options):
        super().__init__()
        if render_mode is not None and render_mode != "rgb_array":
            raise UsageError(f"render_mode is {shown(render_mode)}: allowed are None and 'rgb_array'")
        self.render_mode, self._size = render_mode, size
        self._lanes = _Lanes(env, options, num_envs)
        self.num_envs = num_envs = self._lanes.count
        self.metadata = {**self.metadata, "render_fps": self._lanes.fps()}
        self.single_action_space, self.single_observation_space = _spaces(self._lanes.env, self._lanes.info)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._over = np.ones(num_envs, bool)
        self._random = [np.random.default_rng() for _ in range(num_envs)]

    @property
    def simulation(self) -> Environment:
        """The diffsim environment below."""
        return self._lanes.env

    def reset(self, *, seed=None, options=None):
        options = dict(options or {})
        chosen = options.pop("reset_mask", None)
        _no_options(options)
        if chosen is not None:
            return self._reset_some(chosen, seed), {}
        many = isinstance(seed, (list, tuple, range, np.ndarray))
        super().reset(seed=None if many else _seed(seed))
        seeds = list(map(_seed, seed)) if many else None if seed is None else [seed + i for i in range(self.num_envs)]
        if many and len(seeds) != self.num_envs:
            raise UsageError(f"there are {len(seeds)} seeds for {self.num_envs} environments")
        if seeds is not None:
            # the generator of Env.reset(seed=...), so that both play the same episodes
            self._random = [
                self._random[i] if s is None else gymnasium.utils.seeding.np_random(s)[0] for i, s in enumerate(seeds)
            ]
        return self._begin(np.arange(self.num_envs)), {}

    def _begin(self, lanes):
        self._over[lanes] = False
        return self._lanes.reset(lanes, [_key(self._random[i], self._lanes.env) for i in lanes])

    def _reset_some(self, chosen, seed):
        """Begins the chosen episodes now; the observations of the others are 0."""
        chosen = np.asarray(chosen)
        if chosen.dtype != bool or chosen.shape != (self.num_envs,) or seed is not None:
            raise UsageError(f"reset_mask: expected {self.num_envs} truth values, and no seed with it")
        obs = np.zeros((self.num_envs, self._lanes.info.n_obs))
        if chosen.any():
            obs[chosen] = self._begin(np.flatnonzero(chosen))
        return obs

    def step(self, actions):
        if not self._lanes.begun.all() and not self._lanes.closed:
            raise UsageError("no episode has begun: call reset() first")
        actions = self._lanes.actions(actions, self.num_envs)
        on, again = np.flatnonzero(~self._over), np.flatnonzero(self._over)
        obs, reward = np.zeros((self.num_envs, self._lanes.info.n_obs)), np.zeros(self.num_envs)
        ended = np.zeros(self.num_envs, np.uint32)
        infos = {}
        if on.size:
            obs[on], reward[on], ended[on], about = self._lanes.step(on, actions[on])
            for lane, info in about.items():
                infos = self._add_info(infos, info, lane)
        if again.size:
            obs[again] = self._begin(again)
        self._over = ended != 0
        return obs, reward, ended == _TERMINATED, ended == _TRUNCATED, infos

    def render(self):
        if self.render_mode is None:
            return None
        return tuple(self._lanes.picture(lane, self._size) for lane in range(self.num_envs))

    def close_extras(self, **_):
        self._lanes.close()


register()


# ---- the other direction: environments of Gymnasium as environments of diffsim ----


class Task:
    """An environment of Gymnasium: its variables are the actions of all steps, and its loss is minus the sum of the rewards;
    stepwise control plays it step by step.

    A Box has its bounds. A choice of n (Discrete, MultiDiscrete) is a number from 0 to n, rounded down; MultiBinary one from 0
    to 2. Observations of every kind become one row of numbers. Each episode begins with ``reset(seed=0)``."""

    horizon = 0
    time_limit = True
    version = "1"
    license = "unstated"

    def __init__(self, id: str = "Pendulum-v1", steps: int = 0, **more):
        self._env = gymnasium.make(id, **more)
        spec = self._env.spec
        self.horizon = steps or (spec.max_episode_steps if spec is not None else 0) or 0
        if self.horizon < 1:
            self._env.close()
            raise UsageError(f"{id} has no limit of steps: say how many an episode has, steps=200")
        self._space = self._env.action_space
        self.lower, self.upper, self._kind = _bounds(self._space, id)
        self.dt = float(getattr(self._env.unwrapped, "dt", 0) or 0)
        if not 0 <= self.dt < float("inf"):
            self.dt = 0.0

    def _action(self, values):
        if self._kind == "box":
            return np.asarray(values, self._space.dtype).reshape(self._space.shape)
        whole = np.minimum(np.floor(values), np.asarray(self.upper) - 1).astype(np.int64)
        if self._kind == "one":
            return int(whole[0] + self._space.start)
        start = getattr(self._space, "start", 0)
        return (whole.reshape(self._space.shape) + start).astype(self._space.dtype)

    def _observation(self, obs):
        space = self._env.observation_space
        if isinstance(space, gymnasium.spaces.Box):
            return np.asarray(obs, float).ravel()
        return np.asarray(gymnasium.spaces.flatten(space, obs), float).ravel()

    def reset(self, seed=0):
        obs, info = self._env.reset(seed=int(seed) % 2**32)
        return self._observation(obs), info

    def step(self, values):
        obs, reward, terminated, truncated, info = self._env.step(self._action(np.asarray(values, float).ravel()))
        return self._observation(obs), float(reward), bool(terminated), bool(truncated), info


def _bounds(space, id):
    """(lower, upper, kind) of the numbers of an action."""
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Box):
        low, high = (np.asarray(v, float).ravel() for v in (space.low, space.high))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise UsageError(f"{id}: its actions have no bounds; wrap it with gymnasium.wrappers.RescaleAction or ClipAction first")
        return low.tolist(), high.tolist(), "box"
    if isinstance(space, spaces.Discrete):
        return [0.0], [float(space.n)], "one"
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        n = np.asarray(getattr(space, "nvec", 2), float)
        n = np.broadcast_to(n, space.shape).ravel()
        return [0.0] * n.size, n.tolist(), "many"
    raise UnsupportedError(f"{id}: its actions are a {type(space).__name__}: Box, Discrete, MultiDiscrete and MultiBinary are possible")


def as_environment(id, *, steps: int = 0, name: str | None = None, **more):
    """A class of an environment of Gymnasium, for :func:`diffsim.make`, ``minimize()``, and, as a name in a file, dshost:

        diffsim.minimize(diffsim.gym.as_environment("Hopper-v5"), "cmaes", 100)
        hopper = diffsim.gym.as_environment("Hopper-v5")        # in tasks.py: dshost --env tasks.py:hopper

    ``steps``: of an episode; 0 = its own limit. ``more`` are arguments of ``gymnasium.make()``."""
    if not isinstance(id, str):
        raise TypeError(f"id is {shown(id)}: expected the id of an environment of Gymnasium")
    steps = whole(steps, "steps", 0, 2**31)
    called = name or "".join(c if c.isalnum() else "_" for c in id).strip("_")

    def begin(self):
        Task.__init__(self, id, steps, **more)

    source = f"from diffsim.gym import as_environment\n{called} = as_environment({id!r}, steps={steps}, name={called!r}, **{more!r})\n"
    body = {"__init__": begin, "__doc__": f"{id} of Gymnasium.", "__module__": __name__, "diffsim_source": source}
    return type(called, (Task,), body)
