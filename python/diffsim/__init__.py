# SPDX-License-Identifier: Apache-2.0
"""Global optimization with differentiable simulation.

    import diffsim
    env = diffsim.make("torus", preset="small", seed=0)
    loss, grad = env.loss_and_grad(env.x0)
    result = diffsim.minimize(env, method="boleap", budget=300)
"""

from __future__ import annotations

from ._environment import Channel, Environment, EpisodeInfo, Evaluation, Space, Variable, make
from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors_all
from ._library import version as __version__
from ._scene import Body, Scene

__all__ = ["Body", "Channel", "Environment", "EpisodeInfo", "Evaluation", "Scene", "Space", "Variable", "make", *_errors_all]
