# SPDX-License-Identifier: Apache-2.0
"""environments(), optimizers() and help(): what there is, as tables and texts for programs and notebooks."""

from __future__ import annotations

import html
import json
import os

from . import _library
from ._errors import UsageError


class Catalog(dict):
    """id -> description, a mapping: ``summary``, ``version``, ``variables``, ``gradient``, ``family``, ``path``, ...

    Iterating gives the ids; a notebook shows a table."""

    def __init__(self, kind, rows):
        super().__init__((row["id"], row) for row in rows)
        self.kind = kind

    def select(self, **facts) -> "Catalog":
        """Those whose entries are equal: ``environments().select(family="gradSim")``."""
        return Catalog(self.kind, [row for row in self.values() if all(row.get(k) == v for k, v in facts.items())])

    def to_pandas(self):
        """The table as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(list(self.values())).set_index("id")

    def __repr__(self):
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:{width}}  {row['summary']}" for name, row in self.items()) or f"no {self.kind}s"

    def _repr_html_(self):
        columns = [c for c in ("variables", "gradient", "family") if any(row.get(c) for row in self.values())]
        head = "".join(f"<th>{c}</th>" for c in (self.kind, "summary", *columns))
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(str(row.get(c, '')))}</td>" for c in ("id", "summary", *columns))
            + "</tr>"
            for row in self.values()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Help:
    """What a plugin is: ``id``, ``summary``, ``description``, ``citation``, ``parameters`` (a list of mappings: name, type,
    default, min, max, unit, doc, choices). Prints as ``dshost help``; a notebook shows a table of the parameters."""

    def __init__(self, facts, text):
        self.id, self.kind, self.version = facts["id"], facts["kind"], facts["version"]
        self.summary, self.description, self.citation = facts["summary"], facts["description"], facts["citation"]
        self.parameters = facts["params"]
        self._text = text

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        def row(p):
            kind = " | ".join(p["choices"]) if p["choices"] else p["type"]
            given = (p["name"], p["default"], kind, p["unit"], p["doc"])
            return "<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in given) + "</tr>"

        parts = [f"<b>{html.escape(self.id)}</b>: {html.escape(self.summary)}"]
        parts += [f"<p>{html.escape(line)}</p>" for line in self.description.split("\n") if line]
        if self.parameters:
            head = "".join(f"<th>{c}</th>" for c in ("parameter", "default", "type", "unit", ""))
            rows = "".join(map(row, self.parameters))
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
        return "".join(parts) + (f"<small>{html.escape(self.citation)}</small>" if self.citation else "")


def _listed(kind) -> Catalog:
    rows = json.loads(_library.dshost("list", "--json"))
    return Catalog(kind, [r for r in rows if r["kind"] == kind and not r.get("shadowed") and "error" not in r])


def environments() -> Catalog:
    """All environments that are found by their ids: a :class:`Catalog`, the table of ``dshost list``."""
    return _listed("environment")


def optimizers() -> Catalog:
    """All optimizers, as :func:`environments`."""
    return _listed("optimizer")


def help(name) -> Help:
    """The description and the parameters of an environment or optimizer: an id, a path, an :class:`Environment`. Python's own
    ``help()`` is for what is neither."""
    name = getattr(name, "name", name)
    if not isinstance(name, (str, os.PathLike)):
        import builtins

        return builtins.help(name)
    name = os.fspath(name)
    try:
        facts = json.loads(_library.dshost("help", name, "--json"))
    except json.JSONDecodeError:
        facts = {}
    if "kind" not in facts:  # a topic of dshost, as "run"
        raise UsageError(f"{name} is neither an environment nor an optimizer")
    return Help(facts, _library.dshost("help", name).decode("utf-8", "replace").rstrip())
