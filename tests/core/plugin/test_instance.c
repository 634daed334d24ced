/* SPDX-License-Identifier: Apache-2.0 */
/* test_instance.c - the host's services as a plugin sees them, the vetting of what environments say and
 * answer, names of status codes, and messages on a terminal. The environment is made here, without a plugin
 * file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "plugin/instance.h"

/* What the environment of a test says and does. */
static struct plan {
    ds_status create, info, bounds, evaluate;
    int no_instance;
    uint64_t n;
    double lower, upper, x0, loss, grad;
    uint32_t outcome, kind;
    const char *error;
} plan;

static const ds_host *host_seen;

static ds_status create(const ds_host *host, void **out)
{
    host_seen = host;
    if (plan.create != DS_OK) {
        host->error(host, plan.create, plan.error);
        return plan.create;
    }
    *out = plan.no_instance ? NULL : &plan;
    return DS_OK;
}

static void destroy(void *self)
{
    (void)self;
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = plan.n;
    return plan.info;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = plan.lower;
        upper[i] = plan.upper;
        x0[i] = plan.x0;
    }
    return plan.bounds;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    (void)self;
    io->loss = plan.loss;
    io->outcome = plan.outcome;
    io->grad_kind = plan.kind;
    io->cost_steps = 3;
    for (uint64_t i = 0; (io->want & DS_WANT_GRAD) != 0 && i < io->n; i++) {
        io->grad[i] = plan.grad;
    }
    if (plan.error != NULL) {
        host_seen->error(host_seen, DS_E_NUMERIC, plan.error);
    }
    return plan.evaluate;
}

static const ds_param *const params[] = {
    DS_INT("steps", "5", 1, 9, "", ""), DS_REAL("mass", "2.5", 0, 9, "", ""),
    DS_TEXT("label", "hello", ""),      DS_LIST("list", "1 2", 0, 9, 0, "", ""),
    DS_ARRAY("array", "", ""),          NULL};

static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "toy",
                             .version = "1",
                             .license = "",
                             .summary = "",
                             .description = "",
                             .citation = "",
                             .params = params};
static const ds_env_vtable vtable = {sizeof vtable, 0, create, destroy, info, bounds, evaluate, NULL};
static const ds_plugin plugin = {DS_MAGIC, sizeof plugin, DS_ABI_MAJOR, DS_ABI_MINOR, DS_LAYOUT, 0,
                                 "",       &desc,         &vtable,      NULL};
static char path[200];
static char id[] = "toy";
static ds_module module = {.path = path, .id = id, .plugin = &plugin};

static int good_plan(void **state)
{
    (void)state;
    module.env = vtable;
    plan = (struct plan){.n = 2, .lower = -1, .upper = 1, .loss = 3, .grad = 4, .kind = DS_GRAD_ADJOINT};
    return 0;
}

static ds_env *open_env(void)
{
    ds_settings none = {0};
    ds_env *env = NULL;
    ds_error e = {0};
    if (ds_env_open(&module, &none, 42, 3, NULL, &env, &e) != 0) {
        fail_msg("%s", e.text);
    }
    return env;
}

static void services(void **state)
{
    ds_env *env = open_env();
    const ds_host *h = host_seen;
    int64_t i = 0;
    double r = 0;
    const char *t = NULL;
    const double *list = NULL;
    uint64_t n = 0, shape[8];
    (void)state;
    assert_true(h->struct_size == sizeof *h && h->abi_minor == DS_ABI_MINOR && h->seed == 0 &&
                h->threads == 3);
    assert_int_equal(h->should_stop(h), 0);
    assert_null(h->get_extension(h, "ds.host.nothing/1"));
    assert_int_equal(h->get_int(h, "steps", &i), DS_OK);
    assert_int_equal(h->get_real(h, "mass", &r), DS_OK);
    assert_int_equal(h->get_text(h, "label", &t), DS_OK);
    assert_int_equal(h->get_list(h, "list", &list, &n), DS_OK);
    assert_true(i == 5 && r == 2.5 && strcmp(t, "hello") == 0 && n == 2 && list[1] == 2);
    assert_int_equal(h->get_array(h, "array", &list, &n, shape), DS_OK);
    assert_true(n == 0 && list == NULL);
    assert_int_equal(h->get_int(h, "mass", &i), DS_E_PARAM); /* and says so on stderr */
    ds_env_close(env);
    ds_env_close(NULL);
}

