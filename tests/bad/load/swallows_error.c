/* SPDX-License-Identifier: Apache-2.0 */
/* swallows_error - ignores that a parameter could not be read. */
#define BAD_ID "swallows_error"
#define BAD_GETTER(status) ((void)(status), DS_OK)
#include "env_base.h"
