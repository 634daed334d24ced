#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill.sh with parallel basin hopping on residuals.
OPT=pbh
. "$(dirname "$0")/kill_lm.sh"
