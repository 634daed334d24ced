# SPDX-License-Identifier: Apache-2.0
"""Your own simulation in Python: gradient, search, a record that can be resumed, ask and tell, SciPy."""

# %% [markdown]
# # My own simulation
#
# A ball is thrown over a wall and is to land at a target: 2 variables, the speed and the angle of the throw. This is all Python;
# docs/plugin-python.md makes an environment of it, with workers, isolation and `dshost check`.
# %%
import tempfile

import numpy as np

import diffsim

GRAVITY, WALL, HEIGHT, TARGET = 9.81, 3.0, 2.0, 7.0
space = diffsim.Space([4.0, 0.2], [14.0, 1.4], names=["speed", "angle"])


def throw(x):
    """Squared distance from the target, m^2, and its gradient by hand; who hits the wall pays for it."""
    v, a = x
    t = WALL / (v * np.cos(a))
    if v * np.sin(a) * t - 0.5 * GRAVITY * t * t < HEIGHT:
        return 100.0, np.zeros(2)  # a plateau: no gradient points over the wall
    range_ = v * v * np.sin(2 * a) / GRAVITY
    slope = np.array([2 * v * np.sin(2 * a), 2 * v * v * np.cos(2 * a)]) / GRAVITY
    return (range_ - TARGET) ** 2, 2 * (range_ - TARGET) * slope


# %% [markdown]
# A descent that begins on the plateau stays there. `lbfgsb` and `bo` begin again elsewhere, at random or where a model expects something.
# %%
for method in ("rand", "lbfgsb", "bo"):
    run = diffsim.minimize(throw, method, 80, seed=3, bounds=space, jac=True)
    print(
        f"{method:11} best loss {run.best_loss:.3g} at speed {run.best_x[0]:.3f} m/s, angle {np.degrees(run.best_x[1]):.1f} degrees"
    )

# %% [markdown]
# With a folder every evaluation is saved: here the "simulator" fails after 30 throws, and the same call resumes the run.
# %%
calls = 0


def unreliable(x):
    global calls
    calls += 1
    if calls == 31:
        raise ConnectionError("the laboratory is closed")
    return throw(x)


with tempfile.TemporaryDirectory() as room:
    folder = room + "/throws"
    try:
        diffsim.minimize(unreliable, "bo", 80, seed=3, bounds=space, jac=True, out=folder)
    except ConnectionError as e:
        print("interrupted:", e)
    again = diffsim.minimize(unreliable, "bo", 80, seed=3, bounds=space, jac=True, out=folder, resume=True)
    print(again)
    print("function calls:", calls)
    whole = diffsim.minimize(throw, "bo", 80, seed=3, bounds=space, jac=True)
    assert np.array_equal(again.history()["x"], whole.history()["x"])

# %% [markdown]
# Ask and tell: the program has the loop.
# %%
with diffsim.optimizer("cmaes", space, budget=120, seed=1) as opt:
    for x in opt:
        opt.tell([throw(p)[0] for p in x])
    print("cmaes      ", opt.best_loss)
