# SPDX-License-Identifier: Apache-2.0
"""Policies for the cart-pole by gradients of the simulation: a network of time through PyTorch, and one of the state by apg."""

# %% [markdown]
# # A policy by gradients through a simulation
#
# `cartpole`: a cart throws the tip of a hanging pole to a target. An episode takes 100 actions; `diffsim.torch.loss(env)` is the loss of
# an episode as a function that PyTorch differentiates, so it can train any model that produces the actions.
# %%
import os

import numpy as np
import torch

import diffsim

steps = int(os.environ.get("DIFFSIM_BUDGET", 150))
torch.manual_seed(0)
torch.set_num_threads(1)

env = diffsim.make("cartpole")
info = env.episodes
print(f"{info.horizon} steps of {info.n_act} actions, {info.n_obs} observations, dt {info.dt} s")
episode_loss = diffsim.torch.loss(env)
lower, upper = (torch.tensor(np.array(b)).reshape(info.horizon, info.n_act) for b in env.bounds)

# %% [markdown]
# A network of time, 5 frequencies in, the actions out, within their bounds by a sigmoid:
# %%
time = torch.linspace(0, 1, info.horizon, dtype=torch.float64)[:, None]
features = torch.cat([f(np.pi * k * time) for k in range(1, 6) for f in (torch.sin, torch.cos)], 1)
network = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, info.n_act)).double()


def actions():
    return lower + (upper - lower) * torch.sigmoid(network(features))


optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
first = None
for step in range(steps):
    optimizer.zero_grad()
    loss = episode_loss(actions().reshape(-1))
    loss.backward()
    optimizer.step()
    first = loss.item() if first is None else first
    if step % max(1, steps // 5) == 0:
        print(f"step {step:4d} loss {loss.item():.6f}")
with torch.no_grad():
    x = actions().reshape(-1).numpy()
print(f"from {first:.4f} to {env.loss(x):.4f}")
assert env.loss(x) < first
env.trajectory(x)

# %% [markdown]
# The optimizer `apg` learns a policy of the state from the gradients of single steps; it writes `policy.npz`, which
# `dshost eval --policy` runs again.
# %%
run = diffsim.minimize(env, "apg", max(16, 2 * steps), seed=0)
print(run)
