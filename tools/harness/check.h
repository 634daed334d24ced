/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - a test of the conformance kit: it states one promise of the interface, and records what it saw
 * and what an author can do about it. */
#ifndef DS_HARNESS_CHECK_H
#define DS_HARNESS_CHECK_H

#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "config/settings.h"
#include "plugin/loader.h"

/* The bits of one answer, for comparisons that allow no difference. */
typedef struct ds_check_bits {
    uint64_t loss, grad; /* bit pattern of the loss, hash of the bit patterns of the gradient */
} ds_check_bits;

/* What one test records, as lines that also travel through a pipe: a letter, a blank, a text. */
enum {
    DS_CHECK_FAILURE = 'F', /* a broken promise: the test has failed */
    DS_CHECK_HINT = 'H',    /* what to do about it */
    DS_CHECK_NOTE = 'N',    /* a figure, or a remark */
    DS_CHECK_SKIP = 'S',    /* why the test does not apply */
    DS_CHECK_KIND = 'K',    /* "KIND FLAGS ID" of the plugin */
    DS_CHECK_REFUSED = 'R', /* why the settings are none of this plugin */
    DS_CHECK_COST = 'C',    /* "SECONDS SECONDS": one evaluation without and with gradient */
    DS_CHECK_BITS = 'B',    /* "HEX HEX": ds_check_bits of the reference evaluation */
    DS_CHECK_DOING = 'D',   /* the call that is made now, where its failure would not explain itself */
    DS_CHECK_NEXT = 'T',    /* what follows is of the next test of this process */
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
/* The last line of a kind; NULL where there is none. */
const char *ds_check_lines_find(const ds_check_lines *l, char kind);

typedef struct ds_check_options {
    const char *path; /* of the plugin, as the user named it or as found on the search path */
    const char *only; /* run the tests whose id contains this, or one of these between commas; NULL = all */
    uint64_t seed;    /* of all points and choices */
    double timeout;   /* seconds of one test */
    int json, in_process;
    ds_settings settings; /* sections [env] and [opt]: parameters other than the defaults */
    const char **sets;    /* the same as --set arguments, for the child processes */
    size_t set_count;
    /* What the parent has found out before, for the tests. */
    double cost, cost_gradient; /* seconds of one evaluation without and with gradient; 0 = not known */
    int has_reference;
    ds_check_bits reference;
    int kept; /* memory file with the numbers of the items (check_items.h) as the parent's measurement found
               * them; -1 = none */
} ds_check_options;

typedef struct ds_check ds_check;

/* Which plugins a test is for, besides its kind. */
enum {
    DS_CHECK_GRADIENT = 1, /* environments with gradient */
    DS_CHECK_ALONE = 2,    /* changes its own process: not with --in-process */
    DS_CHECK_ENV = 4,      /* gets an instance of the environment, see ds_check.env */
    DS_CHECK_KEPT = 8      /* compares with what the measurement kept, see ds_check_options.kept */
};

typedef struct ds_check_test {
    const char *id;
    const char *title; /* the promise */
    uint32_t flags;
    unsigned least_loss; /* evaluations without which the test says nothing */
    unsigned least_grad; /* the same with gradient */
    void (*run)(ds_check *c);
} ds_check_test;

/* One test in its process. */
struct ds_check {
    const ds_check_options *options;
    const ds_check_test *test;
    const ds_module *module;  /* NULL in the tests of loading */
    struct ds_check_env *env; /* of a test with DS_CHECK_ENV, closed after it; else NULL */
    /* One that an earlier test of this process has left, closed once this test makes another; else NULL. */
    struct ds_check_env *idle;
    ds_random random; /* depends on the seed and the test's id */
    int fd;           /* lines go there, or, where it is negative, to `lines` */
    ds_check_lines *lines;
    unsigned failed, hints; /* lines DS_CHECK_FAILURE and DS_CHECK_HINT so far */
    /* Of an environment: how far its answers may be apart (0 = every bit is the same), the largest distance
     * that a test has seen, and the widths of the box; NULL as long as no instance was made. */
    double tolerance, distance;
    double *width;
};

/* Records of the test (of sightings and hints at most 8 are kept). Each is one line. */
void ds_check_fail(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_hint(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is called now; said where the process dies of it. "" = nothing special. */
void ds_check_doing(ds_check *c, const char *what);
void ds_check_note(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_skip(ds_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ds_check_record(ds_check *c, char kind, const char *text);

/* How often to do something that takes `seconds` so that the test stays short: `wish`, or fewer but at least
 * `least`, which is then noted as "`what`: 3 of 20, ...". */
uint64_t ds_check_plan(ds_check *c, const char *what, uint64_t wish, uint64_t least, double seconds);

/* ---- check_clock.c: time that does not depend on what else the machine does. How much a test looks at, and
 * when it has taken too long, must be the same on a machine that is busy. ---- */

double ds_check_now(void); /* seconds of the monotonic clock */

/* Seconds that the calling thread has had, since its first call: of the monotonic clock, but from one call to
 * the next only its processor time where it gave no processor up by itself. What it waits for others to
 * release one counts nothing; that it sleeps, or waits for other threads or processes, does. */
double ds_check_worked(void);

/* The same of another process, looked at from time to time. */
typedef struct ds_check_other {
    pid_t pid;
    double limit, spent, all, wall, work;
} ds_check_other;

/* Has it been at work for longer than `limit` seconds, or, however little of that it had a processor, so many
 * times that long? */
enum { DS_CHECK_STARVED = 20 };
void ds_check_other_open(ds_check_other *o, pid_t pid, double limit);
int ds_check_other_over(ds_check_other *o);

#endif
