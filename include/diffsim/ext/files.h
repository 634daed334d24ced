/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/files.h - files that an optimizer leaves in the folder of its run: "ds.objective.files/1".
 *
 * What for: what a search has learned beside its best point: a policy, a model of the loss, a covariance.
 *
 * Scenario: run() has ended its search, gets the table and calls save() with the bytes of "policy.npz"; they
 * lie in the folder of the run when it ends (diffsim/helper/npz.h makes such a file of arrays).
 *
 * Rules for the optimizer: what is saved follows, as its questions do, from its parameters, host->seed, the
 * problem and the answers alone, without times and addresses: so a run that was killed and goes on ends with
 * the same files, byte for byte. save() may be called as often as wanted, also when evaluate() has said
 * DS_STOPPED; another file of the same name replaces the one before. Rules for the host: a file is there as a
 * whole or as it was before; while a resumed run repeats its record nothing is written, as what is there is
 * younger; a disk that is full ends in one line and an exit status, not in the loss of the record.
 */
#ifndef DIFFSIM_EXT_FILES_H
#define DIFFSIM_EXT_FILES_H

#include <diffsim/base.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_FILES "ds.objective.files/1"

#define DS_MAX_FILES 16u             /* names of one run */
#define DS_MAX_FILE_NAME 63u         /* bytes of a name without its NUL */
#define DS_MAX_FILE_BYTES 268435456u /* of one file, 2^28 */

/* objective->get_extension(objective, DS_EXT_FILES), valid during run(); NULL where there is no folder, as in
 * a search by ask and tell. */
typedef struct ds_objective_files {
    uint32_t struct_size;
    uint32_t reserved;

    /* Of the run, to be written into files, so that they say what they belong to: id and version of the
     * environment, and its settings as lines "key = value" of an .ini file, which may be long. UTF-8, ""
     * where there are none. What an optimizer asks must not depend on them. */
    const char *env;
    const char *env_version;
    const char *env_settings;

    /* Takes a copy of `bytes` bytes (data may be NULL where that is 0) as file `name`, from the thread of
     * run(): letters, digits, '.', '_' and '-', the first one a letter or a digit, and none of the names that
     * the host uses itself ("run.", "summary.", "best.", ... at the beginning; it says which). Returns
     *   DS_OK       the host has it, and writes it now or at the end of the run
     *   DS_E_ARG    such a name or size is not allowed, or there are DS_MAX_FILES others: the run ends, and
     *               the host has said why
     *   DS_E_NOMEM  it has no memory for a copy */
    ds_status(DS_CALL *save)(const ds_objective *objective, const char *name, const void *data,
                             uint64_t bytes);
    DS_GROWN
} ds_objective_files;
#define DS_OBJECTIVE_FILES_SIZE_1_0 DS_SIZE_WITH(ds_objective_files, save)

#ifdef __cplusplus
}
#endif
#endif
