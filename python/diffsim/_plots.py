# SPDX-License-Identifier: Apache-2.0
"""Plots by matplotlib, and the interactive viewer for notebooks."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from . import _library
from ._errors import UsageError

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")  # Okabe and Ito


def _axes(ax):
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6, 4))[1]


def _scale(ax, losses):
    finite = losses[np.isfinite(losses)]
    if finite.size and (finite > 0).all() and finite.max() > 20 * finite.min():
        ax.set_yscale("log")


def convergence(runs, ax=None):
    """The best loss so far against the evaluations: a line for each method, its median, with the quartiles of its runs."""
    runs = list(runs)
    envs = sorted({r.env for r in runs})
    if len(envs) != 1:
        raise UsageError(f"the runs are of {len(envs)} environments ({', '.join(envs)}): select(env=...) one of them first")
    ax, lowest = _axes(ax), []
    for i, opt in enumerate(sorted({r.opt for r in runs})):
        curves = [r.history()["best_loss"] for r in runs if r.opt == opt]
        length = max(map(len, curves))
        table = np.array([np.pad(c, (0, length - len(c)), mode="edge") if len(c) else np.full(length, np.inf) for c in curves])
        table[~np.isfinite(table)] = np.nan
        at, color = np.arange(1, length + 1), COLORS[i % len(COLORS)]
        low, middle, high = np.nanpercentile(table, [25, 50, 75], axis=0) if np.isfinite(table).any() else np.full((3, length), np.nan)
        ax.step(at, middle, where="post", color=color, label=opt + (f" ({len(curves)} runs)" if len(curves) > 1 else ""))
        if len(curves) > 1:
            ax.fill_between(at, low, high, step="post", color=color, alpha=0.2, linewidth=0)
        lowest.append(middle)
    _scale(ax, np.concatenate(lowest))
    ax.set_xlabel("evaluations")
    ax.set_ylabel("best loss")
    ax.set_title(envs[0])
    ax.legend()
    return ax


def landscape(slice_, ax=None):
    """The loss of a slice as colours, with the directions of descent as arrows where there are gradients."""
    a, ax = slice_.arrays, _axes(ax)
    loss = np.asarray(a["loss"], dtype=float)
    if loss.ndim == 1:
        ax.plot(a["c0"], loss, color=COLORS[0])
        ax.set_ylabel("loss")
    else:
        image = ax.pcolormesh(a["c0"], a["c1"], np.ma.masked_invalid(loss.T), shading="nearest", cmap="viridis")
        ax.figure.colorbar(image, ax=ax, label="loss")
        if "g0" in a and "g1" in a and np.isfinite(a["g0"]).any():
            every = max(1, max(loss.shape) // 20)
            u, v = (-np.asarray(a[k], dtype=float)[::every, ::every].T for k in ("g0", "g1"))
            with np.errstate(divide="ignore", invalid="ignore"):
                norm = np.hypot(u, v)
                ax.quiver(a["c0"][::every], a["c1"][::every], u / norm, v / norm, color="white", angles="xy", pivot="middle", width=0.003)
        ax.set_ylabel("direction 1")
    ax.set_xlabel("direction 0")
    return ax


def metrics(scene, names=None, ax=None):
    """The metrics of an episode against time."""
    chosen = list(scene.metrics) if names is None else [names] if isinstance(names, str) else list(names)
    unknown = [n for n in chosen if n not in scene.metrics]
    if unknown or not chosen:
        raise UsageError(f"unknown metric {unknown[0]!r}" if unknown else f"{scene.name} has no metrics")
    ax = _axes(ax)
    for i, name in enumerate(chosen):
        values, unit = scene.metrics[name], scene.units[name]
        at = np.arange(len(values)) * (scene.dt or 1.0)
        ax.plot(at, values, color=COLORS[i % len(COLORS)], label=name + (f" [{unit}]" if unit else ""))
    ax.set_xlabel("time [s]" if scene.dt else "step")
    ax.set_title(scene.name)
    ax.legend()
    return ax


class View:
    """The interactive page of an episode (docs/view.md): a notebook shows it, ``save(path)`` writes it."""

    def __init__(self, page: str, height: int = 480):
        self.page, self.height = page, height

    def save(self, path) -> None:
        """Writes the page, which needs nothing else."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.page)

    def _repr_html_(self):
        import html

        return (
            f'<iframe srcdoc="{html.escape(self.page, quote=True)}" sandbox="allow-scripts" width="100%" height="{self.height}" '
            'style="border:0"></iframe>'
        )


def view(what, *flags, height: int = 480) -> View:
    """The page that ``dshost view`` writes."""
    with tempfile.TemporaryDirectory(prefix="diffsim-") as room:
        file = os.path.join(room, "view.html")
        _library.dshost("view", *what, *flags, "--out", file)
        with open(file, encoding="utf-8") as f:
            return View(f.read(), height)


def view_point(env, x, height: int = 480) -> View:
    """An episode of an environment, at a point."""
    from ._settings import lines, reals

    given = env._given
    with tempfile.TemporaryDirectory(prefix="diffsim-") as room:
        config, point = os.path.join(room, "env.ini"), os.path.join(room, "x.npy")
        with open(config, "wb") as f:
            f.write(b"[env]\n" + lines(given["settings"]))
        np.save(point, reals(x, "x"))
        return view(("--env", given["name"], "--config", config, "--x", point, "--seed", str(given["seed"])), height=height)
