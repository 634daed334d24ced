# SPDX-License-Identifier: Apache-2.0
"""A class of a notebook as an environment: in this process while you write it, in workers when it is done; help, plots, the viewer."""

# %% [markdown]
# # A class of your own
#
# Which environments and optimizers are there?
# %%
import os

import diffsim

budget = int(os.environ.get("DIFFSIM_BUDGET", 200))
diffsim.environments().select(family="gradSim")
# %%
diffsim.help("racer")

# %% [markdown]
# A mass on a spring: which stiffness and damping bring it to rest at 1 m after 3 s?
# %%
class Spring:
    """A mass on a spring comes to rest at 1 m."""

    lower, upper = [0.1, 0.0], [20.0, 5.0]
    variables = ["stiffness [N/m]", "damping [N.s/m]"]
    steps, dt = 300, 0.01

    def loss_and_grad(self, p):
        x, v, s = 0.0, 2.0, [[0.0, 0.0], [0.0, 0.0]]  # position, speed, and their derivatives by p
        for _ in range(self.steps):
            v += self.dt * (-p[0] * (x - 1) - p[1] * v)
            s[1] = [s[1][i] + self.dt * (-p[0] * s[0][i] - p[1] * s[1][i] - ((x - 1), v)[i]) for i in (0, 1)]
            x += self.dt * v
            s[0] = [s[0][i] + self.dt * s[1][i] for i in (0, 1)]
        return (x - 1) ** 2 + 0.1 * v**2, [2 * (x - 1) * s[0][i] + 0.2 * v * s[1][i] for i in (0, 1)]


# %% [markdown]
# In this process, where a debugger and `print()` work:
# %%
draft = diffsim.make(Spring, isolation="none")
result = diffsim.minimize(draft, "lbfgsb", budget)
print(f"{draft.variables[0].name}: {result.best_x[0]:.4g} {draft.variables[0].unit}, loss {result.best_loss:.3g}")
# %%
result.plot()

# %% [markdown]
# An environment that comes with diffsim: the best episode in the viewer.
# %%
swing = diffsim.minimize("cartpole", "racer", budget)
swing
# %%
with diffsim.make("cartpole") as env:
    page = env.view(swing.best_x)
page
