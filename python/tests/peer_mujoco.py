# SPDX-License-Identifier: Apache-2.0
"""Tasks of Gymnasium, and models of MuJoCo by examples/mujoco_env.py: they run with cmaes and racer in one line each and pass
dshost check; the gradients of models with contacts agree with differences."""

import os
import subprocess
import sys
import unittest

import diffsim  # noqa: F401
from diffsim import _library
from support import SOURCE, Case, dshost

try:
    import mujoco  # noqa: F401
except ImportError:
    mujoco = None
try:
    import gymnasium
except ImportError:
    gymnasium = None

MODEL = os.path.join(SOURCE, "examples", "mujoco_env.py")
PLANE = '<geom type="plane" size="5 5 0.1" friction="0.5"/>'
MODELS = {
    "a leg that falls, lands and kicks": f"""<mujoco><option timestep="0.005"/><worldbody>{PLANE}<body pos="0 0 0.4">
<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/><joint name="turn" axis="0 1 0"/>
<geom type="capsule" fromto="-0.15 0 0 0.15 0 0" size="0.05" mass="1"/><body pos="0.15 0 0">
<joint name="leg" axis="0 1 0" range="-90 90" damping="0.1"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.3"/>
</body></body></worldbody><actuator><motor joint="leg" gear="3" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>""",
    "a ball that pushes a box": f"""<mujoco><option timestep="0.005" integrator="implicitfast" cone="elliptic"/><worldbody>{PLANE}
<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" density="500" friction="0.4"/></body><body pos="-0.25 0 0.1">
<joint name="push" axis="1 0 0" type="slide" damping="1"/><joint name="side" axis="0 1 0" type="slide" damping="1"/>
<geom type="sphere" size="0.08" mass="1"/></body></worldbody><actuator><motor joint="push" ctrlrange="-10 10" ctrllimited="true"/>
<motor joint="side" ctrlrange="-10 10" ctrllimited="true"/></actuator></mujoco>""",
    "a sled that slides, sticks and turns": f"""<mujoco><option timestep="0.005"/><worldbody>{PLANE}<body pos="0 0 0.051"><freejoint/>
<geom type="box" size="0.15 0.1 0.05" mass="2" friction="0.5"/><site name="hook" pos="0.15 0 0.02"/></body></worldbody><actuator>
<general site="hook" gear="1 0 0 0 0 0" ctrlrange="-20 20" ctrllimited="true"/>
<general site="hook" gear="0 1 0 0 0 0" ctrlrange="-20 20" ctrllimited="true"/></actuator></mujoco>""",
}


class Searches(Case):
    def setUp(self):
        super().setUp()
        os.environ.setdefault("DIFFSIM_PYTHON", sys.executable)

    def checked(self, *arguments):
        """What `dshost check` prints, which must pass; each start imports MuJoCo, which takes long on a busy machine."""
        said = subprocess.run(
            [_library.program(), "check", "--timeout-s", "300", *arguments],
            cwd=self.room, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.assertEqual(said.returncode, 0, said.stdout)
        return said.stdout

    def searched(self, env, *settings):
        """One line for each optimizer, then the check."""
        for opt in ("cmaes", "racer"):
            out = self.path(opt)
            dshost("run", "--env", env, *settings, "--opt", opt, "--budget", 30, "--out", out, "--pictures", "no")
            history = diffsim.load(out).history()["loss"]
            self.assertEqual(len(history), 30)
            self.assertLess(history.min(), history[0])
        return self.checked(env, *settings)


@unittest.skipIf(mujoco is None or gymnasium is None, "there is no Gymnasium with MuJoCo")
class Tasks(Searches):
    """Environments of Gymnasium by their ids."""

    def search(self, name):
        self.searched("py:gymnasium", f"--set=env.id={name}", "--set=env.steps=40")

    def test_hopper(self):
        """Hopper-v5"""
        self.search("Hopper-v5")

    def test_pendulum(self):
        """Pendulum-v1"""
        self.search("Pendulum-v1")

    def test_cartpole(self):
        """CartPole-v1"""
        self.search("CartPole-v1")


@unittest.skipIf(mujoco is None, "there is no MuJoCo")
class Models(Searches):
    """MJCF files with contacts."""

    def write(self, text):
        with open(self.path("model.xml"), "w") as f:
            f.write(text)
        return f"--set=env.model={self.path('model.xml')}"

    def search(self, name):
        said = self.searched(MODEL, self.write(MODELS[name]), "--set=env.episode=100")
        self.assertRegex(said, r"\bok \d+ - grad.difference: the gradient equals difference quotients\n")
        shares = [line.rsplit(", ", 1)[1] for line in said.splitlines() if " quotients along " in line]
        self.assertEqual(set(shares), {"0 % disagree"})

    def test_leg(self):
        """a leg that falls, lands and kicks: gradients agree with differences"""
        self.search("a leg that falls, lands and kicks")

    def test_push(self):
        """a ball that pushes a box"""
        self.search("a ball that pushes a box")

    def test_sled(self):
        """a sled that slides, sticks and turns"""
        self.search("a sled that slides, sticks and turns")

    def test_solver(self):
        """a solver that stops early: a step does not depend on where the last one ended"""
        model = self.write(MODELS["a leg that falls, lands and kicks"].replace("<option", '<option solver="PGS"'))
        said = self.checked(MODEL, model, "--set=env.episode=80", "--only", "grad.difference")
        self.assertRegex(said, r"\bok 1 - grad.difference: the gradient equals difference quotients\n")

    def test_mistakes(self):
        """an unstable model and an integrator without derivatives: one line, and no file of warnings"""
        unstable = """<mujoco><option timestep="0.5"><flag eulerdamp="disable"/></option><worldbody><body>
<joint name="a" type="slide" damping="5000"/><geom size="0.1" mass="0.1"/></body></worldbody>
<actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>"""
        leg = MODELS["a leg that falls, lands and kicks"]
        for text, words in (
            (unstable, "diverged: .*the simulation of MuJoCo is unstable"),
            (leg.replace("<option", '<option integrator="RK4"'), 'no derivatives for the integrator RK4: write <option integrator="implicitfast"/>'),
            (leg[: leg.index("<actuator>")] + "</mujoco>", "the model has no actuators"),
        ):
            said = subprocess.run(
                [_library.program(), "eval", "--env", MODEL, self.write(text), "--x", "random:1", "--gradient"],
                cwd=self.room, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            self.assertNotEqual(said.returncode, 0)
            self.assertRegex(said.stderr, words)
            self.assertEqual(said.stderr.count("\n"), 1, said.stderr)
        self.assertFalse(os.path.exists(self.path("MUJOCO_LOG.TXT")))
