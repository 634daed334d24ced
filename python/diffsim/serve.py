# SPDX-License-Identifier: Apache-2.0
"""The Python process of a plugin that is written in Python: ``python3 serve.py LIBRARY FILE NAME PARENT``.

Started by the adapter ``py`` of dshost (plugins/adapters/py.c), never by hand. It shares a piece of memory
with the adapter (descriptor 3, layout in plugins/adapters/python/talk.h) and executes requests in it, one at
a time. docs/plugin-python.md describes plugins."""
from __future__ import annotations

import importlib.util
import os
import sys
import types


class _Light(types.ModuleType):
    """The package diffsim, which loads libdiffsim and the rest only when they are used."""

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__version__", "__all__"):
            raise AttributeError(name)
        self.__class__ = types.ModuleType
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


if __name__ == "__main__":
    _folder = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(_folder):
        del sys.path[0]  # where `import torch` would find ours
    _spec = importlib.util.spec_from_file_location(
        "diffsim", os.path.join(_folder, "__init__.py"), submodule_search_locations=[_folder])
    sys.modules["diffsim"] = _light = _Light("diffsim")
    _light.__spec__, _light.__path__, _light.__file__ = _spec, [_folder], _spec.origin

import contextlib  # noqa: E402
import ctypes as c  # noqa: E402
import hashlib  # noqa: E402
import inspect  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import mmap  # noqa: E402
import re  # noqa: E402
import signal  # noqa: E402
import threading  # noqa: E402

import diffsim.plugin as api  # noqa: E402; not `from diffsim import`, which would load the whole package
from diffsim._serve_errors import (  # noqa: E402
    E_GENERIC, TEXT, Refused, describe, line_of, numbers, one_line, one_number, whole_number)
from diffsim._serve_gradients import (  # noqa: E402
    JTV, JV, VALUE, Jax, JaxBatch, JaxResiduals, Residuals, Torch, TorchBatch, TorchResiduals, framework_of)
from diffsim._serve_steps import Steps, has_steps, keywords_of, says_horizon  # noqa: E402
from diffsim._serve_parameters import annotated_attributes, keyword_arguments, literals, parameter, value_of  # noqa: E402

VERSION, HEAD = 2, 4096
DESCRIBE, CREATE, EVALUATE, SCENE, RUN, QUIT, RESET, STEP, MANY = 1, 2, 3, 4, 5, 6, 7, 8, 9
ROOM, BATCH, SAVE = 16, 17, 18
BATCH_LOSS, BATCH_GRADIENT = 1, 2
OK, STOPPED, E_NOMEM, E_UNSUPPORTED = 0, 1, -3, -5
WANT_GRAD, WANT_SCENE = 1, 2
EVAL_OK, EVAL_BAD_GRAD, EVAL_DIVERGED, EVAL_INFEASIBLE = 0, 1, 2, 3
GRAD_ADJOINT, GRAD_FD = 1, 3
ENV, OPTIMIZER = 1, 2
FLAG_GRADIENT, FLAG_STOCHASTIC, FLAG_OWN_PROCESS, FLAG_INEXACT, FLAG_GRADIENT_HOLES = 1, 2, 4, 8, 16
FLAG_USES_BUDGET = 4
HAS_GRADIENT, EXT_SCENE, EXT_VARIABLES = "ds.env.gradient/1", "ds.env.scene/1", "ds.env.variables/1"
EXT_CHANNELS, EXT_STEPS = "ds.env.channels/1", "ds.env.steps/1"


class Head(c.Structure):
    _fields_ = [("version", c.c_uint32), ("turn", c.c_uint32), ("asleep", c.c_uint32 * 2), ("stop", c.c_uint32),
                ("what", c.c_uint32), ("want", c.c_uint32), ("status", c.c_int32), ("outcome", c.c_uint32),
                ("grad_kind", c.c_uint32), ("has_gradient", c.c_uint32), ("has_scene", c.c_uint32),
                ("stochastic", c.c_uint32), ("threads", c.c_uint32), ("n", c.c_uint64), ("count", c.c_uint64),
                ("key", c.c_uint64), ("seed", c.c_uint64), ("budget", c.c_uint64), ("group", c.c_uint64),
                ("bytes", c.c_uint64), ("room", c.c_uint64), ("cost", c.c_uint64), ("spin_ns", c.c_uint64),
                ("bad_step", c.c_int64), ("loss", c.c_double), ("target", c.c_double), ("loss_floor", c.c_double),
                ("text", c.c_char * TEXT), ("spin_now", c.c_uint64 * 2), ("waits", c.c_uint64 * 2),
                ("residuals", c.c_uint64), ("can", c.c_uint32), ("asks", c.c_uint32), ("ask", c.c_uint32 * 16),
                ("horizon", c.c_uint64), ("n_act", c.c_uint64), ("n_obs", c.c_uint64), ("time_limit", c.c_uint32),
                ("batches", c.c_uint32), ("ended", c.c_uint32), ("strayed", c.c_uint32), ("reward", c.c_double)]


def flush(stream):
    """The state of sys.stdout (None, closed, a full disk) must not affect results."""
    try:
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass


# ---- the file and its contents ----

def load_module(file):
    """The module of a file; its folder is where it imports from first, as in ``python3 FILE``."""
    sys.path.insert(0, os.path.dirname(file))
    stem = os.path.splitext(os.path.basename(file))[0]
    name = stem if stem not in sys.modules else f"diffsim_plugin_{stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


