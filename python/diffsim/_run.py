# SPDX-License-Identifier: Apache-2.0
"""minimize(): whole runs of environments, as `dshost run` makes them, and searches over Python functions."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes as c
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from . import _library
from ._calls import Caller
from ._environment import Environment, make
from ._errors import EvaluationError, PluginError, UsageError, by_exit_status
from ._library import lib
from ._results import Run
from ._scene import copied
from ._search import Optimizer
from ._settings import flag, lines, merged, real, reals, seconds as limit_of, shown, whole
from ._space import Space


class Progress:
    """How a run stands, for ``progress=``."""

    __slots__ = ("evaluations", "budget", "failed", "best_loss", "best_x", "repeated")

    def __init__(self, evaluations, budget, failed, best_loss, best_x, repeated):
        self.evaluations = evaluations  # : done, including earlier starts
        self.budget = budget
        self.failed = failed  #: without a loss
        self.best_loss = best_loss  #: inf where there is none yet
        self.best_x = best_x  #: (n,), or None
        self.repeated = repeated  # : of the evaluations, read from the record

    def __repr__(self):
        return f"<{self.evaluations}/{self.budget} evaluations, best loss {self.best_loss:.10g}>"


class _Bar:
    """A line on stderr, ten times a second where it is a terminal, else the last one alone."""

    def __init__(self, what):
        self.what, self.last, self.now, self.width = what, 0.0, None, 0
        self.live = sys.stderr.isatty() or "ipykernel" in sys.modules

    def __call__(self, now):
        self.now = now
        if self.live and time.monotonic() - self.last > 0.1:
            self.last = time.monotonic()
            self.show("\r")

    def show(self, begin):
        p = self.now
        share = p.evaluations / p.budget if p.budget else 0.0
        filled = int(20 * min(share, 1.0))
        line = (
            f"{self.what} [{'=' * filled}{' ' * (20 - filled)}] {p.evaluations}/{p.budget}, best loss {p.best_loss:.6g}"
        )
        sys.stderr.write(begin + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self, result):
        if result is not None:  # the last evaluations were not reported
            budget = result.summary.get("budget", result.evaluations)
            self.now = Progress(result.evaluations, budget, 0, result.best_loss, result.best_x, 0)
        if self.now is not None:
            self.show("\r" if self.live else "")
            sys.stderr.write("\n")


class _Tqdm:
    """A bar of tqdm, or of anything like it: ``total``, ``update(n)``, ``set_postfix(...)``, ``close()``."""

    def __init__(self, bar, what, budget):
        self.own = isinstance(bar, type)
        self.bar = bar(total=budget, desc=what) if self.own else bar
        self.shown, self.last = 0, -math.inf
        if not self.own and getattr(bar, "total", budget) is None:
            bar.total = budget

    def __call__(self, now):
        if now.evaluations > self.shown:
            self.bar.update(now.evaluations - self.shown)
            self.shown = now.evaluations
        if time.monotonic() - self.last > 0.2:
            self.postfix(now.best_loss)

    def postfix(self, loss):
        self.last = time.monotonic()
        if hasattr(self.bar, "set_postfix"):
            self.bar.set_postfix(best_loss=f"{loss:.6g}")

    def close(self, result):
        if result is not None:
            if result.evaluations > self.shown:
                self.bar.update(result.evaluations - self.shown)
            self.postfix(result.best_loss)
        if self.own:
            self.bar.close()


def _bar_of(progress, what, budget):
    """An object that is called with each Progress, and closed at the end; None where progress is a function or nothing."""
    if progress is True:
        return _Bar(what)
    return _Tqdm(progress, what, budget) if callable(getattr(progress, "update", None)) else None


def minimize(
    f,
    method: str = "boleap",
    budget: int = 1000,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    out=None,
    resume: bool = False,
    bounds=None,
    x0=None,
    jac=None,
    fix: dict | None = None,
    vectorized: bool = False,
    target: float | None = None,
    seconds: float | None = None,
    progress=None,
    record_as: str | None = None,
    run: dict | None = None,
    settings: dict | None = None,
    **parameters,
) -> Run:
    """Searches for the lowest loss with ``budget`` evaluations and returns its record, a :class:`Run`:
    ``best_x``, ``best_loss``, ``history()``.

    f             an environment, its id ("pinball"), or a class or instance that :func:`diffsim.make` takes: the run equals that of ``dshost run``, to the last bit, in its worker
    processes.
                  Or any function of a point (n,) that returns its loss; then ``bounds`` is needed
    method        an optimizer: an id ("boleap"; ``diffsim.optimizers()``), the path of a plugin, or a class with run(objective)
    budget        evaluations, with or without gradient
    seed          of all randomness; None: the environment's, or 0
    jobs          evaluations in parallel. An environment: worker processes, None = its own setting. A
    function:
                  threads that call it. Results do not depend on it
    out           result folder, made by a new run, which ``dshost report``, ``compare``, ``plot`` and
    ``export`` also read;
                  None: no files remain
    resume        continue the run in ``out``, or begin it there: the same call after a crash or Ctrl-C, or
    with a larger
                  budget. Everything but limits (budget, seconds, ...), jobs, threads and isolation must be unchanged; a
                  parameter that is left out has its default
    bounds        of a function: n pairs (low, high) as in SciPy, ``scipy.optimize.Bounds``, (lower, upper),
    an environment or
                  a :class:`Space`. Two rows of two numbers that can be read as pairs and as (lower, upper) are refused
    x0            a start point, which is evaluated first; by default the optimizer chooses
    fix           variables with fixed values: {"name" or number: value}
    jac           of a function: True where it returns (loss, gradient), or a function that returns the
    gradient (n,);
                  None: no gradient
    vectorized    a function takes (k, n) points and returns (k,) losses (and (k, n) gradients)
    target        end the run at this loss
    seconds       end it after this time
    progress      True: a line on stderr. tqdm, or a bar of it (``tqdm.notebook.tqdm``). Or a function of a :class:`Progress`, called when evaluations have
    been recorded;
                  a true result ends the run; for environments it is called in another thread
    record_as     of a function: its name in the record
    run           more settings of the section [run] of an environment (``max_failed``, ``portable``, ...)
    **parameters  of the optimizer (``dshost help boleap``); ``settings`` is the same as a mapping

    A loss of a function that is not finite, or an :class:`EvaluationError` that it raises, is a failed
    evaluation. Any other exception ends the search and is passed on, and so is Ctrl-C; recorded evaluations
    are saved.

    Raises the exception of dshost's exit status: :class:`ConfigError`, :class:`PluginError`,
    :class:`EnvironmentFailed`, :class:`InputOutputError` (also where ``out`` holds a run, without
    ``resume``), ..."""
    opt = merged(settings, parameters)
    budget = whole(budget, "budget", 1, 2**53)
    resume, vectorized = flag(resume, "resume"), flag(vectorized, "vectorized")
    seed = None if seed is None else whole(seed, "seed", 0, 2**64 - 1)
    target = None if target is None else real(target, "target")
    out = None if out is None else _folder(out)
    if resume and out is None:
        raise UsageError("resume: name the folder of the run: out=")
    if not (progress is None or isinstance(progress, bool) or callable(progress) or callable(getattr(progress, "update", None))):
        raise TypeError(f"progress is {shown(progress)}: expected True, tqdm, or a function of a Progress")
    if run is not None and not hasattr(run, "items"):
        raise TypeError(f"run is {shown(run)}: expected a mapping of settings of [run]")
    made = None
    if isinstance(f, (str, os.PathLike)) or (not isinstance(f, Environment) and (isinstance(f, type) or _has_methods(f))):
        f = made = make(f, seed=seed or 0, jobs=jobs or 0)
    named = os.path.basename(str(method))
    if callable(getattr(method, "run", None)):  # a class, or an instance of one
        from ._classes import as_file, name_of

        method, named = as_file(method), name_of(method)
    here = isinstance(f, Environment) and f._given["isolation"] == "none" and not hasattr(f, "_waiting")  # in this process
    bar = _bar_of(progress, named, budget)
    progress = bar if bar is not None else progress or None
    result = None
    try:
        if here:
            bounds, jac = f if bounds is None else bounds, (True if f.has_gradient else None) if jac is None else jac
            record_as = record_as or re.sub(r"[^a-z0-9_]", "_", f.name.lower()).lstrip("_0123456789")[:40] or "program"
            f = f.loss_and_grad if jac is True else f.loss
        if isinstance(f, Environment):
            given = {"bounds": bounds, "jac": jac, "record_as": record_as, "vectorized": vectorized or None}
            wrong = [k for k, v in given.items() if v is not None]
            if wrong:
                raise UsageError(f"{', '.join(wrong)}: not with an environment, which has its own")
            if x0 is not None:
                if "x0" in opt:
                    raise UsageError("x0 is given twice: in settings and as an argument")
                opt["x0"] = _start(f, x0, fix)
            result = _run(f, method, budget, seed, jobs, out, resume, target, seconds, progress, run, opt, fix)
            return result
        if not callable(f):
            raise TypeError(f"{shown(f)} is neither an environment nor a function")
        verify = _verify(run)
        if bounds is None:
            raise UsageError("bounds are missing: n pairs (low, high), (lower, upper), or a Space; optimizers search in a box")
        space = _fixed(Space.of(bounds, x0), fix)
        ask = _Asked(f, jac, vectorized, 1 if jobs is None else whole(jobs, "jobs", 0, 1024) or os.cpu_count() or 1)
        name = (
            record_as
            or re.sub(r"[^a-z0-9_]", "_", str(getattr(f, "__name__", "program")).lower()).lstrip("_0123456789")[:40]
            or "program"
        )
        result = _search(ask, space, method, budget, seed or 0, out, resume, verify, target, seconds, progress, name, opt)
        return result
    finally:
        if bar is not None:
            bar.close(result)
        if made is not None:
            made.close()


def _has_methods(f) -> bool:
    """Is it an instance with methods of an environment, not only a function?"""
    return any(callable(getattr(f, k, None)) for k in ("loss", "loss_and_grad", "residuals")) and hasattr(f, "lower")


# ---- environments ----


# Settings of [run] that may change when a run is resumed: those of ds_run_may_override() (core/run/run.c),
# except `pictures`.
_MAY_CHANGE = {
    "budget",
    "seconds",
    "jobs",
    "threads",
    "isolation",
    "isolate_optimizer",
    "timeout_s",
    "start_timeout_s",
    "memory_mb",
    "max_failed",
    "page",
    "verify",
}


def _numbered(fix, names) -> dict:
    """{number: value} of variables by their names or numbers."""
    if not hasattr(fix, "items"):
        raise TypeError(f"fix is {shown(fix)}: expected a mapping of names or numbers of variables to values")
    found = {}
    for key, value in fix.items():
        if isinstance(key, str):
            if key not in names:
                raise UsageError(f"fix: there is no variable {key!r}: names are {', '.join(names[:8])}" + (", ..." if len(names) > 8 else ""))
            i = names.index(key)
        else:
            i = whole(key, "fix: the number of a variable", 0, len(names) - 1)
        if i in found:
            raise UsageError(f"fix: variable {names[i]!r} is there twice")
        found[i] = real(value, f"fix[{key!r}]")
    return found


def _start(env, x0, fix) -> list:
    """A start point in an environment, as the optimizer takes it: the variables that are free."""
    space = Space(env.lower, env.upper, x0)
    fixed = space.fixed()
    for i in _numbered(fix or {}, [v.name for v in env.variables]):
        fixed[i] = True
    return space.x0[~fixed].tolist()


def _fixed(space, fix) -> Space:
    """The space with some variables at a value."""
    if not fix:
        return space
    lower, upper, x0 = space.lower.copy(), space.upper.copy(), space.x0.copy()
    for i, value in _numbered(fix, list(space.names)).items():
        if not lower[i] <= value <= upper[i]:
            raise UsageError(f"fix: {space.names[i]} = {value:g}: outside of its bounds {lower[i]:g} and {upper[i]:g}")
        lower[i] = upper[i] = x0[i] = value
    chosen = Space(lower, upper, x0, space.names)
    chosen._has_start = space._has_start
    return chosen


def _folder(out) -> str:
    try:
        path = os.fsdecode(out)
    except TypeError:
        raise TypeError(f"out is {shown(out)}: expected text or a path") from None
    if not path or "\0" in path:
        raise UsageError(f"out is {path!r}: expected the path of a folder")
    return path


@contextlib.contextmanager
def _room():
    """A folder that goes at the end; a process that is forked meanwhile leaves it to its parent."""
    path, owner = tempfile.mkdtemp(prefix="diffsim-"), os.getpid()
    try:
        yield path
    finally:
        if os.getpid() == owner:
            shutil.rmtree(path, ignore_errors=True)


def _has_run(folder) -> bool:
    return (Path(folder) / "run.sqlite").is_file()


def _run(env, method, budget, seed, jobs, out, resume, target, seconds, progress, run, opt, fix) -> Run:
    env._check_open()
    given = env._given
    section = {
        "budget": budget,
        "jobs": given["jobs"] if jobs is None else whole(jobs, "jobs", 0, 1024),
        "threads": given["threads"] or 1,
        "isolation": given["isolation"],
        "pictures": False,
    }
    first = {"seed": given["seed"] if seed is None else seed}
    if target is not None:
        first["target"] = target
    if fix:
        names = [v.name for v in env.variables]
        fixed = _numbered(fix, names)
        first["fix"] = " ".join(f"{names[i]}={v!r}" for i, v in fixed.items())
    if seconds is not None:
        section["seconds"] = limit_of(seconds, "seconds")
    if given["timeout"]:
        section["timeout_s"] = given["timeout"]
    if given["memory_mb"]:
        section["memory_mb"] = given["memory_mb"]
    for key, value in (run or {}).items():
        if key in section or key in first or key in ("env", "opt", "out", "runs"):
            raise UsageError(f"run: {key} has an argument of its own")
        section[key] = value
    if out is None:
        with _room() as room:
            result = _run_in(os.path.join(room, "run"), env, method, {**first, **section}, opt, progress, False)
            result._read()
            return result
    going_on = resume and _has_run(out)
    if going_on:
        kept = {k: v for k, v in section.items() if k not in _MAY_CHANGE and k != "pictures"}
        _check_same(Run(out), env, method, {"target": -math.inf, "fix": "", **first, **kept}, opt)
        section = {k: v for k, v in section.items() if k in _MAY_CHANGE}
    return _run_in(out, env, method, section if going_on else {**first, **section}, opt, progress, going_on)


def _run_in(out, env, method, section, opt, progress, going_on) -> Run:
    failure = []

    def see(_, now):
        try:
            p = now.contents
            best = copied(p.best_x, c.c_double, (p.n,)) if p.best_x else None
            return 1 if progress(Progress(p.evaluations, p.budget, p.failed, p.best_loss, best, p.repeated)) else 0
        except BaseException as e:  # raised after the run; an exception cannot pass through the library
            failure.append(e)
            return 1

    callback = _library.Progress(see) if progress is not None else _library.Progress()
    o = _library.RunnerOptions(
        resume=1 if going_on else 0,
        environment=_library.encoded(env._given["name"], "the environment"),
        optimizer=_library.encoded(method, "method"),
        folder=_library.encoded(out, "out"),
        run=lines(section),
        env=None if going_on else env._text,
        opt=None if going_on else lines(opt),
        progress=callback,
    )
    why = _library.line_buffer()
    handle = _library.opened(lib.ds_runner_open(c.byref(o), why, len(why)), why)
    caller = Caller("diffsim run")
    try:
        status, exit_status = caller.call(_run_and_ask, (handle,), lambda: lib.ds_runner_stop(handle))
        if failure:
            raise failure[0]
        if status < 0:
            raise by_exit_status(exit_status, _library.in_python(lib.ds_runner_message(handle).decode("utf-8", "replace")))
        return Run(out)
    finally:
        caller.close()
        lib.ds_runner_close(handle)


def _run_and_ask(handle):
    status = lib.ds_runner_run(handle)
    return status, lib.ds_library_exit_status()  # of this thread


def _words(text) -> list:
    """The words of a value; v*k in a list is k times v."""
    words = []
    for word in text.replace(",", " ").split():
        value, star, times = word.partition("*")
        words += [value] * int(times) if star and times.isdecimal() and len(times) < 7 else [word]
    return words


def _same(a, b) -> bool:
    """Are two texts of a setting the same value?"""
    a, b = _words(a), _words(b)
    if len(a) != len(b):
        return False
    for u, v in zip(a, b):
        try:
            if float(u) != float(v):
                return False
        except ValueError:
            truth = {"true": 1, "yes": 1, "on": 1, "1": 1, "false": 0, "no": 0, "off": 0, "0": 0}
            if u != v and truth.get(u, u) != truth.get(v, v) and os.path.abspath(u) != v:
                return False
    return True


def _defaults(name) -> dict:
    """The texts of the defaults of a plugin's parameters."""
    told = json.loads(_library.dshost("help", os.fspath(name), "--json"))
    return {p["name"]: p["default"] for p in told["params"]}


