# SPDX-License-Identifier: Apache-2.0
"""A rapidly exploring random tree over smoothed contact (Pang et al. 2023): two fingers turn a disc.

    PYTHONPATH=python python3 examples/paper/control/rrt.py            # A and B of the barrier, hard motion: 2 minutes
    PYTHONPATH=python python3 examples/paper/control/rrt.py --exact    # A and B of hard contact

A node is a state of planar_hand and the controls that lead to it. The tree grows from the node that reaches a
random pose of the disc most easily, by the linear model B of its next step: u = B' (B B' + gamma)^-1 (pose - disc).
Every second extension moves the fingers to random joint angles instead. Prints the nodes and the nearest pose for
each seed.
"""
import argparse

import numpy as np

import diffsim

STEPS, NODES, GAMMA, NEAR = 60, 600, 1e-4, 0.03
GOAL = np.array([0.08, 0.52, 0.9])  # x, y, angle of the disc
WEIGHT = np.array([1.0, 1.0, 0.2])  # of the distance, m per m and per rad


def grow(env, rng):
    """The number of nodes until the disc is near the goal (None: never), and the smallest distance."""
    limit = env.upper[0]
    start = env.channel_values(np.zeros(env.n), ["state", "control_jacobian"])
    states, models = [start["state"][0]], [start["control_jacobian"][0][:3]]
    paths = [np.zeros((0, 4))]

    def cost(model, miss):
        return miss @ np.linalg.solve(model @ model.T + GAMMA * np.eye(3), miss)

    def distance(q):
        return float(np.linalg.norm(WEIGHT * (q[:3] - GOAL)))

    best = distance(states[0])
    while len(states) < NODES:
        if rng.random() < 0.5:  # the disc to a pose
            pose = GOAL if rng.random() < 0.3 else GOAL + rng.normal(size=3) * [0.08, 0.08, 0.6]
            node = min(range(len(states)), key=lambda i: cost(models[i], pose - states[i][:3]))
            model, miss = models[node], pose - states[node][:3]
            u = model.T @ np.linalg.solve(model @ model.T + GAMMA * np.eye(3), miss)
        else:  # the fingers to a place
            node = min(rng.integers(len(states), size=3), key=lambda i: distance(states[i]))
            u = start["state"][0][3:] + rng.normal(size=4) * 0.4 - states[node][3:]
        u *= min(1.0, limit / max(np.abs(u).max(), 1e-12))
        path = np.vstack([paths[node], np.clip(u, -limit, limit)])
        if len(path) >= STEPS:
            continue
        x = np.zeros((STEPS, 4))
        x[: len(path)] = path
        try:
            seen = env.channel_values(x.ravel(), ["state", "control_jacobian"])
        except diffsim.EvaluationError:
            continue
        states.append(seen["state"][len(path)])
        models.append(seen["control_jacobian"][len(path)][:3])
        paths.append(path)
        best = min(best, distance(states[-1]))
        if best < NEAR:
            return len(states), best
    return None, best


def main():
    args = argparse.ArgumentParser(description="An RRT over smoothed contact.")
    args.add_argument("--exact", action="store_true", help="the linear models of hard contact")
    args.add_argument("--seeds", type=int, default=5)
    args = args.parse_args()
    kind = "exact" if args.exact else "smooth"
    with diffsim.make("planar_hand", steps=STEPS, contact_grad=kind, kappa=300) as env:
        for seed in range(args.seeds):
            nodes, best = grow(env, np.random.default_rng(seed))
            print(f"seed {seed}: {'no path' if nodes is None else f'{nodes} nodes'}, nearest {best:.3f} m")


if __name__ == "__main__":
    main()