LOSSES = "loss", "loss_and_grad", "loss_batch", "loss_and_grad_batch"


def has_loss(o):
    return any(callable(getattr(o, name, None)) for name in LOSSES)


def is_environment(o):
    return has_loss(o) or callable(getattr(o, "residuals", None)) or (has_steps(o) and not is_optimizer(o))


def is_optimizer(o):
    return callable(getattr(o, "run", None))


def is_function_environment(o):
    """A plain function with bounds: ``def drop(x): ...``, ``drop.lower, drop.upper = [0, 0], [1, 1]``."""
    return callable(o) and not isinstance(o, type) and hasattr(o, "lower") and hasattr(o, "upper")


def takes_noise(function):
    try:
        return "noise" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a callable without a signature, where the call reports errors best
        return False


def is_found(o):
    """Is it a plugin when no name was given? A thing with reset() and step() may be a part of one."""
    return is_plugin(o) and (not isinstance(o, type) or has_loss(o) or is_optimizer(o) or hasattr(o, "residuals")
                             or says_horizon(o, keywords_of(o)))


def is_plugin(o):
    return (isinstance(o, type) and (is_environment(o) or is_optimizer(o))) or is_function_environment(o)


def find_object(module, name, file):
    base = os.path.basename(file)
    own = {k: v for k, v in vars(module).items()
           if is_found(v) and not k.startswith("_") and getattr(v, "__module__", None) == module.__name__}
    if not name:
        if len(own) == 1:
            return next(iter(own.items()))
        stem = id_of(os.path.splitext(base)[0])
        named = [k for k in own if id_of(k) == stem]
        if len(named) == 1:
            return named[0], own[named[0]]
        if not own:
            raise Refused(f"{base}: no class with loss() or run() in it, none with reset(), step() and horizon, and no function with lower and upper")
        raise Refused(f"{base}: more than one plugin; name one of them: "
                      + " or ".join(f"{base}:{k}" for k in sorted(own)))
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join(sorted(own)) or "none"
            raise Refused(f"{base}: no {name}; plugins there: {known}")
        found = getattr(found, part)
    if not is_plugin(found):
        raise Refused(f"{base}:{name}: no plugin: a class with loss(x) or loss_and_grad(x) is an environment, one "
                      "with run(objective) an optimizer, one with reset(), step(action) and horizon is stepwise; a function "
                      "needs the attributes lower and upper")
    return name.split(".")[-1], found


def id_of(name):
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9_]", "_", name.lower())[:47]


def rows(more):
    """Keywords of a call with one point, for a call with a batch of one."""
    import numpy
    return {k: numpy.array([v], dtype=numpy.uint64) for k, v in more.items()}


class FunctionEnvironment:
    """The environment of a function: its keyword arguments are the parameters."""

    def __init__(self, function, values):
        self._function, self._values = function, values
        self.__dict__.update(vars(function))

    def loss(self, x, **more):
        return self._function(x, **self._values, **more)


# ---- the process ----

