# SPDX-License-Identifier: Apache-2.0
"""A method of your own against the strong ones, at equal budget, with several seeds."""

# %% [markdown]
# # My optimizer against the strong ones
#
# The rule of the comparison: one evaluation is one simulated episode, with or without its gradient, and everybody gets as many.
# Mine is a (1+1) evolution strategy with the 1/5 success rule.
# %%
import os

import numpy as np

import diffsim

budget = int(os.environ.get("DIFFSIM_BUDGET", 200))
seeds = range(5)
env = diffsim.make("bounce")


def mine(env, budget, seed):
    """The best loss so far after each evaluation, (budget,)."""
    rng = np.random.default_rng(seed)
    x, width, history = env.random(seed=seed), 0.3, []
    best = env.loss(x)
    history.append(best)
    while len(history) < budget:
        trial = env.clip(x + width * (env.upper - env.lower) * rng.normal(size=env.n))
        loss = env.loss(trial)
        width *= np.exp(0.8) if loss < best else np.exp(-0.2)
        if loss < best:
            x, best = trial, loss
        history.append(best)
    return np.array(history)


curves = {"mine": [mine(env, budget, s) for s in seeds]}
for method in ("cmaes", "boleap", "leaprefine", "lbfgsb", "rand"):
    curves[method] = [diffsim.minimize(env, method, budget, seed=s).history()["best_loss"] for s in seeds]

# %%
print(f"{'':11} median of the best loss after ...")
print(f"{'':11}" + "".join(f"{at:>12d}" for at in (budget // 10, budget // 2, budget)))
for method, runs in sorted(curves.items(), key=lambda item: np.median([r[-1] for r in item[1]])):
    print(
        f"{method:11}"
        + "".join(f"{np.median([r[at - 1] for r in runs]):12.3g}" for at in (budget // 10, budget // 2, budget))
    )
assert all(len(r) == budget for runs in curves.values() for r in runs)

# %% [markdown]
# For more than a first look: an optimizer as a plugin (docs/plugin-python.md, `dshost new opt`) takes part in `dshost bench`, whose tables have
# intervals and tests; `diffsim.load("results/...").table()` has its runs as an array.
