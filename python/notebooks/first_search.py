# SPDX-License-Identifier: Apache-2.0
"""A first search: a task of PlasticineLab, its gradient, BO-Leap and random search with the same budget."""

# %% [markdown]
# # A first search
#
# `torus`: press a ring into plasticine until it has the shape of the target. The variables are how the ring moves; an evaluation
# simulates one episode and has the exact gradient. The small preset takes some 0.1 s for it.
# %%
import os

import numpy as np

import diffsim

budget = int(os.environ.get("DIFFSIM_BUDGET", 60))  # the paper gives every method 1000

env = diffsim.make("torus", preset="small")
env
# %%
for v in env.variables[:3]:
    print(f"{v.name:10} {v.lower:g} .. {v.upper:g} {v.unit}")
loss, grad = env.loss_and_grad(env.x0)
print(f"loss at the start {loss:.6g}, norm of its gradient {np.linalg.norm(grad):.3g}")

# %% [markdown]
# Is the gradient right? One direction by a central difference:
# %%
d = np.random.default_rng(0).normal(size=env.n)
h = 1e-6
print("by the gradient ", grad @ d)
print("by a difference ", (env.loss(env.x0 + h * d) - env.loss(env.x0 - h * d)) / (2 * h))

# %% [markdown]
# The search. The points of a step are evaluated in parallel; seed and budget decide the result to the last bit.
# %%
runs = {method: diffsim.minimize(env, method, budget, seed=0) for method in ("boleap", "rand")}
for method, run in runs.items():
    print(f"{method:7} {run.evaluations} evaluations, best loss {run.best_loss:.6g}")
history = runs["boleap"].history()
for at in sorted({1, budget // 4, budget // 2, budget}):
    print(f"after {at:4d}: {history['best_loss'][at - 1]:.6g}")

# %% [markdown]
# What the best episode looks like, and what it is in numbers:
# %%
scene = env.trajectory(runs["boleap"].best_x)
for name, values in scene.metrics.items():
    print(f"{name:16} {values[0]:10.4g} -> {values[-1]:10.4g} {scene.units[name]}")
assert scene.loss == runs["boleap"].best_loss
scene
