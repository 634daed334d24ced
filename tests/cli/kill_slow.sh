#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 200 kills of a running boleap.
KILLS=200 OPT=boleap BUDGET=600 WORK=0.02 LONGEST=1500
export KILLS OPT BUDGET WORK LONGEST
exec sh "$(dirname "$0")/kill.sh"
