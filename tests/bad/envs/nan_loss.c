/* SPDX-License-Identifier: Apache-2.0 */
/* nan_loss - passes a NaN off as a loss. */
#define BAD_ID "nan_loss"
#define BAD_EVALUATE io->loss = NAN;
#include "env_base.h"
