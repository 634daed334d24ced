# SPDX-License-Identifier: Apache-2.0
# Tests of `dshost bench`, of `dshost merge`, and of the reader of result folders.
EXTRA_DIST += tests/cli/bench_lib.sh
dist_check_SCRIPTS += tests/cli/bench.sh tests/cli/bench_kill.sh tests/cli/mpi.sh
slow_scripts += tests/cli/bench_kill_slow.sh
