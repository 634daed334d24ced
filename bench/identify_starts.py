# SPDX-License-Identifier: Apache-2.0
"""identify_starts.py - how often a search finds the truth from random starts, at equal numbers of episodes.

    python3 bench/identify_starts.py [--starts N] [--budget B] [--case arm|rigid_contact] [--method METHOD ...]

Cases: the arm of examples/identify in its first second (13 parameters), and rigid_contact by the motion of the cube
(4 parameters). Methods of diffsim run through `dshost identify`: lm, pbh, racer, each restarted until the budget is used,
and auto, the recipe of docs/identify.md. `mujoco` is mujoco.minimize.least_squares, the Gauss-Newton method with
differences behind mujoco.sysid, once from the start; `mujoco+restarts` starts it again at random points. On the arm it has
MuJoCo's own simulation of the same URDF file, on rigid_contact our residuals. Every simulation counts, also those of
differences. Run it where dshost was built; without the Python package mujoco its rows are missing."""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DS_TOP_BUILD", TOP))
sys.path.insert(0, str(TOP / "python"))
METHODS = ("lm", "pbh", "racer", "auto", "mujoco", "mujoco+restarts")
FITTED, STEPS, DT = 50, 400, 0.0025  # of the arm: samples every 8 steps


class Spent(Exception):
    """The budget is used."""


class Case:
    """An .ini file without starts, names and bounds of its parameters, and the loss that counts as found."""

    def __init__(self, folder: Path, name: str, text: str, found: float):
        self.folder, self.name, self.text, self.found = folder, name, text, found
        probe = self.identify("", method="lm", budget=1)
        self.names = list(probe["parameters"])
        bounds = np.array([v["bounds"] for v in probe["parameters"].values()])
        self.lower, self.upper = bounds[:, 0], bounds[:, 1]

    def identify(self, extra: str, **flags) -> dict:
        path = self.folder / f"{self.name}.ini"
        path.write_text(self.text + extra)
        command = [BUILD / "dshost", "identify", path, "--json", f"--out={self.folder / 'out'}", "--points=0", "--recovery=0"]
        command += ["--profile=no", "--bootstrap=0", "--page=no", "--isolation=none"]
        command += [f"--{key}={value}" for key, value in flags.items()]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def start(self, k: int) -> np.ndarray:
        return np.random.default_rng(k).uniform(self.lower, self.upper)


def arm(folder: Path) -> Case:
    task = (TOP / "examples/identify/arm_task.ini").read_text().replace("duration = 3", f"duration = {STEPS * DT:g}")
    for name in ("arm_torques.csv", "arm_encoders.csv"):
        task = task.replace(name, str(TOP / "examples/identify" / name))
    task = task.replace("../robots", str(TOP / "examples/robots"))
    (folder / "task.ini").write_text(task)
    text = (TOP / "examples/identify/arm.ini").read_text().split("[identify]")[0]
    text = text.replace("arm_task.ini\n\n[rec", f"{folder}/task.ini\n\n[rec")
    text = text.replace("arm_encoders.csv", str(TOP / "examples/identify/arm_encoders.csv"))
    # The noise is 1: the truth has a loss of about 7 numbers in 49 samples; 5 % are five deviations of that sum.
    return Case(folder, "arm", text + f"[identify]\nn_samples = {FITTED}\n", 1.2 * 7 * (FITTED - 1))


def rigid_contact(folder: Path) -> Case:
    text = "[run]\nenv = rigid_contact\n[env]\nobserve = state\nvariables = ke kd kf mu\n[identify]\nwindows = none\n"
    return Case(folder, "rigid_contact", text, 1e-8)


