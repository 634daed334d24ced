# SPDX-License-Identifier: Apache-2.0
"""Global optimization with differentiable simulation.

    import diffsim
    env = diffsim.make("cartpole")
    loss, grad = env.loss_and_grad(env.x0)
    result = diffsim.minimize(env, method="racer", budget=200)

environments(), optimizers(), help(id)    what there is
make()       environments: losses, gradients, channels, trajectories, pictures
minimize()   whole runs, of environments and of any function
identify()   unknown quantities of a simulation from recordings
density()    targets of scenes from meshes, points and episodes
optimizer()  the optimizers by ask and tell; scipy() makes them methods of SciPy
load()       result folders as arrays
torch, jax   losses as differentiable functions; gym: environments for Gymnasium, registered as "diffsim/Cartpole-v0", ...
"""

from __future__ import annotations

import os as _os
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors_all
from ._library import version as __version__

if _TYPE_CHECKING:
    from . import bridges, gym, jax, plugin, torch
    from ._catalog import Catalog, Help, environments, help, optimizers
    from ._environment import Channel, Environment, EpisodeInfo, Evaluation, Variable, make
    from ._identify import Identification, identify
    from ._results import Landscape, Run, Runs, load
    from ._run import Progress, minimize
    from ._scene import Body, Scene
    from ._scene_files import density
    from ._scipy import scipy
    from ._search import Optimizer, optimizer
    from ._space import Space

# Modules that are loaded on first use, with NumPy: a program that starts pays for what it uses.
_PARTS = {
    "_catalog": ("Catalog", "Help", "environments", "help", "optimizers"),
    "_environment": ("Channel", "Environment", "EpisodeInfo", "Evaluation", "Variable", "make"),
    "_identify": ("Identification", "identify"),
    "_results": ("Landscape", "Run", "Runs", "load"),
    "_run": ("Progress", "minimize"),
    "_scene": ("Body", "Scene"),
    "_scene_files": ("density",),
    "_scipy": ("scipy",),
    "_search": ("Optimizer", "optimizer"),
    "_space": ("Space",),
}
_WHERE = {name: part for part, names in _PARTS.items() for name in names}
_LAZY = ("bridges", "gym", "jax", "plugin", "torch")  # they need packages that need not be there

__all__ = [*sorted(_WHERE), *_errors_all]


def __getattr__(name):
    if name in _WHERE:
        import importlib

        value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    if name in _LAZY or name in _PARTS:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'diffsim' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LAZY, *_WHERE})


class _Gymnasium:
    """Registers the environments as soon as Gymnasium is imported; imports nothing before, because Gymnasium
    takes longer to load than diffsim.

    It stays among the finders until Gymnasium's code has run: a program may check that Gymnasium exists and
    import it later."""

    _asking: set = set()  # threads in which the other finders look for the spec

    @staticmethod
    def register():
        try:
            import importlib

            importlib.import_module(f"{__name__}.gym")
        except (
            ImportError,
            AttributeError,
        ) as e:  # of a version that this does not fit; the rest of diffsim does without
            import warnings

            warnings.warn(f"diffsim is not registered with Gymnasium: {e}", stacklevel=2)

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "gymnasium":
            return None
        import importlib.util
        import threading

        thread = threading.get_ident()
        if thread in cls._asking:
            return None
        cls._asking.add(thread)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            cls._asking.discard(thread)
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
