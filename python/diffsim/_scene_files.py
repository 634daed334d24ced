# SPDX-License-Identifier: Apache-2.0
"""Scene files from mappings, and target densities of meshes, points and episodes (docs/scenes.md)."""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping

import numpy as np

from . import _library
from ._errors import UsageError
from ._scene import Scene
from ._settings import real, reals, shown, value_text, whole

_FILES = ("file", "include", "small")  # keys that name files
_room: list = []  # the folder of the files, made on first use, and the process that made it
_lock = threading.Lock()


def _folder() -> str:
    with _lock:
        if not _room or _room[1] != os.getpid():
            _room[:] = [tempfile.mkdtemp(prefix="diffsim-scenes-"), os.getpid()]
            atexit.register(_remove, *_room)
        return _room[0]


def _remove(path, owner):
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def scene_text(scene) -> str:
    """The text of a scene file: a mapping of "kind name" to mappings of keys to values. Files are relative to the
    current folder."""
    text = ""
    for section, keys in scene.items():
        if not isinstance(section, str) or any(ch in section for ch in "[]\n\r\0") or not section.strip():
            raise UsageError(f"scene: {shown(section)} is not the name of a section, as 'body ball'")
        if not isinstance(keys, Mapping):
            raise TypeError(f"scene: section {section} is {shown(keys)}: expected a mapping of keys to values")
        text += f"[{section}]\n"
        for key, value in keys.items():
            if not isinstance(key, str) or any(ch in key for ch in "=:\n\r\0[];#") or not key.strip():
                raise UsageError(f"scene: {shown(key)} in section {section} is not a key")
            if key in _FILES and isinstance(value, (str, os.PathLike)):
                value = os.path.abspath(os.fspath(value))
            text += f"{key} = {value_text(f'scene: {section}: {key}', value)}\n"
    return text


def written(value) -> str:
    """The path of a file with a scene (a mapping) or an array, which stays until this process ends."""
    if isinstance(value, Mapping):
        data, ending = scene_text(value).encode(), "ini"
    else:
        buffer = io.BytesIO()
        np.save(buffer, reals(value, "an array"))
        data, ending = buffer.getvalue(), "npy"
    path = os.path.join(_folder(), f"{hashlib.sha256(data).hexdigest()[:16]}.{ending}")
    with open(path, "wb") as f:
        f.write(data)
    return path


def _points(what) -> np.ndarray:
    """(count, 3) of an array, or of the material in the last frame of a Scene."""
    if isinstance(what, Scene):
        parts = [b.positions[-1] for b in what.bodies.values() if b.role == "material" and b.shape == "points"]
        if not parts:
            raise UsageError(f"density: the scene of {what.name} has no particles of a material")
        return np.concatenate(parts)
    p = reals(what, "density: points")
    if p.ndim != 2 or p.shape[1] != 3 or len(p) == 0:
        raise UsageError(f"density: points have the shape {p.shape}: expected (count, 3)")
    return p


def _splat(p: np.ndarray, n: int, mass: float) -> np.ndarray:
    """Each point gives its mass to 27 nodes by quadratic B-splines, as in `dshost target`."""
    most = 1.0 - 3.0 / n
    wrong = ~((p >= 0.0) & (p <= most)).all(axis=1)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise UsageError(
            f"density: point {i} is at {p[i, 0]:.4g} {p[i, 1]:.4g} {p[i, 2]:.4g}: the grid of {n} nodes takes 0 to {most:.4g}; "
            "move or scale the points"
        )
    base = (p * n - 0.5).astype(np.int64)
    f = p * n - base
    w = np.stack([0.5 * (1.5 - f) * (1.5 - f), 0.75 - (f - 1.0) * (f - 1.0), 0.5 * (f - 0.5) * (f - 0.5)])
    density = np.zeros(n**3)
    for k in range(27):
        a, b, c = k // 9, k // 3 % 3, k % 3
        at = ((base[:, 0] + a) * n + base[:, 1] + b) * n + base[:, 2] + c
        density += np.bincount(at, mass * w[a, :, 0] * w[b, :, 1] * w[c, :, 2], n**3)
    return density.reshape(n, n, n)


def density(
    what,
    *,
    nodes: int = 64,
    particles: int | None = None,
    scale: float = 1.0,
    center=(0.5, 0.0, 0.5),
    count: int = 100000,
) -> np.ndarray:
    """A target density: the masses of a grid, (nodes, nodes, nodes), for ``[target] file`` of a scene (by ``np.save``) and the
    parameter ``target`` of the plasticine tasks.

    what       points, (count, 3) in m; a :class:`Scene`, whose last frame counts; or a path: a closed mesh, a .ply or .npy file of
               points, the folder of a run
    nodes      along each axis of the unit cube; preset small has 32
    particles  that make the mass: PlasticineLab's (0.5 / nodes)^2 each; None: as many as points, of a mesh 10000
    scale, center, count   of a mesh or .ply file: factor of lengths, where its origin is placed, points inside

    Raises :class:`UsageError`, :class:`ConfigError` or :class:`PluginError` with the line of ``dshost target``."""
    nodes = whole(nodes, "nodes", 8, 128)
    particles = None if particles is None else whole(particles, "particles", 1, 10**6)
    if not isinstance(what, (str, os.PathLike)):
        p = _points(what)
        return _splat(p, nodes, (0.5 / nodes) ** 2 * (particles or len(p)) / len(p))
    where = reals(center, "center")
    if where.shape != (3,):
        raise UsageError(f"center is {shown(center)}: expected three numbers")
    with tempfile.TemporaryDirectory(prefix="diffsim-") as room:
        out = os.path.join(room, "density.npy")
        arguments = [f"--nodes={nodes}", f"--scale={real(scale, 'scale')!r}", f"--count={whole(count, 'count', 1, 10**6)}"]
        arguments += ["--center=" + ",".join(map(repr, where.tolist()))]
        arguments += [] if particles is None else [f"--particles={particles}"]
        _library.dshost("target", os.fspath(what), "-o", out, *arguments)
        return np.load(out)
