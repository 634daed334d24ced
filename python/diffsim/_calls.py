# SPDX-License-Identifier: Apache-2.0
"""Open objects of one process, and calls of the library that Ctrl-C can end: the library polls Python while
it waits, or runs in a thread."""

from __future__ import annotations

import _thread
import os
import queue
import threading
import weakref

from . import _library
from ._errors import UsageError


def asked_while_waiting():
    """(waiting, interrupts): a function for the library to call while it waits, and the list of exceptions it
    has caught.

    Python's signal handlers run in it, so that Ctrl-C ends the call. They may run before the first line of a
    function; a generator continues within its `try`."""
    interrupts = []

    def wait():
        answer = 0
        while True:
            try:
                yield answer
                answer = 0
            except GeneratorExit:
                return
            except BaseException as e:  # raised after the call: an exception cannot pass through the library
                interrupts.append(
                    e.with_traceback(None)
                )  # this frame continues: clearing the frames of a traceback must not end it
                answer = 1

    generator = wait()
    next(generator)
    return _library.Waiting(generator.send), interrupts


class Caller:
    """A thread that calls one function at a time for others, until close()."""

    def __init__(self, name: str):
        self._name = name
        self._thread = None
        self._jobs = queue.SimpleQueue()

    @staticmethod
    def _work(jobs):
        while (job := jobs.get()) is not None:
            function, arguments, answer, done, begun = job
            if begun.acquire(blocking=False):
                try:
                    answer.append(function(*arguments))
                except BaseException as e:  # it is raised again where the call came from
                    answer.append(e)
                done.release()
            del job, function, arguments, answer, done, begun

    def call(self, function, arguments, stop):
        """function(*arguments); where a signal handler raises meanwhile, stop() is called and has to end it."""
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments)  # no signal handler runs here
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        answer, done, begun = [], threading.Semaphore(0), threading.Lock()
        try:
            self._jobs.put((function, arguments, answer, done, begun))
            done.acquire()
        except BaseException:
            if begun.acquire(blocking=False):  # the holder decides: the call has not begun, and will not
                raise
            stop()
            while not answer:
                try:
                    done.acquire()
                except BaseException:  # the impatient press Ctrl-C again; the library needs a second
                    pass
            raise
        if isinstance(answer[0], BaseException):
            raise answer[0]
        return answer[0]

    def close(self):
        """Ends the thread, when it has nothing to do any more."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread = None


# ---- open objects ----


class Turn(_thread.RLock):
    """Threads take turns; the one whose turn it is cannot begin another one, as a signal handler would that interrupts it."""

    def __enter__(self):
        if self._is_owned():
            raise UsageError("it is in use: a signal handler that interrupts a call cannot use the objects of that call")
        return self.acquire()


class Opened:
    """Something of the library that is open until close(), or until it is collected; a context manager. One thread at a time uses
    it. In a process that is forked it is closed: its workers and threads are the parent's."""

    def __init__(self):
        self._handle = None  # of the library
        self._lock = Turn()
        self._why_closed = ""

    def _hold(self, handle, close, *arguments):
        """From now on it is open; close(*arguments) will end that."""
        self._handle = handle
        self._finalizer = weakref.finalize(self, close, *arguments)
        _open.add(self)

    def _let_go(self, why):
        self._handle, self._why_closed = None, why
        self._finalizer()

    def _forked(self, parent):
        self._lock = Turn()  # a thread that is not here may have had it
        if self._handle is not None:
            self._finalizer.detach()
            self._handle, self._why_closed = None, f"belongs to process {parent}, from which this one was forked"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


_open: "weakref.WeakSet" = weakref.WeakSet()


def _after_fork():
    parent = os.getppid()
    for one in list(_open):
        one._forked(parent)


os.register_at_fork(after_in_child=_after_fork)
