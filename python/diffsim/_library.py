# SPDX-License-Identifier: Apache-2.0
"""libdiffsim by ctypes: where it is, and the structs and functions of diffsim/lib/*.h."""

from __future__ import annotations

import ctypes as c
import os
import re
import sys
from pathlib import Path

from ._errors import (
    DiffsimError,
    LibraryError,
    UsageError,
    UnsupportedError,
    ConfigError,
    EnvironmentFailed,
    InputOutputError,
    OutOfMemory,
    PluginError,
    Stopped,
    by_exit_status,
)

u32, u64, f64, text, pointer = c.c_uint32, c.c_uint64, c.c_double, c.c_char_p, c.c_void_p

# ---- where it is ----

_PACKAGE = Path(__file__).resolve().parent
_NATIVE = _PACKAGE / "native"  # in a wheel


def _places():
    """(path or name, description) of the libraries that may be loaded; the first existing one is used."""
    named = os.environ.get("DIFFSIM_LIBRARY")
    if named:
        yield named, "the variable DIFFSIM_LIBRARY"
        return
    wheel = _NATIVE / "lib" / "libdiffsim.so.1"
    if wheel.exists():
        yield str(wheel), "the package"
    tree = _PACKAGE.parent.parent
    built = tree / ".libs" / "libdiffsim.so.1"
    if (tree / "python" / "diffsim") == _PACKAGE and built.exists():
        yield str(built), "the build tree"
    if tree.name == "diffsim" and tree.parent.name == "share":  # PREFIX/share/diffsim/python/diffsim, as make install has it
        for installed in sorted(tree.parent.parent.glob("lib*/libdiffsim.so.1")) + sorted(tree.parent.parent.glob("lib/*/libdiffsim.so.1")):
            yield str(installed), "the installation"
    yield "libdiffsim.so.1", "the system's loader"


def _load():
    why = []
    for path, origin in _places():
        try:
            return c.CDLL(path), path
        except OSError as e:
            why.append(f"{origin}: {e}")
    raise LibraryError(
        "libdiffsim cannot be loaded (" + "; ".join(why) + "): install the wheel of diffsim, or name the file in "
        "the environment variable DIFFSIM_LIBRARY"
    )


lib, path = _load()
if os.path.basename(sys.executable or "").startswith(("python", "pypy")):
    os.environ.setdefault("DIFFSIM_PYTHON", sys.executable)  # of plugins in Python: the one that the program has, too
if (_NATIVE / "etc" / "fonts.conf").is_file() and not os.path.exists("/etc/fonts/fonts.conf"):
    os.environ.setdefault("FONTCONFIG_FILE", str(_NATIVE / "etc" / "fonts.conf"))  # for the pictures


def _loaded_path() -> str:
    """The file that was loaded, links resolved, also where the loader has found it."""
    if os.sep in path:
        return os.path.realpath(path)
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                if "/libdiffsim.so" in line:
                    return line[line.index("/") :].rstrip("\n")
    except OSError:
        pass
    return path


def program(name: str = "dshost") -> str:
    """The path of the library's dshost: in the wheel, the build tree or the installation, else on PATH."""
    import shutil

    own = Path(_loaded_path())
    for place in (_NATIVE / "bin", own.parent.parent, own.parent.parent / "bin", own.parent.parent.parent / "bin"):
        file = place / name
        if file.is_file() and os.access(file, os.X_OK):
            return str(file)
    found = shutil.which(name)
    if found is None:
        raise LibraryError(f"{name} is neither next to {own} nor on PATH: install diffsim, or put it on PATH")
    return found


