# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the package and prints TAP:  python3 run.py [--peers] [WORD ...]   (names that contain a word)

Without --peers those that need NumPy alone; with it those that need SciPy, PyTorch, JAX, Gymnasium, each skipped where it is not there.
"""

import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)


class Tap(unittest.TestResult):
    """One line for each test; below a failure its description."""

    number, failed = 0, 0

    def line(self, test, passed, more=""):
        self.number += 1
        self.failed += not passed
        spent = time.monotonic() - self.began
        name = f"{type(test).__name__}: {test.shortDescription() or test.id().rpartition('.')[2]}"
        print(
            f"{'' if passed else 'not '}ok {self.number} - {name}{more}" + (f" ({spent:.1f} s)" if spent > 1 else ""),
            flush=True,
        )

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        self.line(test, True)

    def _wrong(self, test, err):
        if not hasattr(self, "began"):
            self.began = time.monotonic()
        self.line(test, False)
        print(
            "".join("#   " + line + "\n" for line in self._exc_info_to_string(err, test).splitlines()[-25:]),
            end="",
            flush=True,
        )

    def addFailure(self, test, err):
        self._wrong(test, err)

    def addError(self, test, err):
        self._wrong(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._wrong(subtest, err)

    def addSkip(self, test, reason):
        self.began = time.monotonic()
        self.line(test, True, f" # SKIP {reason}")


def tests(suite):
    for t in suite:
        yield from tests(t) if isinstance(t, unittest.TestSuite) else (t,)


def main():
    words = [a for a in sys.argv[1:] if a != "--peers"]
    pattern = "peer_*.py" if "--peers" in sys.argv[1:] else "test_*.py"
    chosen = [
        t
        for t in tests(unittest.defaultTestLoader.discover(HERE, pattern))
        if not words or any(w in t.id() for w in words)
    ]
    result = Tap()
    unittest.TestSuite(chosen).run(result)
    print(f"1..{result.number}")
    return 1 if result.failed or result.number == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