static void stop_flag(void **state)
{
    ds_settings none = {0};
    ds_env *env = NULL;
    ds_error e = {0};
    atomic_int stop = 0;
    (void)state;
    assert_int_equal(ds_env_open(&module, &none, 0, 0, &stop, &env, &e), 0);
    assert_int_equal(host_seen->threads, 1);
    assert_int_equal(host_seen->should_stop(host_seen), 0);
    stop = 15;
    assert_int_equal(host_seen->should_stop(host_seen), 1);
    ds_env_close(env);
}

static void resources(void **state)
{
    char dir[] = "/tmp/test_instance.XXXXXX", file[100], found[300];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/.libs", dir);
    mkdir(file, 0700);
    snprintf(path, sizeof path, "%s/.libs/toy.so", dir);
    snprintf(file, sizeof file, "%s/data.bin", dir);
    FILE *f = fopen(file, "w");
    fclose(f);
    ds_env *env = open_env();
    const ds_host *h = host_seen;
    /* In a build tree the data lie one folder above the module. */
    assert_int_equal(h->resource(h, "data.bin", found, sizeof found, NULL), DS_OK);
    assert_int_equal(access(found, R_OK), 0);
    assert_int_equal(found[0], '/');
    assert_int_equal(h->resource(h, "nothing.bin", found, sizeof found, NULL), DS_E_IO);
    assert_int_equal(h->resource(h, "data.bin", found, 10, NULL), DS_E_ARG);
    assert_int_equal(h->resource(h, "/etc/passwd", found, sizeof found, NULL), DS_E_ARG);
    assert_int_equal(h->resource(h, "../data.bin", found, sizeof found, NULL), DS_E_ARG);
    ds_env_close(env);
    unlink(file);
    snprintf(file, sizeof file, "%s/.libs", dir);
    rmdir(file);
    rmdir(dir);
}

/* Opening fails with this status and text. */
static void refused(int status, const char *text)
{
    ds_settings none = {0};
    ds_env *env = NULL;
    ds_error e = {0};
    assert_int_equal(ds_env_open(&module, &none, 0, 1, NULL, &env, &e), status);
    assert_null(env);
    if (strstr(e.text, text) == NULL) {
        fail_msg("'%s' without '%s'", e.text, text);
    }
    good_plan(NULL);
}

static void refuses_instances(void **state)
{
    (void)state;
    plan.create = DS_E_PARAM;
    plan.error = "steps = 5:\nnot today\xff";
    refused(3, "toy: create() failed: steps = 5: not today? (DS_E_PARAM)");
    plan.create = DS_E_NOMEM;
    plan.error = "";
    refused(7, "out of memory (DS_E_NOMEM)");
    plan.no_instance = 1;
    refused(4, "toy: create() returned DS_OK without an instance");
    plan.info = DS_E_GENERIC;
    refused(4, "toy: info() failed: error (DS_E_GENERIC)");
    plan.n = 0;
    refused(4, "toy: info() says 0 variables, 1 to ");
    plan.n = UINT64_MAX;
    refused(4, "toy: info() says 18446744073709551615 variables");
    plan.bounds = DS_E_IO;
    refused(6, "toy: bounds() failed");
    plan.lower = 1;
    refused(4, "toy: bounds of variable 0 are 1..1");
    plan.upper = INFINITY;
    refused(4, "they must be finite");
    plan.lower = NAN;
    refused(4, "they must be finite");
    plan.x0 = 2;
    refused(4, "start point: variable 0 is 2, outside");
    plan.x0 = NAN;
    refused(4, "start point: variable 0 is nan");
}

/* Evaluates once: the outcome, the text of its message, and whether the loss and gradient were handed on. */
static void answers(uint32_t want, uint32_t outcome, const char *text)
{
    ds_env *env = open_env();
    double x[2] = {0, 0}, grad[2] = {7, 7};
    ds_answer a;
    memset(&a, 0xff, sizeof a);
    ds_status st = ds_env_evaluate(env, x, 0, want, grad, &a);
    assert_int_equal(st, plan.evaluate == DS_STOPPED ? DS_STOPPED : DS_OK);
    assert_int_equal(a.outcome, outcome);
    if (strstr(a.message, text) == NULL || (text[0] == '\0' && a.message[0] != '\0')) {
        fail_msg("'%s' without '%s'", a.message, text);
    }
    assert_true(outcome <= DS_EVAL_BAD_GRAD ? a.loss == plan.loss : a.loss == HUGE_VAL);
    if ((want & DS_WANT_GRAD) == 0) {
        assert_true(grad[0] == 7 && a.grad_kind == DS_GRAD_NONE);
    } else if (outcome == DS_EVAL_OK) {
        assert_true(grad[1] == 4 && a.grad_kind == DS_GRAD_ADJOINT);
    } else {
        assert_true(grad[0] == 0 && grad[1] == 0 && a.grad_kind == DS_GRAD_NONE);
    }
    assert_int_equal(a.cost_steps, 3);
    assert_true(a.wall_s >= 0 && a.wall_s < 60);
    ds_env_close(env);
    good_plan(NULL);
}

