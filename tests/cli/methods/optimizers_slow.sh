#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# optimizers.sh with a larger budget and a dozen kills of every optimizer.
BUDGET=400 KILLS=12
export BUDGET KILLS
exec sh "$(dirname "$0")/optimizers.sh"
