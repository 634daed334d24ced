/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - implements diffsim/lib/ask_tell.h. An optimizer is a plain loop that calls evaluate(); here it
 * runs in a thread of its own, which computes only while the program waits in ask() or close(). */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plugin_memory.h"
#include "protect/call_state.h"
#include "embed/embed.h"
#include "embed/recording.h"
#include "evaluate/pool.h"
#include "plugin/instance.h"
#include "run/free_variables.h"

/* Whose turn it is. */
enum { PROGRAM, OPTIMIZER };

struct ds_search {
    ds_services services;
    const ds_module *module;
    void *self;
    ds_problem problem;               /* for the program: all variables */
    ds_free_variables free_variables; /* for the optimizer */
    ds_objective objective;
    double *lower, *upper, *x0; /* n values each */
    atomic_int stop;

    pthread_t thread;
    int started;           /* the thread exists */
    pthread_mutex_t lock;  /* guards turn */
    pthread_cond_t handed; /* turn has changed */
    int turn;

    int busy;           /* a call of the objective runs; only the optimizer's thread uses it */
    atomic_int strayed; /* another thread called it, or a call came during another */

    /* Written by the side whose turn it is. */
    const ds_request *open; /* the optimizer's request that waits for results, with all variables; or NULL */
    uint64_t first;         /* its first row for the program: the rows before were recorded */
    uint64_t rows;          /* number of rows from there on, as many as the budget allows */
    int told;               /* the program has reported their results */
    int ended;              /* run() has returned `result` */
    ds_status result;
    uint32_t why;     /* DS_SEARCH_...: the reason to report if close() ends the search */
    ds_status broken; /* negative: no more evaluations are possible; `error` says why */

    ds_recording *record; /* NULL = none */
    uint64_t budget, used;
    double best;    /* INFINITY: none */
    double *best_x; /* n */
    ds_error error;
};

/* ---- turns ---- */

