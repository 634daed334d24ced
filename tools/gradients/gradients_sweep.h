/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_sweep.h - what is varied: sample counts, the width of the smoothing, gamma, parameters of the
 * environment, as lists or ranges.
 *
 *     samples=10,100,1000        env.mu=log:1e2:1e7:11
 *     env.T=lin:20:400:20        env.system=ball_wall,momentum
 */
#ifndef DS_GRADIENTS_GRADIENTS_SWEEP_H
#define DS_GRADIENTS_GRADIENTS_SWEEP_H

#include <diffsim/plugin.h>
#include <stddef.h>
#include <stdint.h>

enum { DS_SWEEPS_MAX = 4, DS_SWEEP_VALUES = 4096, DS_SWEEP_TEXT = 64, DS_SWEEP_WHY = 200 };

/* What a sweep varies. */
enum { DS_SWEEP_ENV = 0, DS_SWEEP_SIGMA = 1, DS_SWEEP_SAMPLES = 2, DS_SWEEP_GAMMA = 3 };

/* One value: as a setting, and as a number (its place from 0 where it is none). */
typedef struct ds_sweep_value {
    char text[DS_SWEEP_TEXT];
    double number;
} ds_sweep_value;

typedef struct ds_sweep {
    int what;                  /* DS_SWEEP_* */
    char key[DS_MAX_NAME + 1]; /* of a parameter: "mu"; else the word itself */
    ds_sweep_value *value;     /* owned; freed by ds_sweeps_free() */
    uint64_t count;
    int range; /* given as one */
    int log;   /* a logarithmic axis suits it */
} ds_sweep;

/* Reads "KEY=VALUES KEY=VALUES ..." (blanks between them), at most DS_SWEEPS_MAX; *count of them. 0, -1 with
 * a reason in `why`, -2 without memory. Partly filled ones are to be freed, too. */
int ds_sweeps_parse(const char *text, ds_sweep out[DS_SWEEPS_MAX], int *count, char why[DS_SWEEP_WHY]);
void ds_sweeps_free(ds_sweep *sweep, int count);

/* Numbers of a range become whole ones where the parameter is one (equal neighbours fall together): called
 * when the schema of the environment is known. -1 with a reason where it has no such parameter. */
int ds_sweep_fit(ds_sweep *s, const ds_param *const *schema, char why[DS_SWEEP_WHY]);

#endif
