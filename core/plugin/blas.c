/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - the BLAS under a plugin: its name, its locks, and memory for it. */
#include "config.h"

#include "plugin/blas.h"

#include "arithmetic/arithmetic.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* ---- memory ---- */

/* Size of one buffer, and a little more. Most processors need half of it. */
#if defined(__x86_64__) || defined(__aarch64__)
static const size_t BUFFER = (size_t)129 << 20;
#else
static const size_t BUFFER = (size_t)257 << 20;
#endif

int ds_blas_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int ds_blas_reserve(void *handle)
{
    void *take_at = dlsym(handle, "blas_memory_alloc"), *give_at = dlsym(handle, "blas_memory_free");
    void *(*take)(int);
    void (*give)(void *);
    if (take_at == NULL || give_at == NULL) {
        return 0;
    }
    void *room =
        mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return -1;
    }
    munmap(room, BUFFER);
    memcpy(&take, &take_at, sizeof take);
    memcpy(&give, &give_at, sizeof give);
    give(take(0)); /* it stays mapped for the next call */
    return 0;
}

int ds_blas_reserve_for(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    int rc = handle != NULL ? ds_blas_reserve(handle) : 0;
    if (handle != NULL) {
        dlclose(handle);
    }
    return rc;
}

/* ---- which BLAS a plugin uses ---- */

/* A function of the BLAS. The OpenBLAS of PyPI's scipy-openblas32, which wheels have, prefixes its names. */
static void *function_of(void *handle, const char *name)
{
    char prefixed[80];
    void *at = dlsym(handle, name);
    snprintf(prefixed, sizeof prefixed, "scipy_%s", name);
    return at != NULL ? at : dlsym(handle, prefixed);
}

int ds_blas_lacks_locks(void *handle)
{
    void *parallel_at = function_of(handle, "openblas_get_parallel");
    void *config_at = function_of(handle, "openblas_get_config");
    int (*parallel)(void);
    char *(*config)(void);
    if (parallel_at == NULL || config_at == NULL) {
        return 0;
    }
    memcpy(&parallel, &parallel_at, sizeof parallel);
    memcpy(&config, &config_at, sizeof config);
    return parallel() == 0 && strstr(config(), "USE_LOCKING") == NULL;
}

/* Calls a function of OpenBLAS that returns a text; NULL where there is none. */
static const char *text_of(void *handle, const char *name)
{
    void *at = function_of(handle, name);
    char *(*function)(void);
    memcpy(&function, &at, sizeof function);
    return at != NULL ? function() : NULL;
}

/* Names any other BLAS by its file. */
static void name_library(void *handle, char *out, size_t size)
{
    Dl_info where;
    void *at = function_of(handle, "dgemm_");
    char path[PATH_MAX];
    if (at != NULL && dladdr(at, &where) != 0 && where.dli_fname != NULL) {
        const char *file = realpath(where.dli_fname, path) != NULL ? path : where.dli_fname;
        const char *slash = strrchr(file, '/');
        snprintf(out, size, "%.70s", slash != NULL ? slash + 1 : file);
    }
}

int ds_blas_find(const char *path, void *handle, char *name, size_t size, ds_error *e)
{
    const char *kernels = text_of(handle, "openblas_get_corename");
    const char *config = text_of(handle, "openblas_get_config");
    if (kernels == NULL || config == NULL) {
        name_library(handle, name, size);
        return name[0] != '\0' && ds_portable_on()
                   ? ds_fail(
                         e, DS_EXIT_PLUGIN,
                         "%s: computes with %s, whose kernels cannot be chosen: portable mode needs OpenBLAS",
                         path, name)
                   : 0;
    }
    size_t n = strcspn(config, " ");
    n += config[n] == ' ' ? 1 + strcspn(config + n + 1, " ") : 0;
    snprintf(name, size, "%.*s %.40s", (int)(n < 36 ? n : 36), config, kernels);
    return ds_portable_on() && strcasecmp(kernels, DS_PORTABLE_BLAS) != 0
               ? ds_fail(e, DS_EXIT_PLUGIN,
                         "%s: this OpenBLAS computes with its kernels %s where portable mode needs "
                         "%s: install one with kernels for all processors (built with DYNAMIC_ARCH=1)",
                         path, kernels, DS_PORTABLE_BLAS)
               : 0;
}
