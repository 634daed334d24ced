# SPDX-License-Identifier: Apache-2.0
"""The parameters of a plugin in Python for serve.py: keywords and annotated attributes, as the host wants and gives them."""
from __future__ import annotations

import inspect
import math
import os
import re
import sys
import typing

import diffsim.plugin as api  # not `from . import`, which would load the whole package

from ._serve_errors import Refused


def annotated_attributes(target):
    """[(name, annotation, default)] of the attributes of a class and its bases whose annotation is one of
    diffsim.plugin. A class may set its own default; with a method or property of that name it is not a
    parameter."""
    found = {}
    for cls in reversed(target.__mro__):
        hints = hints_of(cls)
        for name in annotations_of(cls):
            if describes(hints.get(name)) and name in vars(cls):
                found[name] = hints[name]
    now = {name: inspect.getattr_static(target, name) for name in found}
    return [(name, hint, now[name]) for name, hint in found.items() if not hasattr(now[name], "__get__")]


def keyword_arguments(target):
    """[(name, annotation, default)] of the parameters: keywords of __init__ or of a function, and the
    annotated attributes of a class."""
    found = []
    if isinstance(target, type):
        found = annotated_attributes(target)
        call = target.__init__ if target.__init__ is not object.__init__ else None
    else:
        call = target
    if call is not None:
        hints = hints_of(call)
        skip = 1 # self, or x
        for name, p in list(inspect.signature(call).parameters.items())[skip:]:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or name in ("noise", "self"):
                continue
            found.append((name, hints.get(name), p.default))
    return found


def hints_of(o):
    try:
        return typing.get_type_hints(o, include_extras=True)
    except Exception: # a name that cannot be resolved is no reason to refuse the class
        return annotations_of(o)


def annotations_of(o):
    """The annotations of a function, or of a class without its bases, resolved as far as possible."""
    if sys.version_info >= (3, 14): # they are computed on request, and are not in the __dict__
        import annotationlib
        return annotationlib.get_annotations(o, format=annotationlib.Format.FORWARDREF)
    return dict(vars(o).get("__annotations__", {}) if isinstance(o, type) else getattr(o, "__annotations__", {}))


def describes(annotation):
    return isinstance(annotation, api._Parameter) or any(
        isinstance(m, api._Parameter) for m in getattr(annotation, "__metadata__", ()))


def parameter(name, annotation, default, whose):
    """The schema of one parameter as the host wants it, from annotation and default."""
    given = api._Parameter()
    meta = getattr(annotation, "__metadata__", ())
    kind = typing.get_args(annotation)[0] if meta else annotation
    for m in (annotation, *meta):
        if isinstance(m, api._Parameter):
            given = m
        elif isinstance(m, str) and m is not annotation:
            given = api._Parameter(doc=m)
    required = default is inspect.Parameter.empty
    if isinstance(default, float) and math.isnan(default):
        raise Refused(f"{whose}: parameter '{name}': its default is NaN, which is not a value of a parameter")
    type_ = given.type or type_from(kind, None if required else default)
    choices = list(given.choices)
    if not choices and typing.get_origin(kind) is typing.Literal:
        choices = [str(a) for a in typing.get_args(kind)]
    if type_ == 0:
        raise Refused(f"{whose}: parameter '{name}' needs a default or an annotation with its type: bool, int, "
                      "float, str, typing.Literal, list[float], numpy.ndarray, or one of diffsim.plugin")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,46}", name):
        raise Refused(f"{whose}: parameter '{name}': its name must be small letters, digits and _")
    numeric = type_ in (2, 3, 7, 8)
    limit = lambda v: None if not numeric or math.isinf(v) else v
    return {"name": name, "type": type_, "default": "" if required else text_of(default, type_),
            "min": 0 if type_ == 1 else limit(given.min), "max": 1 if type_ == 1 else limit(given.max), "unit": given.unit, "doc": given.doc or f"Keyword {name} of {whose}.",
            "choices": choices, "flags": given.flags + (1 if required else 0)}


def literals(annotation):
    """{text: value} of a typing.Literal, for choices travel as texts."""
    meta = getattr(annotation, "__metadata__", ())
    kind = typing.get_args(annotation)[0] if meta else annotation
    return {str(a): a for a in typing.get_args(kind)} if typing.get_origin(kind) is typing.Literal else {}


def type_from(kind, default):
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return 4
    if kind is bool or (kind is None and isinstance(default, bool)):
        return 1
    if kind is int or (kind is None and isinstance(default, int)):
        return 2
    if kind is float or (kind is None and isinstance(default, float)):
        return 3
    if kind is str or (kind is None and isinstance(default, str)):
        return 5
    if isinstance(kind, type) and issubclass(kind, os.PathLike):
        return 6
    if getattr(kind, "__name__", "") == "ndarray":
        return 8
    if origin in (list, tuple) or kind in (list, tuple) or isinstance(default, (list, tuple)):
        return 7
    return 0


def text_of(value, type_):
    if type_ == 1:
        return "true" if value else "false"
    if type_ in (2, 3):
        return repr(int(value)) if type_ == 2 else repr(float(value)) if math.isfinite(value) else \
            ("inf" if value > 0 else "-inf")
    if type_ == 7:
        return ", ".join(repr(float(v)) for v in value) if value is not None else ""
    return "" if value is None or type_ == 8 else str(value)


def value_of(given, schema):
    import numpy
    if schema["type"] == 3:
        return float(given)
    if schema["type"] == 7:
        return numpy.array([float(v) for v in given])
    if schema["type"] == 8:
        return numpy.array([float(v) for v in given["data"]]).reshape(given["shape"]) if given["shape"] else None
    return given