class Server:
    def __init__(self, library, file, name, parent):
        self.file, self.name, self.parent, self.pid = file, name, int(parent), os.getpid()
        self.base = os.path.basename(file)
        self.lib = c.CDLL(library)
        self.await_, self.pass_ = self.lib.ds_python_await, self.lib.ds_python_pass
        self.await_.argtypes = self.pass_.argtypes = [c.c_void_p]
        self.pass_.restype = None
        self.map = mmap.mmap(3, HEAD)
        self.head = Head.from_buffer(self.map)
        self.at = c.addressof(self.head)
        self.room = self.room_map = None
        if self.head.version != VERSION:
            sys.exit("diffsim: the package of Python and the adapter py are of different versions")
        self.target = self.instance = None
        api._stop[0] = lambda: self.head.stop != 0

    # -- memory --

    def ensure(self, size):
        """At least `size` bytes of room; the contents stay."""
        if self.head.room < size:
            self.head.what, self.head.bytes, self.head.status = ROOM, size, OK
            self.exchange()
            if self.head.status != OK:
                raise MemoryError("no shared memory")
        if self.room is None or len(self.room) < self.head.room:
            self.room_map = mmap.mmap(3, self.head.room, offset=HEAD)
            self.room = memoryview(self.room_map)

    def exchange(self):
        """Passes the turn, and waits until it is ours again."""
        self.pass_turn()
        self.wait()

    def pass_turn(self):
        """A process that the plugin has forked, and let return to here, has no turn to pass."""
        if os.getpid() != self.pid:
            os._exit(1)
        self.pass_(self.at)

    def wait(self):
        while not self.await_(self.at):
            if os.getppid() != self.parent:
                os._exit(1)

    def numbers(self, count, offset=0):
        import numpy
        return numpy.frombuffer(self.room_map, dtype=numpy.float64, count=count, offset=offset)

    def put_text(self, text, offset=0, behind=0):
        data = text.encode(errors="replace")
        self.ensure(offset + len(data) + behind)
        self.room[offset:offset + len(data)] = data
        return len(data)

    def fail(self, line, status):
        self.head.text = one_line(line)
        self.head.status = status

    # -- results --

    def load(self):
        if self.target is None:
            try:
                import numpy # noqa: F401
            except ImportError:
                raise Refused(f"{self.base}: plugins in Python need NumPy, which {sys.executable} does not have: "
                              "install it there, or name another Python in DIFFSIM_PYTHON") from None
            os.environ.setdefault("JAX_ENABLE_X64", "1")
            self.module = load_module(self.file)
            self.name, self.target = find_object(self.module, self.name, self.file)
            self.adopt(self.target, self.module)

    def adopt(self, target, module):
        """What kind of plugin the object is, and its parameters."""
        self.target, self.module = target, module
        self.framework = framework_of(target, module)
        self.kind = OPTIMIZER if isinstance(self.target, type) and is_optimizer(self.target) \
            and not is_environment(self.target) else ENV
        whose = f"{self.base}:{self.name}"
        self.schema, self.literals = {}, {}
        for name, annotation, default in keyword_arguments(self.target):
            self.schema[name] = parameter(name, annotation, default, whose)
            self.literals[name] = literals(annotation)
        self.stepwise = isinstance(self.target, type) and has_steps(self.target) and self.kind == ENV and (
            says_horizon(self.target, self.schema) or not (has_loss(self.target) or hasattr(self.target, "residuals")))

    def describe(self):
        self.load()
        t = self.target
        doc = inspect.cleandoc(t.__doc__ or "")
        first, _, rest = doc.partition("\n")
        with open(self.file, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()[:12]
        flags, uses, needs, extensions = 0, [], [], []
        if self.kind == ENV:
            flags = FLAG_OWN_PROCESS + FLAG_INEXACT * (getattr(t, "tolerance", 0) > 0)
            flags += FLAG_GRADIENT * (self.framework != "" or hasattr(t, "loss_and_grad") or hasattr(t, "loss_and_grad_batch")
                                      or (hasattr(t, "residuals") and hasattr(t, "jacobian")))
            extensions += [EXT_CHANNELS] if hasattr(t, "residuals") and not has_loss(t) else []
            extensions += [EXT_STEPS] if self.stepwise else []
            flags += FLAG_STOCHASTIC * bool(getattr(t, "stochastic", False))
            flags += FLAG_GRADIENT_HOLES * bool(getattr(t, "gradient_holes", False))
            extensions += [EXT_SCENE] if any(hasattr(t, k) for k in ("metrics", "scene")) else []
            extensions += [EXT_VARIABLES] if hasattr(t, "variables") else []
        else:
            flags = FLAG_USES_BUDGET * bool(getattr(t, "uses_budget", False))
            needs += [HAS_GRADIENT] if getattr(t, "needs_gradient", False) else []
            uses += [HAS_GRADIENT] if getattr(t, "uses_gradient", False) and not needs else []
        text = json.dumps({
            "kind": self.kind, "flags": flags, "id": str(getattr(t, "id", id_of(self.name))),
            "version": f"{getattr(t, 'version', '1')} ({digest})", "license": str(getattr(t, "license", "unstated")),
            "summary": " ".join(first.split())[:100] or f"{self.name} of {self.base}",
            "description": " ".join(rest.split()), "citation": str(getattr(t, "citation", "")),
            "params": list(self.schema.values()), "uses": uses, "needs": needs, "extensions": extensions})
        self.head.bytes = self.put_text(text)

    def create(self):
        self.ensure(self.head.bytes)
        given = json.loads(bytes(self.room[:self.head.bytes]))
        self.load()
        values = {k: value_of(given[k], s) for k, s in self.schema.items()}
        values.update({k: known[values[k]] for k, known in self.literals.items() if known})
        if not isinstance(self.target, type):
            self.instance = FunctionEnvironment(self.target, values)
        else:
            own = [k for k, *_ in annotated_attributes(self.target)]
            instance = self.target.__new__(self.target)
            for k in own:
                setattr(instance, k, values[k])
            takes = inspect.signature(self.target.__init__).parameters
            keywords = {k: v for k, v in values.items() if k in takes}
            instance.__init__(**keywords)
            self.instance = instance
        if self.kind == ENV:
            self.make_environment()

    def given(self, name):
        """The attribute `name`, as numbers of a variable or an action; None."""
        value = getattr(self.instance, name, None)
        value = value() if callable(value) else value
        return self.steps.space_bound(name) if value is None and self.steps and name != "x0" else value

    def bound(self, name, n):
        """An attribute as n numbers, from one or n of them, or from those of one action."""
        import numpy
        value = self.given(name)
        if value is None:
            return None
        try:
            given = numbers(value, name).reshape(-1)
            if self.steps and given.size == self.n_act:
                given = numpy.tile(given, self.steps.horizon)
            return numpy.broadcast_to(given, (n,)).copy()
        except ValueError:
            each = f", {self.n_act} for the numbers of an action," if self.steps else ""
            raise Refused(f"{self.base}:{self.name}: {name} has to be one number{each} or {n}, it is {describe(value)}") from None

    def whole(self, name, none):
        """The attribute `name`, a whole number; `none` where it is missing or None."""
        value = getattr(self.instance, name, None)
        return none if value is None else whole_number(value, f"{self.base}:{self.name}: {name}", 0, (1 << 40) - 1)

    def real(self, name, none, test, wanted):
        """The attribute `name`, a number that passes a test."""
        value = getattr(self.instance, name, None)
        number = none if value is None else one_number(value, f"{self.base}:{self.name}: {name} is")
        if not test(number):
            raise Refused(f"{self.base}:{self.name}: {name} is {number}: expected {wanted}")
        return number

    def size(self, whose):
        """How many variables there are: as many as there are bounds, or steps times the numbers of an action."""
        import numpy
        sizes = [numpy.size(v) for v in map(self.given, ("lower", "upper")) if v is not None]
        x0 = self.given("x0")
        if x0 is not None and not (self.steps and numpy.size(x0) == self.steps.horizon * max(sizes, default=0)):
            sizes.append(numpy.size(x0))  # else it applies to all steps
        if self.steps is None:
            n = self.whole("n", 0) or max(sizes, default=0)
            if n < 1:
                raise Refused(f"{whose}: how many variables are there? Set lower and upper (a number for each), or n")
            return n
        self.n_act = self.whole("n_act", 0) or max(sizes, default=0)
        if self.n_act < 1:
            raise Refused(f"{whose}: how many numbers has an action? Set lower and upper (a number for each), or n_act")
        return self.steps.horizon * self.n_act

    def make_environment(self):
        import numpy
        e, h, whose = self.instance, self.head, f"{self.base}:{self.name}"
        if getattr(e, "tolerance", 0) and isinstance(self.target, type) and not getattr(self.target, "tolerance", 0):
            raise Refused(f"{whose}: tolerance belongs to the class, because it is needed before there is an instance: "
                          f"write tolerance = {e.tolerance:g} next to its functions")
        self.steps = Steps(e, whose, bool(getattr(e, "stochastic", False))) if self.stepwise else None
        n = self.size(whose)
        lower, upper = self.bound("lower", n), self.bound("upper", n)
        if lower is None or upper is None:
            raise Refused(f"{whose}: the attributes lower and upper are missing: where is each of the {n} variables "
                          "to be searched?")
        x0 = self.bound("x0", n)
        x0 = 0.5 * (lower + upper) if x0 is None else x0
        self.n, self.x0 = n, x0
        self.choose_functions(x0)
        if self.steps:
            self.choose_steps()
        self.ensure(24 * n)
        names = self.variables(n)
        text = json.dumps(names) if names else ""
        size = self.put_text(text, 24 * n)
        self.numbers(3 * n)[:] = numpy.concatenate([lower, upper, x0])
        horizon = self.steps.horizon if self.steps else 0
        h.n, h.count = n, self.whole("steps", horizon)
        h.loss = self.real("dt", 0.0, lambda v: 0 <= v < math.inf, "finite seconds of a step, 0 where time has no meaning")
        h.reward = h.loss * h.count / horizon if horizon else 0.0 # seconds per control step
        h.loss_floor = self.real("floor", -math.inf, lambda v: v < math.inf, "a lower bound of the loss, -inf where there is none")
        h.target = self.real("tolerance", 0.0, lambda v: 0 <= v < math.inf, "a finite relative difference, at least 0")
        h.has_gradient = 1 if self.both is not None else 0
        h.has_scene = 1 if any(hasattr(e, k) for k in ("metrics", "scene")) else 0
        h.bytes = size

    def variables(self, n):
        """[name, unit, group] of each variable, from ("x", "y [m]", ...)."""
        given = getattr(self.instance, "variables", None)
        given = given() if callable(given) else given
        if given is None:
            return None
        if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
            raise Refused(f"{self.base}:{self.name}: variables is {describe(given)}: expected a list of {n} names")
        if len(given) != n:
            raise Refused(f"{self.base}:{self.name}: variables has {len(given)} names, there are {n} variables")
        found = [re.fullmatch(r"\s*([^\[\]]*?)\s*(?:\[(.*)\])?\s*", str(v)) for v in given]
        return [[m[1] if m else "", (m[2] or "") if m else "", ""] for m in found]

    def choose_residuals(self, x0):
        """Loss and gradient from residuals; how many there are is looked up at the start point."""
        import numpy
        e, h = self.instance, self.head
        r = TorchResiduals(e, h.threads) if self.framework == "torch" else JaxResiduals(e) if self.framework == "jax" else Residuals(e)
        first = numbers(r.value(x0.copy()), "residuals(x)")
        if first.ndim != 1 or first.size == 0:
            raise Refused(f"{self.base}:{self.name}: residuals(x) returned {describe(first)}: expected one row of numbers")
        self.residuals, self.m, h.residuals = r, first.size, first.size
        r.rows = first.size
        h.can = sum(1 << op for op in r.can)

        def loss(x):
            self.r = r.value(x)
            if self.r.shape != (self.m,):
                raise Refused(f"residuals(x) has the shape {self.r.shape}, at the start point it had ({self.m},): how many there "
                              "are must not depend on x")
            return float(numpy.dot(self.r, self.r))

        def loss_and_grad(x):
            value = loss(x)
            return value, 2 * numpy.asarray(r.slopes(x)[1](self.r))
        self.alone, self.both = loss, loss_and_grad if JTV in r.can else None

    def answer_questions(self, x):
        """The queries about the residuals of x, which were computed with the loss."""
        h, at = self.head, 2 * self.n
        slopes = self.residuals.slopes(x) if any(h.ask[k] != VALUE for k in range(h.asks)) else None
        for k in range(h.asks):
            op = h.ask[k]
            size = self.n if op == JV else self.m if op == JTV else 0
            v = self.numbers(size, 8 * at).copy()
            at += size
            answer = self.r if op == VALUE else slopes[0](v) if op == JV else slopes[1](v)
            room = self.n if op == JTV else self.m
            out = numbers(answer, ("", "residuals(x)", "jacobian(x) times v", "v times jacobian(x)")[op])
            if out.shape != (room,):
                raise Refused(f"{('', 'residuals(x)', 'jacobian(x) times v', 'v times jacobian(x)')[op]} has the shape "
                              f"{out.shape}, expected ({room},)")
            self.numbers(room, 8 * at)[:] = out
            at += room

    def choose_functions(self, x0):
        e = self.instance
        self.head.residuals = self.head.can = 0
        self.head.batches = 0
        if hasattr(e, "residuals") and not has_loss(e):
            self.noisy = False
            self.choose_residuals(x0)
            return
        if self.steps and not has_loss(e):
            self.alone, self.both, self.noisy = self.steps.roll, None, True
            return
        self.choose_losses(e)
        takes = [f for f in (getattr(e, k, None) for k in LOSSES) if f is not None]
        if not isinstance(self.target, type):
            takes = [self.target]
        self.noisy = any(takes_noise(f) for f in takes)

    def choose_losses(self, e):
        """Of one point, and of many; where the class has one kind only, the other one is made of it."""
        self.alone, self.both, self.many_alone, self.many_both = (getattr(e, k, None) for k in LOSSES)
        if self.framework and self.many_alone:
            tool = TorchBatch(e.loss_batch, self.head.threads) if self.framework == "torch" else JaxBatch(e.loss_batch)
            self.many_alone, self.many_both = tool.loss, tool.loss_and_grad
            if self.framework == "jax": # what was compiled alone may differ in its last bits
                self.alone = self.both = None
        if self.framework and self.alone:
            tool = Torch(e.loss, self.head.threads) if self.framework == "torch" else Jax(e.loss)
            self.alone, self.both = tool.loss, tool.loss_and_grad
        if self.many_alone and not self.alone:
            self.alone = lambda x, **more: self.answers(x[None], False, rows(more))[0][0]
        if self.many_both and not self.many_alone:
            self.many_alone = lambda x, **more: self.many_both(x, **more)[0]
        if self.many_both and not self.both:
            self.both = lambda x, **more: [v[0] for v in self.answers(x[None], True, rows(more))]
        if self.both and not self.alone:
            self.alone = lambda x, **more: self.both(x, **more)[0]
        self.head.batches = (BATCH_LOSS if self.many_alone else 0) + (BATCH_GRADIENT if self.many_both else 0)

    def choose_steps(self):
        """Episodes; how much is observed is looked up at the first reset()."""
        h, steps = self.head, self.steps
        if has_loss(self.instance) or hasattr(self.instance, "residuals"):
            steps.loss = lambda x, key: one_number(self.alone(x, **({"noise": key} if self.noisy else {})), "loss(x) returned")
        steps.begin(0)
        if not steps.says_time_limit:
            steps.try_out(self.x0)
        self.ensure(8 * (self.n_act + steps.n_obs))
        h.horizon, h.n_act, h.n_obs, h.time_limit = steps.horizon, self.n_act, steps.n_obs, steps.time_limit

    def reset(self):
        obs = self.steps.begin(self.head.key)
        self.taken, self.episode_key = self.x0.copy(), self.head.key
        self.numbers(self.steps.n_obs, 8 * self.n_act)[:] = obs

    def step(self):
        """One step of the episode that is open."""
        h, steps, m = self.head, self.steps, self.n_act
        action = self.numbers(m).copy()
        at = m * steps.step
        self.taken[at:at + m] = action
        h.outcome, h.ended, h.reward, h.loss = EVAL_OK, 0, 0.0, 0.0
        try:
            obs, h.reward, h.ended = steps.take(action)
            if h.ended:
                h.loss = steps.loss(self.taken, self.episode_key) if steps.loss else steps.total
        except (api.Diverged, api.Infeasible) as error:
            h.outcome = EVAL_DIVERGED if isinstance(error, api.Diverged) else EVAL_INFEASIBLE
            h.ended, h.loss, h.text = 1, math.inf, one_line(line_of(error, self.file))
            return
        if not math.isfinite(h.loss):
            h.outcome, h.text, h.loss = EVAL_DIVERGED, f"the loss of the episode is {h.loss}".encode(), math.inf
        self.numbers(steps.n_obs, 8 * m)[:] = obs

    def answers(self, x, want_gradient, more):
        """Losses, and gradients where they are wanted, of the rows of x, tested for their shapes."""
        answer = self.many_both(x, **more) if want_gradient else (self.many_alone(x, **more), None)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise Refused(f"loss_and_grad_batch(x) returned {describe(answer)}: expected (losses, gradients)")
        loss = numbers(answer[0], "the losses of a batch")
        grad = numbers(answer[1], "the gradients of a batch") if want_gradient else None
        if loss.shape != x.shape[:1]:
            raise Refused(f"the losses of a batch have the shape {loss.shape}, expected {x.shape[:1]}")
        if want_gradient and grad.shape != x.shape:
            raise Refused(f"the gradients of a batch have the shape {grad.shape}, expected {x.shape}")
        return loss, grad

    def many(self):
        """Losses, and gradients where they are wanted, of many points in one call."""
        import numpy
        h, k, n = self.head, self.head.count, self.n
        x = self.numbers(k * n).reshape(k, n).copy()
        more = {"noise": numpy.frombuffer(self.room_map, numpy.uint64, k, 8 * k * n).copy()} if self.noisy else {}
        loss, grad = self.answers(x, h.want & WANT_GRAD != 0, more)
        self.numbers(k, 8 * k * (n + 1))[:] = loss
        if grad is not None:
            self.numbers(k * n, 8 * k * (n + 2))[:] = grad.ravel()

    def evaluate(self):
        h = self.head
        want = h.want & WANT_GRAD and self.both is not None
        x = self.x.copy()
        more = {"noise": h.key} if self.noisy else {}
        h.outcome, h.bad_step, h.cost, h.grad_kind = EVAL_OK, -1, 0, 0
        try:
            if want:
                answer = self.both(x, **more)
                if not isinstance(answer, (tuple, list)) or len(answer) != 2:
                    raise Refused(f"loss_and_grad(x) returned {describe(answer)}: expected (loss, gradient)")
                loss, grad = answer
            else:
                loss, grad = self.alone(x, **more), None
        except api.Diverged as error:
            h.outcome, h.loss = EVAL_DIVERGED, math.inf
            h.bad_step = error.step if isinstance(error.step, int) and -1 <= error.step < 1 << 62 else -1
            h.text = one_line(line_of(error, self.file))
            return
        except api.Infeasible as error:
            h.outcome, h.loss = EVAL_INFEASIBLE, math.inf
            h.text = one_line(line_of(error, self.file))
            return
        h.loss = loss = one_number(loss, "loss(x) returned")
        if not math.isfinite(loss):
            h.outcome, h.loss, h.text = EVAL_DIVERGED, math.inf, f"loss(x) is {loss}".encode()
        elif want:
            g = numbers(grad, "the gradient of loss_and_grad(x)")
            if g.shape != (self.n,):
                raise Refused(f"loss_and_grad(x) returned a gradient of shape {g.shape}, expected ({self.n},)")
            self.g[:] = g
            h.grad_kind = GRAD_FD if getattr(self.instance, "approximate", False) else GRAD_ADJOINT
        if h.asks and h.outcome == EVAL_OK:
            self.answer_questions(x)

    def scene(self):
        import numpy
        e, h = self.instance, self.head
        frames = self.whole("steps", self.steps.horizon if self.steps else 0) + 1
        given = e.metrics() if callable(getattr(e, "metrics", None)) else getattr(e, "metrics", {})
        scene = e.scene() if callable(getattr(e, "scene", None)) else getattr(e, "scene", {})
        for name, told in (("metrics", given), ("scene", scene)):
            if not hasattr(told, "items"):
                raise Refused(f"{name}() returned {describe(told)}: expected a dict")
        metrics, values, data = [], [], []
        for key, value in dict(given).items():
            unit = ""
            if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
                value, unit = value
            metrics.append([str(key), unit])
            values.append(numbers(value, f"metrics(): '{key}'").reshape(-1))
        if self.steps or not hasattr(e, "steps"): # an episode may have ended before
            frames = self.frames_of(values, scene, frames)
        for (key, _), v in zip(metrics, values):
            if len(v) not in (1, frames):
                raise Refused(f"metrics(): '{key}' has {len(v)} values, expected one for each of {frames} steps")
            data.append(numpy.broadcast_to(v, (frames,)))
        about = {"frames": frames, "metrics": metrics, "bodies": []}
        if hasattr(e, "scene"):
            self.bodies(scene, frames, about, data)
        flat = numpy.concatenate([numpy.ravel(d) for d in data]) if data else numpy.zeros(0)
        text = json.dumps(about).encode()
        begin = (len(text) + 7) // 8 * 8
        self.ensure(begin + 8 * len(flat))
        self.room[:len(text)] = text
        self.numbers(len(flat), begin)[:] = flat
        h.bytes, h.count = len(text), len(flat)

    @staticmethod
    def frames_of(values, scene, frames):
        """The length of the first metric that is not one number for all, or of the first body; else the
        default."""
        series = [len(v) for v in values if len(v) != 1]
        series += [len(b["frames"]) for b in scene.get("bodies", {}).values() if hasattr(b.get("frames"), "__len__")]
        return series[0] if series else 1 if values else frames

    def bodies(self, given, frames, about, data):
        """scene() gives {"bodies": {NAME: {"frames": array (steps + 1, count, 3 or 7), ...}}, "box": ..., ...}."""
        import numpy
        shapes = {"points": 1, "sphere": 2, "capsule": 3, "cylinder": 4, "torus": 5, "box": 6, "mesh": 7, "lines": 8}
        roles = {"material": 0, "tool": 1, "fixed": 2, "target": 3}
        about["flat"] = int(bool(given.get("flat", False)))
        ground = given.get("ground")
        ground = None if ground is None else one_number(ground, "scene(): ground is")
        about["ground"] = ground if ground is not None and math.isfinite(ground) else None
        lows, highs = [], []
        for name, body in given.get("bodies", {}).items():
            shape, role = body.get("shape", "points"), body.get("role", "material")
            if shape not in shapes or role not in roles:
                raise Refused(f"scene(): body '{name}': shape is one of {', '.join(shapes)}, role one of "
                              f"{', '.join(roles)}")
            each = 3 if shapes[shape] in (1, 7, 8) else 7
            if "frames" not in body:
                raise Refused(f"scene(): body '{name}' has no frames: expected an array ({frames}, count, {each})")
            p = numbers(body["frames"], f"scene(): frames of body '{name}'")
            if p.ndim != 3 or p.shape[0] != frames or p.shape[2] != each:
                raise Refused(f"scene(): body '{name}' has frames of shape {p.shape}, expected ({frames}, count, {each})")
            if p.shape[1] == 0: # there is nothing of it
                continue
            size = numbers(body.get("size", 0.02), f"scene(): size of body '{name}'").ravel().tolist()
            if not 1 <= len(size) <= 4 or not all(0 <= v < math.inf for v in size):
                raise Refused(f"scene(): body '{name}' has the size {size}: expected 1 to 4 finite lengths")
            variety = whole_number(body.get("variety", 0), f"scene(): variety of body '{name}'", 0, 2**31 - 1)
            about["bodies"].append({"name": name, "shape": shapes[shape], "role": roles[role], "count": p.shape[1],
                                    "variety": variety, "size": size, "index": vertices(name, body, p.shape[1])})
            data.append(p)
            places = p[..., :3].reshape(-1, 3)
            places = places[numpy.isfinite(places).all(axis=1)] # where nothing is to be seen
            if len(places):
                lows.append(places.min(axis=0) - size[0])
                highs.append(places.max(axis=0) + size[0])
        box = numbers(given.get("box", []), "scene(): box").ravel()
        if box.size not in (0, 6):
            raise Refused(f"scene(): box has {box.size} numbers: expected 6, the lower x y z and the upper x y z")
        if box.size and numpy.isfinite(box).all():
            about["box"] = box.tolist()
        elif lows:
            about["box"] = [float(v) for v in (*numpy.min(lows, axis=0), *numpy.max(highs, axis=0))]

    # -- a search --

    def run(self):
        objective = Objective(self)
        try:
            self.instance.run(objective)
            self.head.status = OK
        except api.Stopped:
            self.head.status = STOPPED
        except (Exception, SystemExit) as error:
            if objective.ended: # its last exceptions no longer matter
                self.head.status = STOPPED
            else:
                self.fail(line_of(error, self.file), getattr(error, "status", E_GENERIC))
        if self.head.strayed:
            self.fail(f"{self.base}:{self.name}: {misused('evaluate', self.head.strayed)}", E_GENERIC)
        self.head.what = RUN

    # -- the loop --

    def answer(self, what):
        self.ensure(0) # the host may have made room
        try:
            {DESCRIBE: self.describe, CREATE: self.create, SCENE: self.scene, RESET: self.reset, STEP: self.step,
             MANY: self.many}[what]()
        except MemoryError as error:
            self.fail(line_of(error, self.file), E_NOMEM)
        except (Exception, SystemExit) as error:
            self.fail(line_of(error, self.file), getattr(error, "status", E_GENERIC))
        self.head.what = what

    def serve(self):
        h = self.head
        self.mapped = None
        while True:
            self.wait()
            what = h.what
            if what == EVALUATE:
                self.ensure(16 * self.n)
                if self.mapped is not self.room_map:
                    self.mapped = self.room_map
                    self.x, self.g = self.numbers(self.n), self.numbers(self.n, 8 * self.n)
                h.text = b""
                try:
                    self.evaluate()
                except MemoryError as error:
                    self.fail(line_of(error, self.file), E_NOMEM)
                except (Exception, SystemExit) as error:
                    self.fail(line_of(error, self.file), E_GENERIC)
            elif what == RUN:
                self.run()
            elif what == QUIT:
                return
            else:
                self.answer(what)
            flush(sys.stdout)
            self.pass_turn()


def vertices(name, body, count):
    """Numbers of vertices of a mesh or of lines, as they are: none is cut off to fit."""
    import numpy
    given = numpy.asarray(body.get("index", []))
    if given.size == 0:
        return []
    each = {"mesh": 3, "lines": 2}.get(body.get("shape"), 1)
    if given.dtype.kind not in "iu" or isinstance(given, numpy.ma.MaskedArray) or given.size % each:
        raise Refused(f"scene(): index of body '{name}' is {describe(body['index'])}: expected rows of {each} whole numbers")
    wrong = given[(given < 0) | (given >= count)]
    if wrong.size:
        raise Refused(f"scene(): index of body '{name}' has {wrong[0]}: its vertices are 0 to {count - 1}")
    return given.ravel().tolist()


def misused(what, strayed):
    return (f"objective.{what}() was called {STRAYED[strayed]}: only the thread of run() may call it, one call at a time; put what can "
            "be computed in parallel into one call: evaluate(X)")


STRAYED = (None, "from a process that run() has forked", "from another thread than that of run()", "while a call was under way")


class Objective:
    """The argument of ``run(objective)``: the problem, and the only way to evaluate.

    Attributes: ``n``; ``lower``, ``upper``, ``x0`` (arrays of n numbers); ``has_gradient``, ``stochastic``;
    ``budget`` (evaluations planned at the first start, 0 = no limit); ``target``, ``floor`` (-inf = none);
    ``seed``.

    Every row of a call costs one evaluation of the budget. When the search must end a call raises
    :class:`diffsim.plugin.Stopped`; let it pass. The same seed and results must lead to the same requests.

    Only the thread of run() may call it, one call at a time; a call from another thread or from a forked
    process raises :class:`diffsim.plugin.Misused` and ends the run with status 4. Rows that can be computed
    in parallel belong in one call."""

    def __init__(self, server):
        import numpy
        h, self._server, self.ended = server.head, server, False
        self._thread, self._busy, h.strayed = threading.get_ident(), False, 0
        self.n = n = h.n
        server.ensure(24 * n)
        self.lower, self.upper, self.x0 = server.numbers(3 * n).reshape(3, n).copy()
        self.has_gradient, self.stochastic = bool(h.has_gradient), bool(h.stochastic)
        self.budget, self.target, self.floor, self.seed = h.budget, h.target, h.loss_floor, h.seed

    def rng(self, name: str = "search", index: int = 0):
        """A generator of random numbers that follows from the seed of the run and the name of the stream."""
        return api.rng(self.seed, name, index)

    def should_stop(self) -> bool:
        """Must the search end? For long computations of the optimizer."""
        return self._server.head.stop != 0

    @contextlib.contextmanager
    def _turn(self, what):
        """Guards one call of evaluate() or save(): allowed for the thread of run(), one at a time. A
        violation is noted where every process of this plugin sees it: the run fails even if the exception
        is caught."""
        h, strayed = self._server.head, 0
        if os.getpid() != self._server.pid:
            strayed = 1
        elif threading.get_ident() != self._thread:
            strayed = 2
        elif self._busy:
            strayed = 3
        h.strayed = strayed or h.strayed
        if h.strayed:
            raise api.Misused(misused(what, h.strayed))
        if self.ended:
            raise api.Stopped()
        self._busy = True
        try:
            yield h
        finally:
            self._busy = False

    def __reduce__(self):
        raise TypeError("the objective cannot be pickled or copied: it belongs to the process of run()")

    def evaluate(self, x, gradient: bool = False, tag: str = "", group: int = 0, noise=None):
        """Losses of the rows of x (shape (rows, n), inside the bounds): an array of ``rows`` numbers, +inf
        where the evaluation failed; with ``gradient`` also one of shape (rows, n), zeros where it failed.

        Independent rows belong in one call: they are evaluated in parallel. ``tag`` (at most 15 bytes) and
        ``group`` describe the rows; rows with equal numbers in ``noise`` have equal noise."""
        import numpy
        from diffsim._settings import reals
        s, n = self._server, self.n
        with self._turn("evaluate") as h:
            x = reals(x, "evaluate(x): x")
            if x.ndim != 2 or x.shape[1] != n or len(x) == 0:
                raise ValueError(f"evaluate(x): x has shape {x.shape}, expected (rows, {n})")
            count, width = len(x), 2 * n if gradient else n
            text = str(tag).encode()
            if len(text) > 15:
                raise ValueError(f"evaluate(tag={tag!r}): at most 15 bytes are possible")
            if noise is not None:
                noise = numpy.asarray(noise)
                if noise.dtype.kind not in "iu" or noise.shape not in ((), (count,)) or (noise < 0).any():
                    raise ValueError(f"evaluate(noise=...): expected {count} whole numbers that are not negative")
            if isinstance(group, bool) or not hasattr(group, "__index__") or not 0 <= group.__index__() < 1 << 64:
                raise ValueError(f"evaluate(group={group!r}): expected a whole number that is not negative")
            s.ensure(count * (8 * width + 24))
            s.numbers(count * n)[:] = x.ravel()
            behind = 8 * count * (width + 1)
            if noise is not None:
                numpy.frombuffer(s.room_map, numpy.uint64, count, behind)[:] = noise
            h.what, h.want, h.count, h.group, h.status = BATCH, WANT_GRAD if gradient else 0, count, group.__index__(), OK
            h.key, h.text = noise is not None, text
            s.exchange()
            status = h.status
            if status != OK:
                self.ended = True
                raise api.Stopped()
            loss = s.numbers(count, 8 * count * n).copy()
            self.outcomes = numpy.frombuffer(s.room_map, numpy.uint32, count, behind + 8 * count).copy()
            if not gradient:
                return loss
            return loss, s.numbers(count * n, 8 * count * (n + 1)).reshape(count, n).copy()

    def loss(self, x, **more) -> float:
        """The loss of one point."""
        return float(self.evaluate([x], **more)[0])

    def loss_and_grad(self, x, **more):
        """Loss and gradient (n numbers) of one point."""
        loss, grad = self.evaluate([x], gradient=True, **more)
        return float(loss[0]), grad[0]

    __call__ = loss

    def save(self, name: str, data: bytes) -> bool:
        """Saves a file in the folder of the run: True, or False without a folder. The bytes may depend on
        parameters, seed, problem and results alone."""
        s, data = self._server, bytes(memoryview(data))
        with self._turn("save") as h:
            s.ensure(len(data))
            s.room[:len(data)] = data
            h.what, h.bytes, h.text, h.status = SAVE, len(data), str(name).encode()[:TEXT - 1], OK
            s.exchange()
            if h.status not in (OK, E_UNSUPPORTED):
                raise ValueError(f"save('{name}'): refused by the host")
            return h.status == OK


def let_others_be_ended():
    """SIGTERM is for the host, so the adapter has it ignored until here. From now on it is caught, so that programs that a
    plugin starts, and processes that it forks (multiprocessing ends its own by SIGTERM), take it as usual."""
    def ignored(number, frame):
        pass

    def usual():
        if signal.getsignal(signal.SIGTERM) is ignored:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, ignored)
    os.register_at_fork(after_in_child=usual)


def main(argv):
    sys.argv = [argv[1]]
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    let_others_be_ended()
    Server(*argv).serve()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