static void vets_answers(void **state)
{
    (void)state;
    answers(DS_WANT_GRAD, DS_EVAL_OK, "");
    answers(0, DS_EVAL_OK, "");
    for (uint32_t want = 0; want < 2; want++) {
        plan.loss = NAN;
        answers(want, DS_EVAL_INVALID, "not finite");
        plan.loss = INFINITY;
        answers(want, DS_EVAL_INVALID, "not finite");
        plan.outcome = DS_EVAL_CRASHED;
        answers(want, DS_EVAL_INVALID, "an outcome that only the host sets");
        plan.outcome = 99;
        answers(want, DS_EVAL_INVALID, "an outcome that only the host sets");
        plan.outcome = DS_EVAL_DIVERGED;
        plan.error = "det F < 0";
        answers(want, DS_EVAL_DIVERGED, "det F < 0");
        plan.outcome = DS_EVAL_INFEASIBLE;
        answers(want, DS_EVAL_INFEASIBLE, "");
        plan.evaluate = DS_E_NUMERIC;
        plan.error = "no convergence";
        answers(want, DS_EVAL_ERROR, "no convergence");
        plan.evaluate = DS_E_NUMERIC;
        answers(want, DS_EVAL_ERROR, "numerical failure");
        plan.evaluate = DS_STOPPED;
        answers(want, DS_EVAL_STOPPED, "on request of the host");
    }
    plan.grad = NAN;
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "component 0 of the gradient is not finite");
    plan.kind = DS_GRAD_NONE;
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "which kind");
    plan.kind = 17;
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "which kind");
    plan.outcome = DS_EVAL_BAD_GRAD;
    plan.error = "at a kink";
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "at a kink");
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(ds_status_name(DS_E_PARAM), "DS_E_PARAM");
    assert_string_equal(ds_status_text(DS_E_PARAM), "bad or unknown parameter");
    assert_string_equal(ds_status_name(-1234), "?");
    assert_string_equal(ds_status_text(-1234), "?");
    assert_string_equal(ds_outcome_name(DS_EVAL_BAD_GRAD), "bad_gradient");
    assert_string_equal(ds_outcome_name(77), "?");
    assert_int_equal(ds_status_exit(DS_E_DATA), 3);
    assert_int_equal(ds_status_exit(DS_E_IO), 6);
    assert_int_equal(ds_status_exit(DS_E_NOMEM), 7);
    assert_int_equal(ds_status_exit(DS_E_STATE), 4);
    ds_error e;
    assert_int_equal(ds_fail(&e, 5, "a %s\nb", "long"), 5);
    assert_string_equal(e.text, "a long b");
    assert_int_equal(ds_fail(NULL, 6, "nobody listens"), 6);
}

/* On a terminal a message erases the progress line and draws it again; the line never wraps. */
static void terminal(void **state)
{
    struct winsize size = {.ws_row = 24, .ws_col = 20};
    char out[1000] = "";
    size_t used = 0;
    int fd;
    (void)state;
    pid_t child = forkpty(&fd, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TERM", "vt100", 1);
        ds_log_progress("evaluation 1 of 1000, best 3.14");
        ds_log(DS_LOG_WARNING, "toy", "something\nhappened");
        ds_log(DS_LOG_DEBUG, NULL, "not shown");
        ds_log_set_level(DS_LOG_DEBUG);
        ds_log(DS_LOG_DEBUG, NULL, "shown");
        ds_log_progress("");
        _exit(ds_log_is_terminal() ? 0 : 1);
    }
    for (ssize_t n; used < sizeof out - 1 && (n = read(fd, out + used, sizeof out - 1 - used)) > 0;) {
        used += (size_t)n;
    }
    int status;
    waitpid(child, &status, 0);
    close(fd);
    out[used] = '\0';
    assert_int_equal(status, 0);
    assert_string_equal(out, "evaluation 1 of 100"
                             "\r\033[Kdshost: warning: toy: something happened\r\nevaluation 1 of 100"
                             "\r\033[Kdshost: debug: shown\r\nevaluation 1 of 100"
                             "\r\033[K");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(services, good_plan),
        cmocka_unit_test_setup(stop_flag, good_plan),
        cmocka_unit_test_setup(resources, good_plan),
        cmocka_unit_test_setup(refuses_instances, good_plan),
        cmocka_unit_test_setup(vets_answers, good_plan),
        cmocka_unit_test(names),
        cmocka_unit_test(terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