static void wait_for(ds_search *s, int turn)
{
    pthread_mutex_lock(&s->lock);
    while (s->turn != turn) {
        pthread_cond_wait(&s->handed, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static void hand_to(ds_search *s, int turn)
{
    pthread_mutex_lock(&s->lock);
    s->turn = turn;
    pthread_cond_broadcast(&s->handed);
    pthread_mutex_unlock(&s->lock);
}

/* Lets the optimizer compute until it requests something or ends. */
static void compute(ds_search *s)
{
    ds_module_begin(s->module);
    hand_to(s, OPTIMIZER);
    wait_for(s, PROGRAM);
    ds_module_end(s->module);
}

/* ---- the optimizer's side ---- */

/* Passes result `row`, from the program or the record, to the optimizer. */
static void deliver_row(ds_search *s, const ds_request *b, uint64_t row, double loss, uint32_t outcome)
{
    const uint64_t n = s->problem.n;
    const ds_results *r = &b->results;
    const int graded = (b->rows.want & DS_WANT_GRAD) != 0;
    r->loss[row] = loss;
    if (r->outcome != NULL) {
        r->outcome[row] = outcome;
    }
    if (r->grad_kind != NULL) {
        r->grad_kind[row] = graded && outcome == DS_EVAL_OK ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    }
    if (r->bad_step != NULL) {
        r->bad_step[row] = -1;
    }
    if (r->cost_steps != NULL) {
        r->cost_steps[row] = 0;
    }
    if (loss < s->best) {
        s->best = loss;
        memcpy(s->best_x, b->rows.x + row * n, n * sizeof *s->best_x);
    }
    s->used++;
}

/* Answers the first rows of a request from the record, as many as it has. */
static int serve_recorded_rows(ds_search *s, const ds_request *b, uint64_t rows)
{
    uint64_t n = s->problem.n;
    int rc = 0;
    for (s->first = 0; rc == 0 && s->first < rows && s->record != NULL && ds_recording_left(s->record);
         s->first++) {
        double loss = INFINITY, *grad = NULL;
        uint32_t outcome = DS_EVAL_ERROR;
        if ((b->rows.want & DS_WANT_GRAD) != 0) {
            grad = b->results.grad + s->first * n;
            memset(grad, 0, n * sizeof *grad);
        }
        rc = ds_recording_take(s->record, b->rows.x + s->first * n, b->rows.want, &loss, grad, &outcome,
                               &s->error);
        if (rc == 0) {
            deliver_row(s, b, s->first, loss, outcome);
        }
    }
    return rc;
}

/* Did another thread call evaluate()? That ends the search. */
static int has_strayed(ds_search *s)
{
    if (!atomic_load(&s->strayed)) {
        return 0;
    }
    ds_fail(&s->error, DS_EXIT_PLUGIN,
            "%s: breaks the contract of evaluate(): called from another thread than run()'s, or during "
            "another call",
            s->module->id);
    s->broken = DS_E_ARG;
    return 1;
}

/* Answers the first rows of a valid request for all variables. */
static ds_status serve_rows(ds_search *s, const ds_request *b, uint64_t rows, uint64_t *done)
{
    if (serve_recorded_rows(s, b, rows) != 0) {
        return s->broken = DS_E_DATA;
    }
    s->rows = rows - s->first;
    if (s->rows > 0) {
        s->open = b;
        s->told = 0;
        hand_to(s, PROGRAM);
        wait_for(s, OPTIMIZER);
        s->open = NULL;
    }
    *done = s->rows == 0 || s->told ? rows : s->first; /* close() provides no results */
    return *done < b->rows.count ? DS_STOPPED : DS_OK;
}

/* The same for a request for the free variables only, or with gaps between rows. */
static ds_status serve_free(ds_search *s, const ds_request *b, uint64_t rows, uint64_t *done)
{
    ds_full_request full;
    if (ds_full_request_open(&s->free_variables, b, NULL, &full) != 0) {
        ds_no_memory(&s->error);
        return s->broken = DS_E_NOMEM;
    }
    ds_status st = serve_rows(s, &full.request, rows, done);
    ds_full_request_answer(&s->free_variables, &full, b, *done);
    ds_full_request_close(&full);
    return st;
}

static ds_status refuse(ds_search *s, const char *text)
{
    ds_fail(&s->error, DS_EXIT_PLUGIN, "%s: breaks the contract of evaluate(): %s", s->module->id, text);
    return s->broken = DS_E_ARG;
}

/* A call of evaluate(). */
typedef struct evaluate_call {
    const ds_rows *rows;
    const ds_label *label;
    const ds_results *results;
    uint64_t *done;
} evaluate_call;

static ds_status serve_call(ds_search *s, const evaluate_call *call)
{
    ds_request r;
    char text[DS_REQUEST_TEXT];
    uint64_t left = s->budget > 0 ? s->budget - s->used : UINT64_MAX;
    if (s->broken != DS_OK || has_strayed(s)) {
        return s->broken;
    }
    if (call->done == NULL || ds_request_read(&r, call->rows, call->label, call->results, text) != 0) {
        return refuse(s, call->done == NULL ? "done is NULL" : text);
    }
    *call->done = 0;
    if (!ds_rows_allowed(&r.rows, &r.results, &s->free_variables.problem, text)) {
        return refuse(s, text);
    }
    if (r.rows.queries > 0) {
        ds_fail(&s->error, DS_EXIT_PLUGIN, "%s: sends queries about channels, which a program cannot serve",
                s->module->id);
        return s->broken = DS_E_UNSUPPORTED;
    }
    uint64_t rows = r.rows.count < left ? r.rows.count : left;
    if (rows == 0 || atomic_load(&s->stop)) {
        atomic_store(&s->stop, 1);
        return DS_STOPPED;
    }
    return ds_full_request_needed(&s->free_variables, &r) ? serve_free(s, &r, rows, call->done)
                                                          : serve_rows(s, &r, rows, call->done);
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    ds_search *s = objective->ctx;
    const evaluate_call call = {rows, label, results, done};
    if (!pthread_equal(s->thread, pthread_self()) || s->busy) {
        atomic_store(&s->strayed, 1);
        return DS_E_ARG;
    }
    s->busy = 1;
    const ds_call_state theirs = ds_call_state_save();
    ds_locale_use_c();
    ds_status st = serve_call(s, &call);
    ds_call_state_restore(&theirs);
    s->busy = 0;
    return st;
}

static const void *no_extension(const ds_objective *objective, const char *id)
{
    (void)objective;
    (void)id;
    return NULL;
}

static void *run(void *self)
{
    ds_search *s = self;
    ds_locale_use_c();
    wait_for(s, OPTIMIZER);
    if (!atomic_load(&s->stop)) {
        s->result = s->module->opt.run(s->self, &s->objective);
    }
    s->ended = 1;
    hand_to(s, PROGRAM);
    return NULL;
}

/* ---- the program's side ---- */

static int check_options(const ds_search_options *o, ds_error *e)
{
    if (o == NULL || !DS_HAS(ds_search_options, o, is_suggestion)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "the options are missing or their struct_size is not sizeof(ds_search_options)");
    }
    if (o->resume > 1) {
        return ds_fail(e, DS_EXIT_USAGE, "resume is %u: allowed are 0 and 1", o->resume);
    }
    if (o->is_suggestion > 1) {
        return ds_fail(e, DS_EXIT_USAGE, "is_suggestion is %u: allowed are 0 and 1", o->is_suggestion);
    }
    if (o->n == 0 || o->n > SIZE_MAX / sizeof(double) / 8 || o->lower == NULL || o->upper == NULL) {
        return ds_fail(e, DS_EXIT_USAGE, "a search needs n >= 1 variables with lower and upper bounds");
    }
    return ds_bounds_check("", o->n, o->lower, o->upper, o->x0, DS_EXIT_USAGE, e);
}

static int copy_problem(ds_search *s, const ds_search_options *o, ds_error *e)
{
    uint64_t n = o->n;
    s->lower = calloc(4 * n, sizeof *s->lower);
    if (s->lower == NULL) {
        return ds_no_memory(e);
    }
    s->upper = s->lower + n;
    s->x0 = s->upper + n;
    s->best_x = s->x0 + n;
    for (uint64_t i = 0; i < n; i++) {
        s->lower[i] = o->lower[i];
        s->upper[i] = o->upper[i];
        s->x0[i] = o->x0 != NULL ? o->x0[i] : 0.5 * o->lower[i] + 0.5 * o->upper[i];
    }
    s->best = INFINITY;
    s->budget = o->budget;
    s->problem = (ds_problem){.struct_size = sizeof(ds_problem),
                              .has_gradient = o->has_gradient != 0,
                              .n = n,
                              .lower = s->lower,
                              .upper = s->upper,
                              .x0 = s->x0,
                              .budget = o->budget,
                              .target = -INFINITY,
                              .loss_floor = -INFINITY};
    s->objective = (ds_objective){sizeof(ds_objective), 0, s, evaluate, no_extension};
    return 0;
}

static int create_optimizer(ds_search *s, const ds_settings *settings, const ds_search_options *o,
                            ds_error *e)
{
    const ds_desc *desc = s->module->plugin->desc;
    ds_params *params = NULL;
    const ds_offer offer = {.who = "a search with ask and tell",
                            .gradient = s->problem.has_gradient != 0,
                            .advice =
                                "use another optimizer (has_gradient says whether gradients are available)"};
    int status = ds_need_check(desc, &offer, e);
    status = status != 0 ? status
                         : ds_params_make(desc->params, s->module->id, settings, DS_SECTION_OPT, &params, e);
    if (status != 0) {
        return status;
    }
    ds_services_init(&s->services, s->module, params, o->seed, 1, &s->stop);
    status = ds_free_variables_open(o->name != NULL ? o->name : "the problem", &s->problem, DS_EXIT_USAGE,
                                    &s->free_variables, e);
    status = status == 0 && o->folder != NULL
                 ? ds_recording_open(o, s->module, params, &s->problem, &s->record, e)
                 : status;
    if (status != 0) {
        return status;
    }
    /* a recorded search keeps the budget of its first start */
    s->free_variables.problem.budget = s->problem.budget;
    ds_module_begin(s->module);
    ds_status st = s->module->opt.create(&s->services.host, &s->free_variables.problem, &s->self);
    ds_module_end(s->module);
    if (st != DS_OK || s->self == NULL) {
        s->self = NULL;
        return ds_services_fail(&s->services, e, "create()", st != DS_OK ? st : DS_E_GENERIC);
    }
    return 0;
}

/* The thread takes no signals: they belong to the program. */
static int start_thread(ds_search *s, ds_error *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        return ds_fail(e, DS_EXIT_MEMORY, "cannot start the thread of the optimizer: %s", strerror(failed));
    }
    s->started = 1;
    return 0;
}

ds_search *ds_search_start(const ds_module *optimizer, const ds_settings *settings,
                           const ds_search_options *options, ds_error *e)
{
    ds_search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        ds_no_memory(e);
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->handed, NULL);
    s->module = optimizer;
    int status = check_options(options, e);
    status = status != 0 ? status : copy_problem(s, options, e);
    status = status != 0 ? status : create_optimizer(s, settings, options, e);
    status = status != 0 ? status : start_thread(s, e);
    if (status != 0) {
        ds_search_close(s);
        return NULL;
    }
    return s;
}

