# SPDX-License-Identifier: Apache-2.0
# Optimizer plugins and the numerical methods they share.
