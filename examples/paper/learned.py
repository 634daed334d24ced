#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The landscape of a learned simulator beside the true one (Antonova et al., CoRL 2022, section 6).

    python3 examples/paper/learned.py                  both, in results/learned: about 10 s
    python3 examples/paper/learned.py results/x        into another folder

The true one is `bounce` on its ground: force = ke depth + kd speed while the ball approaches. The learned one replaces
this law by a network of height and vertical velocity. Its hidden units are drawn, its outputs are the least squares fit of
4000 samples of the law. Both landscapes are over the vertical velocity of the throw. Needs no package.
"""
import math
import os
import random
import shutil
import subprocess
import sys

KE, KD, RADIUS = 1e4, 10.0, 0.1
HIDDEN, SAMPLES = 40, 4000
# As in dshost.sh: DSHOST, the dshost of the PATH, of the build in this folder, of the clone.
DSHOST = os.environ.get("DSHOST") or shutil.which("dshost") or next(
    (path for path in ("./dshost", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../dshost"))
     if os.path.isfile(path)), "dshost")
SCENE = ["--env", "bounce", "--set", "env.wall=inf", "--set", "env.steps=600"]


def law(y, v):
    return KE * (RADIUS - y) + KD * max(0.0, -v) if y < RADIUS else 0.0


def draw_units(rng):
    """Weights by height and velocity, and bias, of tanh units that bend near the ground."""
    units = []
    for _ in range(HIDDEN):
        by_y, by_v = rng.uniform(2, 40), rng.uniform(-0.5, 0.5)
        units.append((by_y, by_v, -by_y * rng.uniform(0, 2 * RADIUS)))
    return units


def features(units, y, v):
    return [math.tanh(a * y + b * v + c) for a, b, c in units] + [1.0]


def least_squares(rows, values, ridge):
    n = len(rows[0])
    A = [[ridge if i == j else 0.0 for j in range(n)] + [0.0] for i in range(n)]
    for row, value in zip(rows, values):
        for i in range(n):
            at, line = row[i], A[i]
            for j in range(n):
                line[j] += at * row[j]
            line[n] += at * value
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(A[i][k]))
        A[k], A[best] = A[best], A[k]
        for i in range(n):
            if i != k:
                factor = A[i][k] / A[k][k]
                A[i] = [x - factor * y for x, y in zip(A[i], A[k])]
    return [A[i][n] / A[i][i] for i in range(n)]


def train(path):
    rng = random.Random(1)
    units = draw_units(rng)
    near = [(rng.uniform(0, 2 * RADIUS), rng.uniform(-10, 10)) for _ in range(SAMPLES // 2)]
    far = [(rng.uniform(2 * RADIUS, 6), rng.uniform(-10, 10)) for _ in range(SAMPLES // 2)]
    rows = [features(units, y, v) for y, v in near + far]
    values = [law(y, v) for y, v in near + far]
    out = least_squares(rows, values, 1e-6)
    errors = [sum(a * b for a, b in zip(out, row)) - value for row, value in zip(rows, values)]
    print("network: root mean square error %.3g N of %.3g N" % tuple(
        math.sqrt(sum(e * e for e in list_) / len(list_)) for list_ in (errors, values)))
    weights = [w for unit in units for w in unit[:2]] + out[:-1]
    biases = [unit[2] for unit in units] + [out[-1]]
    with open(path, "w", encoding="ascii") as f:
        f.write("diffsim-network 1\nnetwork 2 %d 1\nactivations tanh identity\nbiases 0 1 1\nparameters\n" % HIDDEN)
        f.write("\n".join(repr(w) for w in weights + biases) + "\n")


def landscape(name, out, settings):
    print(name + ":", flush=True)
    command = [DSHOST, "landscape", *SCENE, *settings, "--axes", "velocity.y",
               "--out", os.path.join(out, name)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    for line in done.stdout.splitlines():
        if line.startswith("verdict") or "gradient is their limit" in line or "differences converge" in line:
            print(line)


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else "results/learned"
    os.makedirs(out, exist_ok=True)
    weights = os.path.join(out, "network.txt")
    train(weights)
    landscape("true", out, [])
    wiring = "force.2 = position.2, velocity.2 | %d | tanh | replace | hidden output" % HIDDEN
    landscape("learned", out, ["--set", "env.residual=" + wiring, "--set", "env.residual_weights=" + weights,
                               "--set", "env.residual_limit=1e9", "--set", "env.residual_bias_limit=1e9"])


main()
