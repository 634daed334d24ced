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
#include <diffsim/ext/variables.h>

#include "base/log.h"
#include "plugin/instance.h"

/* What the environment of a test says and does. */
static struct plan {
    ds_status create, info, bounds, evaluate;
    int no_instance;
    uint64_t n;
    double tolerance, loss_floor, dt;
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
    out->tolerance = plan.tolerance;
    out->loss_floor = plan.loss_floor;
    out->dt = plan.dt;
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

/* Stepwise control: two steps, the outcome and status of which are those of the plan. */
static ds_status rl_info(void *self, ds_rl_info *out)
{
    (void)self;
    out->horizon = 2;
    out->n_act = out->n_obs = 1;
    return DS_OK;
}

static ds_status rl_reset(void *self, uint64_t noise_key, double *obs)
{
    (void)self;
    (void)noise_key;
    obs[0] = 0;
    return DS_OK;
}

static ds_status rl_step(void *self, ds_rl_step *io)
{
    (void)self;
    io->outcome = plan.outcome;
    io->obs[0] = 1;
    io->reward = 0;
    return plan.evaluate;
}

static const void *with_rl(void *self, const char *extension)
{
    static const ds_rl rl = {.struct_size = sizeof rl, .info = rl_info, .reset = rl_reset, .step = rl_step};
    (void)self;
    return strcmp(extension, DS_EXT_RL) == 0 ? &rl : NULL;
}

static const ds_param *const params[] = {
    DS_INT("steps", "5", 1, 9, "", ""), DS_REAL("mass", "2.5", 0, 9, "", ""),
    DS_TEXT("label", "hello", ""),      DS_LIST("list", "1 2", 0, 9, 0, "", ""),
    DS_ARRAY("array", "", ""),          NULL};

static ds_desc desc = {.struct_size = sizeof desc,
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
    desc.flags = DS_ENV_GRADIENT;
    desc.needs = NULL;
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
    assert_true(h->struct_size == sizeof *h && h->abi_minor == DS_ABI_MINOR && h->threads == 3);
    assert_int_equal(h->seed, 0); /* an environment draws from its parameters and the noise key alone */
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
    plan.tolerance = 1e-6;
    refused(4, "toy: info() says a tolerance of 1e-06, and the descriptor has no DS_ENV_INEXACT");
    desc.flags = DS_ENV_INEXACT;
    plan.tolerance = -1;
    refused(4, "toy: info() says a tolerance of -1: it must be finite and at least 0");
    desc.flags = DS_ENV_INEXACT;
    plan.tolerance = NAN;
    refused(4, "tolerance of nan");
    plan.loss_floor = NAN;
    refused(4, "toy: info() says a loss_floor of nan: say a lower bound of the loss");
    plan.loss_floor = INFINITY;
    refused(4, "loss_floor of inf");
    plan.dt = INFINITY;
    refused(4, "toy: info() says a dt of inf s: say the seconds of a step");
    plan.dt = -0.1;
    refused(4, "a dt of -0.1 s");
    plan.bounds = DS_E_IO;
    refused(6, "toy: bounds() failed");
    plan.lower = 2;
    refused(4, "toy: bounds of variable 0 are 2..1: they must be finite and lower <= upper");
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
    plan.outcome = DS_EVAL_BAD_GRAD;
    plan.error = "at a kink";
    answers(DS_WANT_GRAD, DS_EVAL_BAD_GRAD, "at a kink");
}

/* ---- names of variables ---- */

static ds_variable called[2];
static ds_status describe_status;
static ds_env_variables table;

static ds_status describe(void *self, uint64_t i, ds_variable *out)
{
    (void)self;
    if (describe_status != DS_OK) {
        host_seen->error(host_seen, describe_status, "no names today");
        return describe_status;
    }
    out->flags = called[i].flags;
    out->name = called[i].name;
    out->unit = called[i].unit;
    out->group = called[i].group;
    return DS_OK;
}

static const void *offer(void *self, const char *wanted)
{
    (void)self;
    return strcmp(wanted, DS_EXT_VARIABLES) == 0 ? &table : NULL;
}

static void good_names(void)
{
    table = (ds_env_variables){.struct_size = sizeof table, .describe = describe};
    describe_status = DS_OK;
    called[0] = (ds_variable){.name = "push.x.12", .unit = "N/m\xc2\xb2", .group = "push"};
    called[1] = (ds_variable){.name = "K_2", .unit = "", .group = "", .flags = DS_VARIABLE_LOG};
}

/* Asking for the names ends with this status, and this text where it is not 0. */
static void asked(int status, const char *text)
{
    ds_error e = {0};
    module.env.get_extension = offer;
    ds_env *env = open_env();
    assert_null(env->variables);
    assert_int_equal(ds_env_ask_variables(env, &e), status);
    if (strcmp(e.text, text) != 0) {
        fail_msg("'%s' instead of '%s'", e.text, text);
    }
    if (status == 0 && table.describe != NULL) {
        assert_string_equal(ds_env_facts_of(env).variables[1].name, called[1].name);
        assert_int_equal(env->variables[1].flags, called[1].flags);
    }
    ds_env_close(env);
    good_names();
}

static void variables(void **state)
{
    static char longest[DS_MAX_NAME + 1], too_long[DS_MAX_NAME + 2];
    char room[24], label[DS_VARIABLE_LABEL];
    (void)state;
    memset(longest, 'n', DS_MAX_NAME);
    memset(too_long, 'n', DS_MAX_NAME + 1);
    good_names();
    asked(0, "");
    called[1].name = called[1].unit = called[1].group = longest;
    asked(0, "");
    called[1].name = "push.x.12";
    asked(4, "toy: ds.env.variables/1: variables 0 and 1 are both called 'push.x.12': names must be unique");
    called[1].name = too_long;
    asked(4, "toy: ds.env.variables/1: variable 1: the name is longer than 47 bytes");
    called[0].unit = too_long;
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is longer than 47 bytes");
    called[0].unit = "a\nb";
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is not one line of UTF-8");
    called[0].unit = "\xff";
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is not one line of UTF-8");
    called[0].unit = NULL;
    asked(4, "toy: ds.env.variables/1: variable 0: the unit is NULL");
    static const char *const bad[] = {"", "2x", "_x", "a b", "a-b", "gr\xc3\xb6\xc3\x9f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "toy: ds.env.variables/1: variable 1: the name is '%s': a letter, then letters, digits, '_' "
                 "and '.' are possible",
                 bad[i]);
        called[1].name = bad[i];
        asked(4, text);
    }
    called[1].group = "two words";
    asked(4, "toy: ds.env.variables/1: variable 1: the group is 'two words': a letter, then letters, digits, "
             "'_' and '.' are possible");
    describe_status = DS_E_STATE;
    asked(4, "toy: describe() of ds.env.variables/1 failed: no names today (DS_E_STATE)");
    table.describe = NULL;
    asked(4, "toy: extension ds.env.variables/1: a function is missing");
    table.struct_size = offsetof(ds_env_variables, describe);
    asked(4, "toy: the table of ds.env.variables/1: struct_size is 8, 16 to 65536 are possible: set it to "
             "the sizeof of "
             "the type");
    table.struct_size = 1000000;
    asked(4, "toy: the table of ds.env.variables/1: struct_size is 1000000, 16 to 65536 are possible: set it "
             "to the "
             "sizeof of the type");
    plan.n = DS_MAX_NAMED + 1;
    table.describe = NULL; /* would be a breach, but is not looked at */
    asked(0, "");
    assert_string_equal(ds_variable_name(NULL, 17, room), "x17");
    ds_variable_label(NULL, 17, label);
    assert_string_equal(label, "x17");
}

