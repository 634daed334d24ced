/* SPDX-License-Identifier: Apache-2.0 */
/* differences.h - compares a gradient with central differences of the loss, component by component. Where
 * they disagree, reports the one-sided quotients and whether the simulation takes another branch there. */
#ifndef DS_TESTS_DIFFERENCES_H
#define DS_TESTS_DIFFERENCES_H

#include "golden.h"
#include "host.h"

typedef struct differences {
    const char *name; /* of the case, for messages */
    size_t n;
    double *x; /* the point; changed and restored */
    const double *grad;
    double (*loss)(void *self, const double *x);
    uint64_t (*branches)(void *self); /* of the last loss; NULL: no branches */
    void *self;
    double step; /* of component i: step max(1, |x_i|), or times scale[i] */
    const double *scale;
    double tolerance; /* relative to the component, at least 1e-3 of the largest one */
} differences;

/* Returns how many components disagree although both sides take the same branches, after a message for each.
 * *switched (may be NULL) gets how many disagree across a switch. Smooth cases (no branches) extrapolate from
 * two steps (Richardson). */
size_t differences_check(const differences *d, size_t *switched);

/* Independent uniform numbers in [-1, 1], the same for the same seed. */
void differences_random(uint64_t seed, size_t n, double *out);

double differences_dot(size_t n, const double *a, const double *b);

/* ---- rigid scenes: recorded values (JSON below DS_SHARED) and derivatives ---- */

/* golden/rigid/NAME as JSON; skips the test where it is missing. */
json_t *rigid_golden(const char *name);

int rigid_int(const json_t *object, const char *key);

/* Copies an array of numbers (at most `capacity`) and returns how many there are; 0 for null. */
uint64_t rigid_numbers(const json_t *array, double *out, uint64_t capacity);

/* "name=a,b,c" with enough digits to be exact, into a buffer of the caller. */
const char *rigid_list(char *text, uint64_t size, const char *name, const double *v, uint64_t n);

/* Derivative by component i at x from central differences with steps eps and eps/2, extrapolated; *spread
 * gets the difference of the two quotients. */
double rigid_difference(fake_env *e, double *x, uint64_t i, double eps, double *spread);

/* n uniform numbers of [-1, 1], the same for every call with the same key. */
void rigid_random(double *x, uint64_t n, uint64_t key);

#endif
