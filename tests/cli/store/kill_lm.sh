#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill.sh with an optimizer that requests residuals and products with their Jacobian.
: "${OPT:=lm}" "${KILLS:=8}" "${BUDGET:=250}" "${WORK:=0.003}" "${LONGEST:=800}"
MORE="--set env.residuals=true"
. "$(dirname "$0")/kill.sh"
