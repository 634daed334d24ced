# SPDX-License-Identifier: Apache-2.0
"""An environment in Python: dshost --env ./hill.py --opt cmaes"""
from math import cos, sin
from typing import Annotated

from diffsim.plugin import Real


class Hill:
    """A ball pushed over hilly ground.

    The ground is h(q) = cos(3 q), and the ball should be at `target` at the end of 2 s. x is the start position [m] and
    the start velocity [m/s]; the gradient is carried along (forward mode).
    """

    id = "hill"
    version = "1"
    license = "Apache-2.0"
    variables = "position [m]", "velocity [m/s]"
    lower, upper, x0 = -4, 4, [0.5, 0.5]
    steps, dt, floor = 200, 0.01, 0

    def __init__(
        self,
        friction: Annotated[float, Real(0, 10, "1/s", "Damping of the velocity.")] = 0.5,
        target: Annotated[float, Real(-5, 5, "m", "Where the ball should end.")] = 1.0,
    ):
        self.friction, self.target = friction, target

    def loss(self, x):
        return self.loss_and_grad(x)[0]

    def loss_and_grad(self, x):
        q, v = (float(value) for value in x)  # state: position and velocity
        dq, dv = [1.0, 0.0], [0.0, 1.0]  # its derivative with respect to x
        self.path = [q]
        for _ in range(self.steps):  # symplectic Euler
            slope, curvature = -3 * sin(3 * q), -9 * cos(3 * q)
            for i in range(2):
                dv[i] += self.dt * (-9.81 * curvature * dq[i] - self.friction * dv[i])
                dq[i] += self.dt * dv[i]
            v += self.dt * (-9.81 * slope - self.friction * v)
            q += self.dt * v
            self.path.append(q)
        miss = q - self.target
        return miss * miss, [2 * miss * d for d in dq]

    def metrics(self):
        return {"position": (self.path, "m"), "distance": ([abs(q - self.target) for q in self.path], "m")}

    def scene(self):
        ball = [[[q, cos(3 * q) + 0.1, 0.0, 1.0, 0.0, 0.0, 0.0]] for q in self.path]
        ground = [[[-5 + 0.05 * k, cos(3 * (-5 + 0.05 * k)), 0.0] for k in range(201)]] * len(self.path)
        goal = [[[self.target, cos(3 * self.target) + 0.1, 0.0, 1.0, 0.0, 0.0, 0.0]]] * len(self.path)
        segments = [end for k in range(200) for end in (k, k + 1)]
        return {
            "flat": True,
            "box": [-5, -1.2, -0.1, 5, 1.5, 0.1],
            "bodies": {
                "ground": {"shape": "lines", "role": "fixed", "size": 0.02, "frames": ground, "index": segments},
                "ball": {"shape": "sphere", "role": "material", "size": 0.1, "frames": ball},
                "target": {"shape": "sphere", "role": "target", "size": 0.1, "frames": goal},
            },
        }
