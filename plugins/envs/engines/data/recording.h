/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - reads columns of numbers from a file: text (comma, semicolon or blanks between columns, with
 * or without names in its first line, '#' comments), NumPy's .npy and .npz, each also compressed by gzip.
 * Text is read only as far as the requested rows. */
#ifndef DS_ENGINES_RECORDING_H
#define DS_ENGINES_RECORDING_H

#include <diffsim/helper/memory.h>
#include <diffsim/helper/params.h>

#include <stddef.h>
#include <stdint.h>

enum {
    RECORDING_COLUMNS = 16, /* most columns of a request */
    RECORDING_ERROR = 512,
    RECORDING_ROWS = 1 << 20,
    RECORDING_BYTES = 1 << 26 /* largest file after decompression */
};

/* A column is a name, or a number from 1. In an .npz it is the name of an array of one dimension, or "name.2"
 * for column 2 of an array of two. */
typedef struct recording_request {
    const char *columns; /* words separated by blanks or commas */
    const char *time;    /* column of the times; "": none */
    /* first row, from 0, and number of rows; rows 0: all */
    uint64_t first, rows;
} recording_request;

typedef struct recording {
    uint64_t rows, columns;
    double *value; /* [rows][columns]; NAN where a value is missing: an empty field, nan, na or null */
    double *time;  /* [rows], ascending; NULL if not requested */
} recording;

enum { RECORDING_OK, RECORDING_MALFORMED, RECORDING_NO_MEMORY, RECORDING_UNREADABLE };

/* Reads from memory. `cut`: the file continues, and its last line may be incomplete. On failure `error`
 * (RECORDING_ERROR bytes) is one line that says where, and *r is empty. */
int recording_parse(recording *r, const recording_request *q, const void *bytes, size_t length, int cut,
                    char *error);
/* Reads a file, likewise. */
int recording_read(recording *r, const recording_request *q, const char *path, char *error);
void recording_free(recording *r);

/* ---- recordings as the data of an environment ---- */

/* A recording as the parameters of an environment describe it (file, columns, units, rate,
 * fitted and held-out samples), and how far a simulated motion is from it. */

/* `rows_` and `rate_` are 0 if they depend on something else. */
#define RECORDED_PARAMS(columns_, columns_doc_, rate_, rate_doc_, rows_, rows_doc_)                          \
    DS_PATH("file", "",                                                                                      \
            "Recording: text with columns separated by commas, semicolons or blanks, with or without their " \
            "names in the first line, or a .npy or .npz; also compressed by gzip.",                          \
            .flags = 0),                                                                                     \
        DS_TEXT("columns", columns_, columns_doc_),                                                          \
        DS_LIST("column_scale", "1", -1e12, 1e12, RECORDING_COLUMNS, "",                                     \
                "Factor of each column that converts it to SI units; one value for all."),                   \
        DS_TEXT("time_column", "",                                                                           \
                "Column of the times, in s; where a step is a multiple of the usual one, samples are "       \
                "missing. Empty: sample_rate gives the distance of samples."),                               \
        DS_REAL("sample_rate", rate_, 0, 1e9, "1/s", rate_doc_),                                             \
        DS_INT("first_row", "0", 0, 1000000000, "",                                                          \
               "Row of the recording that is the start; 0 is the first."),                                   \
        DS_INT("n_samples", rows_, 0, RECORDING_ROWS / 2, "", rows_doc_),                                    \
        DS_INT("held_out", "0", 0, RECORDING_ROWS / 2, "",                                                   \
               "Samples after the fitted ones that are only predicted: they enter metrics, not the loss."),  \
        DS_BOOL(                                                                                             \
            "gaps", "false",                                                                                 \
            "Allow missing values in the recording (an empty field, nan, na, null); they count nothing.")

typedef struct recorded {
    recording data; /* scaled; equally spaced, without times */
    double dt;      /* s between samples */
} recorded;

/* Reads n_samples + held_out samples, at `rate` if there is no time column. */
ds_status recorded_open(recorded *r, ds_param_reader *in, double rate, uint64_t n_samples, uint64_t held_out);
void recorded_close(recorded *r);

/* ---- residuals ----
 *
 * Residuals of a simulated motion and the sum of their squares, over the first part of the samples. Angles
 * are compared on the circle, missing values count nothing, and weights may decrease with time. Source: E.
 * Heiden et al., "NeuralSim: Augmenting differentiable simulators with neural networks" (ICRA 2021), equation
 * 1; their program gives the term at time t the weight 1 / (a t)^b. */

enum { FIT_QUANTITIES = 16 };

typedef struct fit {
    /* samples; the first `fitted` of them enter the loss, the others are held out */
    uint64_t rows, fitted;
    uint64_t quantities; /* numbers per sample */
    uint32_t angles;     /* bit q: number q is an angle, rad */
    double *target;      /* [rows][quantities]; NAN: missing */
    /* [rows][quantities], weight of the residual: the square root of the weight of its square */
    double *weight;
} fit;

/* Allocates from `m`, with weights of 1. Returns 0 without memory. */
int fit_open(fit *f, ds_memory *m, uint64_t rows, uint64_t quantities);
/* Multiplies the weights of sample i, at time t = i dt, by (a t)^(-b/2), and of sample 0, which the start
 * determines, by 0. */
void fit_fade(fit *f, double dt, double a, double b);

/* Simulated minus recorded value without weight, of an angle in [-pi, pi]; 0 if it is missing. */
double fit_error(const fit *f, uint64_t row, uint64_t quantity, double got);
/* Residuals r[fitted][quantities] (or NULL) of the simulated values got[rows][quantities]. Returns the sum of
 * their squares. */
double fit_residuals(const fit *f, const double *got, double *r);
/* Root mean square of the unweighted errors over samples from .. to - 1; NAN without values. */
double fit_rms(const fit *f, const double *got, uint64_t from, uint64_t to);

#endif
