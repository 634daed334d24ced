# SPDX-License-Identifier: Apache-2.0
"""Classes, instances and functions of a program as environments and optimizers: in workers as any plugin, or in this process.

A worker is another process, so the class travels as a file: the pickled object (cloudpickle, which takes classes of notebooks
by value) in a module that lives as long as this program."""

from __future__ import annotations

import atexit
import hashlib
import inspect
import os
import re
import shutil
import sys
import tempfile
import threading

import numpy as np

from ._environment import Environment, Evaluation, _frozen
from ._errors import ClosedError, EvaluationError, PluginError, UnsupportedError, UsageError
from ._settings import merged, shown, whole

_MODULE = '''# A class of a program (diffsim/_classes.py); it is removed when the program ends.
import base64, pickle, sys
sys.path += [p for p in {path!r} if p not in sys.path]
_data = base64.b64decode({data!r})
{name} = pickle.loads(_data)
'''
# A plugin is made by its class: this one makes instances like the one that was given.
_OF_INSTANCE = '''
class {name}(type({name})):
    __doc__ = type({name}).__doc__
    def __init__(self):
        self.__dict__.update(pickle.loads(_data).__dict__)
'''
_room: list = []  # the folder of the files, made on first use, and the process that made it
_lock = threading.Lock()


def _folder() -> str:
    with _lock:
        if not _room or _room[1] != os.getpid():
            _room[:] = [tempfile.mkdtemp(prefix="diffsim-classes-"), os.getpid()]
            atexit.register(_remove, *_room)
        return _room[0]


def _remove(folder, owner):
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def is_object(what) -> bool:
    """Is it a class, an instance or a function that can be an environment or optimizer, not a name?"""
    return not isinstance(what, (str, bytes, os.PathLike, Environment)) and (
        isinstance(what, type) or any(callable(getattr(what, k, None)) for k in _METHODS) or (callable(what) and hasattr(what, "lower"))
    )


_METHODS = ("loss", "loss_and_grad", "loss_batch", "loss_and_grad_batch", "residuals", "step", "run")


def name_of(what) -> str:
    """A name for it in Python."""
    name = getattr(what, "__name__", None) or type(what).__name__
    return re.sub(r"\W", "_", name) or "Program"


def as_file(what) -> str:
    """FILE.py:NAME for a class, an instance or a function of this program."""
    cls = what if isinstance(what, type) or inspect.isfunction(what) else type(what)
    name = name_of(what)
    source = getattr(what, "diffsim_source", None)
    if isinstance(source, str) and isinstance(what, type):  # it says itself how a file makes it
        return _written(f"import sys\nsys.path += [p for p in {_search_path()!r} if p not in sys.path]\n{source}", name)
    try:
        import cloudpickle
    except ImportError:
        file = getattr(inspect.getmodule(cls), "__file__", None)
        if cls is what and file and file.endswith(".py") and "<locals>" not in cls.__qualname__:
            return f"{os.path.abspath(file)}:{cls.__qualname__}"  # a worker can import what is in a file
        raise UnsupportedError(
            f"{name} is not in a file, and a worker is another process: pip install cloudpickle, write it to a file, or use "
            'isolation="none"'
        ) from None
    try:
        data = cloudpickle.dumps(what)
    except Exception as e:
        raise PluginError(f"{name} cannot be sent to a worker ({type(e).__name__}: {e}): write it to a file") from None
    import base64

    text = _MODULE.format(name=name, data=base64.b64encode(data), path=_search_path())
    if what is not cls:
        text += _OF_INSTANCE.format(name=name)
    return _written(text, name)


def _search_path() -> list:
    return [os.path.abspath(p or ".") for p in sys.path]