/* Lets the optimizer evaluate a start that the program gives first, unless the settings say otherwise. An
 * optimizer without parameter use_x0 only sees it in the problem. */
static int take_start(const ds_module *module, const ds_search_options *o, ds_settings *settings, ds_error *e)
{
    const ds_param *const *p = module->plugin->desc->params;
    if (o->x0 == NULL || o->is_suggestion || ds_settings_find(settings, DS_SECTION_OPT, "use_x0") != NULL ||
        ds_settings_find(settings, DS_SECTION_OPT, "x0") != NULL) {
        return 0;
    }
    while (p != NULL && *p != NULL && strcmp((*p)->name, "use_x0") != 0) {
        p++;
    }
    return p == NULL || *p == NULL ? 0
                                   : ds_settings_add(settings, DS_SECTION_OPT, "use_x0", "true", "x0", NULL,
                                                     DS_EXIT_USAGE, DS_LAYER_FILE, e);
}

DS_EXPORT ds_search *ds_search_open(const char *optimizer, const ds_search_options *options, char *why,
                                    uint64_t size)
{
    DS_LOCALE_C_HERE;
    const ds_module *module = NULL;
    ds_settings settings = {0};
    ds_error error = {0, ""};
    ds_search *s = NULL;
    ds_embed_quiet();
    int rc = check_options(options, &error);
    rc = rc == 0 && optimizer == NULL ? ds_fail(&error, DS_EXIT_USAGE, "the name of the optimizer is missing")
                                      : rc;
    rc = rc != 0 ? rc : ds_loader_open(optimizer, DS_KIND_OPTIMIZER, &module, &error);
    rc = rc != 0 ? rc : ds_embed_settings(DS_SECTION_OPT, options->settings, &settings, &error);
    rc = rc != 0 ? rc : take_start(module, options, &settings, &error);
    if (rc == 0) {
        s = ds_search_start(module, &settings, options, &error);
        rc = s != NULL ? 0 : error.status != 0 ? error.status : DS_EXIT_PLUGIN;
    }
    if (ds_embed_note(rc) != 0) {
        ds_embed_say(&error, why, size);
    }
    ds_settings_clear(&settings);
    return s;
}

