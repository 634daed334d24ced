#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 6 x 6 x 10 runs and 100 kills.
RUNS=10 BUDGET=60 KILLS=100 LONGEST=1000 ONLY='*'
export RUNS BUDGET KILLS LONGEST ONLY
exec sh "$(dirname "$0")/bench_kill.sh"
