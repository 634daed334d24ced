# SPDX-License-Identifier: Apache-2.0
"""Makes notebooks of the scripts next to it, cell by cell:  python3 make_ipynb.py [FOLDER]   (by default this
one)"""

import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def cells(text):
    """The cells of a script: "# %%" begins one, "# %% [markdown]" one of text."""
    for kind, body in re.findall(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", text, re.M | re.S):
        if kind:
            body = "".join(re.sub(r"^# ?", "", line) for line in body.splitlines(True))
        lines = body.strip("\n").splitlines(True)
        cell = {"cell_type": "markdown" if kind else "code", "metadata": {}, "source": lines}
        yield cell if kind else {**cell, "execution_count": None, "outputs": []}


def notebook(text):
    return {
        "cells": [{"id": f"cell-{i}", **c} for i, c in enumerate(cells(text))],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".py") and name != os.path.basename(__file__):
            with open(os.path.join(HERE, name), encoding="utf-8") as f:
                made = notebook(f.read())
            path = os.path.join(folder, name[:-3] + ".ipynb")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(made, f, indent=1)
                f.write("\n")
            print(path)


if __name__ == "__main__":
    main()