/* What a later version of the interface knows and this host does not, as base.h rules. */
static void later_versions(void **state)
{
    static const char *const later[] = {"ds.host.later/1", NULL};
    double x[2] = {0, 0}, grad[2] = {7, 7};
    ds_answer a;
    (void)state;
    for (uint32_t want = 0; want < 2; want++) {
        plan.outcome = DS_EVAL_OUTCOMES;
        answers(want, DS_EVAL_ERROR, "an outcome that this host does not know");
        plan.outcome = UINT32_MAX;
        answers(want, DS_EVAL_ERROR, "an outcome that this host does not know");
        plan.evaluate = -1234;
        answers(want, DS_EVAL_ERROR, "error");
    }
    desc.flags |= (uint64_t)1 << 40;
    ds_env *env = open_env();
    plan.kind = DS_GRAD_SMOOTHED + 1;
    assert_int_equal(ds_env_evaluate(env, x, 0, DS_WANT_GRAD, grad, &a), DS_OK);
    assert_true(a.outcome == DS_EVAL_OK && a.grad_kind == DS_GRAD_SMOOTHED && grad[0] == 4);
    plan.evaluate = DS_STOPPED + 1;
    assert_int_equal(ds_env_evaluate(env, x, 0, 0, NULL, &a), DS_STOPPED);
    assert_int_equal(a.outcome, DS_EVAL_STOPPED);
    ds_env_close(env);
    module.env.get_extension = with_rl;
    plan.evaluate = DS_OK;
    env = open_env();
    ds_episode episode = {.env = env};
    ds_episode_answer step;
    plan.outcome = DS_EVAL_OUTCOMES;
    assert_int_equal(ds_episode_advance(&episode, 0, 1, x, grad, &step), DS_OK);
    assert_int_equal(step.answer.outcome, DS_EVAL_ERROR);
    plan.outcome = DS_EVAL_OK;
    plan.evaluate = DS_STOPPED + 1;
    assert_int_equal(ds_episode_advance(&episode, 0, 1, x, grad, &step), DS_STOPPED);
    ds_env_close(env);
    desc.needs = later;
    refused(4, "toy needs ds.host.later/1, which this host does not have; take a newer host, or another "
               "environment");
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(ds_status_name(DS_E_PARAM), "DS_E_PARAM");
    assert_string_equal(ds_status_text(DS_E_PARAM), "bad or unknown parameter");
    assert_string_equal(ds_status_name(-1234), "DS_E_GENERIC");
    assert_string_equal(ds_status_text(-1234), "error");
    assert_int_equal(ds_status_exit(-1234), 4);
    assert_string_equal(ds_status_name(1234), "?");
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
    /* What does not fit goes as a whole word: no number is cut. */
    assert_string_equal(out, "evaluation 1 of\r\033[Kdshost: warning: toy: something happened\r\n"
                             "evaluation 1 of\r\033[Kdshost: debug: shown\r\n"
                             "evaluation 1 of\r\033[K");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(services, good_plan),
        cmocka_unit_test_setup(stop_flag, good_plan),
        cmocka_unit_test_setup(resources, good_plan),
        cmocka_unit_test_setup(refuses_instances, good_plan),
        cmocka_unit_test_setup(vets_answers, good_plan),
        cmocka_unit_test_setup(variables, good_plan),
        cmocka_unit_test_setup(later_versions, good_plan),
        cmocka_unit_test(names),
        cmocka_unit_test(terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
