/* SPDX-License-Identifier: Apache-2.0 */
/* variables.h - names, units and groups of decision variables (diffsim/ext/variables.h). A list is an array
 * of n, or NULL without names: the variables are then called x0, x1, ... */
#ifndef DS_BASE_VARIABLES_H
#define DS_BASE_VARIABLES_H

#include <diffsim/ext/variables.h>

#include "base/error.h"

enum { DS_VARIABLE_WHY = 200, DS_VARIABLE_LABEL = 2 * (DS_MAX_NAME + 4) };

/* One variable. */
typedef struct ds_named_variable {
    char name[DS_MAX_NAME + 1], unit[DS_MAX_NAME + 1], group[DS_MAX_NAME + 1];
    uint32_t flags; /* DS_VARIABLE_* */
} ds_named_variable;

/* Is it [A-Za-z][A-Za-z0-9_.]* of at most DS_MAX_NAME bytes? */
int ds_variable_is_name(const char *text);

/* Copies valid texts; else returns -1 with the breach in `why` (NULL is a breach). */
int ds_variable_set(ds_named_variable *out, const char *name, const char *unit, const char *group,
                    uint32_t flags, char why[DS_VARIABLE_WHY]);

/* Are all names different? Returns 0, or -1 with the numbers of two equal ones in a and b; DS_EXIT_MEMORY
 * without memory. */
int ds_variables_unique(const ds_named_variable *v, uint64_t n, uint64_t *a, uint64_t *b);

/* Finds a variable by its name, or by its number as "3", "x3" or "x[3]". Returns 0 and *i, or -1 where there
 * is none. */
int ds_variable_find(const ds_named_variable *v, uint64_t n, const char *text, uint64_t *i);

/* The name of variable i, or "x<i>" in `room`. */
const char *ds_variable_name(const ds_named_variable *v, uint64_t i, char room[24]);

/* Its unit, "" where it has none. */
const char *ds_variable_unit(const ds_named_variable *v, uint64_t i);

/* "stiffness [N/m]", or the name alone without a unit. */
void ds_variable_label(const ds_named_variable *v, uint64_t i, char out[DS_VARIABLE_LABEL]);

#endif
