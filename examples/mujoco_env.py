# SPDX-License-Identifier: Apache-2.0
"""Any model of MuJoCo (MJCF) as an environment with gradients:  dshost --env mujoco_env.py --set env.model=robot.xml --opt racer

The variables are the controls, held for `hold` steps each. The loss is the squared distance of the joint positions from `goal`
at the end, plus `effort` times the mean square of the controls. MuJoCo has the derivatives of one step by finite differences
(mjd_transitionFD); chained backwards over the episode they are the gradient. It is declared approximate: `dshost check` then
allows errors of 0.1 %. The loss jumps where a contact begins a step earlier; the gradient is that between two jumps.
Needs `pip install mujoco`."""
from typing import Annotated

import numpy as np

from diffsim.plugin import Diverged, Int, List, Path, Real

PENDULUM = """<mujoco><option timestep="0.02" integrator="implicitfast"/><worldbody><body><joint name="hinge" axis="0 1 0" damping="0.05"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/></body></worldbody>
<actuator><motor joint="hinge" ctrlrange="-2 2" ctrllimited="true"/></actuator></mujoco>"""

LARGE = 1e10  # what MuJoCo calls unstable: mjMAXVAL


class Mjcf:
    """A model of MuJoCo is moved to a goal by its controls."""

    version = "2"
    license = "Apache-2.0"
    citation = "E. Todorov, T. Erez, Y. Tassa: MuJoCo, IROS 2012"
    approximate = True  # the gradient
    floor = 0.0
    difference = 1e-8  # of positions, velocities and controls: with 1e-6, every fifth episode had a contact that began in between

    def __init__(
        self,
        model: Annotated[str, Path("MJCF file; empty = a pendulum.")] = "",
        episode: Annotated[int, Int(1, 100000, "", "Steps of an episode.")] = 100,
        hold: Annotated[int, Int(1, 100000, "", "Steps for which a control is held.")] = 10,
        goal: Annotated[list, List(doc="Joint positions at the end (qpos); empty = 1 for each.")] = (),
        effort: Annotated[float, Real(0, 1e6, "", "Weight of the mean square of the controls.")] = 0.01,
    ):
        import mujoco

        self.mujoco, self.hold, self.effort = mujoco, hold, effort
        self.m = mujoco.MjModel.from_xml_path(model) if model else mujoco.MjModel.from_xml_string(PENDULUM)
        self.d = mujoco.MjData(self.m)
        m = self.m
        if m.nu == 0:
            raise ValueError("the model has no actuators, so there is nothing to vary")
        if m.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
            raise ValueError('MuJoCo has no derivatives for the integrator RK4: write <option integrator="implicitfast"/> in the model')
        # A step then depends on the state alone, not on where the solver of contacts began.
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_WARMSTART
        # An unstable model is left as it is, for the test below, and not set back to its start.
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        mujoco.set_mju_user_warning(lambda text: None)  # else each is a line in MUJOCO_LOG.TXT of this folder
        self.goal = np.broadcast_to(np.asarray(goal, float) if len(goal) else np.ones(m.nq), (m.nq,))
        self.steps, self.dt = episode, float(m.opt.timestep)
        pieces = -(-episode // hold)
        low, high = (np.where(m.actuator_ctrllimited.astype(bool), m.actuator_ctrlrange[:, k], s) for k, s in ((0, -1.0), (1, 1.0)))
        self.lower, self.upper = np.tile(low, pieces), np.tile(high, pieces)
        names = [m.actuator(i).name or f"u{i}" for i in range(m.nu)]
        self.variables = ["".join(c if c.isalnum() else "_" for c in n) + f".{k}" for k in range(pieces) for n in names]
        self.x0 = np.clip(np.zeros(m.nu * pieces), self.lower, self.upper)

    def _derivatives(self):
        """(A, B) of the next step: the mean of the differences to either side. Where a contact begins on one side, that column
        has a jump divided by the small difference, so the shorter one is taken."""
        m, size, sides = self.m, 2 * self.m.nv + self.m.na, []
        for h in (self.difference, -self.difference):
            a, b = np.zeros((size, size)), np.zeros((size, m.nu))
            self.mujoco.mjd_transitionFD(m, self.d, h, False, a, b, None, None)
            sides.append(np.hstack([a, b]))
        high, low = sides
        long, short = np.linalg.norm(high, axis=0), np.linalg.norm(low, axis=0)
        jump = np.linalg.norm(high - low, axis=0) > 1e-3 * np.minimum(long, short)
        both = np.where(jump, np.where(long < short, high, low), (high + low) / 2)
        return both[:, :size], both[:, size:]

    def _play(self, x, want):
        """The loss, and the derivatives (A, B) of each step where they are wanted."""
        mj, m, d = self.mujoco, self.m, self.d
        controls, chain = np.reshape(x, (-1, m.nu)), []
        mj.mj_resetData(m, d)
        for k in range(self.steps):
            d.ctrl[:] = controls[k // self.hold]
            if want:
                chain.append(self._derivatives())
            mj.mj_step(m, d)
            if not (np.abs(d.qpos) < LARGE).all() or not (np.abs(d.qvel) < LARGE).all():
                raise Diverged("the simulation of MuJoCo is unstable", k)
        away = d.qpos - self.goal
        return float(away @ away + self.effort * np.mean(controls**2)), away, controls, chain

    def loss(self, x):
        return self._play(x, False)[0]

    def loss_and_grad(self, x):
        m = self.m
        loss, away, controls, chain = self._play(x, True)
        bar = np.zeros(2 * m.nv + m.na)
        columns = np.zeros((m.nq, m.nv))  # d qpos / d its tangent: a quaternion has three directions
        for i in range(m.nv):
            high, low, e = self.d.qpos.copy(), self.d.qpos.copy(), np.zeros(m.nv)
            e[i] = 1
            self.mujoco.mj_integratePos(m, high, e, 1e-6)
            self.mujoco.mj_integratePos(m, low, e, -1e-6)
            columns[:, i] = (high - low) / 2e-6
        bar[: m.nv] = 2 * columns.T @ away
        grad = 2 * self.effort * controls / controls.size
        for k in range(self.steps - 1, -1, -1):
            a, b = chain[k]
            grad[k // self.hold] += b.T @ bar
            bar = a.T @ bar
        return loss, grad.ravel()