def _check_same(old, env, method, first, opt):
    """Is the run in the folder the requested one? A parameter that is not given now has its default."""
    stem = lambda name: (
        os.path.basename(os.fspath(name)).removesuffix(".so")
        if os.sep in os.fspath(name)
        else os.fspath(name).removesuffix(".so")
    )
    text = lambda key, value: lines({key: value}).decode().partition(" = ")[2]

    def compare(pairs):
        for what, then, now in pairs:
            if not _same(then, now):
                raise UsageError(
                    f"{old.folder} holds a run with {what} {' '.join(then.split())!r}, not {' '.join(now.split())!r}: name another "
                    "folder, or call as it was begun"
                )

    compare(
        [
            ("environment", stem(old.settings["run"].get("env", "")), stem(env.name)),
            ("optimizer", stem(old.settings["run"].get("opt", "")), stem(method)),
        ]
    )
    compare((k, old.settings["run"].get(k, ""), text(k, v)) for k, v in first.items())
    for section, name, given in (("env", env.name, env._given["settings"]), ("opt", method, opt)):
        then = old.settings[section]
        compare((f"{section}.{k}", then.get(k, ""), text(k, v)) for k, v in given.items())
        left_out = [k for k in then if k not in given]
        if left_out:
            default = _defaults(name)
            compare((f"{section}.{k}", then[k], default.get(k, "")) for k in left_out)


