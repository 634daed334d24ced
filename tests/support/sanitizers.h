/* SPDX-License-Identifier: Apache-2.0 */
/* sanitizers.h - whether the build has sanitizers. They look at memory and make everything take ten times as
 * long: fewer points, one scene of each engine and the small presets are enough then. */
#ifndef DS_TESTS_SANITIZERS_H
#define DS_TESTS_SANITIZERS_H

#include "config.h"

#ifdef DS_SANITIZERS
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
