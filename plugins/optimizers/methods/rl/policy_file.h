/* SPDX-License-Identifier: Apache-2.0 */
/* policy_file.h - the policy that has been learned, as the arrays of policy.npz; docs/optimizers.md says
 * what each of them is, and how an action comes from them. */
#ifndef DS_METHODS_POLICY_FILE_H
#define DS_METHODS_POLICY_FILE_H

#include "methods/rl/mlp.h"
#include "methods/rl/stepwise.h"

#include <diffsim/ext/draft/files.h>
#include <diffsim/helper/npz.h>
#include <diffsim/helper/opt_kit.h>

/* What an optimizer knows of its policy. */
typedef struct policy_parts {
    const char *method, *version; /* its id and version */
    const mlp *net;
    const float *w;                 /* of the net, whose first outputs are the mean of an action */
    const char *squash;             /* "clip" or "tanh": how a number in [-1, 1] comes from the mean */
    const running_moments *moments; /* of every feature; NULL = features are not normalised */
    double limit;                   /* of normalised features */
    /* ln of the standard deviation: rows x actions, or NULL where it follows the mean in the outputs. */
    const float *log_std;
    size_t log_std_rows;
    const char *noise; /* "plain", "sde", "clamp", "tanh": how the output becomes an action */
} policy_parts;

/* Which policy of the run. */
typedef struct policy_moment {
    uint64_t evaluations; /* episodes finished so far */
    uint64_t episodes;    /* of the trial that it was the best in; 0 = it was in none */
    double loss;          /* mean of that trial */
} policy_moment;

/* Makes the file; `files` may be NULL. 0 without memory, or where it is too large. */
int policy_file_make(ds_npz_memory *z, const policy_parts *p, const stepwise *s,
                     const ds_objective_files *files, const ds_host *host, const policy_moment *when);

/* Makes it and hands it to the host, where it takes files; says so where that fails. */
void policy_file_save(const ds_opt_kit *kit, const char *name, const policy_parts *p, const stepwise *s,
                      const policy_moment *when);

#endif
