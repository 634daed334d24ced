# SPDX-License-Identifier: Apache-2.0
"""The environments of diffsim in Python by ctypes alone: stepwise control with the interface of Gymnasium, losses of many
points, metrics. Copy the class.
    python3 gym_ctypes.py [LIBRARY]       LIBRARY: path of libdiffsim.so.1, where the loader does not find it"""
import ctypes as c
import math
import sys

lib = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libdiffsim.so.1")
u32, u64, f64, text = c.c_uint32, c.c_uint64, c.c_double, c.c_char_p
reals, u32s, u64s = c.POINTER(f64), c.POINTER(u32), c.POINTER(u64)


def struct(*fields):  # the structs of diffsim/base.h, ext/steps.h and lib/environment.h: each begins with its size
    class Struct(c.Structure):
        _fields_ = [("struct_size", u32), *fields]

        def __init__(self, **values):
            super().__init__(c.sizeof(type(self)), **values)
    return Struct


Options = struct(("isolation", u32), ("settings", text), ("seed", u64), ("jobs", u32), ("threads", u32), ("timeout_s", f64),
                 ("memory_mb", u64))
Box = struct(("has_gradient", u32), ("n", u64), ("lower", reals), ("upper", reals), ("x0", reals), ("loss_floor", f64),
             ("stochastic", u32), ("stepwise", u32), ("steps", u64), ("dt", f64))
Episodes = struct(("flags", u32), ("horizon", u64), ("n_act", u64), ("n_obs", u64), ("dt", f64), ("max_lanes", u64))
StepRows = struct(("reserved", u32), ("count", u64), ("lane", u64s), ("noise_key", u64s), ("action", reals))
StepResults = struct(("reserved", u32), ("obs", reals), ("reward", reals), ("ended", u32s), ("loss", reals), ("outcome", u32s),
                     ("cost_steps", u64s))
Rows = struct(("want", u32), ("count", u64), ("n", u64), ("stride", u64), ("x", reals), ("noise_key", u64s), ("queries", u64),
              ("query", c.c_void_p), ("memory", u32), ("device", u32))
Results = struct(("reserved", u32), ("stride", u64), ("loss", reals), ("grad", reals), ("outcome", u32s), ("grad_kind", u32s),
                 ("bad_step", c.POINTER(c.c_int64)), ("cost_steps", u64s), ("reply", c.c_void_p))
Scene = struct(("flat", u32), ("frames", u64), ("kept", u64), ("frame", u64s), ("bodies", u64), ("metrics", u64), ("dt", f64),
               ("box", f64 * 6), ("ground", f64))
Metric = struct(("reserved", u32), ("name", text), ("unit", text), ("values", reals), ("count", u64))
lib.ds_environment_open.restype = c.c_void_p
lib.ds_environment_open.argtypes = [text, c.POINTER(Options), c.c_char_p, u64]
lib.ds_environment_message.restype = text
for name in "close describe message episodes reset step evaluate_many simulate scene metric noise_key".split():
    getattr(lib, "ds_environment_" + name).argtypes = [c.c_void_p] + {
        "describe": [c.POINTER(Box)], "episodes": [c.POINTER(Episodes)],
        "reset": [c.POINTER(StepRows), c.POINTER(StepResults), u64s], "step": [c.POINTER(StepRows), c.POINTER(StepResults), u64s],
        "evaluate_many": [c.POINTER(Rows), c.POINTER(Results), reals, u64s], "simulate": [reals, u64, u32, reals, u32s], "scene": [c.POINTER(Scene)],
        "metric": [u64, c.POINTER(Metric)], "noise_key": [u64]}.get(name, [])
lib.ds_environment_noise_key.restype = u64


class Environment:
    """reset() and step() of Gymnasium, in lane 0 of the environment."""

    def __init__(self, name, settings="", seed=0, jobs=1):
        why = c.create_string_buffer(600)
        self.env = lib.ds_environment_open(name.encode(), Options(settings=settings.encode(), seed=seed, jobs=jobs), why, len(why))
        if not self.env:
            raise ValueError(why.value.decode())
        self.box, self.info, self.episode = Box(), Episodes(), 0
        self.call("describe", self.box)
        self.n, self.lower, self.upper = self.box.n, self.box.lower[:self.box.n], self.box.upper[:self.box.n]
        if self.box.stepwise:
            self.call("episodes", self.info)

    def call(self, function, *arguments):
        if getattr(lib, "ds_environment_" + function)(self.env, *arguments) != 0:
            raise RuntimeError(lib.ds_environment_message(self.env).decode())

    def close(self):
        lib.ds_environment_close(self.env)
        self.env = None

    def results(self):
        return StepResults(obs=(f64 * self.info.n_obs)(), reward=(f64 * 1)(), ended=(u32 * 1)(), loss=(f64 * 1)(), outcome=(u32 * 1)())

    def reset(self):
        self.episode += 1  # chooses the start where the environment is stochastic
        key = lib.ds_environment_noise_key(self.env, self.episode)
        r = self.results()
        self.call("reset", StepRows(count=1, lane=(u64 * 1)(0), noise_key=(u64 * 1)(key)), r, None)
        return r.obs[:self.info.n_obs], {}

    def step(self, action):
        r = self.results()
        self.call("step", StepRows(count=1, lane=(u64 * 1)(0), action=(f64 * self.info.n_act)(*action)), r, None)
        return r.obs[:self.info.n_obs], r.reward[0], r.ended[0] == 1, r.ended[0] == 2, {"loss": r.loss[0], "outcome": r.outcome[0]}

    def losses(self, points):
        """Losses of many points, and their gradients."""
        k, n = len(points), self.n
        rows = Rows(want=1, count=k, n=n, stride=n, x=(f64 * (k * n))(*[v for p in points for v in p]))
        r = Results(stride=n, loss=(f64 * k)(), grad=(f64 * (k * n))())
        self.call("evaluate_many", rows, r, None, None)
        return r.loss[:k], [r.grad[i * n:(i + 1) * n] for i in range(k)]

    def metrics(self, x):
        """{name: (unit, values by frame)} of the episode at x."""
        scene, metric = Scene(), Metric()
        self.call("simulate", (f64 * self.n)(*x), 0, 2, None, None)
        self.call("scene", scene)
        found = {}
        for i in range(scene.metrics):
            self.call("metric", i, metric)
            found[metric.name.decode()] = metric.unit.decode(), metric.values[:metric.count]
        return found


if __name__ == "__main__":
    env = Environment("pendulum", jobs=2)
    observation, _ = env.reset()
    x, total, over = [], 0.0, False
    while not over:
        action = [min(max(0.5 * math.sin(len(x)), env.lower[len(x)]), env.upper[len(x)])]
        observation, reward, terminated, truncated, info = env.step(action)
        x, total, over = x + action, total + reward, terminated or truncated
    losses, gradients = env.losses([x, [0.5 * v for v in x]])
    assert losses[0] == info["loss"], "the actions are the x of an evaluation"
    print("steps", len(x), "loss", info["loss"], "half of it", losses[1], "gradient", gradients[0][0])
    for name, (unit, values) in env.metrics(x).items():
        print("metric", name, values[-1], unit)
    env.close()
