# SPDX-License-Identifier: Apache-2.0
"""Result folders as arrays: runs, experiments, landscapes."""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import io
import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

from . import _library
from ._errors import DiffsimError, InputOutputError, UsageError
from ._environment import GRADIENT_KINDS, OUTCOMES, Environment, make

try:
    import sqlite3
except ImportError:  # a Python that was built without
    sqlite3 = None  # type: ignore[assignment]


class Run:
    """A run of an optimizer: its record and results.

    Read-only; :meth:`history` is read on first use. A run in progress appears as it was when loaded;
    :func:`load` it again to see more."""

    folder: Path
    summary: dict  # : summary.json; empty while the run is in progress, and where the record differs
    settings: dict  #: {"run": {...}, "env": {...}, "opt": {...}}, effective ones, as texts

    def __init__(self, folder):
        self.folder = Path(folder)
        if not (self.folder / "run.sqlite").is_file():
            raise InputOutputError(f"{folder}: not a result folder of a run: run.sqlite is missing")
        self.summary = _json(self.folder / "summary.json")
        self.settings = _settings(self.folder / "run.ini")
        self._facts, self._rows = {}, None
        self._called = _called_in(self.folder)
        self._arrays = None
        if goes_on(self.folder):
            self.summary = {}  # of an earlier end, of a run that is extended
        else:
            self._believe(_record(self.folder / "run.sqlite"))

    def _believe(self, record):
        """The record has priority over summary.json and run.ini (docs/record.md)."""
        if record is None:
            return
        self._facts, settings, self._rows = record
        ended = self._facts.get("ended", "")
        if self.summary and (self.summary.get("ended") or "", self.summary.get("evaluations")) != (ended, self._rows):
            if ended:  # else it was killed while it was extended
                warnings.warn(
                    f"{self.folder}/summary.json differs from run.sqlite, which has priority", stacklevel=3
                )
            self.summary = {}
        for section, known in settings.items():  # the record has those alone that are not empty
            self.settings[section] = {**dict.fromkeys(self.settings.get(section, {}), ""), **known}

    def _read(self):
        if self._arrays is None:
            with tempfile.TemporaryDirectory(prefix="diffsim-") as room:
                file = os.path.join(room, "run.npz")
                _library.dshost("export", str(self.folder), "--format", "npz", "--out", file)
                with np.load(file) as z:
                    self._arrays = {k: z[k] for k in z.files}
        return self._arrays

    def _fact(self, name):
        return self._facts.get(name) or self.summary.get(name)

    @property
    def env(self) -> str:
        """The id of the environment, or the name that the program gave it; in an experiment the experiment's
        name, which tells variants of one environment apart."""
        return self._called[0] if self._called else self.env_id

    @property
    def opt(self) -> str:
        """The id of the optimizer; in an experiment its name there ("cmaes@sigma0=0.1")."""
        return self._called[1] if self._called else self.opt_id

    @property
    def env_id(self) -> str:
        """The id of the environment in any case."""
        return self._fact("env") or self.settings["run"].get("env", "")

    @property
    def opt_id(self) -> str:
        """The id of the optimizer in any case."""
        return self._fact("opt") or self.settings["run"].get("opt", "")

    @property
    def seed(self) -> int:
        """The seed of all its randomness."""
        return int(self.settings["run"].get("seed") or self.summary.get("seed", 0))

    @property
    def evaluations(self) -> int:
        """How many were made."""
        known = self.summary.get("evaluations", self._rows)
        return known if known is not None else len(self._read()["loss"])

    @property
    def ended(self) -> str:
        """ "budget", "target", "time", "signal" (stopped), "optimizer_finished", "too_many_failures",
        "error"; "" while it is in progress, or after a crash."""
        return self._facts.get("ended", self.summary.get("ended") or "")

    @property
    def best_loss(self) -> float:
        """The lowest loss; inf where there is none."""
        if "best_loss" in self.summary:
            return float("inf") if self.summary["best_loss"] is None else self.summary["best_loss"]
        loss = self._read()["loss"]
        return float(np.nanmin(loss)) if np.isfinite(loss).any() else float("inf")

    @property
    def best_x(self) -> np.ndarray | None:
        """Its point, (n,); None where there is none."""
        if "best_x_file" in self.summary:
            return np.load(os.path.join(self.folder, self.summary["best_x_file"]))
        if "best_x" in self.summary:
            return None if self.summary["best_x"] is None else np.array(self.summary["best_x"])
        a = self._read()
        return a["x"][np.nanargmin(a["loss"])].copy() if np.isfinite(a["loss"]).any() else None

    # as SciPy calls them
    @property
    def recommended(self) -> dict | None:
        """Of a run in a noisy environment: the point that it recommends ("x") and its loss over noise keys that are the
        same for all runs ("mean", "se", "n_keys"); the lowest loss is the luckiest draw. None without noise."""
        found = self.summary.get("recommended")
        return None if found is None else dict(found, x=np.array(found["x"]))

    x = property(lambda self: self.best_x, doc="best_x")
    fun = property(lambda self: self.best_loss, doc="best_loss")
    nfev = property(lambda self: self.evaluations, doc="evaluations")

    @property
    def names(self) -> list:
        """n names of the variables."""
        a = self._read()
        return list(a["names"].tolist()) if "names" in a else [f"x{i}" for i in range(a["x"].shape[1])]

    def history(self) -> np.ndarray:
        """One row for each evaluation, a structured array: ``evaluation`` (1, 2, ...), ``loss`` (inf where it
        is missing), ``best_loss`` (so far), ``outcome`` ("ok", "diverged", ...), ``gradient_kind``,
        ``tag`` (the optimizer's purpose: "sample", "descent", ...), ``group``, ``steps``, ``seconds``
        inside the environment, ``at`` (seconds since 1970), ``x`` (n,) and, where gradients were
        requested, ``gradient`` (n,), NaN where it is missing."""
        a = self._read()
        count, n = a["x"].shape
        fields = [
            ("evaluation", np.int64),
            ("loss", np.float64),
            ("best_loss", np.float64),
            ("outcome", "U12"),
            ("gradient_kind", "U18"),
            ("tag", "U16"),
            ("group", np.uint64),
            ("steps", np.int64),
            ("seconds", np.float64),
            ("at", np.float64),
            ("x", np.float64, (n,)),
        ]
        if "gradient" in a:
            fields.append(("gradient", np.float64, (n,)))
        rows = np.zeros(count, fields)
        rows["evaluation"] = np.arange(1, count + 1)
        rows["loss"] = np.where(np.isnan(a["loss"]), np.inf, a["loss"])
        rows["best_loss"] = np.minimum.accumulate(rows["loss"]) if count else rows["loss"]
        rows["outcome"] = np.array(OUTCOMES)[np.clip(a["outcome"], 0, len(OUTCOMES) - 1)]
        rows["gradient_kind"] = np.array(GRADIENT_KINDS)[np.clip(a["gradient_kind"], 0, len(GRADIENT_KINDS) - 1)]
        for field, key in (
            ("tag", "tag"),
            ("group", "group"),
            ("steps", "cost_steps"),
            ("seconds", "wall_s"),
            ("at", "at"),
            ("x", "x"),
        ):
            rows[field] = a[key]
        if "gradient" in a:
            rows["gradient"] = a["gradient"]
        return rows

    @property
    def units(self) -> dict:
        """name -> unit of the variables ("" = a pure number); empty where the environment cannot be opened any more."""
        try:
            with self.environment() as env:
                return {v.name: v.unit for v in env.variables}
        except DiffsimError:
            return {}

    def to_pandas(self, units: bool = False):
        """:meth:`history` as a pandas.DataFrame, one column for each variable, under its name; ``frame.attrs["units"]`` has
        their units, and with ``units=True`` the columns have them in their names: "force [N]"."""
        import pandas

        rows, names = self.history(), self.names
        known = self.units
        shown = [f"{v} [{known[v]}]" if units and known.get(v) else v for v in names]
        frame = pandas.DataFrame({k: rows[k] for k in rows.dtype.names if rows[k].ndim == 1}).set_index("evaluation")
        parts = [pandas.DataFrame(rows["x"], index=frame.index, columns=shown)]
        if "gradient" in rows.dtype.names:
            parts.append(pandas.DataFrame(rows["gradient"], index=frame.index, columns=["g." + v for v in shown]))
        frame = pandas.concat([frame, *parts], axis=1)
        frame.attrs["units"] = {**known, "seconds": "s", "at": "s"}
        return frame

    def plot(self, ax=None):
        """The best loss so far against the evaluations, by matplotlib; returns the axes."""
        from ._plots import convergence

        return convergence([self], ax)

    def view(self, height: int = 480):
        """The best episode in the interactive viewer, for notebooks."""
        from ._plots import view

        return view((str(self.folder),), height=height)

    def environment(self, **options) -> Environment:
        """The environment of the run, with its parameters and its seed; ``options`` of :func:`diffsim.make`."""
        if self._fact("evaluated_by") == "program" or not self.settings["run"].get("env"):
            raise UsageError(f"{self.folder}: the program itself was evaluated there, no environment")
        return make(self.settings["run"]["env"], **{"seed": self.seed, "settings": self.settings["env"], **options})

    def picture(self) -> bytes:
        """The image of the best episode, as a PNG file; dshost draws it where the folder has none yet."""
        file = self.folder / "best.png"
        if not file.is_file():
            _library.dshost("picture", str(self.folder), "--best")
        return file.read_bytes()

    def __repr__(self):
        return (
            f"<diffsim.Run {self.env} with {self.opt}, seed {self.seed}: {self.evaluations} evaluations, best loss {self.best_loss:.10g}"
            + (f", ended by {self.ended}>" if self.ended else ">")
        )

    def _repr_html_(self):
        import base64
        import html

        words = html.escape(repr(self)[1:-1])
        try:
            data = base64.b64encode(self.picture()).decode()
        except Exception:  # no scene, or the folder is gone: the words are left
            return f"<code>{words}</code>"
        return f'<figure><img src="data:image/png;base64,{data}" alt="best episode"><figcaption>{words}</figcaption></figure>'