/* The status for the program after run() ended. */
static ds_status end_status(ds_search *s)
{
    if (s->broken != DS_OK || has_strayed(s)) {
        return s->broken;
    }
    if (s->result < 0 && s->error.text[0] == '\0') {
        ds_services_fail(&s->services, &s->error, "run()", s->result);
    }
    return s->result < 0 ? s->result : DS_STOPPED;
}

DS_EXPORT ds_status ds_search_ask(ds_search *s, uint64_t *count, const double **x, uint32_t *want)
{
    DS_LOCALE_C_HERE;
    if (s == NULL || count == NULL || x == NULL || want == NULL) {
        return DS_E_ARG;
    }
    if (!s->ended && (s->open == NULL || s->told || s->broken != DS_OK)) { /* broken: the optimizer ends */
        compute(s);
    }
    *count = s->ended ? 0 : s->rows;
    *x = s->ended ? NULL : s->open->rows.x + s->first * s->problem.n;
    *want = s->ended ? 0 : s->open->rows.want;
    return s->ended ? end_status(s) : DS_OK;
}

static int all_finite(uint64_t n, const double *v)
{
    uint64_t i = 0;
    while (i < n && isfinite(v[i])) {
        i++;
    }
    return i == n;
}

/* Takes the program's result for a row of the open request; `grad` is the gradient of the row. */
static int take_result(ds_search *s, uint64_t row, double loss, const double *grad)
{
    uint64_t n = s->problem.n;
    const ds_request *b = s->open;
    int wanted = (b->rows.want & DS_WANT_GRAD) != 0, sound = isfinite(loss);
    int good = wanted && sound && all_finite(n, grad);
    uint32_t outcome = !sound ? DS_EVAL_INVALID : wanted && !good ? DS_EVAL_BAD_GRAD : DS_EVAL_OK;
    double *to = wanted ? b->results.grad + row * n : NULL;
    if (good) {
        memcpy(to, grad, n * sizeof *to);
    } else if (wanted) {
        memset(to, 0, n * sizeof *to);
    }
    deliver_row(s, b, row, sound ? loss : (double)INFINITY, outcome);
    return s->record != NULL
               ? ds_recording_add(s->record, b, row, b->results.loss[row], to, outcome, &s->error)
               : 0;
}

