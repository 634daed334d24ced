#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_plugins_slow.sh - every plugin of the tree passes the whole conformance kit (small presets where
# there are).
CHECK_ALL=1
. "$(dirname "$0")/check_plugins.sh"
