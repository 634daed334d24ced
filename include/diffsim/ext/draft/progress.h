/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/draft/progress.h - named numbers and a recommended point that an optimizer reports while it
 * searches, a draft: objective extension "ds.draft.objective.progress/1".
 *
 * Purpose: show what a search does besides its losses (step size, length scales, entropy of a policy), and
 * recommend a point that need not be one of the evaluated ones, such as the mean of a distribution.
 *
 * Scenario: an evolution strategy reports "sigma" and its mean before each generation. `dshost export` writes
 * a column progress.sigma, the report draws it, `dshost view --live` shows it while the run continues. After
 * a run in a noisy environment the host evaluates the recommended point again, together with the best
 * recorded ones, and the lowest mean wins.
 *
 * Rules for the optimizer: call report() from the thread of run(), between two requests, about once per
 * iteration. What it reports depends, as its requests do, on its parameters, host->seed, the problem and the
 * results alone. Requests do not depend on whether the extension is there.
 * Rules for the host: it keeps a report with the evaluation that is requested next. Of several reports before
 * an evaluation the last value of each name and the last point count. While a resumed run replays its record,
 * the host has those reports already and ignores them: the record of an interrupted run is the same as that
 * of an uninterrupted one. A report after the last evaluation is not recorded; its point can still be
 * recommended.
 */
#ifndef DIFFSIM_EXT_DRAFT_PROGRESS_H
#define DIFFSIM_EXT_DRAFT_PROGRESS_H

#include <diffsim/base.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_OBJECTIVE_PROGRESS "ds.draft.objective.progress/1"

#define DS_MAX_SCALARS 32u /* names between two evaluations; use few names in a run: each is a column */

/* One report. The host copies it. */
typedef struct ds_progress_report {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count;          /* scalars, at most DS_MAX_SCALARS; may be 0 */
    const char *const *name; /* [A-Za-z][A-Za-z0-9_.]*, at most DS_MAX_NAME bytes; "sigma", "length.mean" */
    const double *value;     /* may be NaN or infinite: shown as missing */
    const double *x; /* the point that the optimizer recommends now: n values within the bounds, in the
                              * units of the environment. NULL = none, or still the last one */
} ds_progress_report;
#define DS_PROGRESS_REPORT_SIZE_1_0 DS_SIZE_WITH(ds_progress_report, x)

/* objective->get_extension(objective, DS_EXT_OBJECTIVE_PROGRESS), valid during run(); NULL where nothing is
 * recorded, as in a search by ask and tell. */
typedef struct ds_objective_progress {
    uint32_t struct_size;
    uint32_t reserved;

    /* Returns
     *   DS_OK       the host has a copy
     *   DS_E_ARG    a name, the count or the point is not allowed: the run ends, and the host has reported
     *               why
     *   DS_E_NOMEM  no memory for a copy */
    ds_status(DS_CALL *report)(const ds_objective *objective, const ds_progress_report *report);
} ds_objective_progress;
#define DS_OBJECTIVE_PROGRESS_SIZE_1_0 DS_SIZE_WITH(ds_objective_progress, report)

#ifdef __cplusplus
}
#endif
#endif
