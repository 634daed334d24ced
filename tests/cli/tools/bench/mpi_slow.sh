#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 6 x 6 x 10 runs by four ranks.
RUNS=10 BUDGET=60 ONLY='*'
export RUNS BUDGET ONLY
exec sh "$(dirname "$0")/mpi.sh"
