/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.h - a recording as the parameters of an environment describe it: which file, which columns and
 * units, at which rate, which samples are fitted and which are held out; samples at equal distances, missing
 * ones as gaps. */
#ifndef DS_ENGINES_RECORDING_RECORDED_H
#define DS_ENGINES_RECORDING_RECORDED_H

#include "recording.h"

#include <diffsim/helper/params.h>

/* `rows_` and `rate_` are 0 where they depend on something else. */
#define RECORDED_PARAMS(columns_, columns_doc_, rate_, rate_doc_, rows_, rows_doc_)                          \
    DS_PATH("file", "",                                                                                      \
            "Recording: text with columns separated by commas, semicolons or blanks, with or without their " \
            "names in the first line, or a .npy or .npz; also compressed by gzip.",                          \
            .flags = 0),                                                                                     \
        DS_TEXT("columns", columns_, columns_doc_),                                                          \
        DS_LIST("column_scale", "1", -1e12, 1e12, RECORDING_COLUMNS, "",                                     \
                "What each column is multiplied by to have SI units; one value for all."),                   \
        DS_TEXT("time_column", "",                                                                           \
                "Column of the times, in s; where its steps are multiples of one another, samples are "      \
                "missing. Empty: sample_rate says how far samples are apart."),                              \
        DS_REAL("sample_rate", rate_, 0, 1e9, "1/s", rate_doc_),                                             \
        DS_INT("first_row", "0", 0, 1000000000, "", "Row of the recording that is the start, 0 the first."), \
        DS_INT("n_samples", rows_, 0, RECORDING_ROWS / 2, "", rows_doc_),                                    \
        DS_INT("held_out", "0", 0, RECORDING_ROWS / 2, "",                                                   \
               "Samples behind those that are only predicted: no part of the loss, but of the metrics."),    \
        DS_BOOL(                                                                                             \
            "gaps", "false",                                                                                 \
            "Values may be missing in the recording (an empty field, nan, na, null); they count nothing.")

typedef struct recorded {
    recording data; /* scaled; equally spaced, without times */
    double dt;      /* s between samples */
} recorded;

/* Reads the file: n_samples + held_out samples, at `rate` where there is no column of times. */
ds_status recorded_open(recorded *r, ds_param_reader *in, double rate, uint64_t n_samples, uint64_t held_out);
void recorded_close(recorded *r);

#endif