DS_EXPORT ds_status ds_search_tell(ds_search *s, const double *loss, const double *grad)
{
    DS_LOCALE_C_HERE;
    if (s == NULL || s->ended || s->open == NULL || s->told || loss == NULL ||
        ((s->open->rows.want & DS_WANT_GRAD) != 0 && grad == NULL)) {
        return DS_E_ARG;
    }
    if (s->broken != DS_OK) {
        return s->broken;
    }
    int rc = 0;
    for (uint64_t k = 0; k < s->rows && rc == 0; k++) {
        rc = take_result(s, s->first + k, loss[k], grad != NULL ? grad + k * s->problem.n : NULL);
    }
    s->told = rc == 0;
    s->broken = rc == 0 ? DS_OK : ds_embed_status(rc);
    return s->broken;
}

DS_EXPORT uint64_t ds_search_used(const ds_search *s)
{
    return s != NULL ? s->used : 0;
}

DS_EXPORT ds_status ds_search_best(const ds_search *s, double *loss, const double **x)
{
    if (s == NULL) {
        return DS_E_ARG;
    }
    if (loss != NULL) {
        *loss = s->best;
    }
    if (x != NULL) {
        *x = isfinite(s->best) ? s->best_x : NULL;
    }
    return isfinite(s->best) ? DS_OK : DS_STOPPED;
}

DS_EXPORT const char *ds_search_message(const ds_search *s)
{
    return s != NULL ? s->error.text : "";
}

/* Completes the folder like that of a run. `by_itself`: the optimizer ended without close(). */
static void close_record(ds_search *s, int by_itself)
{
    ds_error e = {0, ""};
    ds_status failed = by_itself ? end_status(s) : s->broken;
    int why = failed < 0                              ? DS_RECORDING_FAILED
              : s->budget > 0 && s->used >= s->budget ? DS_RECORDING_BUDGET
              : by_itself                             ? DS_RECORDING_FINISHED
              : s->why == DS_SEARCH_TARGET            ? DS_RECORDING_TARGET
              : s->why == DS_SEARCH_TIME              ? DS_RECORDING_TIME
                                                      : DS_RECORDING_CLOSED;
    if (ds_recording_close(s->record, why, &s->error, &e) != 0) {
        ds_log(DS_LOG_ERROR, NULL, "%s", e.text);
    }
}

DS_EXPORT ds_status ds_search_end(ds_search *s, uint32_t why)
{
    if (s == NULL || why > DS_SEARCH_TIME) {
        return DS_E_ARG;
    }
    s->why = why;
    return DS_OK;
}

DS_EXPORT void ds_search_close(ds_search *s)
{
    DS_LOCALE_C_HERE;
    if (s == NULL) {
        return;
    }
    int by_itself = s->ended;
    if (s->started) {
        atomic_store(&s->stop, 1);
        while (!s->ended) {
            s->told = 0;
            compute(s);
        }
        pthread_join(s->thread, NULL);
    }
    close_record(s, by_itself);
    if (s->self != NULL) {
        s->module->opt.destroy(s->self);
    }
    ds_services_clear(&s->services);
    pthread_cond_destroy(&s->handed);
    pthread_mutex_destroy(&s->lock);
    ds_free_variables_close(&s->free_variables);
    free(s->lower);
    free(s);
}
