# SPDX-License-Identifier: Apache-2.0
"""A first search: throw the tip of a chain to a target, its gradient, a strong optimizer and random search with the same budget."""

# %% [markdown]
# # A first search
#
# `cartpole` with two links: a cart carries a chain that hangs down. The variables are the commanded velocities of the cart in 200
# steps. The loss is the distance of the tip from the target at the end. An evaluation simulates one episode and has the exact
# gradient; it takes less than a millisecond.
# %%
import os

import numpy as np

import diffsim

budget = int(os.environ.get("DIFFSIM_BUDGET", 300))  # the paper gives every method 1000

env = diffsim.make("cartpole", links=2)
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
runs = {method: diffsim.minimize(env, method, budget, seed=0) for method in ("racer", "rand")}
for method, run in runs.items():
    print(f"{method:7} {run.evaluations} evaluations, best loss {run.best_loss:.6g}")
history = runs["racer"].history()
for at in sorted({1, budget // 4, budget // 2, budget}):
    print(f"after {at:4d}: {history['best_loss'][at - 1]:.6g}")

# %% [markdown]
# The start: the chain hangs down. The best episode: its tip is at the target. Numbers first, then both pictures:
# %%
start, scene = env.trajectory(env.x0), env.trajectory(runs["racer"].best_x)
for name, values in scene.metrics.items():
    print(f"{name:16} {start.metrics[name][-1]:10.4g} -> {values[-1]:10.4g} {scene.units[name]}")
before, after = start.render(), scene.render()  # (360, 480, 3) bytes each
changed = (np.abs(before.astype(int) - after).max(axis=2) > 50).mean()
print(f"{100 * changed:.1f} % of the image changed")
assert scene.loss == runs["racer"].best_loss
start
# %%
scene
