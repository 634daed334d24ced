#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill.sh with an optimizer that requests channels: its points depend on every bit of the replies before.
: "${DS_TOP_BUILD:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${ENV:=$DS_TOP_BUILD/tests/plugins/.libs/channels.so}" "${OPT:=$DS_TOP_BUILD/tests/plugins/.libs/asker.so}"
: "${KILLS:=8}" "${BUDGET:=300}" "${LONGEST:=500}"
MORE="--set env.work=0.004 --set env.noise=0.1 --set env.fault=crash --set env.share=0.01 --set opt.noisy=true"
. "$(dirname "$0")/kill.sh"
