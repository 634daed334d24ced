# SPDX-License-Identifier: Apache-2.0
"""Episodes as arrays (docs/trajectory.md): bodies, frames, metrics; and images of them."""

from __future__ import annotations

import ctypes as c
import os
import struct
from dataclasses import dataclass, field

import numpy as np

from . import _library, _settings
from ._errors import UsageError, by_exit_status
from ._library import lib

SHAPES = {1: "points", 2: "sphere", 3: "capsule", 4: "cylinder", 5: "torus", 6: "box", 7: "mesh", 8: "lines"}
ROLES = {0: "material", 1: "tool", 2: "fixed", 3: "target"}
# The first numbers of size[]; see DS_BODY_* in diffsim/ext/scene.h. half_extents are three numbers.
_LENGTHS = {
    "points": ("radius", "clearness"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "height"),
    "torus": ("major_radius", "minor_radius"),
    "box": ("half_extents",),
    "mesh": (),
    "lines": ("thickness",),
}
_VERTICES = {"mesh": 3, "lines": 2}  # of a row of index


_DTYPES = {c.c_double: np.float64, c.c_uint32: np.uint32, c.c_uint64: np.uint64}


def copied(address, ctype, shape) -> np.ndarray:
    """An array of our own from memory of the library."""
    a = np.zeros(shape, _DTYPES[ctype])
    if address and a.nbytes > 0:
        c.memmove(a.ctypes.data, address, a.nbytes)
    return a


@dataclass(frozen=True, eq=False)
class Body:
    """One body of a scene.

    ``data``: (frames kept, elements, 3) positions in metres of particles or vertices, or (..., 7) poses: position,
    then the unit quaternion w x y z that turns body axes into world axes."""

    name: str
    shape: str  #: "points", "sphere", "capsule", "cylinder", "torus", "box", "mesh" or "lines"
    role: str  #: "material", "tool", "fixed" or "target"
    variety: int
    size: np.ndarray  #: (4,) metres, see DS_BODY_* in diffsim/ext/scene.h
    index: np.ndarray  #: (triangles, 3) or (segments, 2) vertex numbers of a mesh or of lines; else empty
    data: np.ndarray

    @property
    def positions(self) -> np.ndarray:
        """(frames, elements, 3), metres; y is up."""
        return self.data[..., :3]

    @property
    def poses(self) -> np.ndarray:
        """(frames, elements, 7) of a rigid body."""
        if self.data.shape[-1] != 7:
            raise UsageError(f"{self.name} is made of {self.shape}: it has positions, no poses")
        return self.data

    def __repr__(self):
        return (
            f"<Body {self.name}: {self.role}, {self.shape}, {self.data.shape[1]} elements, {self.data.shape[0]} frames>"
        )