def dshost(*arguments: str, data: bytes | None = None) -> bytes:
    """The output of dshost; where it fails, raises the exception of its exit status with its line."""
    import subprocess

    done = subprocess.run(
        [program(), *arguments],
        input=data,
        stdin=None if data is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        said = [line.partition("error: ")[2] for line in lines if line.startswith("dshost: error: ")]
        raise by_exit_status(
            done.returncode if done.returncode > 0 else 4,
            said[0] if said else lines[-1] if lines else f"dshost {arguments[0]} ended with {done.returncode}",
        )
    return done.stdout


# ---- the structs of diffsim/lib/*.h and of the extensions that they name; each begins with its size ----


class _Struct(c.Structure):
    def __init__(self, **values):
        super().__init__(**values)
        self.struct_size = c.sizeof(self)


def _struct(name, *fields):
    return type(name, (_Struct,), {"_fields_": [("struct_size", u32), *fields]})


Waiting = c.CFUNCTYPE(u32, pointer)
EnvironmentOptions = _struct(
    "EnvironmentOptions",
    ("isolation", u32),
    ("settings", text),
    ("seed", u64),
    ("jobs", u32),
    ("threads", u32),
    ("timeout_s", f64),
    ("memory_mb", u64),
    ("waiting", Waiting),
    ("ctx", pointer),
)
Box = _struct(
    "Box",
    ("has_gradient", u32),
    ("n", u64),
    ("lower", pointer),
    ("upper", pointer),
    ("x0", pointer),
    ("loss_floor", f64),
    ("stochastic", u32),
    ("stepwise", u32),
    ("steps", u64),
    ("dt", f64),
)
Variable = _struct("Variable", ("flags", u32), ("name", text), ("unit", text), ("group", text))
Rows = _struct(
    "Rows",
    ("want", u32),
    ("count", u64),
    ("n", u64),
    ("stride", u64),
    ("x", pointer),
    ("noise_key", pointer),
    ("queries", u64),
    ("query", pointer),
    ("memory", u32),
    ("device", u32),
)
Results = _struct(
    "Results",
    ("reserved", u32),
    ("stride", u64),
    ("loss", pointer),
    ("grad", pointer),
    ("outcome", pointer),
    ("grad_kind", pointer),
    ("bad_step", pointer),
    ("cost_steps", pointer),
    ("reply", pointer),
)
Channel = _struct(
    "Channel",
    ("role", u32),
    ("type", u32),
    ("ops", u32),
    ("ndim", u32),
    ("reserved", u32),
    ("shape", u64 * 8),
    ("lower", f64),
    ("upper", f64),
    ("name", text),
    ("unit", text),
    ("doc", text),
)
Query = _struct(
    "Query",
    ("op", u32),
    ("channel", u32),
    ("reserved", u32),
    ("v", pointer),
    ("w", pointer),
    ("v_stride", u64),
    ("w_stride", u64),
)
Reply = _struct(
    "Reply",
    ("reserved", u32),
    ("out", pointer),
    ("stride", u64),
    ("bytes", u64),
    ("kind", pointer),
)
SceneView = _struct(
    "SceneView",
    ("flat", u32),
    ("frames", u64),
    ("kept", u64),
    ("frame", pointer),
    ("bodies", u64),
    ("metrics", u64),
    ("dt", f64),
    ("box", f64 * 6),
    ("ground", f64),
)
BodyView = _struct(
    "BodyView",
    ("shape", u32),
    ("role", u32),
    ("variety", u32),
    ("width", u32),
    ("reserved", u32),
    ("count", u64),
    ("size", f64 * 4),
    ("name", text),
    ("index", pointer),
    ("index_count", u64),
    ("data", pointer),
)
MetricView = _struct(
    "MetricView", ("reserved", u32), ("name", text), ("unit", text), ("values", pointer), ("count", u64)
)
StepsInfo = _struct(
    "StepsInfo", ("flags", u32), ("horizon", u64), ("n_act", u64), ("n_obs", u64), ("dt", f64), ("max_lanes", u64)
)
StepRows = _struct(
    "StepRows", ("reserved", u32), ("count", u64), ("lane", pointer), ("noise_key", pointer), ("action", pointer)
)
StepResults = _struct(
    "StepResults",
    ("reserved", u32),
    ("obs", pointer),
    ("reward", pointer),
    ("ended", pointer),
    ("loss", pointer),
    ("outcome", pointer),
    ("cost_steps", pointer),
)
SearchOptions = _struct(
    "SearchOptions",
    ("has_gradient", u32),
    ("n", u64),
    ("lower", pointer),
    ("upper", pointer),
    ("x0", pointer),
    ("budget", u64),
    ("seed", u64),
    ("settings", text),
    ("folder", text),
    ("name", text),
    ("resume", u32),
    ("is_suggestion", u32),
)
RunnerResult = _struct(
    "RunnerResult",
    ("exit_status", u32),
    ("evaluations", u64),
    ("repeated", u64),
    ("budget", u64),
    ("failed", u64),
    ("best_loss", f64),
    ("best", u64),
    ("n", u64),
    ("best_x", pointer),
    ("evaluation_s", f64),
    ("ended", text),
    ("folder", text),
    ("summary", text),
)
Progress = c.CFUNCTYPE(u32, pointer, c.POINTER(RunnerResult))
RunnerOptions = _struct(
    "RunnerOptions",
    ("resume", u32),
    ("environment", text),
    ("optimizer", text),
    ("folder", text),
    ("run", text),
    ("env", text),
    ("opt", text),
    ("progress", Progress),
    ("ctx", pointer),
)

# ---- functions ----


def _declare():
    def function(name, result, *arguments):
        f = getattr(lib, name)
        f.restype, f.argtypes = result, list(arguments)

    status, of = c.c_int32, c.POINTER
    why = (c.c_char_p, u64)
    function("ds_library_version", text)
    function("ds_library_exit_status", u32)
    function("ds_environment_open", pointer, text, of(EnvironmentOptions), *why)
    function("ds_environment_close", None, pointer)
    function("ds_environment_stop", None, pointer)
    function("ds_environment_describe", status, pointer, of(Box))
    function("ds_environment_variable", status, pointer, u64, of(Variable))
    function("ds_environment_message", text, pointer)
    function("ds_environment_message_of", text, pointer, u64)
    function("ds_environment_evaluate_many", status, pointer, of(Rows), of(Results), pointer, of(u64))
    function("ds_environment_channels", u64, pointer)
    function("ds_environment_channel", status, pointer, u64, of(Channel))
    function("ds_environment_noise_key", u64, pointer, u64)
    function("ds_environment_simulate", status, pointer, pointer, u64, u32, of(f64), of(u32))
    function("ds_environment_scene", status, pointer, of(SceneView))
    function("ds_environment_body", status, pointer, u64, of(BodyView))
    function("ds_environment_metric", status, pointer, u64, of(MetricView))
    function("ds_environment_episodes", status, pointer, of(StepsInfo))
    function("ds_environment_lanes", u64, pointer)
    function("ds_environment_reset", status, pointer, of(StepRows), of(StepResults), of(u64))
    function("ds_environment_step", status, pointer, of(StepRows), of(StepResults), of(u64))
    function("ds_search_open", pointer, text, of(SearchOptions), *why)
    function("ds_search_ask", status, pointer, of(u64), of(pointer), of(u32))
    function("ds_search_tell", status, pointer, pointer, pointer)
    function("ds_search_used", u64, pointer)
    function("ds_search_best", status, pointer, of(f64), of(pointer))
    function("ds_search_message", text, pointer)
    function("ds_search_close", None, pointer)
    function("ds_search_end", status, pointer, u32)
    function("ds_runner_open", pointer, of(RunnerOptions), *why)
    function("ds_runner_run", status, pointer)
    function("ds_runner_stop", None, pointer)
    function("ds_runner_describe", status, pointer, of(RunnerResult))
    function("ds_runner_message", text, pointer)
    function("ds_runner_close", None, pointer)


try:
    _declare()
except AttributeError as missing:
    raise LibraryError(
        f"{path} is of another version than this package ({missing}): install both from one diffsim"
    ) from None

version: str = lib.ds_library_version().decode()

# ---- failures ----

# Names in messages of the library, and their Python spelling; rules for whole phrases come first.
_SPELLINGS = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^(settings|the options of the search):\d+: ", ""),
        (r"(unknown parameter '[^']*') in \[run\]; `dshost help run`", r"run: \1; `dshost help run`"),
        (r"(unknown parameter '[^']*') in \[(env|opt)\]", r"\1"),
        (r", for example with --set (env|opt)\.(\w+)=\.\.\.", r": \2=..."),
        (r"continue it with: dshost resume .*, or choose another --out", "continue it with resume=True, or choose another out="),
        (r"--verify false", 'run={"verify": False}'),
        (r"--repair", "dshost resume --repair"),
        (r"--set (env|opt)\.(\w+)", r"\2"),
        (r"--timeout-s\b|\btimeout_s\b", "timeout="),
        (r"--memory-mb\b|\bmemory_mb\b", "memory_mb="),
        (r"--(budget|seed|jobs|out|target|seconds|threads|isolation|resume|env|opt)( N)?(?![\w-])", r"\1="),
        (r"has_gradient says whether gradients are available", "with gradients: gradient=True, in minimize() jac="),
        (r"ds_search_options\.resume", "resume=True"),
    )
]


