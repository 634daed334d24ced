/* SPDX-License-Identifier: Apache-2.0 */
/* secret_tolerance - says a tolerance, and not in its descriptor that it is inexact. */
#define BAD_ID "secret_tolerance"
#define BAD_TOLERANCE 1e-6
#include "env_base.h"
