# SPDX-License-Identifier: Apache-2.0
"""Global optimization with differentiable simulation.

    import diffsim
    env = diffsim.make("cartpole")
    loss, grad = env.loss_and_grad(env.x0)
    result = diffsim.minimize(env, method="racer", budget=200)

make()       environments: losses, gradients, channels, trajectories, pictures
minimize()   whole runs, of environments and of any function
identify()   unknown quantities of a simulation from recordings
optimizer()  the optimizers by ask and tell; scipy() makes them methods of SciPy
load()       result folders as arrays
torch, jax   losses as differentiable functions; gym: environments for Gymnasium, registered as "diffsim/Cartpole-v0", ...
"""

from __future__ import annotations

import importlib as _importlib
import importlib.util as _importlib_util
import os as _os
import sys as _sys
import threading as _threading

from ._environment import Channel, Environment, EpisodeInfo, Evaluation, Variable, make
from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors_all
from ._identify import Identification, identify
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
    "Identification",
    "Landscape",
    "Optimizer",
    "Progress",
    "Run",
    "Runs",
    "Scene",
    "Space",
    "Variable",
    "identify",
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
    """Registers the environments as soon as Gymnasium is imported; imports nothing before, because Gymnasium
    takes longer to load than diffsim.

    It stays among the finders until Gymnasium's code has run: a program may check that Gymnasium exists and
    import it later."""

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


def _namesakes():
    """Folders of the module search path in which PyPI's other `diffsim` (diffraction patterns) is installed: its files and ours
    have one folder, so that each installation overwrites the other."""
    found = []
    for folder in dict.fromkeys(_sys.path):
        try:
            names = [n for n in _os.listdir(folder or ".") if n.startswith("diffsim-") and n.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            file = _os.path.join(folder, name, "METADATA" if name.endswith(".dist-info") else "PKG-INFO")
            try:
                with open(file, encoding="utf-8", errors="replace") as f:
                    ours = "Summary: Global optimization with differentiable simulation" in f.read(2000)
            except OSError:
                ours = False
            found += [] if ours else [_os.path.join(folder, name)]
    return found


for _path in _namesakes():
    import warnings as _warnings

    _warnings.warn(
        f"{_path}: PyPI's `diffsim` is another project, whose files overwrite those of this module: pip uninstall diffsim, then "
        "install diffsim-global again",
        stacklevel=2,
    )

if "gymnasium" in _sys.modules:
    _Gymnasium.register()
else:
    _sys.meta_path.insert(0, _Gymnasium)
