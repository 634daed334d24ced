# SPDX-License-Identifier: Apache-2.0
# The Python package over libdiffsim: nothing is compiled. Its tests run with what Python there is.
python_tests = %D%/tests/peer_gym.py %D%/tests/peer_layers.py %D%/tests/run.py %D%/tests/support.py \
	%D%/tests/test_environment.py %D%/tests/test_library.py %D%/tests/test_run.py
EXTRA_DIST += %D%/README.md $(python_tests) %D%/tests/package.sh %D%/tests/peers_slow.sh
check_SCRIPTS += %D%/tests/package.sh
slow_scripts += %D%/tests/peers_slow.sh
