/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - finds and loads the MPI module. */
#include "config.h"

#include "ranks/ranks.h"

#include "base/program.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char FILE_NAME[] = "ranks_mpi.so";

int ds_ranks_given(void)
{
    /* Open MPI; Slurm, MPICH and others use PMIx or PMI. */
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL) {
            return atoi(rank) > 0 ? atoi(rank) : 0;
        }
    }
    return -1;
}

/* In the build tree that this program runs in, else in its installation. */
static void module_path(char out[PATH_MAX])
{
    const char *below = "";
    if (ds_installation_build_tree(out)) {
        below = "/tools/ranks/.libs";
    } else {
        ds_installation_folder(DS_INSTALLED_MODULES, out);
    }
    size_t n = strlen(out);
    snprintf(out + n, PATH_MAX - n, "%s/%s", below, FILE_NAME);
}

int ds_ranks_open(ds_ranks **out, ds_error *e)
{
    char path[PATH_MAX];
    char why[400] = "";
    struct stat st;
    module_path(path);
    if (stat(path, &st) != 0) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "started by mpirun, but this dshost was built without MPI (there is no %s): install Open MPI "
            "and configure --with-mpi, or use --shard",
            path);
    }
    /* MPI's components look up symbols in the library that loads them. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    ds_ranks *module = handle != NULL ? dlsym(handle, "ds_ranks_module") : NULL;
    if (module == NULL || module->version != DS_RANKS_VERSION) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: %s", path,
                       module == NULL ? dlerror()
                                      : "it belongs to another version of dshost: install both together");
    }
    if (module->join(module, why, sizeof(why)) != 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "cannot start MPI: %s", why);
    }
    *out = module;
    return 0;
}
