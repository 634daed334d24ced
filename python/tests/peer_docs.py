# SPDX-License-Identifier: Apache-2.0
"""Every block of docs/python.md runs, in the order of the page, and that of docs/bridges.md on Stable-Baselines3; the notebooks
run cell by cell as .ipynb files."""

import importlib.util
import json
import os
import re
import sys
import textwrap

import numpy as np

import diffsim
from support import SOURCE, Case

# What a block needs that the page does not define, by a word of the block: names that stand for the reader's own things.
BEFORE = {
    "env.lower, env.upper, env.x0": "x = diffsim.make('cartpole', links=2).x0",
    "env.residuals(x)": "env = diffsim.make('analytic', function='rosenbrock'); x = env.x0; v = x; w = np.ones(env.channels[next(iter(env.channels))].elements)",
    "scene = env.trajectory(x)": "env = diffsim.make('cartpole'); x = env.x0",
    'method, "boleap"': "env = diffsim.make('pinball')",
    '"boleap", budget=300': "env = diffsim.make('pinball')",
    "measure(p)": "env = diffsim.make('pinball'); measure = env.loss; lower, upper = env.bounds",
    "scipy.optimize.minimize": "import scipy.optimize; f = lambda x: x @ x; x0 = np.full(5, 0.5); env = diffsim.make('pinball'); measure = env.loss; lower, upper = env.bounds",
    "diffsim.torch": "import torch, jax; env = diffsim.make('pinball'); points = env.random(3)",
    "gymnasium.make": "import gymnasium",
}
NEEDS = {"diffsim.torch": ("torch", "jax"), "gymnasium.make": ("gymnasium",), "scipy.optimize": ("scipy",), ".plot(": ("matplotlib",), "to_pandas": ("pandas",)}


def blocks(text):
    """The indented blocks of a page, as code."""
    return [textwrap.dedent(b) for b in re.findall(r"(?:^(?:    .*|\s*)\n)+", text, re.M) if b.strip() and b.lstrip("\n").startswith("    ")]


class Docs(Case):
    def test_blocks(self):
        """every block of docs/python.md runs"""
        file = os.path.join(SOURCE, "docs", "python.md")
        if not os.path.exists(file):
            self.skipTest("docs/python.md is not here")
        with open(file, encoding="utf-8") as f:
            found = blocks(f.read())
        self.assertGreater(len(found), 10)
        if importlib.util.find_spec("matplotlib"):
            import matplotlib

            matplotlib.use("Agg")
        known, here = {"np": np, "diffsim": diffsim, "__name__": "__main__"}, os.getcwd()
        os.chdir(self.room)
        try:
            for code in found:
                missing = [m for word, modules in NEEDS.items() if word in code for m in modules if not importlib.util.find_spec(m)]
                if missing:
                    print(f"# without {', '.join(missing)}: {code.strip().splitlines()[0]}", file=sys.stderr)
                    continue
                for word, before in BEFORE.items():
                    if word in code:
                        exec(before, known)
                with self.subTest(code.strip().splitlines()[0]):
                    exec(compile(code, "docs/python.md", "exec"), known)
        finally:
            os.chdir(here)

    def test_baselines(self):
        """the block of docs/bridges.md on Stable-Baselines3 runs, and learns"""
        if not importlib.util.find_spec("stable_baselines3"):
            self.skipTest("there is no Stable-Baselines3")
        file = os.path.join(SOURCE, "docs", "bridges.md")
        if not os.path.exists(file):
            self.skipTest("docs/bridges.md is not here")
        with open(file, encoding="utf-8") as f:
            code = next(b for b in re.findall(r"```python\n(.*?)```", f.read(), re.S) if "stable_baselines3" in b)
        self.assertLessEqual(len(code.splitlines()), 12)
        known = {"__name__": "__main__"}
        exec(compile(code, "docs/bridges.md", "exec"), known)
        last = known["info"][0]
        self.assertGreater(last["episode"]["r"], 100)  # random actions: 20
        self.assertEqual(last["x"].shape, (500,))

    def test_notebooks(self):
        """all notebooks run in a kernel, and the first two show tables"""
        if not all(map(importlib.util.find_spec, ("nbclient", "ipykernel", "matplotlib"))):
            self.skipTest("nbclient, ipykernel or matplotlib is missing")
        import nbformat
        from nbclient import NotebookClient

        folder = os.path.join(SOURCE, "python", "notebooks")
        sys.path.insert(0, folder)
        from make_ipynb import notebook

        os.environ.update(DIFFSIM_BUDGET="60", PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
        shows = ("first_search.py", "own_class.py")
        others = sorted(set(n for n in os.listdir(folder) if n.endswith(".py")) - {"make_ipynb.py", *shows})
        for name in (*shows, *others):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                book = nbformat.reads(json.dumps(notebook(f.read())), 4)
            NotebookClient(book, timeout=300, resources={"metadata": {"path": self.room}}).execute()
            shown = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs if "text/html" in o.get("data", {})]
            self.assertTrue(shown or name not in shows, name)
