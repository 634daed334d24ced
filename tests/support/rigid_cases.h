/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_cases.h - what the tests of the rigid scenes share: recorded values (JSON below DS_SHARED), and
 * gradients compared with central differences. */
#ifndef RIGID_CASES_H
#define RIGID_CASES_H

#include "golden.h"
#include "host.h"

/* golden/rigid/NAME as JSON; the test is skipped where it is not there. */
json_t *rigid_golden(const char *name);

int rigid_int(const json_t *object, const char *key);

/* Copies an array of numbers (at most `capacity`) and returns how many there are; 0 for null. */
uint64_t rigid_numbers(const json_t *array, double *out, uint64_t capacity);

/* "name=a,b,c" with enough digits to be exact, into a buffer of the caller. */
const char *rigid_list(char *text, uint64_t size, const char *name, const double *v, uint64_t n);

/* Derivative by component i at x from central differences with steps eps and eps/2, extrapolated; *spread
 * gets the difference of the two quotients. */
double rigid_difference(fake_env *e, double *x, uint64_t i, double eps, double *spread);

/* n uniform numbers of [-1, 1], the same at every call with the same key. */
void rigid_random(double *x, uint64_t n, uint64_t key);

#endif
