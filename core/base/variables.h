/* SPDX-License-Identifier: Apache-2.0 */
/* variables.h - names, units and groups of decision variables, as diffsim/ext/variables.h has them. A list of
 * them is an array of n, or NULL where they have no names: they are then called x0, x1, ... */
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

/* Takes over the texts (NULL is a breach) where they keep the rules; else returns -1 and says in `why` which
 * one they break. */
int ds_variable_set(ds_named_variable *out, const char *name, const char *unit, const char *group,
                    uint32_t flags, char why[DS_VARIABLE_WHY]);

/* Do no two of them have the same name? 0, or -1 and their numbers in a and b; DS_EXIT_MEMORY without
 * memory. */
int ds_variables_unique(const ds_named_variable *v, uint64_t n, uint64_t *a, uint64_t *b);

/* Finds the variable that a user names: by its name, or by its number as "3", "x3" or "x[3]". 0 and its
 * number in *i, or -1 where there is none. */
int ds_variable_find(const ds_named_variable *v, uint64_t n, const char *text, uint64_t *i);

/* The name of variable i, or "x<i>" in `room`. */
const char *ds_variable_name(const ds_named_variable *v, uint64_t i, char room[24]);

/* Its unit, "" where it has none. */
const char *ds_variable_unit(const ds_named_variable *v, uint64_t i);

/* "stiffness [N/m]"; without a unit the name alone. */
void ds_variable_label(const ds_named_variable *v, uint64_t i, char out[DS_VARIABLE_LABEL]);

#endif
