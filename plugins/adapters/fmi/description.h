/* SPDX-License-Identifier: Apache-2.0 */
/* description.h - modelDescription.xml of FMI 2.0 and 3.0 as one struct. */
#ifndef DS_ADAPTERS_FMI_DESCRIPTION_H
#define DS_ADAPTERS_FMI_DESCRIPTION_H

#include <stddef.h>
#include <stdint.h>

/* FMI 2: Real, Integer and Enumeration, Boolean. FMI_OTHER: what is not a number. */
enum fmi_type {
    FMI_REAL,
    FMI_FLOAT32,
    FMI_INT8,
    FMI_UINT8,
    FMI_INT16,
    FMI_UINT16,
    FMI_INT32,
    FMI_UINT32,
    FMI_INT64, /* and Enumeration */
    FMI_UINT64,
    FMI_BOOLEAN,
    FMI_OTHER
};
enum fmi_causality {
    FMI_LOCAL,
    FMI_PARAMETER,
    FMI_CALCULATED,
    FMI_STRUCTURAL,
    FMI_INPUT,
    FMI_OUTPUT,
    FMI_INDEPENDENT
};
enum { FMI_DIMENSIONS = 8 };

/* A scalar variable, or an element of an array, NAME[1,2]; numbers are NAN where the description has none. */
typedef struct fmi_variable {
    char *name, *unit, *declared; /* declared: its type; NULL = none */
    char *starts;                 /* of an array: its start values as text */
    uint32_t vr;
    enum fmi_type type;
    enum fmi_causality causality;
    int constant, exact; /* variability constant; initial exact */
    double start, min, max, nominal;
    uint32_t derivative_of; /* FMI 2: 1 + index of the state; FMI 3: its value reference */
    int is_derivative;
    size_t element, elements; /* 0 of 1, or an element of an array, row by row */
    size_t first;             /* of an array: where its values begin in fmi_description.values */
    int dimensions;
    struct {
        uint32_t size; /* or the value reference of a structural parameter, which has its default */
        int is_reference;
    } dimension[FMI_DIMENSIONS];
} fmi_variable;

/* What one of the two interfaces offers; `id` is the name of the library, "" where there is none. */
typedef struct fmi_interface {
    char id[128];
    int directional, adjoint, fixed_step, needs_tool;
} fmi_interface;

typedef struct fmi_description {
    int version; /* 2 or 3 */
    char model[128], token[256], text[512];
    fmi_interface me, cs;
    double start_time, stop_time, step; /* of the default experiment; NAN = none */
    fmi_variable *variable, *type;
    size_t count, types;
    const fmi_variable **state, **derivative; /* in the order of the state vector */
    size_t states, indicators;
    double *values; /* start values of all arrays */
    size_t array_values;
} fmi_description;

/* Reads the text of modelDescription.xml. 0, or -1 and one line; description_free() in both cases. */
int fmi_description_read(fmi_description *d, const char *xml, size_t size, char *why, size_t room);
void fmi_description_free(fmi_description *d);

/* The variable of a name; NULL where there is none. */
const fmi_variable *fmi_description_find(const fmi_description *d, const char *name, size_t length);

#endif
