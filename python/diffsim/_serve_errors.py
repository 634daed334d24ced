# SPDX-License-Identifier: Apache-2.0
"""Errors of a plugin in Python, as serve.py reports them to the host: one line each, with its place."""
from __future__ import annotations

import os
import traceback

TEXT = 2048  # bytes of a line in the head (plugins/adapters/python/talk.h)
E_GENERIC = -1


class Refused(Exception):
    """The file, its class, or a result is wrong: one line for the user."""

    def __init__(self, line, status=E_GENERIC):
        super().__init__(line)
        self.status = status


def place_of(error, file):
    """FILE:LINE of an exception: the deepest line in the plugin's own file or one next to it; FILE if there
    is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)}:{error.lineno}"
    folder = os.path.dirname(file)
    own = [f for f in traceback.extract_tb(error.__traceback__) if os.path.dirname(f.filename) == folder]
    return f"{os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else os.path.basename(file)


def line_of(error, file):
    """One line for an exception: FILE:LINE: ValueError: its message."""
    if isinstance(error, Refused):
        return str(error)
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    said = " ".join(said.split())
    return f"{place_of(error, file)}: {type(error).__name__}{': ' if said else ''}{said}"


def one_line(text):
    """As the field of the head takes it: whole characters, and something for those that UTF-8 does not have."""
    return " ".join(text.split()).encode(errors="replace")[:TEXT - 1].decode(errors="ignore").encode()


def describe(value):
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__}" + (f" of shape {tuple(shape)}" if shape is not None else "")


def numbers(value, what):
    """An array of doubles, as diffsim._settings.reals() takes them: no masked, complex or other values pass for numbers."""
    from diffsim._settings import reals # not before numpy is known to be there
    try:
        return reals(value, what)
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from None


def one_number(value, says):
    """A float; `says` begins the line where it is none: "loss(x) returned"."""
    if type(value) is float:
        return value
    from diffsim._settings import reals
    try:
        a = reals(value.detach() if getattr(value, "requires_grad", False) is True else value, "")
    except (TypeError, ValueError):
        a = None
    if a is None or a.size != 1:
        raise Refused(f"{says} {describe(value)}: expected one number")
    return float(a.reshape(()))


def whole_number(value, what, low, high):
    """An int of a range; a float or a bool is none."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not low <= value.__index__() <= high:
        raise Refused(f"{what} is {str(value)[:40]}: expected a whole number from {low} to {high}")
    return value.__index__()
