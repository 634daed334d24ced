/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/draft/files.h - files that an optimizer saves in the folder of its run, a draft: objective
 * extension "ds.draft.objective.files/1".
 *
 * Purpose: keep what a search has learned besides its best point: a policy, a model of the loss, a
 * covariance.
 *
 * Scenario: run() has completed its search and calls save() with the bytes of "policy.npz", which
 * diffsim/helper/npz.h makes of arrays. The file is in the folder when the run ends.
 *
 * Rules for the optimizer: the bytes depend, as its requests do, on its parameters, host->seed, the problem
 * and the results alone, without times and addresses. A run that was killed and resumed then ends with the
 * same files, byte for byte. It may call save() any number of times, also after evaluate() returned
 * DS_STOPPED; a file replaces an earlier one of the same name. Rules for the host: it replaces a file as a
 * whole or leaves the old one. While a resumed run replays its record, the host writes nothing, because the
 * files in the folder are newer. A full disk ends the run with one line and an exit status; the record stays.
 */
#ifndef DIFFSIM_EXT_DRAFT_FILES_H
#define DIFFSIM_EXT_DRAFT_FILES_H

#include <diffsim/base.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_FILES "ds.draft.objective.files/1"

#define DS_MAX_FILES 16u             /* names of one run */
#define DS_MAX_FILE_NAME 63u         /* bytes of a name without its NUL */
#define DS_MAX_FILE_BYTES 268435456u /* of one file, 2^28 */

/* objective->get_extension(objective, DS_EXT_FILES), valid during run(); NULL where the run has no folder, as
 * in a search by ask and tell. */
typedef struct ds_objective_files {
    uint32_t struct_size;
    uint32_t reserved;

    /* Of the run, for notes inside the files: id and version of the environment, and its settings as lines
     * "key = value" of an .ini file, which may be long. UTF-8, "" where there are none. Requests of an
     * optimizer do not depend on them. */
    const char *env;
    const char *env_version;
    const char *env_settings;

    /* Copies `bytes` bytes (data may be NULL where that is 0) as file `name`. Call it from the thread of
     * run(). A name has letters, digits, '.', '_' and '-', begins with a letter or a digit, and does not
     * begin as the host's own files do ("run.", "summary.", "best.", ...). Returns
     *   DS_OK       the host has a copy, and writes it now or at the end of the run
     *   DS_E_ARG    the name or the size is not allowed, or there are DS_MAX_FILES other names: the run ends,
     *               and the host has reported why
     *   DS_E_NOMEM  no memory for a copy */
    ds_status(DS_CALL *save)(const ds_objective *objective, const char *name, const void *data,
                             uint64_t bytes);
} ds_objective_files;
#define DS_OBJECTIVE_FILES_SIZE_1_0 DS_SIZE_WITH(ds_objective_files, save)

#ifdef __cplusplus
}
#endif
#endif
