# SPDX-License-Identifier: Apache-2.0
"""Python values as lines "key = value" of an .ini file, as the library reads them, and numbers as arrays."""

from __future__ import annotations

import numbers
import os

import numpy as np

from ._errors import UsageError

_LINE = 140  # bytes; a longer list continues in the next line, indented
_LONGEST = 8000 - 3  # bytes of a key and its text in one line of an .ini file (core/config/params.c)
_BLANKS = " \t"
_EXACT = 2**53  # whole numbers up to here are doubles


def shown(value, length: int = 80) -> str:
    """repr() for a message: one line, not too long."""
    try:
        text = " ".join(repr(value).split())
    except Exception as e:  # of an object whose repr() fails
        text = f"<{type(value).__name__}, whose repr() fails: {type(e).__name__}>"
    return text if len(text) <= length else text[: length - 3] + "..."


def value_text(key: str, value) -> str:
    """The text of one value: bools, whole numbers, reals (all 17 digits), texts, paths, sequences of numbers."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return _text(key, os.fspath(value))
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, (list, tuple, range)):
        for v in value:
            if not isinstance(v, numbers.Real):
                raise UsageError(f"{key}: {shown(v)} in a list: expected numbers")
        return _broken(value_text(key, v) for v in value)
    raise TypeError(f"{key} = {shown(value)}: expected a number, a text, True, False or a list of numbers")


def _broken(words) -> str:
    """The words of a list, in as many lines as they need."""
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > _LINE:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return "\n    ".join([*lines, line])


def _is_number(word) -> bool:
    """Is it one number of a list, or one that is repeated: v*k?"""
    value, star, times = word.partition("*")
    return all(ch in "0123456789+-.eEinf" for ch in value) and _reads(float, value) and (not star or times.isdecimal())


def _reads(kind, word) -> bool:
    try:
        kind(word)
        return True
    except ValueError:
        return False


def _text(key, text) -> str:
    """A text unchanged, refused if the reader of .ini files would read another one. Only a list of numbers,
    as in records, may continue in further lines."""
    if not isinstance(text, str) or any(ch in text for ch in "\n\r\0"):
        raise UsageError(f"{key} = {shown(text)}: expected a text of one line")
    try:
        size = len(key.encode()) + len(text.encode())
    except UnicodeEncodeError:
        raise UsageError(f"{key} = {shown(text)}: this is not UTF-8 text") from None
    if any(ch == ";" and (i == 0 or text[i - 1] in _BLANKS) for i, ch in enumerate(text)):
        raise UsageError(f"{key} = {shown(text)}: a ';' at the beginning or after a blank begins a comment in an .ini file")
    words = text.replace(",", " ").split()
    if words and all(map(_is_number, words)):
        return _broken(words) if size > _LONGEST else text
    if text != text.strip(_BLANKS):
        raise UsageError(f"{key} = {shown(text)}: a blank at an end gets lost in an .ini file")
    if size > _LONGEST:
        raise UsageError(
            f"{key} = {shown(text)}...: too long for a line of 8000 bytes in an .ini file: with its name it has {size} bytes, "
            f"{_LONGEST} are possible; a file may have a shorter path, also by a link to it or its folder"
        )
    return text


def lines(parameters) -> bytes:
    """All of a mapping, for `settings` of the library's options."""
    text = ""
    for key, value in parameters.items():
        if not isinstance(key, str) or not key or any(ch in key for ch in "=:\n\r\0[];#") or key != key.strip():
            raise UsageError(f"{shown(key)} is not a name of a parameter")
        text += f"{key} = {value_text(key, value)}\n"
    return text.encode()


def merged(settings, keywords) -> dict:
    """Parameters as a mapping and as keywords, together."""
    if settings is not None and not hasattr(settings, "keys"):
        raise TypeError(f"settings = {shown(settings)}: expected a mapping of names to values")
    both = dict(settings or {})
    for key, value in keywords.items():
        if key in both:
            raise UsageError(f"{key} is given twice: in settings and as a keyword")
        both[key] = value
    return both


