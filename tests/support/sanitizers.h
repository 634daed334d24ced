/* SPDX-License-Identifier: Apache-2.0 */
/* sanitizers.h - how much a test tries: less in a build with sanitizers, where everything takes ten times as
 * long, and more with CHECK_ALL. The default is a few points, one scene of each engine, and the small
 * presets. */
#ifndef DS_TESTS_SANITIZERS_H
#define DS_TESTS_SANITIZERS_H

#include "config.h"

#include <stdlib.h>

#ifdef DS_SANITIZERS
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* `make check-slow` sets CHECK_ALL for the wide_tests of local.mk. */
static inline int check_all(void)
{
    return !SANITIZED && getenv("CHECK_ALL") != NULL;
}

#endif
