/* SPDX-License-Identifier: Apache-2.0 */
/* blas_room.c - see blas_room.h. */
#include "config.h"

#include "plugin/blas_room.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Of one buffer, and a little more; of most processors it is half of that. */
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
    give(take(0)); /* it stays mapped, for the next call */
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