class Runs(list):
    """The runs of an experiment or of a folder of runs, sorted by environment, optimizer and seed."""

    folder: Path

    def table(self) -> np.ndarray:
        """One row for each run, a structured array: env, opt, seed, evaluations, best_loss, ended, folder. Names of an
        experiment are those that its report has."""
        rows = [(r.env, r.opt, r.seed, r.evaluations, r.best_loss, r.ended, str(r.folder)) for r in self]
        width = [max([len(row[i]) for row in rows], default=1) or 1 for i in (0, 1, 5, 6)]
        return np.array(
            rows,
            [
                ("env", f"U{width[0]}"),
                ("opt", f"U{width[1]}"),
                ("seed", np.uint64),
                ("evaluations", np.int64),
                ("best_loss", np.float64),
                ("ended", f"U{width[2]}"),
                ("folder", f"U{width[3]}"),
            ],
        )

    def to_pandas(self):
        """:meth:`table` as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.table())

    def plot(self, ax=None):
        """Median and quartiles of the best loss of each method against the evaluations, in one environment; the axes."""
        from ._plots import convergence

        return convergence(self, ax)

    def select(self, env: str | None = None, opt: str | None = None) -> "Runs":
        """The runs of an environment or optimizer, by the names in :meth:`table`."""
        chosen = Runs(r for r in self if env in (None, r.env) and opt in (None, r.opt))
        chosen.folder = self.folder
        return chosen

    def __repr__(self):
        return f"<diffsim.Runs {self.folder}: {len(self)} runs>"

    def _repr_html_(self):
        import html

        table = self.table()
        head = "".join(f"<th>{k}</th>" for k in table.dtype.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row) + "</tr>" for row in table.tolist()
        )
        return f"<table><tr>{head}</tr>{body}</table>"


class Landscape:
    """A slice of a loss: ``arrays`` has what docs/landscape.md lists (``loss``, ``norm``, ``g0``, ``g1``, ``c0``, ``c1``,
    ``center``, ``names``, ...), also as attributes."""

    folder: Path
    summary: dict  #: summary.json
    arrays: dict

    def __init__(self, folder):
        self.folder = Path(folder)
        self.summary = _json(self.folder / "summary.json")
        try:
            with np.load(self.folder / "landscape.npz") as z:
                self.arrays = {k: z[k] for k in z.files}
        except OSError as e:
            raise InputOutputError(f"{folder}: {e}: `dshost landscape {folder}` completes it") from None

    def __getattr__(self, name):
        try:
            return self.__dict__["arrays"][name]
        except KeyError:
            raise AttributeError(
                f"a landscape has no {name!r}; it has {', '.join(self.__dict__.get('arrays', ()))}"
            ) from None

    def plot(self, ax=None):
        """The slice by matplotlib: losses as colours, descent as arrows; returns the axes."""
        from ._plots import landscape

        return landscape(self, ax)

    def __repr__(self):
        return f"<diffsim.Landscape {self.folder}: {' x '.join(map(str, self.arrays['loss'].shape))} points>"

    def _repr_html_(self):
        import base64
        import html

        file = self.folder / "landscape.png"
        if not file.is_file():
            return f"<code>{html.escape(repr(self))}</code>"
        data = base64.b64encode(file.read_bytes()).decode()
        return f'<img src="data:image/png;base64,{data}" alt="{html.escape(repr(self))}">'


def load(folder):
    """Opens a result folder: a :class:`Run`; :class:`Runs` for an experiment, or where several runs lie below
    it; a :class:`Landscape`. Hidden folders do not count. Raises :class:`InputOutputError` where it holds
    none of these, or a record is damaged."""
    top = Path(os.fspath(folder))
    if not top.is_dir():
        raise InputOutputError(f"{top}: no such folder")
    if (top / "run.sqlite").is_file():
        return Run(top)
    if (top / "landscape.sqlite").is_file() or (top / "landscape.npz").is_file():
        return Landscape(top)
    folders = []
    for folder, inside, files in os.walk(top):
        inside[:] = [name for name in inside if name[0] != "."]  # left by a killed process that was moving it, and similar
        folders += [folder] if "run.sqlite" in files else []
    found = Runs(sorted(map(Run, folders), key=lambda r: (r.env, r.opt, r.seed, str(r.folder))))
    if not found:
        raise InputOutputError(f"{top}: holds neither runs nor a landscape")
    found.folder = top
    return found


def _called_in(folder):
    """(environment, optimizer) of a run in an experiment, from its folders: OUT/ENV/OPT/seed-K, where OUT has
    bench.ini. None of any other."""
    place = Path(os.path.realpath(folder))
    if not place.name.startswith("seed-") or len(place.parents) < 4 or not (place.parents[2] / "bench.ini").is_file():
        return None
    return place.parents[1].name, place.parents[0].name


def goes_on(folder) -> bool:
    """Does a process work on the run, this one or another?"""
    try:
        with _open(Path(folder) / "run.lock", "rb") as f:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:  # it is not there, or we may not read it, or the file system has no such locks
        return False


def _record(file):
    """(facts, {section: {key: text}}, number of evaluations) of a record; None where it cannot be read, which
    history() reports.

    Not while a run is in progress: another SQLite of this process may write the record, and its locks would
    be released when this one closes the file, because file locks belong to the process."""
    if sqlite3 is None:
        return None
    name = Path(os.path.abspath(file)).as_uri()
    # As dshost opens it: a reader may write as far as the system allows, because only then the last one
    # removes the log.
    for mode in ("mode=rw", "mode=ro&immutable=1"):
        try:
            with contextlib.closing(sqlite3.connect(f"{name}?{mode}", uri=True)) as db:
                db.text_factory = lambda raw: raw.decode("utf-8", "replace")
                db.execute("PRAGMA query_only=1")
                db.execute("PRAGMA trusted_schema=0")
                facts = dict(db.execute("SELECT key, value FROM meta"))
                settings = {"run": {}, "env": {}, "opt": {}}
                for section, key, value in db.execute("SELECT section, key, value FROM setting"):
                    settings.setdefault(section, {})[key] = value
                (last,) = db.execute("SELECT max(id) FROM eval").fetchone()
                return facts, settings, last or 0
        except sqlite3.Error:
            pass
    return None


def _open(path, mode="r", encoding=None):
    """Opens a regular file: a named pipe in its place would make open() wait for ever."""
    if Path(path).exists() and not Path(path).is_file():
        raise InputOutputError(f"{path}: it is not a regular file")
    return open(path, mode, encoding=encoding)


def _json(path) -> dict:
    try:
        with _open(path, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as e:
        raise InputOutputError(f"{path}: {e}") from None


def _settings(path) -> dict:
    """{section: {key: text}} of run.ini."""
    parser = configparser.RawConfigParser(
        delimiters="=", comment_prefixes=(";", "#"), empty_lines_in_values=False, strict=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    try:
        with _open(path, encoding="utf-8") as f:
            text = f.read()
    except FileNotFoundError:
        text = ""
    parser.read_file(io.StringIO(text), str(path))
    return {
        s: {k: " ".join(v.split("\n")) for k, v in parser[s].items()} if parser.has_section(s) else {}
        for s in ("run", "env", "opt")
    }