# ---- functions ----


class _Asked:
    """Losses and gradients of points by a function of the user, which gets copies of the points and may
    change them."""

    def __init__(self, f, jac, vectorized, jobs):
        if jac is not None and not isinstance(jac, bool) and not callable(jac):
            raise TypeError(f"jac is {shown(jac)}: expected True, None or a function")
        self.f, self.jac, self.vectorized = f, jac or None, vectorized
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs) if jobs > 1 and not vectorized else None

    def close(self):
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def _answer(self, x, want):
        """(loss, gradient or None), as the function returns them."""
        answer = self.f(x.copy())
        if self.jac is not True:
            return answer, self.jac(x.copy()) if want and self.jac else None
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise UsageError(f"the function returned {shown(answer, 60)}: with jac=True expected (loss, gradient)")
        return answer

    def one(self, x, want):
        try:
            loss, grad = self._answer(x, want)
        except EvaluationError:  # also of an environment in this process
            return math.nan, np.full(x.size, np.nan)
        return loss_of(loss, "the function"), gradient_of(grad, x.size, "the function") if want else None

    def __call__(self, x, want):
        """((k,) losses, (k, n) gradients or None)"""
        if self.vectorized:
            loss, grad = self._answer(x, want)
            losses = reals(loss, "the losses of the function")
            if losses.shape != (len(x),):
                raise UsageError(f"the function returned losses of shape {losses.shape}: expected ({len(x)},) for {len(x)} points")
            grads = reals(grad, "the gradients of the function") if want else None
            if want and grads.shape != x.shape:
                raise UsageError(f"the function returned gradients of shape {grads.shape}: expected {x.shape}")
            return losses, grads
        rows = [*self.pool.map(lambda p: self.one(p, want), x)] if self.pool is not None else [self.one(p, want) for p in x]
        return np.array([r[0] for r in rows]), np.array([r[1] for r in rows]) if want else None


