/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - faults of the descriptor, and at create() and destroy(): -DBAD_IS_NAME compiles plugin NAME
 * (compile_bad of tests/cli/lib.sh). */

/* destroys_null - destroy() looks into the instance that is not there. */
#ifdef BAD_IS_destroys_null
#include <stdlib.h>
#define BAD_ID "destroys_null"
static void take_apart(void *self)
{
    *(volatile char *)self = 0;
    free(self);
}
#define BAD_DESTROY take_apart
#include "env_base.h"
#endif

/* exact_size - works with a host that was compiled with its own headers only. */
#ifdef BAD_IS_exact_size
#define BAD_ID "exact_size"
#define BAD_CREATE                                                                                           \
    if (host->struct_size != sizeof *host) {                                                                 \
        host->error(host, DS_E_UNSUPPORTED, "a host of another version");                                    \
        free(b);                                                                                             \
        return DS_E_UNSUPPORTED;                                                                             \
    }
#include "env_base.h"
#endif

/* fast_math - switches denormals off when it is loaded, as start-up code of -ffast-math does. */
#ifdef BAD_IS_fast_math
#define BAD_ID "fast_math"
#if defined(__x86_64__)
#include <xmmintrin.h>
__attribute__((constructor)) static void start(void)
{
    _mm_setcsr(_mm_getcsr() | 0x8040u);
}
#endif
#include "env_base.h"
#endif

/* huge_size - a struct_size that is no size: what was written there means something else. */
#ifdef BAD_IS_huge_size
#define BAD_ID "huge_size"
#define BAD_SIZE 0x80000000u
#include "env_base.h"
#endif

/* huge_table - the struct_size of an extension's table was never set, and holds anything. */
#ifdef BAD_IS_huge_table
#define BAD_ID "huge_table"
#define BAD_TABLE_SIZE 0xcccccccc
#include "channel_base.h"

#include "env_base.h"
#endif

/* leaks_file - leaves a file open. */
#ifdef BAD_IS_leaks_file
#include <fcntl.h>
#define BAD_ID "leaks_file"
#define BAD_CREATE (void)!open("/dev/null", O_RDONLY);
#include "env_base.h"
#endif

/* leaks_memory - forgets what it allocated. */
#ifdef BAD_IS_leaks_memory
#include <stdlib.h>
#define BAD_ID "leaks_memory"
static void *volatile lost;
#define BAD_CREATE lost = malloc(48);
#include "env_base.h"
#endif

/* needs_later - needs a service that this host does not have. */
#ifdef BAD_IS_needs_later
#define BAD_ID "needs_later"
#define BAD_NEEDS "ds.host.later/1"
#include "env_base.h"
#endif

/* silent_error - refuses a value without saying why. */
#ifdef BAD_IS_silent_error
#define BAD_ID "silent_error"
#define BAD_CREATE                                                                                           \
    if (b->centre > 0.9) {                                                                                   \
        free(b);                                                                                             \
        return DS_E_PARAM;                                                                                   \
    }
#include "env_base.h"
#endif

/* swallows_error - ignores that a parameter could not be read. */
#ifdef BAD_IS_swallows_error
#define BAD_ID "swallows_error"
#define BAD_GETTER(status) ((void)(status), DS_OK)
#include "env_base.h"
#endif

/* two_symbols - exports more than ds_plugin_query. */
#ifdef BAD_IS_two_symbols
#define BAD_ID "two_symbols"
__attribute__((visibility("default"))) int helper(int v);
int helper(int v)
{
    return v + 1;
}
#include "env_base.h"
#endif

/* wrong_magic - does not begin with the magic number. */
#ifdef BAD_IS_wrong_magic
#define BAD_ID "wrong_magic"
#define BAD_MAGIC 0x12345678u
#include "env_base.h"
#endif

/* wrong_minor - was compiled for another version of the interface. */
#ifdef BAD_IS_wrong_minor
#define BAD_ID "wrong_minor"
#define BAD_MINOR (DS_ABI_MINOR + 1)
#include "env_base.h"
#endif

/* zero_size - forgets the struct_size of its descriptor. */
#ifdef BAD_IS_zero_size
#define BAD_ID "zero_size"
#define BAD_SIZE 0
#include "env_base.h"
#endif
