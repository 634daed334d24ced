# SPDX-License-Identifier: Apache-2.0
"""Optimizers by ask and tell (diffsim/lib/ask_tell.h)."""

from __future__ import annotations

import ctypes as c
import os
import threading

import numpy as np

from . import _library
from ._calls import Opened
from ._errors import ClosedError, UsageError
from ._library import lib
from ._scene import copied
from ._settings import flag, lines, merged, reals, shown, whole
from ._space import Space

_ENDS = ["signal", "target", "time"]  # by the numbers of DS_SEARCH_... in diffsim/lib/ask_tell.h


class Optimizer(Opened):
    """A search that returns the next points to evaluate; made by :func:`optimizer`.

        with diffsim.optimizer("cmaes", space, budget=300) as opt:
            for x in opt:                              # (k, n) points
                opt.tell([f(point) for point in x])
            opt.best_x, opt.best_loss

    The points depend on the optimizer, its parameters, the seed and the losses alone.

    Threads take turns. A thread that called ask() can tell the losses of those points alone: where another
    thread has told them, tell() is refused. A forked process must begin its own search; a search cannot be
    pickled."""

    def __init__(
        self,
        name,
        space,
        *,
        budget=0,
        seed=0,
        gradient=False,
        folder=None,
        resume=False,
        record_as=None,
        settings=None,
        **parameters,
    ):
        super().__init__()
        if callable(getattr(name, "run", None)):
            from ._classes import as_file

            name = as_file(name)
        try:
            self.name = os.fsdecode(name)
        except TypeError:
            raise TypeError(f"the name of the optimizer is {shown(name)}: expected an id or the path of a .so") from None
        self.space = Space.of(space)
        self.budget = 0 if budget is None else whole(budget, "budget", 0, 2**63 - 1)
        self.seed = whole(seed, "seed", 0, 2**64 - 1)
        self._points = None  # asked, and not told yet
        self._want = False
        self._batch, self._of_thread = 0, threading.local()  # number of the last batch, of any thread and of this one
        self.done = False  # : has the search ended, by its budget or by its own rule?
        self._told_by = None  # the thread that called tell() last
        self._last = (0, np.inf, None)
        s = self.space
        lower, upper, x0 = (np.ascontiguousarray(v) for v in (s.lower, s.upper, s.x0))
        o = _library.SearchOptions(
            has_gradient=flag(gradient, "gradient"),
            n=s.n,
            lower=lower.ctypes.data,
            upper=upper.ctypes.data,
            x0=x0.ctypes.data,
            budget=self.budget,
            seed=self.seed,
            settings=lines(merged(settings, parameters)),
            folder=None if folder is None else _library.encoded(folder, "the folder"),
            name=None if record_as is None else _library.encoded(record_as, "the name of the evaluated function"),
            resume=flag(resume, "resume"),
            is_suggestion=not s._has_start,
        )
        why = _library.line_buffer()
        handle = lib.ds_search_open(_library.encoded(self.name, "the name of the optimizer"), c.byref(o), why, len(why))
        _library.opened(handle, why)
        self._hold(handle, lib.ds_search_close, handle)

    def close(self, ended: str = "signal") -> None:
        """Ends the search and completes its record; ``best_x``, ``best_loss`` and ``used`` stay.

        ``ended``: the reason in the record if the search could have continued: "signal" (it was interrupted),
        "target" (the loss is low enough) or "time"."""
        if ended not in _ENDS:
            raise UsageError(f"ended is {shown(ended)}: " + ", ".join(_ENDS) + " are possible")
        with self._lock:
            if self._handle is not None:
                lib.ds_search_end(self._handle, _ENDS.index(ended))
                self._last = self._read_best()
                self._let_go("was closed")

    def _ready(self):
        if self._handle is None:
            raise ClosedError(f"the search of {self.name} {self._why_closed}: begin another one")
        return self._handle

    @property
    def wants_gradient(self) -> bool:
        """Are gradients wanted for the points of the last :meth:`ask`?"""
        return self._want

    def ask(self) -> np.ndarray | None:
        """The points to evaluate next, (k, n) within the bounds; None when the search has ended (``done``).

        A second call before :meth:`tell` gives the same points."""
        with self._lock:
            count, x, want = c.c_uint64(), c.c_void_p(), c.c_uint32()
            status = lib.ds_search_ask(self._ready(), c.byref(count), c.byref(x), c.byref(want))
            if status == _library.STOPPED:
                self.done, self._points = True, None
                return None
            if status != 0:
                raise _library.by_status(status, lib.ds_search_message(self._handle))
            if self._points is None:
                self._batch += 1
            self._of_thread.batch = self._batch
            self._points = copied(x.value, c.c_double, (count.value, self.space.n))
            self._want = bool(want.value)
            return self._points.copy()

    def tell(self, loss, grad=None) -> None:
        """Takes the losses of the points of the last :meth:`ask`, (k,) or a number for one point, to be
        minimised; where ``wants_gradient``, also their gradients, (k, n). A value that is not finite is a
        failed evaluation, or a missing gradient."""
        with self._lock:
            handle = self._ready()
            if getattr(self._of_thread, "batch", self._batch) != self._batch or (
                self._points is None and self._told_by not in (None, threading.get_ident())
            ):
                raise UsageError(
                    "tell() answers points that another thread has answered: let one thread ask and tell, or evaluate the "
                    "rows of one ask() in parallel"
                )
            if self._points is None:
                raise UsageError(
                    "tell() without ask(): no points are waiting"
                    + (", the search has ended" if self.done else "")
                )
            k, n = self._points.shape
            a = np.atleast_1d(reals(loss, "loss"))
            if a.shape != (k,):
                raise UsageError(f"loss has shape {a.shape}: {k} points are waiting")
            g = None
            if self._want:
                if grad is None:
                    raise UsageError(f"{self.name} wants the gradients of these points: tell(loss, grad)")
                g = np.atleast_2d(reals(grad, "grad"))
                if g.shape != (k, n):
                    raise UsageError(f"grad has shape {g.shape}: expected ({k}, {n})")
            self._points, self._told_by = None, threading.get_ident()
            status = lib.ds_search_tell(handle, a.ctypes.data, None if g is None else g.ctypes.data)
            if status != 0:
                raise _library.by_status(status, lib.ds_search_message(handle))

    def __reduce__(self):
        raise TypeError(f"the search of {self.name} cannot be pickled or copied: it computes in this process; begin another one there")

    def __iter__(self):
        asked = 0
        while True:
            x = self.ask()
            if asked == self._batch and x is not None:
                raise UsageError("the points of the last step have no losses yet: call tell() in the loop, before the next step")
            asked = self._batch
            if x is None:
                return
            yield x

    def _read_best(self):
        if self._handle is None:
            return self._last
        loss, x = c.c_double(), c.c_void_p()
        found = lib.ds_search_best(self._handle, c.byref(loss), c.byref(x)) == 0
        return (
            lib.ds_search_used(self._handle),
            loss.value if found else np.inf,
            copied(x.value, c.c_double, (self.space.n,)) if found else None,
        )

    @property
    def used(self) -> int:
        """Evaluations told so far, recorded ones included."""
        with self._lock:
            return self._read_best()[0]

    @property
    def best_loss(self) -> float:
        """The lowest finite loss told so far; inf where there is none."""
        with self._lock:
            return self._read_best()[1]

    @property
    def best_x(self) -> np.ndarray | None:
        """Its point, (n,)."""
        with self._lock:
            return self._read_best()[2]

    def __repr__(self):
        return f"<diffsim.Optimizer {self.name}: {self.space.n} variables, {self.used} evaluations{', done' if self.done else ''}>"


def optimizer(
    name,
    space,
    *,
    budget: int = 0,
    seed: int = 0,
    gradient: bool = False,
    folder=None,
    resume: bool = False,
    record_as: str | None = None,
    settings: dict | None = None,
    **parameters,
) -> Optimizer:
    """Begins a search by ask and tell.

    name          an id ("cmaes"; ``dshost list``), or the path of a .so
    space         a :class:`Space`, an environment, or (lower, upper)
    **parameters  of the optimizer (``dshost help cmaes``); ``settings`` is the same as a mapping
    budget        evaluations; 0 = no limit, and the optimizer plans for none
    gradient      can :meth:`Optimizer.tell` give gradients?
    folder        a result folder for the record, which needs a budget; with ``resume`` a folder with this
    search continues,
                  and recorded losses are not requested again
    record_as     the name of the evaluated function, in the record: [a-z][a-z0-9_]*

    The optimizer computes in this process: the crash of a third-party one ends the program. ``ppo``, ``sac``
    and others that step through episodes are for :func:`minimize`, which has environments."""
    return Optimizer(
        name,
        space,
        budget=budget,
        seed=seed,
        gradient=gradient,
        folder=folder,
        resume=resume,
        record_as=record_as,
        settings=settings,
        **parameters,
    )
