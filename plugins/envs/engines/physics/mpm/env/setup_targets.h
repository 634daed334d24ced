/* SPDX-License-Identifier: Apache-2.0 */
/* setup_targets.h - targets and terms of the loss of a scene file. */
#ifndef MPM_SETUP_TARGETS_H
#define MPM_SETUP_TARGETS_H

#include "engines/physics/mpm/env/setup_values.h"

/* After bodies and tools: all sections [loss NAME], then [target] and [target NAME]. */
void mpm_setup_terms(mpm_setup_reader *r);
void mpm_setup_targets(mpm_setup_reader *r);

#endif