def simulate_with_mujoco(case: Case):
    """Weighted residuals of the arm by MuJoCo: x (n x points) -> residuals (m x points)."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(TOP / "examples/robots/arm.urdf"))
    model.opt.timestep, model.opt.gravity[:] = DT, (0, 0, 9.81)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    mass, inertia = model.body_mass.copy(), model.body_inertia.copy()
    links = [model.body(f"link{k}").id for k in range(2, 8)]
    recorded = np.loadtxt(TOP / "examples/identify/arm_encoders.csv", delimiter=",", skiprows=1)[:FITTED, 1:]
    torque = np.loadtxt(TOP / "examples/identify/arm_torques.csv", delimiter=",", skiprows=1)
    at = np.arange(STEPS) * DT
    force = np.stack([np.interp(at, torque[:, 0], torque[:, 1 + j]) for j in range(7)], axis=1)

    def one(x):
        model.body_mass[:], model.body_inertia[:] = mass, inertia
        model.body_mass[links] *= 10 ** x[:6]
        model.body_inertia[links] *= 10 ** x[:6, None]
        model.dof_damping[:] = 10 ** x[6:]
        mujoco.mj_resetData(model, data)
        seen = [data.qpos.copy()]
        for s in range(8 * (FITTED - 1)):
            data.qfrc_applied[:] = force[s]
            mujoco.mj_step(model, data)
            if s % 8 == 7:
                seen.append(data.qpos.copy())
        return ((np.array(seen) - recorded) / 0.001).ravel()

    return lambda x: np.stack([one(x[:, k]) for k in range(x.shape[1])], axis=1)


def simulate_cube(case: Case):
    import diffsim

    env = diffsim.make("rigid_contact", observe="state", variables="ke kd kf mu", isolation="none")
    return lambda x: np.atleast_2d(env.residuals(np.ascontiguousarray(x.T))).reshape(x.shape[1], -1).T


def gauss_newton(case: Case, residual, start, budget: int, seed: int, restarts: bool):
    """(lowest loss, episodes) of mujoco.minimize.least_squares."""
    from mujoco import minimize

    best, used = math.inf, 0
    random = np.random.default_rng(1000 + seed)

    def counted(x):
        nonlocal best, used
        x = x.reshape(len(case.names), -1)[:, : max(0, budget - used)]
        if x.shape[1] == 0:
            raise Spent
        used += x.shape[1]
        r = residual(np.clip(x, case.lower[:, None], case.upper[:, None]))
        best = min(best, float((r**2).sum(axis=0).min()))
        if used >= budget:
            raise Spent
        return r

    try:
        while True:
            minimize.least_squares(start, counted, bounds=[case.lower, case.upper], verbose=0)
            if not restarts:
                break
            start = random.uniform(case.lower, case.upper)
    except Spent:
        pass
    return best, used


def wilson(k: int, n: int):
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def run(case: Case, method: str, starts: int, budget: int):
    residual = None
    if method.startswith("mujoco"):
        try:
            import mujoco  # noqa: F401
        except ImportError:
            return
        residual = simulate_with_mujoco(case) if case.name == "arm" else simulate_cube(case)
    found, episodes = 0, []
    for k in range(starts):
        start = case.start(k)
        if residual is not None:
            loss, used = gauss_newton(case, residual, start, budget, k, method.endswith("restarts"))
        else:
            extra = "".join(f"\n[parameter {n}]\nstart = {float(v)!r}\n" for n, v in zip(case.names, start))
            summary = case.identify(extra, method=method, budget=budget, seed=k)
            loss, used = summary["problems"][0]["minima"][0]["loss"], summary["evaluations"]
        found += loss <= case.found
        episodes.append(used)
    low, high = wilson(found, starts)
    print(f"{case.name:14} {method:16} {found:4} of {starts}  {100 * low:3.0f} to {100 * high:3.0f} %  {np.mean(episodes):6.0f} episodes", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--starts", type=int, default=100)
    p.add_argument("--budget", type=int, default=300)
    p.add_argument("--case", choices=("arm", "rigid_contact"), action="append")
    p.add_argument("--method", choices=METHODS, action="append")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in a.case or ("arm", "rigid_contact"):
            case = (arm if name == "arm" else rigid_contact)(Path(folder))
            for method in a.method or METHODS:
                run(case, method, a.starts, a.budget)


if __name__ == "__main__":
    main()