@dataclass(frozen=True, eq=False)
class Scene:
    """One simulated episode: ``frames`` output steps including the start; ``frame`` has the numbers of those
    that were kept."""

    name: str  #: of the environment
    loss: float
    flat: bool  #: a 2-D scene in the x-y plane
    frames: int
    frame: np.ndarray  #: (kept,) numbers, 0 = the start
    dt: float  #: seconds between frames
    box: np.ndarray  # : (6,) the region of interest: lower x y z, upper x y z, m
    ground: float  #: height of the floor, m; -inf = none
    bodies: dict = field(repr=False)  #: name -> Body
    metrics: dict = field(repr=False)  #: name -> (frames,) values, NaN where undefined
    units: dict = field(repr=False)  #: name of a metric -> its unit, "" = none

    @property
    def time(self) -> np.ndarray:
        """(kept,) seconds of the kept frames."""
        return self.frame * self.dt

    def render(self, frame: int | None = -1, size=(480, 360)) -> np.ndarray:
        """An image of kept frame ``frame`` (an index as in a list, -1 = the last): (height, width, 3) bytes,
        red green blue.

        ``frame=None``: all kept frames, (kept, height, width, 3). ``size`` is (width, height) in pixels."""
        if not isinstance(size, (tuple, list, np.ndarray)) or len(size) != 2:
            raise TypeError(f"size is {_settings.shown(size)}: expected (width, height) in pixels")
        width, height = (_settings.whole(v, what, 16, 8192) for v, what in zip(size, ("size: the width", "size: the height")))
        kept = len(self.frame)
        if frame is not None:
            frame = _settings.whole(frame, "frame", -(2**40), 2**40)
            if not -kept <= frame < kept:
                raise UsageError(f"frame is {frame}: there are {kept} frames")
        chosen = range(kept) if frame is None else [range(kept)[frame]]
        shown = list(range(kept)) if frame is None else self._kept(chosen[0])
        command = [_library.program(), "frames", "--size", f"{width}x{height}"]
        if frame is not None:
            command += ["--frame", str(len(shown) - 1)]
        import subprocess

        done = subprocess.run(
            command, input=self._block(shown), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise by_exit_status(
                max(done.returncode, 1), said[-1].partition("error: ")[2] or said[-1] if said else "no image"
            )
        pixels = np.frombuffer(done.stdout, np.uint8).reshape(len(chosen), height, width, 3)
        return pixels.copy() if frame is None else pixels[0].copy()

    def save(self, path) -> None:
        """Writes an .npz with the arrays of docs/trajectory.md, like ``dshost eval --trajectory``. Where few
        frames were kept, ``time`` and the metrics still have all frames; ``frame``, positions and poses
        have the kept ones."""
        arrays = {
            "time": np.arange(self.frames) * self.dt,
            "frame": self.frame,
            "dt": np.float64(self.dt),
            "box": self.box,
            "ground": np.float64(self.ground),
            "bodies": np.array(list(self.bodies), np.str_),
        }
        for b in self.bodies.values():
            arrays.update({f"{b.name}_{key}": value for key, value in _arrays(b).items()})
        arrays.update({"metrics/" + name: v for name, v in self.metrics.items()})
        with open(os.fspath(path), "wb") as f:  # a number would be a descriptor of the program
            np.savez_compressed(f, **arrays)  # type: ignore[arg-type]

    def _kept(self, chosen) -> list:
        """The frames of an image: the visible ones, and the trajectories of few bodies up to there."""
        few = sum(b.data.shape[1] for b in self.bodies.values()) <= 200
        return list(range(chosen + 1)) if few else sorted({0, chosen})

    def _block(self, kept) -> bytes:
        """The scene with some of its frames as the block of core/scene/scene_write.h, which dshost-frames reads."""
        parts = []
        for b in self.bodies.values():
            index = np.ascontiguousarray(b.index, np.uint32).tobytes()
            parts.append(
                struct.pack(
                    "=64sIIIIQQ4d",
                    b.name.encode(),
                    _number(SHAPES, b.shape),
                    _number(ROLES, b.role),
                    b.variety,
                    0,
                    b.data.shape[1],
                    b.index.size,
                    *b.size,
                )
            )
            parts += [index, b"\0" * (-len(index) % 8), np.ascontiguousarray(b.data[kept]).tobytes()]
        body = np.ascontiguousarray(self.frame[kept], np.uint64).tobytes() + b"".join(parts)
        head = struct.pack(
            "=8s6Qd6ddQ2d",
            b"DSSCENE2",
            144 + len(body),
            self.flat,
            self.frames,
            len(kept),
            len(self.bodies),
            0,
            self.dt,
            *self.box,
            self.ground,
            0,
            0.0,
            0.0,
        )
        return head + body

    def plot(self, names=None, ax=None):
        """Metrics against time by matplotlib, all or those that are named; returns the axes."""
        from ._plots import metrics

        return metrics(self, names, ax)

    def _repr_html_(self):
        return picture_html(self.render(), f"{self.name}: loss {self.loss:.6g}")


def _arrays(b: Body) -> dict:
    """The arrays of a body (tools/results/trajectory.c). A target at rest is written once."""
    lengths = _LENGTHS[b.shape]
    arrays = {"role": np.array(b.role), "shape": np.array(b.shape)}
    if lengths:
        arrays["size"] = b.size[: 3 if b.shape == "box" else len(lengths)]
    if b.shape == "box":
        arrays["half_extents"] = arrays["size"]
    else:
        arrays.update(zip(lengths, arrays.get("size", ())))
    rests = b.role == "target" and all(frame.tobytes() == b.data[0].tobytes() for frame in b.data[1:])
    arrays["poses" if b.data.shape[-1] == 7 else "positions"] = b.data[:1] if rests else b.data
    if b.shape in _VERTICES:
        arrays["index"] = b.index.reshape(-1, _VERTICES[b.shape])
    return arrays


def _number(names: dict, name: str) -> int:
    return next(k for k, v in names.items() if v == name)


def picture_html(pixels: np.ndarray, caption: str) -> str:
    """An <img> with the image inside, for notebooks."""
    import base64
    import html

    data = base64.b64encode(png(pixels)).decode()
    return f'<figure><img src="data:image/png;base64,{data}" alt="{html.escape(caption)}"><figcaption>{html.escape(caption)}</figcaption></figure>'


def png(pixels: np.ndarray) -> bytes:
    """(height, width, 3) bytes as a PNG file."""
    import zlib

    height, width = pixels.shape[:2]
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = 0
    rows[:, 1:] = np.ascontiguousarray(pixels, np.uint8).reshape(height, -1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


def read_scene(handle, name: str, loss: float) -> Scene:
    """Copies the scene that the environment keeps."""
    view = _library.SceneView()
    status = lib.ds_environment_scene(handle, c.byref(view))
    if status != 0:
        raise _library.by_status(status, lib.ds_environment_message(handle) or f"{name} has no scene")
    bodies, metrics, units = {}, {}, {}
    for i in range(view.bodies):
        b = _library.BodyView()
        lib.ds_environment_body(handle, i, c.byref(b))
        shape = SHAPES.get(b.shape)
        if shape is None:
            continue  # of a younger library
        per = 3 if shape == "mesh" else 2
        bodies[b.name.decode()] = Body(
            b.name.decode(),
            shape,
            ROLES.get(b.role, "material"),
            b.variety,
            np.array(b.size[:]),
            copied(b.index, c.c_uint32, (b.index_count // per, per) if b.index_count else (0,)),
            copied(b.data, c.c_double, (view.kept, b.count, b.width)),
        )
    for i in range(view.metrics):
        m = _library.MetricView()
        lib.ds_environment_metric(handle, i, c.byref(m))
        metrics[m.name.decode()] = copied(m.values, c.c_double, (m.count,))
        units[m.name.decode()] = m.unit.decode()
    return Scene(
        name,
        loss,
        bool(view.flat),
        view.frames,
        copied(view.frame, c.c_uint64, (view.kept,)),
        view.dt,
        np.array(view.box[:]),
        view.ground,
        bodies,
        metrics,
        units,
    )
