# SPDX-License-Identifier: Apache-2.0
"""A cloth is fitted to a recording of its lift: size, mass, friction and stiffness, and how sure they are."""

# %% [markdown]
# # Fit a cloth to a recording
#
# `realtosim`: a robot has lifted a cloth; which cloth was it? 68 variables in [-1, 1]. With `r2s_norm="sq"` the loss is a sum of squares:
# its residuals and their Jacobian are there, for Levenberg-Marquardt and for intervals.
# %%
import os

import numpy as np

import diffsim

budget = int(os.environ.get("DIFFSIM_BUDGET", 60))

env = diffsim.make("realtosim", r2s_norm="sq")
groups = {g: sum(v.group == g for v in env.variables) for g in {v.group for v in env.variables}}
print(f"{env.n} variables: {groups}")
r = env.residuals(env.x0)
print(f"{r.size} residuals, loss {env.loss(env.x0):.5g} = {np.sum(r**2):.5g}")

# %% [markdown]
# Four methods with the same budget:
# %%
runs = {}
for method in ("lbfgsb", "leaprefine", "cmaes", "rand"):
    runs[method] = diffsim.minimize(env, method, budget, seed=0)
    print(f"{method:11} {runs[method].best_loss:.5g}")
best = min(runs.values(), key=lambda run: run.best_loss)
assert best.best_loss < env.loss(env.x0)

# %% [markdown]
# The result. The first four variables are width, length, mass and friction:
# %%
for v, value in list(zip(env.variables, best.best_x))[:4]:
    print(f"{v.name:10} {value:+.3f}")

# %% [markdown]
# Which of these does the recording determine? The Jacobian of the residuals shows it (`dshost eval --intervals` prints intervals): singular values near
# zero are directions in which the cloth may change without an effect on the loss.
# %%
x = env.clip(best.best_x)
columns = np.array([env.jvp(x, e) for e in np.eye(env.n)[:4]]).reshape(4, -1)
print("change of the residuals by width, length, mass, friction:", np.linalg.norm(columns, axis=1).round(4))
env.trajectory(x)
