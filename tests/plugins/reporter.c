/* SPDX-License-Identifier: Apache-2.0 */
/* reporter.c - a third-party optimizer that reports (diffsim/ext/draft/progress.h), for tests of the host:
 * random points in tables of EVERY, before each the number of the table and the sum of all losses so far, and
 * a fixed point as its recommendation. It can break the rules. */
#include <diffsim/helper/opt_kit.h>

#include <string.h>
#include <time.h>

enum { EVERY = 10 };
static const char *const faults[] = {"none", "name", "many", "outside", "size", NULL};
enum { F_NONE, F_NAME, F_MANY, F_OUTSIDE, F_SIZE };

typedef struct reporter {
    ds_opt_kit kit;
    int64_t fault, quiet;
    double wait;
    double *point, *v, *x, loss[EVERY], sum;
    uint64_t tables;
    ds_random random;
} reporter;

static void reporter_read(void *self, ds_param_reader *in)
{
    reporter *r = (reporter *)self;
    uint64_t given = 0;
    const double *point = ds_param_list(in, "point", &given);
    r->fault = ds_param_int(in, "fault");
    r->quiet = ds_param_int(in, "quiet");
    r->wait = ds_param_real(in, "wait");
    r->random = ds_random_open(r->kit.host->seed, "reporter", 0);
    r->point = given > 0 ? ds_memory_doubles(&r->kit.memory, r->kit.n) : NULL;
    r->x = ds_memory_doubles(&r->kit.memory, r->kit.n);
    r->v = ds_memory_doubles(&r->kit.memory, EVERY * r->kit.n);
    for (size_t i = 0; r->point != NULL && i < r->kit.n; i++) {
        r->point[i] = point[given > 1 ? i : 0];
    }
}

static ds_status spoil(reporter *r, const ds_objective_progress *progress)
{
    const char *names[DS_MAX_SCALARS + 1] = {"two words"};
    double values[DS_MAX_SCALARS + 1] = {0};
    ds_progress_report report = {.struct_size = r->fault == F_SIZE ? 4 : sizeof report,
                                 .count = r->fault == F_MANY ? DS_MAX_SCALARS + 1 : r->fault == F_NAME,
                                 .name = names,
                                 .value = values};
    if (r->fault == F_OUTSIDE) {
        r->x[0] = r->kit.problem->upper[0] + 1;
        report.x = r->x;
    }
    return progress->report(r->kit.evaluator.objective, &report);
}

/* In two reports, of which the second replaces one value of the first. */
static ds_status report(reporter *r)
{
    static const char *const first[] = {"sum", "table.number"}, *const second[] = {"sum"};
    const ds_objective_progress *progress =
        (const ds_objective_progress *)ds_evaluator_extension(&r->kit.evaluator, DS_EXT_OBJECTIVE_PROGRESS);
    const double wrong[] = {-1, (double)r->tables}, right[] = {r->tables > 2 ? r->sum : (double)NAN};
    if (progress == NULL) {
        return ds_host_fail(r->kit.host, DS_E_UNSUPPORTED, "nobody takes reports");
    }
    if (r->fault != F_NONE) {
        return spoil(r, progress);
    }
    ds_progress_report report = {.struct_size = sizeof report, .count = 2, .name = first, .value = wrong};
    ds_status status = progress->report(r->kit.evaluator.objective, &report);
    report = (ds_progress_report){
        .struct_size = sizeof report, .count = 1, .name = second, .value = right, .x = r->point};
    return status != DS_OK ? status : progress->report(r->kit.evaluator.objective, &report);
}

static ds_status reporter_round(void *self)
{
    reporter *r = (reporter *)self;
    size_t done;
    const struct timespec pause = {0, (long)(1e9 * r->wait)};
    nanosleep(&pause, NULL);
    r->tables++;
    ds_status status = r->quiet ? DS_OK : report(r);
    for (size_t i = 0; i < EVERY * r->kit.n; i++) {
        r->v[i] = 2 * ds_random_uniform(&r->random) - 1;
    }
    status = status != DS_OK ? status
                             : ds_evaluator_run(&r->kit.evaluator, (ds_evaluator_label){"sample", r->tables},
                                                EVERY, r->v, r->loss, NULL, NULL, &done);
    for (size_t k = 0; status == DS_OK && k < EVERY; k++) {
        r->sum += isfinite(r->loss[k]) ? r->loss[k] : 0;
    }
    return status;
}

static const ds_param *const params[] = {DS_ENUM("fault", "none", faults, "A rule that its reports break."),
                                         DS_BOOL("quiet", "false", "Reports nothing."),
                                         DS_REAL("wait", "0", 0, 0.9, "s", "Before each table."),
                                         DS_LIST("point", "", -1e9, 1e9, 0, "", "What it recommends."), NULL};
static const ds_desc desc = {DS_OPT_KIT_DESC("reporter", "1", "Apache-2.0", params),
                             .summary = "Random points with reports.", .description = "", .citation = ""};
static const ds_opt_table table = {.size = sizeof(reporter), .read = reporter_read, .round = reporter_round};
DS_OPT_KIT_DEFINE(table, desc)