def loss_of(loss, who) -> float:
    """The loss that a function has returned."""
    a = reals(loss, f"the loss of {who}")
    if a.size != 1:
        raise UsageError(
            f"{who} returned an array of shape {a.shape}: expected one loss"
            + (", or jac=True where it returns (loss, gradient)" if a.size == 2 else "")
        )
    return float(a.reshape(()))


def gradient_of(grad, n, who) -> np.ndarray:
    """The gradient that a function has returned, (n,)."""
    a = reals(grad, f"the gradient of {who}")
    if a.size != n:
        raise UsageError(f"the gradient of {who} has {a.size} numbers: expected {n}")
    return a.ravel()


def _verify(run) -> bool:
    """The settings of a run that apply to a search over a function."""
    given = dict(run or {})
    verify = flag(given.pop("verify", True), "run: verify")
    if given:
        raise UsageError(f"run: {', '.join(map(str, given))}: these settings are for environments; a function has verify alone")
    return verify


def _recheck(ask, run, space):
    """Repeats the best recorded evaluation, as `dshost resume` does: another function would mix two problems in one record."""
    rows = run.history()
    if rows["x"].shape[1] == space.n and not ((rows["x"] >= space.lower) & (rows["x"] <= space.upper)).all():
        raise UsageError(f"{run.folder} holds a search with other bounds: give those it was begun with, or another folder")
    have = np.flatnonzero(np.isfinite(rows["loss"]))
    if have.size == 0 or rows["x"].shape[1] != space.n:
        return
    i = have[np.argmin(rows["loss"][have])]
    then, x = float(rows["loss"][i]), np.ascontiguousarray(rows["x"][i : i + 1])
    was = rows["gradient"][i] if "gradient" in rows.dtype.names and ask.jac is not None else None
    want = was is not None and bool(np.isfinite(was).all())
    loss, grad = ask(x, want)
    now, width = float(loss[0]), space.upper - space.lower
    scale = max(abs(then), abs(float(rows["loss"][have[0]])), abs(now) if math.isfinite(now) else 0.0)
    if not math.isfinite(now):
        what = "fails now"
    elif abs(now - then) > 1e-6 * scale:
        what = f"has the loss {now:.10g} now"
    elif want and not np.abs((grad[0] - was) * width).max() <= 1e-6 * max(scale, np.abs(was * width).max()):
        what = "has another gradient now"
    else:
        return
    raise PluginError(
        f"{run.folder}: evaluation {i + 1}, with the recorded loss {then:.10g}, {what}: the function has changed since this "
        'run was made; restore the old function, begin a new run with another out=, or continue with run={"verify": False}; '
        "nothing was changed"
    )