def in_python(line: str) -> str:
    """A line of the library in the words of Python: arguments instead of flags and of places in settings."""
    for pattern, words in _SPELLINGS:
        line = pattern.sub(words, line)
    return line


OK, STOPPED = 0, 1
# DS_E_* of diffsim/base.h
_KINDS = {
    -1: PluginError,
    -2: UsageError,
    -3: OutOfMemory,
    -4: UsageError,
    -5: UnsupportedError,
    -6: ConfigError,
    -7: InputOutputError,
    -8: PluginError,
    -9: EnvironmentFailed,
}


def by_status(status: int, line: bytes | str | None) -> DiffsimError:
    """The exception for a ds_status and its line."""
    line = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    line = in_python(line) if line else line
    if status == STOPPED:
        return Stopped(line or "stopped")
    return _KINDS.get(status, PluginError)(line or f"libdiffsim returned status {status}")


def opened(handle, why) -> int:
    """The handle of ds_..._open(), or the exception of its failure; `why` is the buffer with the line."""
    if not handle:
        raise by_exit_status(lib.ds_library_exit_status(), in_python(why.value.decode("utf-8", "replace")))
    return handle


def line_buffer():
    """Where ds_..._open() writes its line."""
    return c.create_string_buffer(1024)


def encoded(value, what: str) -> bytes:
    """Text for the library, which ends at a NUL."""
    try:
        raw = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r:.80}: expected text or a path") from None
    if b"\0" in raw:
        raise UsageError(f"{what} contains a NUL character")
    return raw
