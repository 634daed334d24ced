/* SPDX-License-Identifier: Apache-2.0 */
/* saver.c - an optimizer of somebody else that leaves files, for tests of the host: random points, and
 * every ten of them "state.txt" with their number and a sum of all losses. It can break the rules for
 * names, sizes and contents, and look at what lies on the disk meanwhile. */
#include <diffsim/ext/draft/files.h>
#include <diffsim/helper/fail.h>
#include <diffsim/helper/npz.h>
#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <diffsim/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVERY = 10 };
static const char *const faults[] = {"none", "dots",  "own",    "empty",   "long",  "hidden",
                                     "many", "large", "larger", "nothing", "clock", NULL};
enum { F_NONE, F_DOTS, F_OWN, F_EMPTY, F_LONG, F_HIDDEN, F_MANY, F_LARGE, F_LARGER, F_NOTHING, F_CLOCK };

static const ds_param *const params[] = {
    DS_REAL("wait", "0", 0, 10, "s", "Before every evaluation."),
    DS_TEXT("watch", "", "A file that is looked at before each save."),
    DS_ENUM("fault", "none", faults, "What is saved behind the last evaluation."), NULL};

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    double wait;
    const char *watch;
    int64_t fault;
} search;

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    ds_param_reader in = {host, DS_OK};
    search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return DS_E_NOMEM;
    }
    s->host = host;
    s->problem = problem;
    s->wait = ds_param_real(&in, "wait");
    s->watch = ds_param_text(&in, "watch");
    s->fault = ds_param_int(&in, "fault");
    if (in.status != DS_OK) {
        free(s);
        return in.status;
    }
    *out = s;
    return DS_OK;
}

static void destroy(void *self)
{
    free(self);
}

/* Says which number the watched file has. */
static void look(const search *s, uint64_t count)
{
    unsigned long long there = 0;
    FILE *f = s->watch[0] != '\0' ? fopen(s->watch, "r") : NULL;
    if (f != NULL && fscanf(f, "%llu", &there) != 1) {
        there = 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    if (s->watch[0] != '\0') {
        ds_host_say(s->host, DS_LOG_WARNING, "at %llu there is %llu", (unsigned long long)count, there);
    }
}

static ds_status save_state(const search *s, const ds_objective *o, const ds_objective_files *files,
                            uint64_t count, double sum)
{
    char text[200];
    struct timespec now = {0, 0};
    if (s->fault == F_CLOCK) {
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    int n = snprintf(text, sizeof text, "%llu %.17g %s %s%.0ld\n", (unsigned long long)count, sum, files->env,
                     files->env_version, now.tv_nsec);
    look(s, count);
    return files->save(o, "state.txt", text, (uint64_t)n);
}

/* What is saved at the end. */
static ds_status save_last(const search *s, const ds_objective *o, const ds_objective_files *files)
{
    static const char long_name[] = "a123456789a123456789a123456789a123456789a123456789a123456789abcd";
    static char megabyte[1 << 20];
    char name[32];
    ds_status st = DS_OK;
    ds_npz_memory z = {0};
    switch (s->fault) {
    case F_DOTS:
        return files->save(o, "../state.txt", "x", 1);
    case F_OWN:
        return files->save(o, "run.ini", "x", 1);
    case F_EMPTY:
        return files->save(o, "", "x", 1);
    case F_LONG:
        return files->save(o, long_name, "x", 1);
    case F_HIDDEN:
        return files->save(o, ".state", "x", 1);
    case F_NOTHING:
        return files->save(o, "nothing", NULL, 5);
    case F_LARGER:
        return files->save(o, "larger", megabyte, (uint64_t)DS_MAX_FILE_BYTES + 1);
    case F_LARGE:
        memset(megabyte, 'x', sizeof megabyte);
        return files->save(o, "large.txt", megabyte, sizeof megabyte);
    case F_MANY:
        for (unsigned k = 0; st == DS_OK && k < DS_MAX_FILES; k++) {
            snprintf(name, sizeof name, "many-%u", k);
            st = files->save(o, name, name, 1);
        }
        return st;
    default:
        ds_npz_put_text(&z, "env_settings", files->env_settings);
        st = ds_npz_finish(&z) ? files->save(o, "settings.npz", z.data, z.bytes) : DS_E_NOMEM;
        ds_npz_free(&z);
        return st != DS_OK ? st : files->save(o, "empty", NULL, 0);
    }
}

static ds_status run(void *self, const ds_objective *o)
{
    const search *s = self;
    const uint64_t n = s->problem->n;
    const ds_objective_files *files = o->get_extension(o, DS_EXT_FILES);
    const struct timespec wait = {(time_t)s->wait, (long)(1e9 * (s->wait - (double)(time_t)s->wait))};
    ds_random random = ds_random_open(s->host->seed, "saver", 0);
    double *x = malloc(n * sizeof *x), loss = 0.0, sum = 0.0;
    uint64_t done;
    const ds_rows rows = {.struct_size = sizeof rows, .count = 1, .n = n, .stride = n, .x = x};
    const ds_results results = {.struct_size = sizeof results, .loss = &loss};
    ds_status st = files == NULL ? ds_host_fail(s->host, DS_E_UNSUPPORTED, "no files") : DS_OK;
    ds_status saved = DS_OK;
    for (uint64_t count = 1; st == DS_OK && saved == DS_OK; count++) {
        for (uint64_t i = 0; i < n; i++) {
            x[i] = s->problem->lower[i] +
                   ds_random_uniform(&random) * (s->problem->upper[i] - s->problem->lower[i]);
        }
        nanosleep(&wait, NULL);
        st = o->evaluate(o, &rows, NULL, &results, &done);
        sum += loss;
        if (st == DS_OK && count % EVERY == 0) {
            saved = save_state(s, o, files, count, sum);
        }
    }
    free(x);
    if (st == DS_STOPPED && saved == DS_OK) { /* the search is over, and files are still taken */
        saved = save_last(s, o, files);
    }
    return saved != DS_OK ? saved : st;
}

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof vtable, .create = create, .destroy = destroy, .run = run};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_OPTIMIZER,
                             .id = "saver",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Random points, and files",
                             .description = "",
                             .citation = "",
                             .params = params};
DS_DEFINE_OPTIMIZER(desc, vtable)
