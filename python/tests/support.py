# SPDX-License-Identifier: Apache-2.0
"""For several tests: dshost as a user calls it, plugins that misbehave, temporary folders."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np

from diffsim import _library

TOP = os.environ.get("DS_TOP_BUILD") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.environ.get("DS_TOP_SRC") or TOP
FAULTY = os.path.join(TOP, "tests", "plugins", ".libs", "faulty.so")
ALL = bool(os.environ.get("CHECK_ALL"))  # make check-slow
CHANNELS = os.path.join(TOP, "tests", "plugins", ".libs", "channels.so")


def dshost(*arguments):
    """The output of dshost, which must succeed."""
    return subprocess.run(
        [_library.program(), *map(str, arguments)],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ).stdout.decode()


def evaluated(name, x, **settings):
    """dshost eval --json of a point."""
    flags = [f"--set=env.{k}={v}" for k, v in settings.items()]
    return json.loads(
        dshost("eval", "--env", name, *flags, "--x=" + ",".join(repr(v) for v in x.tolist()), "--gradient", "--json")
    )


def record(folder):
    """The record of a run without times."""
    return dshost("export", folder, "--format", "csv", "--no-times", "--out", "-")


def children():
    """Living child processes of this one, with their names."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                text = f.read()
        except OSError:
            continue
        state, parent = text.rpartition(")")[2].split()[:2]
        if int(parent) == os.getpid():
            found[int(pid)] = state + " " + text[text.index("(") + 1 : text.rindex(")")]
    return found


class Case(unittest.TestCase):
    """A test with its own folder that must leave no process."""

    def setUp(self):
        room = tempfile.TemporaryDirectory(prefix="diffsim-test-")
        self.room = room.name
        self.addCleanup(room.cleanup)
        self.before = children()

    def path(self, name):
        return os.path.join(self.room, name)

    def same(self, a, b, words=None):
        """The same bits."""
        a, b = np.asarray(a), np.asarray(b)
        self.assertEqual(a.shape, b.shape, words)
        self.assertTrue(a.tobytes() == b.tobytes(), words or f"{a!r} is not {b!r}")

    def no_new_children(self):
        self.assertEqual({k: v for k, v in children().items() if k not in self.before}, {})

    def raises(self, kind, pattern, function, *arguments, **keywords):
        """Calls it: an exception of exactly that kind, one line, with the words of a pattern in it."""
        with self.assertRaisesRegex(kind, pattern) as caught:
            function(*arguments, **keywords)
        self.assertIs(type(caught.exception), kind)
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception


needs_faulty = unittest.skipUnless(os.path.exists(FAULTY), "tests/plugins/faulty.so is not built: make check builds it")