def reals(values, what: str) -> np.ndarray:
    """An array of doubles in C order; no copy where it is one.

    Takes bools, integers and reals of every width. Refuses numbers that a double cannot hold, values that are
    not real numbers (text, objects, dates, complex numbers, bfloat16) and masked elements; each with a line
    that says what to do."""
    rows = values if isinstance(values, (list, tuple)) else (values,)
    if any(isinstance(v, np.ma.MaskedArray) and np.ma.getmaskarray(v).any() for v in rows):
        raise UsageError(f"{what}: an element is masked: give it a value first, with .filled(value)")
    try:
        a = np.asarray(values)
    except (ValueError, TypeError, RuntimeError, OverflowError) as e:
        raise _not_numbers(values, what, e) from None
    if a.dtype.kind not in "fiub":
        wrong = "complex numbers" if a.dtype.kind == "c" else f"dtype {a.dtype}"
        if a.dtype.kind == "O" and a.ndim == 0:
            wrong = "None" if values is None else type(values).__name__
        elif a.dtype.kind == "O":
            other = next((v for v in a.ravel() if not isinstance(v, (float, np.number))), None)
            wrong += f" (of {type(other).__name__}): np.asarray(..., dtype=float) converts it" if other is not None else ""
        raise TypeError(f"{what}: expected real numbers, not {wrong}")
    doubles = np.ascontiguousarray(a, dtype=np.float64).reshape(a.shape)  # 0-d stays 0-d
    if a.dtype.kind in "iu" and a.dtype.itemsize == 8 and a.size > 0:
        far = (a > _EXACT) if a.dtype.kind == "u" else (a > _EXACT) | (a < -_EXACT)
        for i in np.flatnonzero(far).tolist():
            if int(doubles.flat[i]) != int(a.flat[i]):
                raise UsageError(
                    f"{what}: {int(a.flat[i])} has more digits than a double can hold (2^53): convert it, with float()"
                )
    return doubles


def _not_numbers(values, what, error) -> Exception:
    """The exception for something that NumPy does not take, in our words where we know better ones."""
    kind = f"{type(values).__module__}.{type(values).__name__}"
    if getattr(values, "requires_grad", False) is True:
        return TypeError(f"{what}: this {kind} requires a gradient: detach() it first; diffsim.torch.loss(env) keeps gradients")
    if "Tracer" in type(error).__name__:
        return TypeError(f"{what}: JAX traces this array: use diffsim.jax.loss(env) inside jit, grad and vmap")
    if isinstance(error, ValueError) and isinstance(values, (list, tuple)):
        return UsageError(f"{what}: expected rows of equal length")
    first = " ".join(str(error).split())[:120]
    return TypeError(f"{what}: expected real numbers, not {kind}" + (f" ({first})" if first else ""))


def real(value, what: str) -> float:
    """A number that is not NaN: an option."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what} is {shown(value)}: expected a number")
    number = float(value)
    if number != number:
        raise UsageError(f"{what} is NaN: expected a number")
    return number


def undo_rounding(given, doubles, lower, upper) -> np.ndarray:
    """Doubles that come from an array of a lower precision, whose rounding may have moved a bound outwards: such values are
    moved back to the bound."""
    kind = getattr(given, "dtype", None)
    if not isinstance(kind, np.dtype):
        kind = np.asarray(given).dtype
    if kind.kind != "f" or kind.itemsize >= 8:
        return doubles
    near = np.clip(doubles, lower, upper)
    return np.where(near.astype(kind) == doubles.astype(kind), near, doubles)


def whole(value, what: str, low: int, high: int) -> int:
    """A whole number of a range."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} is {shown(value)}: expected a whole number")
    number = int(value)
    if not low <= number <= high:
        raise UsageError(f"{what} is {number}: allowed are {low} to {high}")
    return number


def flag(value, what: str) -> bool:
    """True or False, also as 1 or 0."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, numbers.Integral) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{what} is {shown(value)}: expected True or False")


def seconds(value, what: str) -> float:
    """A time; None or 0 is no limit."""
    value = 0.0 if value is None else value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what} is {shown(value)}: expected seconds")
    number = float(value)
    if not 0 <= number < float("inf"):
        raise UsageError(f"{what} is {number}: expected finite seconds, or None for no limit")
    return number
