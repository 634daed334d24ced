/* SPDX-License-Identifier: Apache-2.0 */
/* float_mode.h - how this thread rounds, what traps, and whether denormal numbers are taken as zero. */
#ifndef DS_WORKER_FLOAT_MODE_H
#define DS_WORKER_FLOAT_MODE_H

#include <stdint.h>

/* The mode in one word, without the flags that operations leave; a few nanoseconds. */
uint32_t ds_float_mode(void);

/* Puts back what ds_float_mode() has said. */
void ds_float_mode_set(uint32_t mode);

#endif
