# SPDX-License-Identifier: Apache-2.0
"""The notebooks run, as scripts with small budgets, and become .ipynb files."""

import contextlib
import importlib.util
import io
import itertools
import json
import os
import subprocess
import sys

import diffsim
from support import SOURCE, Case

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "notebooks")


class Notebooks(Case):
    def script(self, name, budget):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DIFFSIM_BUDGET": str(budget)}
        done = subprocess.run(
            [sys.executable, os.path.join(FOLDER, name)],
            env=env,
            cwd=self.room,
            stdin=subprocess.DEVNULL,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""), name)
        return done.stdout.decode()

    def test_first_search(self):
        """a first search"""
        said = self.script("first_search.py", 200)
        self.assertRegex(said, r"racer   200 evaluations, best loss [0-9]")
        self.assertRegex(said, r"\n[1-9][0-9]*\.[0-9] % of the image changed")

    def test_first_lines(self):
        """the first lines of README and docs/python.md change the scene, and its loss by a factor of 1000"""
        for name in ("README.md", "docs/python.md"):
            file = os.path.join(SOURCE, name)
            if not os.path.exists(file):
                self.skipTest(f"{name} is not here")
            with open(file, encoding="utf-8") as f:
                lines = f.read().partition("    import diffsim\n")[2].splitlines()
            block = [line[4:] for line in itertools.takewhile(lambda line: line.startswith("    "), lines)]
            known = {"diffsim": diffsim}
            with contextlib.redirect_stderr(io.StringIO()):
                exec("\n".join(block), known)
            env, result = known["env"], known["result"]
            self.assertLess(result.best_loss, 1e-3 * env.loss(env.x0), name)
            if "before" in known:
                self.assertGreater((known["before"] != known["after"]).any(axis=2).sum(), 1000, name)
            env.close()

    def test_my_function(self):
        """a simulation of your own"""
        self.assertIn("interrupted: the laboratory is closed", self.script("my_function.py", 0))

    def test_fit_cloth(self):
        """a cloth is fitted to a recording"""
        self.assertRegex(self.script("fit_cloth.py", 10), r"\nwidth +[+-]0\.")

    def test_compare(self):
        """a method of your own against others"""
        self.assertRegex(self.script("compare.py", 30), r"\nmine +[0-9]")

    def test_policy_by_gradients(self):
        """policies by gradients"""
        if importlib.util.find_spec("torch") is None:
            self.skipTest("there is no PyTorch")
        self.assertRegex(self.script("policy_by_gradients.py", 12), r"\nfrom 2\.\d+ to [01]\.")

    def test_ipynb(self):
        """scripts become notebooks, cell by cell"""
        subprocess.run(
            [sys.executable, os.path.join(FOLDER, "make_ipynb.py"), self.room], check=True, stdout=subprocess.DEVNULL
        )
        made = sorted(os.listdir(self.room))
        self.assertEqual(
            made, sorted(f[:-3] + ".ipynb" for f in os.listdir(FOLDER) if f.endswith(".py") and f != "make_ipynb.py")
        )
        for name in made:
            with open(self.path(name), encoding="utf-8") as f:
                book = json.load(f)
            self.assertEqual(book["cells"][0]["cell_type"], "markdown")
            self.assertGreater(len(book["cells"]), 3)
            compile("\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"), name, "exec")