def _search(ask, space, method, budget, seed, out, resume, verify, target, seconds, progress, name, opt) -> Run:
    limit = limit_of(seconds, "seconds") or math.inf
    with _room() as room:
        folder = out if out is not None else os.path.join(room, "run")
        if out is not None and not resume and _has_run(out):
            raise UsageError(f"{out} holds a run already: resume=True goes on with it, or name another folder")
        begun, going_on = time.monotonic(), resume and _has_run(folder)
        try:
            with Optimizer(
                method,
                space,
                budget=budget,
                seed=seed,
                gradient=ask.jac is not None,
                folder=folder,
                resume=resume,
                record_as=name,
                settings=opt,
            ) as search:
                if going_on and verify:
                    _recheck(ask, Run(folder), space)
                for x in search:
                    search.tell(*ask(x, search.wants_gradient))
                    best = search.best_loss
                    if progress is not None and progress(Progress(search.used, budget, 0, best, search.best_x, 0)):
                        break
                    if best <= (-math.inf if target is None else target):
                        search.close("target")
                        break
                    if time.monotonic() - begun > limit:
                        search.close("time")
                        break
        finally:
            ask.close()
        if not _has_run(folder):
            raise PluginError(f"{method} ended without a record")
        result = Run(folder)
        if out is None:
            result._read()
        return result
