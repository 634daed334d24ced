# SPDX-License-Identifier: Apache-2.0
"""Plugins in Python in a Python program: signals, endings, and which process outlives which."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import numpy as np

import diffsim
from support import SOURCE, Case

PLUGINS = os.path.join(SOURCE, "tests", "cli", "plugins", "faulty_plugins.py")


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Plugins(Case):
    """Processes of plugins in Python."""

    def program(self, code):
        """A program in its own session, as a shell starts it in a terminal."""
        return subprocess.Popen(
            [sys.executable, "-c", f"import diffsim, os, sys\nP = {PLUGINS!r}\n{code}"],
            cwd=self.room,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # make may have had it ignored
        )

    def test_interrupt(self):
        """Ctrl-C of a terminal, which all processes get, ends a search in Python; its results are saved"""
        code = "with diffsim.make('analytic', jobs=1) as env: diffsim.minimize(env, P + ':Slow', 10000, out='run', run={'isolate_optimizer': 'no'})"
        with self.program(code) as p:
            end = time.monotonic() + 20
            while not os.path.exists(self.path("run/run.sqlite")) and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(0.5)
            os.killpg(p.pid, signal.SIGINT)
            try:
                _, said = p.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                self.fail("it goes on")
        self.assertIn(b"KeyboardInterrupt", said)
        self.assertEqual(diffsim.load(self.path("run")).ended, "signal")

    def test_interrupted_start(self):
        """Ctrl-C ends make() while the start-up code of a plugin runs"""
        with open(self.path("slow.py"), "w", encoding="utf-8") as f:
            f.write("import time\nopen('begun', 'w').close()\ntime.sleep(25)\n")
        with self.program("diffsim.make('slow.py')") as p:
            end = time.monotonic() + 20
            while not os.path.exists(self.path("begun")) and time.monotonic() < end:
                time.sleep(0.05)
            begin = time.monotonic()
            os.killpg(p.pid, signal.SIGINT)
            _, said = p.communicate(timeout=40)
        self.assertIn(b"KeyboardInterrupt", said)
        self.assertLess(time.monotonic() - begin, 10)

    def test_handler(self):
        """a signal handler opens environments while make() or an evaluation waits; it cannot use the waiting
        object"""
        with open(self.path("slow.py"), "w", encoding="utf-8") as f:
            f.write("import time\ntime.sleep(1.5)\nclass Env:\n    lower, upper = -1, 1\n    def loss(self, x):\n        time.sleep(1)\n        return x @ x\n")
        code = """import signal, time
def handler(*_):
    with diffsim.make('pinball') as other:
        done.append(other.loss(other.x0))
    with diffsim.make('slow.py', jobs=1) as other:
        done.append(other.loss([0.5]))
    try:
        env.loss([0.5])
    except (NameError, diffsim.UsageError) as e:
        done.append(type(e).__name__)
done = []
diffsim.make  # imports its module, which a handler cannot do while it is imported
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
env = diffsim.make('slow.py', jobs=1)
signal.setitimer(signal.ITIMER_REAL, 0.3)
print(env.loss([0.5]), done[1], done[2], done[4], done[5], done[0] == done[3])
env.close()"""
        with self.program(code) as p:
            try:
                said, wrong = p.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                p.kill()
                self.fail("it waits for ever")
        self.assertEqual(said, b"0.25 0.25 NameError 0.25 UsageError True\n", wrong)

    def test_end(self):
        """a program never ends with success because the process of its optimizer has"""
        code = "s = diffsim.optimizer(P + ':%s', ([0.0], [1.0]))\ns.ask()\ns.tell(0)\ns.ask()"
        with self.program(code % "Leaves") as p:
            _, said = p.communicate(timeout=30)
        self.assertEqual(p.returncode, 1, said)
        with self.program(code % "Crashing") as p:
            _, said = p.communicate(timeout=30)
        self.assertEqual(p.returncode, -signal.SIGTERM, said)

    def test_threads(self):
        """an optimizer outlives the thread that has made it, and not the program"""
        made = []
        begin = threading.Thread(target=lambda: made.append(diffsim.optimizer(PLUGINS + ":Slow", ([0.0], [1.0]))))
        begin.start()
        begin.join()
        with made[0] as search:
            for _ in range(3):
                self.same(search.ask(), [[0.5]])
                search.tell(0)
        self.no_new_children()
        code = """import threading, time
made = []
t = threading.Thread(target=lambda: made.append(diffsim.optimizer(P + ':Slow', ([0.0], [1.0]))))
t.start()
t.join()
made[0].ask()
print(*(open(f'/proc/self/task/{k}/children').read() for k in os.listdir('/proc/self/task')), flush=True)
os.kill(os.getpid(), 9)"""
        with self.program(code) as p:
            said, _ = p.communicate(timeout=30)
        left = [int(pid) for pid in said.split()]
        self.assertTrue(left)
        end = time.monotonic() + 10
        while any(map(runs, left)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([pid for pid in left if runs(pid)], [])

    def test_late_interrupt(self):
        """Ctrl-C that comes when an evaluation has just ended is not lost, and only one is raised"""
        with diffsim.make("analytic", jobs=1) as env:
            loss = env.loss(env.x0)
            for call in (lambda: env.loss(env.x0), lambda: env.loss_and_grad(env.x0), lambda: env.evaluate([env.x0])):
                env._interrupts += [KeyboardInterrupt("first"), KeyboardInterrupt("second")]
                with self.assertRaisesRegex(KeyboardInterrupt, "first"):
                    call()
                self.assertFalse(env.closed)
                self.assertEqual(env.loss(env.x0), loss)
        self.no_new_children()

    def test_scene(self):
        """invalid positions, bodies without elements and ground without height do no damage"""
        with diffsim.make(PLUGINS + ":Picture", jobs=1) as env:
            scene = env.trajectory(env.x0)
        self.assertEqual(list(scene.bodies), ["some"])
        self.assertTrue(np.isfinite(scene.box).all())

    def test_interpreter(self):
        """plugins run with the Python of the program"""
        code = "env = diffsim.make(P + ':Picture'); print(os.environ['DIFFSIM_PYTHON'] == sys.executable)"
        with mock.patch.dict(os.environ):
            os.environ.pop("DIFFSIM_PYTHON", None)
            p = self.program(code)
        with p:
            said, _ = p.communicate(timeout=30)
        self.assertEqual(said, b"True\n")


if __name__ == "__main__":
    unittest.main()
