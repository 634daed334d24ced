/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/npy_read.h - reads arrays of numbers in NumPy's .npy format from memory.
 *
 * Header only, optional, no part of the binary interface; C library only. Nothing is trusted: every malformed
 * input ends with one line that says why.
 *
 *     ds_npy a;
 *     char why[DS_NPY_WHY];
 *     uint64_t n = ds_npy_open(&a, bytes, count, why) ? ds_npy_numbers(&a, most, why) : 0;
 *     for (uint64_t i = 0; i < n; i++) { ... ds_npy_number(&a, i) ... }        n = 0: why is set
 *
 * Format: magic "\x93NUMPY", version, length of the header, the header: a Python dictionary as text with the
 * keys descr, fortran_order and shape; then the elements.
 * Source: NumPy, "NPY format", versions 1.0 and 2.0. */
#ifndef DIFFSIM_HELPER_NPY_READ_H
#define DIFFSIM_HELPER_NPY_READ_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DS_NPY_WHY = 200, DS_NPY_DIMENSIONS = 8 };

/* An array in memory that belongs to the caller. */
typedef struct ds_npy {
    char descr[16]; /* type of the elements, "<f8" */
    int fortran;
    uint32_t ndim;
    uint64_t shape[DS_NPY_DIMENSIONS];
    const unsigned char *data; /* the elements */
    size_t bytes;
} ds_npy;

/* Reads the header. Returns 0 with the reason in `why`. */
static inline int ds_npy_open(ds_npy *a, const void *data, size_t bytes, char why[DS_NPY_WHY]);

/* How many numbers the array has: <f8, <f4, <i8 or <i4 in C order, at most `most`, as many bytes as the shape
 * needs. 0 with the reason in `why` for any other array. */
static inline uint64_t ds_npy_numbers(const ds_npy *a, uint64_t most, char why[DS_NPY_WHY]);

/* Number i of an array that ds_npy_numbers() has accepted. */
static inline double ds_npy_number(const ds_npy *a, uint64_t i);

#include <diffsim/helper/npy_read.inl>

#endif
