/* SPDX-License-Identifier: Apache-2.0 */
/* differences.h - compares a gradient with central differences of the loss, component by component. Where
 * they disagree, reports the one-sided quotients and whether the simulation takes another branch there. */
#ifndef DS_TESTS_DIFFERENCES_H
#define DS_TESTS_DIFFERENCES_H

#include <stddef.h>
#include <stdint.h>

typedef struct differences {
    const char *name; /* of the case, for messages */
    size_t n;
    double *x; /* the point; changed and restored */
    const double *grad;
    double (*loss)(void *self, const double *x);
    uint64_t (*branches)(void *self); /* of the last loss; NULL: it has none */
    void *self;
    double step; /* of component i: step max(1, |x_i|), or times scale[i] */
    const double *scale;
    double tolerance; /* relative to the component, at least 1e-3 of the largest one */
} differences;

/* Returns how many components disagree though the simulation takes the same branches on both sides, after
 * a message for each; *switched (may be NULL) gets how many disagree across a switch. Smooth cases (no
 * branches) extrapolate from two steps (Richardson). */
size_t differences_check(const differences *d, size_t *switched);

/* Independent uniform numbers in [-1, 1], the same for the same seed. */
void differences_random(uint64_t seed, size_t n, double *out);

double differences_dot(size_t n, const double *a, const double *b);

#endif
