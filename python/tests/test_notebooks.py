# SPDX-License-Identifier: Apache-2.0
"""The notebooks run, as scripts with small budgets, and become .ipynb files."""

import importlib.util
import json
import os
import subprocess
import sys

from support import Case

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
        self.assertRegex(self.script("first_search.py", 12), r"boleap  12 evaluations, best loss [0-9]")

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
