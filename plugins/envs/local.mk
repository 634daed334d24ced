# SPDX-License-Identifier: Apache-2.0
# Environment plugins and the engines they share.
