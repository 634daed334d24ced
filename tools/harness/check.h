/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - a test of the conformance kit: it checks one guarantee of the interface, and records what it saw
 * and what the author can do about it. */
#ifndef DS_HARNESS_CHECK_H
#define DS_HARNESS_CHECK_H

#include "base/error.h"
#include "config/settings.h"
#include "plugin/loader.h"

#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>

#include <stdint.h>
#include <sys/types.h>

/* Bits of one evaluation, for comparisons that allow no difference. */
typedef struct ds_check_bits {
    uint64_t loss, grad; /* bit pattern of the loss, hash of the bit patterns of the gradient */
} ds_check_bits;

/* A record of a test is one line, also in the pipe to the parent: a letter, a space, a text. */
enum {
    DS_CHECK_FAILURE = 'F', /* the test has failed: what was seen */
    DS_CHECK_HINT = 'H',    /* what to do about it */
    DS_CHECK_NOTE = 'N',    /* a figure or a remark */
    DS_CHECK_SKIP = 'S',    /* why the test does not apply or cannot decide */
    DS_CHECK_KIND = 'K',    /* "KIND FLAGS ID" of the plugin */
    DS_CHECK_REFUSED = 'R', /* why the settings do not fit this plugin */
    DS_CHECK_COST = 'C',    /* "SECONDS SECONDS": one evaluation without and with gradient */
    DS_CHECK_BITS = 'B',    /* "HEX HEX": ds_check_bits of the reference evaluation */
    DS_CHECK_DOING = 'D',   /* the current call, where a crash in it would not be obvious */
    DS_CHECK_NEXT = 'T',    /* the lines that follow belong to the next test of this process */
    DS_CHECK_END = 'E'      /* the test function has returned */
};

typedef struct ds_check_line {
    char kind;
    char *text;
} ds_check_line;

typedef struct ds_check_lines {
    ds_check_line *item;
    size_t count, capacity;
} ds_check_lines;

int ds_check_lines_add(ds_check_lines *l, char kind, const char *text, size_t length);
void ds_check_lines_clear(ds_check_lines *l);
/* The last line of a kind; NULL if there is none. */
const char *ds_check_lines_find(const ds_check_lines *l, char kind);

typedef struct ds_check_options {
    const char *path; /* of the plugin, as the user named it or as found on the search path */
    const char *only; /* run tests whose id contains one of these comma-separated texts; NULL = all */
    uint64_t seed;    /* of all random points and choices */
    double timeout;   /* seconds per test */
    int json, in_process;
    ds_settings settings; /* sections [env] and [opt]: parameters that differ from the defaults */
    const char **sets;    /* the same settings as --set arguments, for child processes */
    size_t set_count;
    /* Measured by the parent, for the tests. */
    double cost, cost_gradient; /* seconds of one evaluation without and with gradient; 0 = unknown */
    int has_reference;
    ds_check_bits reference;
    /* memory file with the results of the items (check_items.h) from the parent's measurement; -1 = none */
    int kept;
} ds_check_options;

typedef struct ds_check ds_check;

/* Which plugins a test is for, in addition to its kind. */
enum {
    DS_CHECK_GRADIENT = 1, /* environments with a gradient */
    DS_CHECK_ALONE = 2,    /* changes its process: not with --in-process */
    DS_CHECK_ENV = 4,      /* needs an instance of the environment, ds_check.env */
    DS_CHECK_KEPT = 8      /* compares with ds_check_options.kept */
};

typedef struct ds_check_test {
    const char *id;
    const char *title; /* the guarantee */
    uint32_t flags;
    unsigned least_loss; /* evaluations that the test needs at least */
    unsigned least_grad; /* the same, with gradient */
    void (*run)(ds_check *c);
} ds_check_test;

/* A running test. */
struct ds_check {
    const ds_check_options *options;
    const ds_check_test *test;
    const ds_module *module;  /* NULL in the tests of loading */
    struct ds_check_env *env; /* with DS_CHECK_ENV an instance, closed after the test; else NULL */
    /* An instance left by an earlier test of this process, closed when this test makes one; else NULL. */
    struct ds_check_env *idle;
    ds_random random; /* depends on the seed and the test's id */
    int fd;           /* where lines go; negative: to `lines` */
    ds_check_lines *lines;
    unsigned failed, hints; /* lines DS_CHECK_FAILURE and DS_CHECK_HINT so far */
    /* For an environment: its tolerance (0 = all bits must agree), the largest distance seen so far, and the
     * widths of the box (NULL before an instance exists). */
    double tolerance, distance;
    double *width;
};

/* Record one line. Of failures and hints the first 8 are kept. */
void ds_check_fail(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_hint(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Names the current call, printed if the process dies in it; "" = none. */
void ds_check_doing(ds_check *c, const char *what);
void ds_check_note(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_skip(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_record(ds_check *c, char kind, const char *text);

/* Zeroed memory for `count` things of `size` bytes; NULL after recording that there is none. */
void *ds_check_room(ds_check *c, uint64_t count, size_t size);

/* How often to do something that takes `seconds`, so that the test stays short: `wish` times, or fewer but at
 * least `least`; fewer are noted as "`what`: 3 instead of 20, ...". */
uint64_t ds_check_plan(ds_check *c, const char *what, uint64_t wish, uint64_t least, double seconds);

/* ---- time that does not depend on the load of the machine ---- */

/* How much a test covers, and when it counts as hung, must not change on a busy machine. */

double ds_check_now(void); /* seconds of the monotonic clock */

/* Wall time of the calling thread since its first call, minus time spent waiting for a processor. Sleeping
 * and waiting for other threads or processes count. */
double ds_check_worked(void);

/* The same for another process, sampled from time to time. */
typedef struct ds_check_other {
    pid_t pid;
    double limit, spent, all, wall, work;
} ds_check_other;

/* Has it worked for longer than `limit` seconds, or has DS_CHECK_STARVED times that passed, however little
 * processor time it got? */
enum { DS_CHECK_STARVED = 20 };
void ds_check_other_open(ds_check_other *o, pid_t pid, double limit);
int ds_check_other_over(ds_check_other *o);

/* ---- repeating an evaluation ---- */

/* The `dshost eval` command that evaluates x (n values with 17 digits; many go into a new file in $TMPDIR)
 * with the parameters of this check and `flags` (" --gradient --fd"). To be freed; NULL without memory. */
char *ds_check_point_command(const ds_check_options *o, const double *x, uint64_t n, const char *flags);

#endif
