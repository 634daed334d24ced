/* SPDX-License-Identifier: Apache-2.0 */
/* identify_data.h - recordings as tables of numbers, and what is suspicious about them. */
#ifndef DS_IDENTIFY_IDENTIFY_DATA_H
#define DS_IDENTIFY_IDENTIFY_DATA_H

#include "base/error.h"

enum { DS_RECORDED_COLUMNS = 64, DS_RECORDED_NAME = 64 };

typedef struct ds_recorded_table {
    uint64_t rows, columns;
    double *value; /* [rows][columns]; NAN = missing */
    char (*name)[DS_RECORDED_NAME];
} ds_recorded_table;

/* Reads text (comma, semicolon or blanks between columns; an optional line of names; '#' comments) or .npz
 * or .npy; text also compressed by gzip. Takes the rows from `first` on, at most `rows` of them (0 = all).
 * Returns DS_EXIT_CONFIG or DS_EXIT_IO with one line. */
int ds_recorded_read(const char *path, uint64_t first, uint64_t rows, ds_recorded_table *out, ds_error *e);
void ds_recorded_free(ds_recorded_table *t);

/* Column by its name, or its number from 1; -1 = there is none. */
int64_t ds_recorded_column(const ds_recorded_table *t, const char *word);

/* What a series of one column looks like. */
typedef struct ds_recorded_facts {
    uint64_t count, missing, longest_gap, outliers, saturated;
    double least, most, mean, deviation;
    double step;  /* standard deviation of the difference of neighbours */
    double noise; /* standard deviation of what a parabola through neighbours leaves */
    uint64_t first_outlier;
    int constant;
} ds_recorded_facts;

ds_recorded_facts ds_recorded_look(const double *value, uint64_t rows, uint64_t stride);

#endif
