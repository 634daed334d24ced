#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# basics.sh - the tests of the Python package that cover its main interface; package.sh runs all of them.
exec "${SHELL:-sh}" "$(dirname "$0")/package.sh" test_library test_environment
