# SPDX-License-Identifier: Apache-2.0
"""Global optimization with differentiable simulation.

    import diffsim
    env = diffsim.make("torus", preset="small", seed=0)
    loss, grad = env.loss_and_grad(env.x0)
    result = diffsim.minimize(env, method="boleap", budget=300)

make()       environments: losses, gradients, channels, trajectories, pictures
minimize()   whole runs, of environments and of any function
optimizer()  the optimizers by ask and tell; scipy() makes them methods of SciPy
load()       result folders as arrays
torch, jax   losses as differentiable functions; gym: environments for Gymnasium, registered as "diffsim/Cartpole-v0", ...
"""

from __future__ import annotations

import importlib as _importlib
import importlib.util as _importlib_util
import sys as _sys
import threading as _threading

from ._environment import Channel, Environment, EpisodeInfo, Evaluation, Variable, make
from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors_all
from ._library import version as __version__
from ._results import Landscape, Run, Runs, load
from ._run import Progress, minimize
from ._scene import Body, Scene
from ._scipy import scipy
from ._search import Optimizer, optimizer
from ._space import Space

_LAZY = ("gym", "jax", "plugin", "torch")  # they need packages that need not be there

__all__ = [
    "Body",
    "Channel",
    "Environment",
    "EpisodeInfo",
    "Evaluation",
    "Landscape",
    "Optimizer",
    "Progress",
    "Run",
    "Runs",
    "Scene",
    "Space",
    "Variable",
    "load",
    "make",
    "minimize",
    "optimizer",
    "scipy",
    *_errors_all,
]


def __getattr__(name):
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'diffsim' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_LAZY])


class _Gymnasium:
    """Registers the environments as soon as Gymnasium is imported, and imports nothing before: it takes longer than diffsim.

    It stays among the finders until Gymnasium's code has run: who only asks whether it is there imports it later, or never."""

    _asking = _threading.local()  # is the spec looked for by the other finders?

    @staticmethod
    def register():
        try:
            _importlib.import_module(f"{__name__}.gym")
        except (
            ImportError,
            AttributeError,
        ) as e:  # of a version that this does not fit; the rest of diffsim does without
            import warnings

            warnings.warn(f"diffsim is not registered with Gymnasium: {e}", stacklevel=2)

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "gymnasium" or getattr(cls._asking, "now", False):
            return None
        cls._asking.now = True
        try:
            spec = _importlib_util.find_spec(name)
        finally:
            cls._asking.now = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module):
                execute(module)
                if cls in _sys.meta_path:
                    _sys.meta_path.remove(cls)
                    cls.register()

            spec.loader.exec_module = execute_and_register
        return spec


if "gymnasium" in _sys.modules:
    _Gymnasium.register()
else:
    _sys.meta_path.insert(0, _Gymnasium)
