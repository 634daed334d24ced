#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers_slow.sh - the Python package with SciPy, PyTorch, JAX, Gymnasium, Stable-Baselines3 and the libraries of its bridges
# (python/tests/peer_*.py), each skipped where it is not there. DS_PYTHON names a Python that has them: python3 -m venv V && V/bin/pip install numpy scipy
# pandas torch jax gymnasium mujoco moviepy stable-baselines3 botorch cma ioh nevergrad optuna tensorboard matplotlib nbclient ipykernel cloudpickle tqdm; then make check-slow DS_PYTHON=V/bin/python
exec sh "$(dirname "$0")/package.sh" --peers "$@"
