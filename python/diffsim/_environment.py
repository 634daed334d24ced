# SPDX-License-Identifier: Apache-2.0
"""Environments: losses, gradients, channels, episodes and pictures of a simulation (diffsim/lib/environment.h)."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import _library, _scene
from ._calls import Opened, asked_while_waiting
from ._errors import ClosedError, EvaluationError, UnsupportedError, UsageError
from ._library import lib
from ._settings import lines, merged, reals, seconds, shown, undo_rounding, whole
from ._space import Space

OUTCOMES = ("ok", "bad_gradient", "diverged", "infeasible", "stopped", "invalid", "crashed", "timeout", "error")
GRADIENT_KINDS = ("none", "adjoint", "forward", "finite_differences", "smoothed")
_ROLES = {1: "residual", 2: "constraint", 3: "objective", 4: "image", 5: "state", 6: "loss"}
_TYPES = {1: np.float64, 2: np.float32, 3: np.uint8}
_VALUE, _JV, _JTV, _HV = 1, 2, 3, 4
_WANT_GRAD = 1
_OPERATIONS = {_VALUE: "value", _JV: "jv", _JTV: "jtv", _HV: "hv"}
_F64 = np.dtype(np.float64)

_evaluate = lib.ds_environment_evaluate_many


class Variable(NamedTuple):
    """A decision variable."""

    name: str  #: "push.x.12"; "x0", "x1", ... where the environment has no names
    unit: str  #: "N/m"; "" = a pure number
    group: str  # : what it belongs to; "" = nothing
    lower: float
    upper: float
    log: bool  #: positive, and varied by factors rather than by steps


@dataclass(frozen=True)
class Channel:
    """Results of an evaluation besides its loss."""

    name: str
    role: str  #: "residual", "constraint", "objective", "image", "state", "loss"
    shape: tuple
    dtype: np.dtype
    unit: str
    doc: str
    can: tuple  #: of "value", "jv", "jtv", "hv"
    lower: float  #: of a constraint: where an element is allowed to be
    upper: float
    number: int

    @property
    def elements(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(eq=False)
class Evaluation:
    """The results for one point (numbers) or for k points (arrays with k rows)."""

    loss: float | np.ndarray  #: () or (k,); inf where there is none
    grad: np.ndarray | None  #: (n,) or (k, n); NaN where there is none; None = not wanted
    outcome: str | list  # : "ok", or why loss or gradient is missing; k of them
    message: str | list  #: the reason in words, "" where all is well; k of them
    grad_kind: str | list  #: "adjoint", "forward", "finite_differences", "smoothed", "none"
    steps: int | np.ndarray  #: simulation steps spent
    seconds: float | np.ndarray  #: inside the plugin

    @property
    def ok(self):
        """Are all requested results present? bool, or (k,) bools."""
        return self.outcome == "ok" if isinstance(self.outcome, str) else np.array([o == "ok" for o in self.outcome])


@dataclass(frozen=True)
class EpisodeInfo:
    """Stepwise control: an episode takes ``horizon`` actions of ``n_act`` numbers; horizon * n_act = n."""

    horizon: int
    n_act: int
    n_obs: int
    dt: float  #: seconds per control step; 0 where time has no meaning
    time_limit: bool  #: the horizon is a limit of time: who reaches it is truncated, not terminated


class Environment(Opened):
    """A simulation with n decision variables x, a loss, and its exact gradient.

    Made by :func:`diffsim.make`. Points are float64 arrays of shape (n,), or (k, n) for k points, which
    ``jobs`` worker processes evaluate in parallel. Everything that NumPy turns into such an array of real
    numbers is accepted, and never changed. A value outside the bounds raises :class:`UsageError`, which names
    it.

    A plugin that crashes, hangs (``timeout=``) or takes too much memory (``memory_mb=``) costs one
    evaluation: :class:`EvaluationError`. Different threads may use one environment; they take turns. A forked
    process must make its own environments. Environments can be pickled; the copy is opened again.

    It is a context manager; without ``with`` it is closed when it is collected, or at the end of the program."""

    name: str  #: as it was given: an id, or a path
    n: int  #: decision variables
    lower: np.ndarray  #: (n,) bounds
    upper: np.ndarray  #: (n,)
    x0: np.ndarray  #: (n,) a start point inside them
    has_gradient: bool
    stochastic: bool  #: may the loss depend on the noise key?
    stepwise: bool  #: is there stepwise control: :attr:`episodes`, :mod:`diffsim.gym`?
    steps: int  #: output steps of one episode
    dt: float  #: seconds per output step; 0 where time has no meaning
    loss_floor: float  #: proven lower bound of the loss, or -inf

    def __init__(
        self,
        name,
        *,
        seed: int = 0,
        jobs: int = 0,
        threads: int = 1,
        isolation: str = "process",
        timeout: float | None = None,
        memory_mb: int | None = None,
        on_failure: str = "raise",
        settings: dict | None = None,
        **parameters,
    ):
        super().__init__()
        if not isinstance(isolation, str) or isolation not in ("process", "none"):
            raise UsageError(f"isolation is {shown(isolation)}: allowed are 'process' and 'none'")
        if not isinstance(on_failure, str) or on_failure not in ("raise", "inf"):
            raise UsageError(f"on_failure is {shown(on_failure)}: allowed are 'raise' and 'inf'")
        try:
            name = os.fspath(name)
        except TypeError:
            raise TypeError(
                f"the name of the environment is {shown(name)}: expected an id, the path of a plugin, or a class with loss(x)"
            ) from None
        self._given = {
            "name": name,
            "seed": whole(seed, "seed", 0, 2**64 - 1),
            "jobs": whole(jobs, "jobs", 0, 1024),
            "threads": whole(threads, "threads", 0, 1024),
            "isolation": isolation,
            "timeout": seconds(timeout, "timeout"),
            "memory_mb": 0 if memory_mb is None else whole(memory_mb, "memory_mb", 0, 10**9),
            "on_failure": on_failure,
            "settings": merged(settings, parameters),
        }
        for key, value in self._given["settings"].items():
            if (key == "scene" and isinstance(value, Mapping)) or (isinstance(value, np.ndarray) and value.ndim == 3):
                from ._scene_files import written

                self._given["settings"][key] = written(value)
        self._text = lines(self._given["settings"])
        self._waiting, self._interrupts = asked_while_waiting()
        self._open()
        self._describe()

    # ---- open and close ----

    def _open(self):
        g = self._given
        options = _library.EnvironmentOptions(
            isolation=1 if g["isolation"] == "none" else 0,
            settings=self._text,
            seed=g["seed"],
            jobs=g["jobs"],
            threads=g["threads"],
            timeout_s=g["timeout"],
            memory_mb=g["memory_mb"],
            waiting=self._waiting,
        )
        why = _library.line_buffer()
        handle = lib.ds_environment_open(
            _library.encoded(g["name"], "the name of the environment"), c.byref(options), why, len(why)
        )
        interrupt = self._interrupted()
        if interrupt is not None:
            if handle:
                lib.ds_environment_close(handle)
            raise interrupt
        _library.opened(handle, why)
        self._hold(handle, _close, handle, self._waiting)

    def _describe(self):
        box = _library.Box()
        lib.ds_environment_describe(self._handle, c.byref(box))
        n = box.n
        self.name, self.n, self.steps = self._given["name"], n, box.steps
        self.has_gradient, self.stochastic, self.stepwise = (
            bool(v) for v in (box.has_gradient, box.stochastic, box.stepwise)
        )
        self.dt, self.loss_floor = box.dt, box.loss_floor
        self.lower, self.upper, self.x0 = (
            _frozen(_scene.copied(p, c.c_double, (n,))) for p in (box.lower, box.upper, box.x0)
        )
        self._shape = (n,)
        self._x, self._grad = np.empty(n), np.empty(n)
        self._loss, self._outcome = c.c_double(), c.c_uint32()
        self._key = c.c_uint64(0)
        point = {"count": 1, "n": n, "stride": n, "x": self._x.ctypes.data, "noise_key": c.addressof(self._key)}
        results = _library.Results(
            stride=n,
            loss=c.addressof(self._loss),
            grad=self._grad.ctypes.data,
            outcome=c.addressof(self._outcome),
        )
        self._one = c.byref(_library.Rows(**point)), c.byref(results), None, None
        self._one_with_grad = c.byref(_library.Rows(want=_WANT_GRAD, **point)), c.byref(results), None, None
        self._channels = None
        self._variables = None
        self._lanes: set = set()  # of stepwise control, in use

    def close(self) -> None:
        """Ends the workers. Returned results stay valid; every later call raises :class:`ClosedError`."""
        with self._lock:
            if self._handle is not None:
                self._let_go("was closed")

    @property
    def closed(self) -> bool:
        """Was it closed, or does it belong to the parent of this process?"""
        return self._handle is None and self._why_closed != "interrupted"

    def __reduce__(self):
        return _again, (self._given,)

    def _check_open(self):
        if self.closed:
            raise ClosedError(f"{self.name} {self._why_closed}: make() another one")

    def _ready(self):
        """The handle, with the lock held; opened anew where Ctrl-C has ended the workers."""
        if self._handle is None:
            self._check_open()
            self._open()
        return self._handle

    def _interrupted(self):
        """The first exception that a signal handler raised during a call of the library, or None."""
        first = self._interrupts[0] if self._interrupts else None
        self._interrupts.clear()
        return first

    def _check(self, status):
        """Raises the failure of a call of the library. Ctrl-C during it ends the workers; the call may still
        have finished."""
        interrupt = self._interrupted()
        if interrupt is not None:
            self._let_go("interrupted")
            raise interrupt
        if status == 0:
            return
        error = _library.by_status(status, lib.ds_environment_message(self._handle))
        if status == _library.STOPPED:
            self._let_go("interrupted")
        raise error

    # ---- properties ----

    @property
    def bounds(self) -> tuple:
        """(lower, upper), (n,) each."""
        return self.lower, self.upper

    @property
    def space(self) -> Space:
        """The box to search in, for :func:`diffsim.optimizer`."""
        space = Space(self.lower, self.upper, self.x0, [v.name for v in self.variables])
        space._has_start = False  # a suggestion: use_x0=True takes it
        return space

    @property
    def settings(self) -> dict:
        """The parameters that were given."""
        return dict(self._given["settings"])

    @property
    def seed(self) -> int:
        """The seed of its noise, and of runs."""
        return self._given["seed"]

    @property
    def jobs(self) -> int:
        """Worker processes; 0 = one per processor."""
        return self._given["jobs"]

    @property
    def variables(self) -> list:
        """n times :class:`Variable`: names, units, groups, bounds."""
        with self._lock:
            if self._variables is None:
                self._variables = self._read_variables(self._ready())
            return list(self._variables)

    def _read_variables(self, handle):
        found, v = [], _library.Variable()
        for i, (low, high) in enumerate(zip(self.lower.tolist(), self.upper.tolist())):
            if lib.ds_environment_variable(handle, i, c.byref(v)) == 0:
                found.append(Variable(v.name.decode(), v.unit.decode(), v.group.decode(), low, high, bool(v.flags & 1)))
            else:
                found.append(Variable(f"x{i}", "", "", low, high, False))
        return found

    @property
    def channels(self) -> dict:
        """name -> :class:`Channel`."""
        with self._lock:
            if self._channels is None:
                self._channels = self._read_channels(self._ready())
            return dict(self._channels)

    def _read_channels(self, handle):
        found = {}
        for i in range(lib.ds_environment_channels(handle)):
            d = _library.Channel()
            self._check(lib.ds_environment_channel(handle, i, c.byref(d)))
            if d.type in _TYPES and d.role in _ROLES:
                found[d.name.decode()] = Channel(
                    d.name.decode(),
                    _ROLES[d.role],
                    tuple(d.shape[: d.ndim]),
                    np.dtype(_TYPES[d.type]),
                    d.unit.decode(),
                    d.doc.decode(),
                    tuple(w for op, w in _OPERATIONS.items() if d.ops >> op & 1),
                    d.lower,
                    d.upper,
                    i,
                )
        return found

    def noise_key(self, number: int) -> int:
        """The noise of evaluation ``number`` (1, 2, ...) of a run of dshost with this seed; 0 without noise."""
        with self._lock:
            return lib.ds_environment_noise_key(self._ready(), whole(number, "number", 1, 2**64 - 1))

    def clip(self, x) -> np.ndarray:
        """x with every value moved to the nearest one within the bounds."""
        a = reals(x, "x")
        if a.shape[-1:] != self._shape:
            raise UsageError(f"x has shape {a.shape}: {self.name} takes ({self.n},), or (..., {self.n})")
        return np.clip(a, self.lower, self.upper)

    def random(self, k: int | None = None, seed: int | None = None) -> np.ndarray:
        """Uniform points within the bounds, by NumPy's generator: (n,), or (k, n)."""
        shape = self.n if k is None else (whole(k, "k", 0, 2**40), self.n)
        if seed is not None:
            seed = whole(seed, "seed", 0, 2**128 - 1)
        return self.clip(self.lower + (self.upper - self.lower) * np.random.default_rng(seed).random(shape))

    # ---- losses and gradients ----

    def loss(self, x, noise_key=None):
        """The loss: a float for x of shape (n,), an array (k,) for (k, n).

        ``noise_key``: of a stochastic environment, a number of :meth:`noise_key`, or k of them; None or 0:
        without noise, as ``dshost eval``. Raises :class:`EvaluationError` where a loss is missing; with
        ``on_failure="inf"`` that loss is inf."""
        if type(x) is np.ndarray and x.dtype == _F64 and x.shape == self._shape and noise_key is None:
            with self._lock:
                self._x[:] = x
                status = _evaluate(self._handle or self._ready(), *self._one)
                if status == 0 and self._outcome.value == 0 and not self._interrupts:
                    return self._loss.value
                return self._failed_one(status, None)[0]
        return self._losses(x, noise_key, False)[0]

    def loss_and_grad(self, x, noise_key=None):
        """(loss, gradient): a float and (n,), or (k,) and (k, n).

        Raises :class:`EvaluationError` as :meth:`loss`, also where only the gradient is missing; with
        ``on_failure="inf"`` such a gradient is NaN. :class:`UnsupportedError` where the environment has no gradients.
        """
        if type(x) is np.ndarray and x.dtype == _F64 and x.shape == self._shape and noise_key is None:
            with self._lock:
                self._x[:] = x
                status = _evaluate(self._handle or self._ready(), *self._one_with_grad)
                if status == 0 and self._outcome.value == 0 and not self._interrupts:
                    return self._loss.value, self._grad.copy()
                return self._failed_one(status, self._grad)
        return self._losses(x, noise_key, True)

    def grad(self, x, noise_key=None) -> np.ndarray:
        """The gradient alone, (n,) or (k, n); its cost equals :meth:`loss_and_grad`."""
        return self.loss_and_grad(x, noise_key)[1]

    def __call__(self, x):
        return self.loss(x)

    def _failed_one(self, status, grad):
        """The fast path gave no result; called with the lock held."""
        self._check(status)
        outcome = OUTCOMES[min(self._outcome.value, 8)]
        if self._given["on_failure"] == "raise":
            raise EvaluationError(self._words(0, outcome), outcome)
        return self._loss.value, None if grad is None else np.full(self.n, np.nan)

    def _losses(self, x, noise_key, with_grad):
        e = self.evaluate(x, grad=with_grad, noise_key=noise_key)
        if self._given["on_failure"] == "raise":
            outcomes = [e.outcome] if isinstance(e.outcome, str) else e.outcome
            for i, outcome in enumerate(outcomes):
                if outcome != "ok":
                    words = e.message if isinstance(e.message, str) else f"row {i}: {e.message[i]}"
                    raise EvaluationError(words, outcome, e)
        return e.loss, e.grad

    def _words(self, row, outcome):
        said = lib.ds_environment_message_of(self._handle, row).decode("utf-8", "replace")
        return _library.in_python(said) or f"{self.name}: {outcome}"

    def _points(self, x):
        """x as (k, n), and was it one point?"""
        a = reals(x, "x")
        single = a.shape == self._shape or (a.ndim == 0 and self.n == 1)
        if not single and (a.ndim != 2 or a.shape[1] != self.n or a.shape[0] == 0):
            raise UsageError(f"x has shape {a.shape}: {self.name} takes ({self.n},), or (k, {self.n}) for k points")
        return undo_rounding(x, a, self.lower, self.upper).reshape(-1, self.n), single

    def _keys(self, noise_key, k):
        if noise_key is None:
            return np.zeros(k, np.uint64)
        try:
            a = np.asarray(noise_key)
        except (ValueError, TypeError, RuntimeError):
            a = np.empty(0)
        if isinstance(noise_key, np.ma.MaskedArray) or a.dtype.kind not in "iu" or a.shape not in ((), (k,)) or (a.dtype.kind == "i" and (a < 0).any()):
            raise UsageError(
                f"noise_key: expected a whole number that is not negative, or {k} of them, not {shown(noise_key)}"
            )
        return np.ascontiguousarray(np.broadcast_to(a, (k,)), np.uint64)

    def evaluate(self, x, grad: bool = False, noise_key=None) -> Evaluation:
        """All results for one point or k points; failures are in the results and are not raised.

        Rows are evaluated in parallel, and each has the result that it would have alone."""
        return self._batch(x, grad, noise_key, [])[0]

    def _batch(self, x, grad, noise_key, queries):
        """Evaluates, with queries about channels, pairs of structs (query, reply); (Evaluation, was it one point?)."""
        a, single = self._points(x)
        k = len(a)
        if grad and not self.has_gradient:
            raise UnsupportedError(f"{self.name} has no gradient")
        keys = self._keys(noise_key, k)
        loss, seconds_ = np.empty(k), np.empty(k)
        outcome, kind, steps = np.zeros(k, np.uint32), np.zeros(k, np.uint32), np.zeros(k, np.uint64)
        g = np.empty((k, self.n)) if grad else None
        rows = _library.Rows(
            want=_WANT_GRAD if grad else 0,
            count=k,
            n=self.n,
            stride=self.n,
            x=a.ctypes.data,
            noise_key=keys.ctypes.data,
        )
        results = _library.Results(
            stride=self.n,
            loss=loss.ctypes.data,
            grad=g.ctypes.data if grad else None,
            outcome=outcome.ctypes.data,
            grad_kind=kind.ctypes.data,
            cost_steps=steps.ctypes.data,
        )
        if queries:
            asked, replies = ((c.c_void_p * len(queries))(*map(c.addressof, side)) for side in zip(*queries))
            rows.queries, rows.query, results.reply = len(queries), c.addressof(asked), c.addressof(replies)
        with self._lock:
            self._ready()
            self._check(_evaluate(self._handle, c.byref(rows), c.byref(results), seconds_.ctypes.data, None))
            words = [OUTCOMES[min(o, 8)] for o in outcome.tolist()]
            messages = ["" if o == "ok" else self._words(i, o) for i, o in enumerate(words)]
        if grad:
            g[[o != "ok" for o in words]] = np.nan
        kinds = [GRADIENT_KINDS[min(v, 4)] for v in kind.tolist()]
        if single:
            e = Evaluation(
                float(loss[0]),
                g[0] if grad else None,
                words[0],
                messages[0],
                kinds[0],
                int(steps[0]),
                float(seconds_[0]),
            )
        else:
            e = Evaluation(loss, g, words, messages, kinds, steps.astype(np.int64), seconds_)
        return e, single

    # ---- channels ----

    def _channel(self, channel, operation):
        """The channel of a name; None: the residuals, for second derivatives the loss, else the one that can do it."""
        channels = self.channels
        if channel is None:
            able = [v for v in channels.values() if operation in v.can]
            roles = ("loss", "residual") if operation == "hv" else ("residual", "loss")
            able = next((found for r in roles if (found := [v for v in able if v.role == r])), able)
            if len(able) != 1:
                raise UnsupportedError(
                    f"{self.name} has "
                    + (
                        f"several channels for {operation}: name one of "
                        if able
                        else f"no channel for {operation}; it has "
                    )
                    + (", ".join(v.name for v in able or channels.values()) or "none")
                )
            return able[0]
        if not isinstance(channel, str) or channel not in channels:
            raise UsageError(f"{self.name} has no channel {shown(channel)}; it has " + (", ".join(channels) or "none"))
        if operation not in channels[channel].can:
            raise UnsupportedError(
                f"channel {channel} of {self.name} cannot do {operation}, but {', '.join(channels[channel].can)}"
            )
        return channels[channel]

    def _query(self, x, noise_key, wanted):
        """wanted: [(channel, operation number, v, w)] -> [array]: one evaluation of every row of x gives them
        all."""
        a, single = self._points(x)
        k, queries, outs, keep = len(a), [], [], []
        for ch, op, v, w in wanted:
            shape, dtype = (
                (ch.shape, ch.dtype) if op == _VALUE else (ch.shape, _F64) if op == _JV else (self._shape, _F64)
            )
            out = np.zeros((1, *shape), dtype)  # of a row, which begins at a multiple of 8 bytes
            size, stride = out.nbytes, -(-out.nbytes // 8) * 8
            room, kind = np.zeros(k * stride, np.uint8), np.zeros(k, np.uint32)
            out = np.ndarray((k, *shape), dtype, room.data, 0, (stride, *out.strides[1:]))
            for what, m in (("v", v), ("w", w)):
                if m is not None and m.ndim == 2 and m.shape[0] not in (1, k):
                    raise UsageError(f"{what} has {m.shape[0]} rows for {k} points: expected one row, or {k}")
            v_, w_ = (
                None if m is None else np.ascontiguousarray(np.broadcast_to(m, (k, *m.shape[-1:]))) for m in (v, w)
            )
            keep += [v_, w_, kind]
            query = _library.Query(
                op=op,
                channel=ch.number,
                v=None if v_ is None else v_.ctypes.data,
                w=None if w_ is None else w_.ctypes.data,
                v_stride=0 if v_ is None else v_.shape[1],
                w_stride=0 if w_ is None else w_.shape[1],
            )
            reply = _library.Reply(out=room.ctypes.data, stride=stride, bytes=size, kind=kind.ctypes.data)
            queries.append((query, reply))
            outs.append(out)
        e, _ = self._batch(a, False, noise_key, queries)
        for outcome, message in zip(e.outcome, e.message):
            if outcome != "ok":
                raise EvaluationError(message, outcome, e)
        return [np.array(out, order="C")[0] if single else np.array(out, order="C") for out in outs]

    def channel_values(self, x, names=None, noise_key=None) -> dict:
        """name -> array of the channel's shape and type; k rows of it for k points. One evaluation for each point."""
        channels = self.channels
        wanted = list(channels) if names is None else [names] if isinstance(names, str) else list(names)
        chosen = [self._channel(name, "value") for name in wanted]
        found: dict = {}
        for i in range(0, len(chosen), 16):  # DS_MAX_QUERIES
            part = chosen[i : i + 16]
            found.update(zip((v.name for v in part), self._query(x, noise_key, [(v, _VALUE, None, None) for v in part])))
        return found

    def residuals(self, x, noise_key=None) -> np.ndarray:
        """The residuals r with loss = sum of r_i^2: their channel's shape, k rows of it for k points."""
        for v in self.channels.values():
            if v.role == "residual":
                return self._query(x, noise_key, [(v, _VALUE, None, None)])[0]
        raise UnsupportedError(f"{self.name} has no residuals: it does not describe its loss as a sum of squares")

    def _vector(self, v, size, what):
        a = np.atleast_1d(reals(v, what))
        if not np.isfinite(a).all():
            raise UsageError(f"{what} has a value that is not finite: expected finite numbers")
        if a.shape == (size,) or (a.ndim == 2 and a.shape[1] == size):
            return a
        raise UsageError(f"{what} has shape {a.shape}: expected ({size},), or a row for each point")

    def jvp(self, x, v, channel: str | None = None, noise_key=None) -> np.ndarray:
        """J v, the derivative of a channel along v of shape (n,): the channel's shape. Default: the residuals.

        For k points, v is (n,) or (k, n). One evaluation for each point."""
        ch = self._channel(channel, "jv")
        return self._query(x, noise_key, [(ch, _JV, self._vector(v, self.n, "v"), None)])[0]

    def vjp(self, x, w, channel: str | None = None, noise_key=None) -> np.ndarray:
        """J' w, (n,), for weights w of the elements of a channel (its shape, or flat). Default: the residuals."""
        ch = self._channel(channel, "jtv")
        w = reals(w, "w")
        flat = (
            w.reshape(w.shape[: w.ndim - len(ch.shape)] + (ch.elements,))
            if w.shape[w.ndim - len(ch.shape) :] == ch.shape
            else w
        )
        return self._query(x, noise_key, [(ch, _JTV, self._vector(flat, ch.elements, "w"), None)])[0]

    def hvp(self, x, v, w=None, channel: str | None = None, noise_key=None) -> np.ndarray:
        """(sum over i of w_i Hessian of element i) v, (n,). Default: of the channel of role "loss"."""
        ch = self._channel(channel, "hv")
        weights = None if w is None else self._vector(reals(w, "w").ravel(), ch.elements, "w")
        return self._query(x, noise_key, [(ch, _HV, self._vector(v, self.n, "v"), weights)])[0]

    def jacobian(self, x, channel: str | None = None, noise_key=None) -> np.ndarray:
        """J at one point: (elements, n), from n products J v, which are evaluated in parallel."""
        ch = self._channel(channel, "jv")
        a, single = self._points(x)
        if not single:
            raise UsageError(f"x has shape {a.shape}: expected one point")
        columns = self._query(np.repeat(a, self.n, axis=0), noise_key, [(ch, _JV, np.eye(self.n), None)])[0]
        return np.ascontiguousarray(columns.reshape(self.n, ch.elements).T)

    # ---- scenes and images ----

    def trajectory(self, x=None, frames: str = "all", noise_key=None) -> _scene.Scene:
        """Simulates a point (None: the last one evaluated) and returns its episode, a :class:`Scene`.

        ``frames``: "all", "few" (those of an image), or "none" (metrics alone)."""
        if not isinstance(frames, str) or frames not in ("all", "few", "none"):
            raise UsageError(f"frames is {shown(frames)}: allowed are 'all', 'few' and 'none'")
        address, key = None, 0
        if x is not None:
            a, single = self._points(x)
            if not single:
                raise UsageError(f"x has shape {a.shape}: expected one point")
            address, key = a.ctypes.data, int(self._keys(noise_key, 1)[0])
        loss, outcome = c.c_double(), c.c_uint32()
        with self._lock:
            self._ready()
            self._check(
                lib.ds_environment_simulate(
                    self._handle, address, key, ("all", "few", "none").index(frames), c.byref(loss), c.byref(outcome)
                )
            )
            if not loss.value < np.inf:
                words = OUTCOMES[min(outcome.value, 8)]
                raise EvaluationError(
                    lib.ds_environment_message(self._handle).decode("utf-8", "replace") or f"{self.name}: {words}",
                    words,
                )
            return _scene.read_scene(self._handle, self.name, loss.value)

    def metrics(self, x=None, noise_key=None) -> dict:
        """name -> (steps + 1,) values, one for each output step and the start; units: ``trajectory(x).units``."""
        return self.trajectory(x, "none", noise_key).metrics

    def render(self, x=None, frame: int | None = -1, size=(480, 360), noise_key=None) -> np.ndarray:
        """An image of the episode at x (None: the last point evaluated): (height, width, 3) bytes.

        ``frame``: of 0 .. steps, -1 = the last, None = all of them: (frames, height, width, 3)."""
        return self.trajectory(x, "all", noise_key).render(frame, size)

    # ---- episodes, step by step ----

    @property
    def episodes(self) -> EpisodeInfo:
        """Describes episodes of stepwise control; raises :class:`UnsupportedError` without them."""
        info = _library.StepsInfo()
        with self._lock:
            if lib.ds_environment_episodes(self._ready(), c.byref(info)) != 0:
                raise UnsupportedError(f"{self.name} has no stepwise control")
        return EpisodeInfo(info.horizon, info.n_act, info.n_obs, info.dt, bool(info.flags & 1))

    def _lane_count(self):
        """How many lanes it has: episodes that can be open at once."""
        return lib.ds_environment_lanes(self._handle or self._ready())

    def _take_lanes(self, count):
        """Numbers of `count` lanes that no other object has; they are free again when they leave self._lanes."""
        with self._lock:
            most = self._lane_count()
            free = [i for i in range(most) if i not in self._lanes]
            if len(free) < count:
                raise UsageError(
                    f"{self.name} has {most} lanes, of which {most - len(free)} are in use: make() another environment"
                )
            self._lanes.update(free[:count])
            return free[:count]

    def _step_rows(self, function, rows, results):
        """reset() or step() of lanes, with the lock held; the structs of the library are filled by the caller."""
        self._ready()
        self._check(function(self._handle, c.byref(rows), c.byref(results), None))
        return lib.ds_environment_message(self._handle)

    # ---- for people ----

    def _words_for_settings(self):
        given = [f"{k}={v!r}" for k, v in self._given["settings"].items()]
        return ", ".join(given[:6] + (["..."] if len(given) > 6 else []))

    def __repr__(self):
        settings = self._words_for_settings()
        return (
            f"<diffsim.Environment {self.name}{'(' + settings + ')' if settings else ''}: {self.n} variables"
            + ("" if self.has_gradient else ", no gradient")
            + (", closed" if self.closed else "")
            + ">"
        )

    def view(self, x, height: int = 480):
        """An episode in the interactive viewer, for notebooks: docs/view.md."""
        from ._plots import view_point

        self._check_open()
        return view_point(self, x, height)

    def _repr_html_(self):
        try:
            scene = self.trajectory(self.x0)
            return _scene.picture_html(
                scene.render(),
                f"{self!r}, at x0: loss {scene.loss:.6g}".replace("<diffsim.Environment ", "").replace(">", ""),
            )
        except Exception:  # no scene, no image: the words remain
            import html

            return f"<code>{html.escape(repr(self))}</code>"


def _close(handle, _waiting):  # the function is held until the library does not call it any more
    lib.ds_environment_close(handle)


def _again(given):
    given = dict(given)
    return Environment(given.pop("name"), **given)


def environment(env, what) -> Environment:
    """env, refused where it is not an environment."""
    if not isinstance(env, Environment):
        raise TypeError(f"{what}: {shown(env)} is not an environment: pass one of diffsim.make()")
    return env


def _frozen(a):
    a.setflags(write=False)
    return a


def make(
    name,
    *,
    seed: int = 0,
    jobs: int = 0,
    threads: int = 1,
    isolation: str = "process",
    timeout: float | None = None,
    memory_mb: int | None = None,
    on_failure: str = "raise",
    settings: dict | None = None,
    **parameters,
) -> Environment:
    """Opens an environment.

    name          an id ("torus"; ``diffsim.environments()``), or the path of a .so, .py:NAME or .fmu; or a class, an instance
                  or a function with lower and upper (docs/plugin-python.md), also of a notebook
    **parameters  of the environment (``dshost help torus``): ``preset="small"``; wrong ones are refused with the
                  line of the host. ``settings`` has the same as a mapping, for names that are taken here. ``scene`` may be
                  the content of a scene file: {"body ball": {"shape": "sphere", ...}, ...}; an array of three dimensions becomes an
                  .npy file: ``target=diffsim.density(points)``
    seed          of noise_key(), where there is noise
    jobs          worker processes for the rows of a batch; 0 = one per processor
    threads       inside one evaluation
    isolation     "process": a crash, a hang or a memory that runs full costs one evaluation;
                  "none": evaluate in this process, which saves microseconds and protects from nothing
    timeout       seconds that one evaluation may take; None = no limit
    memory_mb     MiB that a worker may take beyond its start; None = no limit
    on_failure    of loss() and loss_and_grad(): "raise" an EvaluationError, or "inf": the loss is inf, the gradient NaN

    Raises :class:`ConfigError` (a parameter), :class:`PluginError` (no such plugin, or a broken one),
    :class:`UsageError`."""
    options = {
        "seed": seed,
        "jobs": jobs,
        "threads": threads,
        "isolation": isolation,
        "timeout": timeout,
        "memory_mb": memory_mb,
        "on_failure": on_failure,
        "settings": settings,
    }
    if not isinstance(name, (str, bytes, os.PathLike)):
        from ._classes import is_object, make_object

        if is_object(name):
            return make_object(name, {**options, "parameters": parameters})
    return Environment(name, **options, **parameters)
