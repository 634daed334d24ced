# SPDX-License-Identifier: Apache-2.0
# Environment plugins and the engines they share.
include plugins/envs/engines/mpm/local.mk
