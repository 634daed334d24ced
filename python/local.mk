# SPDX-License-Identifier: Apache-2.0
# The Python package over libdiffsim: nothing is compiled. Its tests run with what Python there is.
python_package = %D%/diffsim/__init__.py %D%/diffsim/_calls.py %D%/diffsim/_catalog.py \
	%D%/diffsim/_classes.py %D%/diffsim/_environment.py %D%/diffsim/_errors.py \
	%D%/diffsim/_identify.py %D%/diffsim/_library.py %D%/diffsim/_plots.py %D%/diffsim/_results.py %D%/diffsim/_run.py %D%/diffsim/_scene.py %D%/diffsim/_scene_files.py %D%/diffsim/_scipy.py \
	%D%/diffsim/_search.py %D%/diffsim/_settings.py %D%/diffsim/_space.py %D%/diffsim/gym.py %D%/diffsim/jax.py \
	%D%/diffsim/py.typed %D%/diffsim/torch.py
python_notebooks = %D%/notebooks/compare.py %D%/notebooks/first_search.py %D%/notebooks/fit_cloth.py \
	%D%/notebooks/make_ipynb.py %D%/notebooks/my_function.py %D%/notebooks/own_class.py %D%/notebooks/policy_by_gradients.py
python_tests = \
	%D%/tests/misuse_plugins.py \
	%D%/tests/peer_docs.py \
	%D%/tests/peer_gym.py \
	%D%/tests/peer_layers.py \
	%D%/tests/peer_mujoco.py \
	%D%/tests/peer_plugins.py \
	%D%/tests/run.py \
	%D%/tests/stepwise_plugins.py \
	%D%/tests/support.py \
	%D%/tests/test_environment.py \
	%D%/tests/test_library.py \
	%D%/tests/test_misuse.py \
	%D%/tests/test_notebooks.py \
	%D%/tests/test_people.py \
	%D%/tests/test_plugins.py \
	%D%/tests/test_run.py \
	%D%/tests/test_stepwise.py
EXTRA_DIST += %D%/README.md docs/python.md $(python_package) $(python_notebooks) $(python_tests) %D%/tests/basics.sh %D%/tests/package.sh %D%/tests/peers_slow.sh
# The interface itself in `make check`, all tests in `make check-long`.
check_SCRIPTS += %D%/tests/basics.sh
slow_scripts += %D%/tests/peers_slow.sh
