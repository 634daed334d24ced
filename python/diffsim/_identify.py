# SPDX-License-Identifier: Apache-2.0
"""identify(): unknown quantities of a simulation from recordings, as `dshost identify` finds them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ._errors import UsageError
from ._library import dshost


class Identification:
    """The result of :func:`identify`.

    summary       the content of summary.json (docs/identify.md)
    folder        the result folder, a Path: identify.html, estimate.ini, figures
    parameters    name -> {"estimate", "interval": [low, high], "unit", "method", "determined", "at_bound", ...}
    minima        all distinct minima, the best first
    undetermined  what the data do not determine, in words
    fit_rmse, heldout_rmse  root mean squares of the residuals; None without held-out samples
    """

    def __init__(self, summary: dict, folder: Path):
        self.summary, self.folder = summary, folder
        self.parameters = summary["parameters"]
        self.minima = summary["minima"]
        self.undetermined = summary["undetermined"]
        self.fit_rmse = summary["fit"]["rmse"] if summary["fit"] else None
        self.heldout_rmse = summary["heldout"]["rmse"] if summary["heldout"] else None

    def __getitem__(self, name: str) -> float:
        """The estimate of a parameter."""
        return self.parameters[name]["estimate"]

    def __repr__(self):
        return f"<Identification: {len(self.parameters)} parameters, fit rmse {self.fit_rmse:.4g}, in {self.folder}>"


def _text(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return " ".join(_text(v) for v in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def identify(case, data=None, *, out, settings=None, **flags) -> Identification:
    """Finds unknown quantities of a simulation from recordings, by the file `case` (docs/identify.md).

    case      an .ini file
    data      a recording, or several, in place of those of the file
    out       the result folder
    settings  {"env.n_samples": 100, ...}: values of the sections run, env and identify
    **flags   of `dshost identify --help`, with _ for -: budget=3000, seed=1, recovery=10

    Raises the exception of the exit status of dshost: :class:`ConfigError` for a wrong file or recording."""
    recordings = [] if data is None else [data] if isinstance(data, (str, os.PathLike)) else list(data)
    arguments = ["identify", os.fspath(case), "--json", f"--out={os.fspath(out)}"]
    arguments += [f"--data={os.fspath(file)}" for file in recordings]
    arguments += [f"--set={key}={_text(value)}" for key, value in (settings or {}).items()]
    for name, value in flags.items():
        if name in ("json", "help", "check_only"):
            raise UsageError(f"identify: {name} is not a setting: use settings of `dshost identify --help`")
        arguments.append(f"--{name.replace('_', '-')}={_text(value)}")
    return Identification(json.loads(dshost(*arguments)), Path(out))