def _written(text, name) -> str:
    """FILE.py:NAME of a file with this text."""
    folder = os.path.join(_folder(), hashlib.sha256(text.encode()).hexdigest()[:12])
    os.makedirs(folder, exist_ok=True)
    file = os.path.join(folder, f"{name}.py")
    if not os.path.exists(file):
        with open(file + ".part", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(file + ".part", file)
    return f"{file}:{name}"


# ---- in this process ----


class InProcess(Environment):
    """An environment whose losses are computed in this process, by the calling thread: ``make(Env, isolation="none")``.

    It has losses, gradients, residuals and bounds; channels, episodes and pictures need the workers of ``make(Env)``. Nothing
    protects the program from it: prints appear, a debugger stops in it."""

    def __init__(self, what, given, parameters):
        from . import serve

        super(Environment, self).__init__()
        self._given = given
        self._what = what
        self._parameters = parameters
        self._server = _Served(serve, what, parameters)
        s = self._server
        n = s.n
        lower, upper, x0 = (_frozen(row) for row in s.numbers(3 * n).reshape(3, n).copy())
        h = s.head
        self.name, self.n, self.lower, self.upper, self.x0 = s.name, n, lower, upper, x0
        self.has_gradient, self.stochastic, self.stepwise = s.both is not None, bool(s.noisy), False
        self.steps, self.dt, self.loss_floor = h.count, h.loss, h.loss_floor
        self._shape, self._channels, self._lanes = (n,), {}, set()
        self._variables = None
        self._names = s.variables(n)
        self._shut = False

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._shut

    def close(self) -> None:
        """Later calls raise :class:`ClosedError`."""
        self._shut = True

    def __reduce__(self):
        return InProcess, (self._what, self._given, self._parameters)

    def _check_open(self):
        if self._shut:
            raise ClosedError(f"{self.name} was closed: make() another one")

    def _ready(self):
        raise UnsupportedError(f'{self.name} is in this process: make() without isolation="none" has this')

    def _read_variables(self, _):
        from ._environment import Variable

        names = self._names or [[f"x{i}", "", ""] for i in range(self.n)]
        return [Variable(*row, low, high, False) for row, low, high in zip(names, self.lower.tolist(), self.upper.tolist())]

    @property
    def variables(self) -> list:
        """n times :class:`Variable`."""
        return self._read_variables(None)

    @property
    def channels(self) -> dict:
        """Empty: they need workers."""
        return {}

    def noise_key(self, number: int) -> int:
        """A key that follows from the seed and the number; the workers' keys are others."""
        if not self.stochastic:
            return 0
        number = whole(number, "number", 1, 2**64 - 1)
        return int.from_bytes(hashlib.sha256(f"{self.seed}:{number}".encode()).digest()[:8], "little") or 1

    def evaluate(self, x, grad: bool = False, noise_key=None) -> Evaluation:
        """As :meth:`Environment.evaluate`."""
        loss, g, outcome, message = self._rows(x, noise_key, grad)
        kind = ["adjoint" if grad and o == "ok" else "none" for o in outcome]
        one = np.ndim(x) == 1
        zeros = np.zeros(len(loss))
        if one:
            return Evaluation(float(loss[0]), g[0] if grad else None, outcome[0], message[0], kind[0], 0, 0.0)
        return Evaluation(loss, g if grad else None, outcome, message, kind, zeros.astype(int), zeros)

    def loss(self, x, noise_key=None):
        """As :meth:`Environment.loss`."""
        return self._result(x, noise_key, False)[0]

    def loss_and_grad(self, x, noise_key=None):
        """As :meth:`Environment.loss_and_grad`."""
        if not self.has_gradient:
            raise UnsupportedError(f"{self.name} has no gradient")
        return self._result(x, noise_key, True)

    def _result(self, x, noise_key, grad):
        loss, g, outcome, message = self._rows(x, noise_key, grad)
        for o, why in zip(outcome, message):
            if o != "ok" and self._given["on_failure"] == "raise":
                raise EvaluationError(f"{self.name}: {o}: {why}" if why else f"{self.name}: {o}", outcome=o)
        return (float(loss[0]), g[0]) if np.ndim(x) == 1 else (loss, g)

    def _rows(self, x, noise_key, grad):
        """(losses (k,), gradients (k, n), outcomes, messages) of the points, one after the other."""
        self._check_open()
        points = self._rows_of(x)
        keys = np.broadcast_to(np.asarray(0 if noise_key is None else noise_key, np.uint64), (len(points),))
        rows = []
        with self._lock:
            for p, key in zip(points, keys.tolist()):
                rows.append(self._server.one(p, key, grad))
        g = np.array([r[1] for r in rows]).reshape(len(rows), self.n)
        return np.array([r[0] for r in rows]), g, [r[2] for r in rows], [r[3] for r in rows]

    def _rows_of(self, x):
        from ._settings import reals, undo_rounding

        a = reals(x, "x")
        if a.ndim not in (1, 2) or a.shape[-1] != self.n:
            raise UsageError(f"x has shape {a.shape}: {self.name} takes ({self.n},), or (k, {self.n})")
        a = undo_rounding(x, a, self.lower, self.upper).reshape(-1, self.n)
        wrong = np.argwhere(~((a >= self.lower) & (a <= self.upper)))
        if wrong.size:
            i = wrong[0][1]
            raise UsageError(f"x[{i}] is {a[tuple(wrong[0])]}, outside of its bounds {self.lower[i]} and {self.upper[i]}")
        return a

    def __repr__(self):
        return f"<diffsim.Environment {self.name}: {self.n} variables, in this process{', closed' if self._shut else ''}>"

    def _repr_html_(self):
        import html

        return f"<code>{html.escape(repr(self))}</code>"


def _Served(serve, what, parameters):
    """The reader of plugins that serve.py has, on memory of this process instead of a worker's."""

    class Served(serve.Server):
        def __init__(self):
            import mmap

            self.file, self.base, self.name = "", "this program", name_of(what)
            self.room_map = mmap.mmap(-1, 1 << 16)
            self.room = memoryview(self.room_map)
            self.head = serve.Head(threads=1, room=1 << 16)
            made = isinstance(what, type) or inspect.isfunction(what)
            cls = what if made else type(what)
            self.adopt(cls, inspect.getmodule(cls))
            if self.kind != serve.ENV or not (serve.is_environment(what) or serve.is_function_environment(what)):
                raise PluginError(f"{self.name} is not an environment: it needs loss(x), loss_and_grad(x) or residuals(x), lower and upper")
            self.stepwise = self.stepwise and not serve.has_loss(cls)
            try:
                if not made:
                    if parameters:
                        raise UsageError(f"{', '.join(parameters)}: {self.name} is an instance, which has its parameters")
                    self.instance = what
                else:
                    unknown = [k for k in parameters if k not in self.schema]
                    if unknown:
                        raise UsageError(f"unknown parameter {unknown[0]!r}: {self.name} has {', '.join(self.schema) or 'none'}")
                    self.instance = self.made(parameters)
                self.make_environment()
            except (UsageError, PluginError):
                raise
            except serve.Refused as e:
                raise PluginError(str(e)) from None
            self.x, self.g = np.empty(self.n), np.empty(self.n)

        def made(self, parameters):
            if not isinstance(what, type):
                return serve.FunctionEnvironment(what, parameters)
            own = {k for k, *_ in serve.annotated_attributes(what)}
            instance = what.__new__(what)
            for k in own & set(parameters):
                setattr(instance, k, parameters[k])
            takes = inspect.signature(what.__init__).parameters
            instance.__init__(**{k: v for k, v in parameters.items() if k in takes or k not in own})
            return instance

        def ensure(self, size):
            if size > len(self.room):
                import mmap

                grown = mmap.mmap(-1, size)
                grown[: len(self.room)] = bytes(self.room)
                self.room_map, self.room = grown, memoryview(grown)

        def one(self, x, key, grad):
            h = self.head
            self.x[:] = x
            h.key, h.want, h.asks, h.text = key, serve.WANT_GRAD if grad else 0, 0, b""
            try:
                self.evaluate()
            except serve.Refused as e:
                raise PluginError(f"{self.name}: {e}") from None
            outcome = {serve.EVAL_OK: "ok", serve.EVAL_DIVERGED: "diverged", serve.EVAL_INFEASIBLE: "infeasible"}.get(h.outcome, "error")
            g = self.g.copy() if grad and outcome == "ok" else np.full(self.n, np.nan)
            return h.loss, g, outcome, h.text.decode("utf-8", "replace")

    return Served()


def make_object(what, given) -> Environment:
    """make() of a class, an instance or a function; ``given`` are its options and parameters."""
    given = dict(given)
    if given["isolation"] == "none":
        parameters = merged(given.pop("settings"), given.pop("parameters"))
        return InProcess(what, {**given, "settings": parameters}, parameters)
    parameters = given.pop("parameters")
    if not isinstance(what, type) and not inspect.isfunction(what) and (parameters or given["settings"]):
        raise UsageError(f"{shown(what, 40)} is an instance, which has its parameters")
    return Environment(as_file(what), **given, **parameters)
