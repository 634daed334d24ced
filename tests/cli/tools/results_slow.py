# SPDX-License-Identifier: Apache-2.0
# results_slow.py - recomputes the tables of a report from its runs by SciPy: results_slow.py RUNS.csv CELLS.csv
#
# One line for each cell that differs; the last line has the number of compared values. Exit status 1 where one differs.
import csv
import math
import sys

import numpy as np
from scipy.stats import mannwhitneyu

TOLERANCE = 1e-9


def rows(name):
    with open(name, newline="") as f:
        return list(csv.DictReader(f))


def number(text):
    return float(text) if text not in ("", None) else math.nan


def same(a, b):
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= TOLERANCE * max(abs(a), abs(b), 1e-300)


def p_value(x, y):
    """Two-sided Mann-Whitney test, exact; None where values are equal: SciPy has no exact one for ties, ours is tested elsewhere."""
    if len(set(x) | set(y)) < len(x) + len(y):
        return None
    return mannwhitneyu(x, y, alternative="two-sided", method="exact").pvalue


def holm(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out, most = [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(values) - rank) * values[i]))
        out[i] = most
    return out


def alone(losses, reference):
    """p of each optimizer against the reference, corrected by Holm for the environments on which both ran."""
    out = {}
    for opt in {o for _, o in losses} - {reference}:
        envs = sorted({e for e, o in losses if o == opt and (e, reference) in losses})
        p = [p_value(losses[e, opt], losses[e, reference]) for e in envs]
        if all(v is not None for v in p):
            out.update({(e, opt): v for e, v in zip(envs, holm(p))})
    return out


def main():
    runs, cells = rows(sys.argv[1]), rows(sys.argv[2])
    losses, compared, wrong = {}, 0, 0
    for r in runs:
        value = number(r["best_loss"])
        losses.setdefault((r["environment"], r["optimizer"]), []).append(math.inf if math.isnan(value) else value)
    tested = {c["optimizer"] for c in cells if c["u"]}
    (reference,) = {c["optimizer"] for c in cells} - tested  # the one that the others are compared with
    by_itself = alone(losses, reference)
    for env in sorted({c["environment"] for c in cells}):
        here = [c for c in cells if c["environment"] == env]
        others = [c["optimizer"] for c in here if c["optimizer"] != reference]
        base = losses.get((env, reference))
        p = {o: p_value(losses[env, o], base) for o in others} if base else {}
        tied = any(v is None for v in p.values())
        adjusted = {} if tied else dict(zip(others, holm([p[o] for o in others]))) if p else {}
        for c in here:
            x = np.array(losses[env, c["optimizer"]])
            want = {"runs": float(len(x)), "mean": x.mean(), "median": np.median(x), "least": x.min(), "most": x.max()}
            if len(x) > 1:
                want["sd"] = x.std(ddof=1)
                want["q1"], want["q3"] = np.quantile(x, [0.25, 0.75])
            if c["optimizer"] in p:
                y = np.array(base)
                u = sum((a < b) + 0.5 * (a == b) for a in x for b in y)
                want["a12"] = u / (len(x) * len(y))
                if p[c["optimizer"]] is not None:
                    want["p"] = p[c["optimizer"]]
                if (env, c["optimizer"]) in by_itself and "p_holm_alone" in c:
                    want["p_holm_alone"] = by_itself[env, c["optimizer"]]
                if c["optimizer"] in adjusted:
                    want["p_holm"] = adjusted[c["optimizer"]]
            for key, value in want.items():
                compared += 1
                # A mean is off by rounding, and the spread of nearly equal losses by as much.
                rounding = key == "sd" and abs(value - number(c[key])) <= np.finfo(float).eps * abs(x).max()
                if not rounding and not same(float(value), number(c[key])):
                    wrong += 1
                    print(f"{env}, {c['optimizer']}: {key} is {c[key]}, SciPy says {value:.17g}")
    print(f"{compared} numbers of {len(cells)} cells, {wrong} differ")
    return 1 if wrong or compared == 0 else 0


sys.exit(main())
