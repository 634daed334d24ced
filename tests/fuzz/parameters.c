/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.c - environments with random parameters at random points: every set is refused with one line
 * that names a parameter, or makes an instance that keeps the rules of env.h; no crash, no hang.
 *
 * usage: parameters [ENV|all [SETS [FIRST]]]; also DS_FUZZ_ENV and DS_FUZZ_SETS. Prints TAP, with
 * DS_FUZZ_SHOW also the messages of refused sets. A set depends on its environment and number alone:
 * `parameters ENV 1 NUMBER` repeats one.
 *
 * The limit of a set is TOO_LONG times the longest episode of the environment's ordinary sets, in processor
 * time. Sets with long episodes get a stop request, as from a user, and must end. */
#include "config.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "plugin/instance.h"
#include "fuzz.h"
#include "parameter_sets.h"

#ifdef SLOW
enum { FEW = 2000, MANY = 1000000 };
#else
enum { FEW = 6, MANY = 500 };
#endif
enum { TOO_LONG = 50 };
static const double stop_after = 0.05, least_limit = 2; /* s */
static const unsigned asleep = 300;                     /* s */

/* Of the address sanitizer, where the program is built with it. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

typedef struct tally {
    long sets, refused, stopped, outcome[DS_EVAL_ERROR + 1];
    double seconds, slowest; /* processor time: all, and one set in units of the longest ordinary one */
    long slowest_set;
} tally;

/* The current set, for reports of the handlers. */
static struct {
    const scene *scene;
    long number;
    const ds_settings *settings;
    atomic_int stop;
    bool is_long;
    double limit; /* s of processor time */
} now;

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A set may need more memory than there is: create() reports it. */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void report_set(void)
{
    if (now.scene == NULL) {
        return;
    }
    printf("# %s, set %ld:\n# dshost eval --env %s --gradient", now.scene->id, now.number, now.scene->id);
    const ds_section *s = &now.settings->section[DS_SECTION_ENV];
    for (size_t i = 0; i < s->count; i++) {
        printf(" --set 'env.%s=%s'", s->item[i].key, s->item[i].value);
    }
    printf("\n");
    fflush(stdout);
}

static void fail(const char *what, const char *text)
{
    printf("# %s: %s\n", what, text);
    report_set();
    printf("not ok - %s\n", now.scene != NULL ? now.scene->id : "start");
    fflush(stdout);
    _exit(1);
}

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fail("this does not hold", #condition);                                                          \
        }                                                                                                    \
    } while (0)

static void crash(int number)
{
    report_set();
    signal(number, SIG_DFL);
    raise(number);
}

/* 0 = no limit. It counts the program's own time: a million particles fill a gigabyte, which the kernel
 * clears first. A set that waits instead of computing is found by wall time. */
static void set_timer(double seconds)
{
    struct itimerval t = {
        .it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(1e6 * fmod(seconds, 1))}};
    setitimer(ITIMER_VIRTUAL, &t, NULL);
    alarm(seconds > 0 ? asleep : 0);
}

static void does_not_end(int number)
{
    fail("this set does not end", "it waits");
}

/* First for a long set: as if the user had pressed ^C. */
static void time_is_up(int number)
{
    if (now.is_long && !now.stop) {
        now.stop = 1;
        set_timer(now.limit);
        return;
    }
    fail("this set takes too long", "a hang, or slow numbers");
}

/* ---- one instance ---- */

static void draw_point(ds_random *r, const ds_env *env, double *x)
{
    double u = ds_random_uniform(r), one_of = (double)env->info.n;
    uint64_t alone = (uint64_t)(one_of * ds_random_uniform(r));
    for (uint64_t i = 0; i < env->info.n; i++) {
        double low = env->lower[i], high = env->upper[i], v = ds_random_uniform(r);
        x[i] = u < 0.6 ? low + v * (high - low) : u < 0.85 ? (v < 0.5 ? low : high) : env->x0[i];
        if (u > 0.95 && i == alone) {
            x[i] = v < 0.5 ? low : high;
        }
        x[i] = fmin(high, fmax(low, x[i]));
    }
}

static void read_scene(ds_env *env)
{
    const ds_scene *frames = ds_env_scene(env);
    ds_scene_info info = {.struct_size = sizeof info};
    if (frames == NULL) {
        return;
    }
    REQUIRE(frames->info(env->self, &info) == DS_OK);
    for (uint64_t b = 0; b < info.bodies; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        REQUIRE(frames->body(env->self, b, &body) == DS_OK);
        double *numbers = malloc((7 * body.count + 1) * sizeof *numbers);
        REQUIRE(numbers != NULL);
        for (uint64_t k = 0; k < info.frames; k++) {
            REQUIRE(frames->frame(env->self, k, b, 7 * body.count, numbers) == DS_OK);
        }
        free(numbers);
    }
    for (uint64_t m = 0; m < info.metrics; m++) {
        ds_scene_metric metric = {.struct_size = sizeof metric};
        REQUIRE(frames->metric(env->self, m, &metric) == DS_OK);
        REQUIRE(metric.name != NULL && metric.unit != NULL && metric.values != NULL);
    }
}

/* The result keeps the rules; what the host had to correct is an error of the environment. */
static void check_answer(const ds_env *env, const ds_answer *a, const double *grad)
{
    /* Memory may run out only when more is requested: a gradient may fail where a loss succeeds. */
    bool no_memory = a->outcome == DS_EVAL_ERROR && strncmp(a->message, "no memory for", 13) == 0;
    if ((a->outcome > DS_EVAL_INFEASIBLE && !no_memory) || strncmp(a->message, "component", 9) == 0 ||
        strncmp(a->message, "channel", 7) == 0 || strncmp(a->message, "evaluate()", 10) == 0) {
        fail("evaluation", a->message);
    }
    bool has_loss = a->outcome == DS_EVAL_OK || a->outcome == DS_EVAL_BAD_GRAD;
    REQUIRE(has_loss ? isfinite(a->loss) && a->loss >= env->info.loss_floor : isinf(a->loss));
    REQUIRE(a->outcome != DS_EVAL_DIVERGED || a->bad_step >= 0);
    for (uint64_t i = 0; grad != NULL && i < env->info.n; i++) {
        REQUIRE(isfinite(grad[i]));
    }
}

/* The same actions one step at a time have the same loss. */
static void check_steps(ds_env *env, const double *x, const ds_answer *whole)
{
    ds_episode ep = {.env = env};
    ds_answer answer = {.outcome = DS_EVAL_OK};
    double *obs = malloc(env->steps_info.n_obs * sizeof *obs);
    REQUIRE(obs != NULL);
    ds_episode_step step = {.episode = &ep, .x = x, .obs = obs, .answer = &answer};
    ds_episode_step *const steps[] = {&step};
    for (; step.step <= env->steps_info.horizon && !step.ended; step.step++) {
        if (ds_episodes_advance(1, steps) != DS_OK || answer.outcome != DS_EVAL_OK) {
            break;
        }
    }
    REQUIRE(answer.outcome == whole->outcome || whole->outcome == DS_EVAL_BAD_GRAD);
    REQUIRE(answer.outcome != DS_EVAL_OK || answer.loss == whole->loss);
    free(obs);
}

/* One query for a channel, with random vectors. */
static void check_question(ds_random *r, ds_env *env, const double *x, uint32_t channel, uint32_t op)
{
    ds_query_layout queries = {.count = 1,
                               .query = {{.op = op, .channel = channel, .weighted = op == DS_QUERY_HV}}};
    char text[DS_QUERY_TEXT];
    ds_answer a;
    REQUIRE(ds_query_layout_make(&queries, &env->channels, env->info.n, NULL, text) == 0);
    double *in = malloc((queries.in + queries.out + 1) * sizeof *in);
    REQUIRE(in != NULL);
    for (uint64_t i = 0; i < queries.in; i++) {
        in[i] = ds_random_normal(r);
    }
    const ds_query_io q = {&queries, in, in + queries.in};
    if (ds_env_evaluate_queries(env, x, 0, 0, NULL, &q, &a) == DS_OK) {
        check_answer(env, &a, NULL);
        bool doubles = op != DS_QUERY_VALUE || env->channels.list[channel]->type == DS_TYPE_F64;
        for (uint64_t i = 0; doubles && i < queries.out; i++) {
            REQUIRE(isfinite(in[queries.in + i]));
        }
    }
    free(in);
}

static void check_channels(ds_random *r, ds_env *env, const double *x)
{
    for (uint32_t i = 0; i < env->channels.count; i++) {
        for (uint32_t op = DS_QUERY_VALUE; op <= DS_QUERY_HV; op++) {
            if ((env->channels.list[i]->ops & DS_CAN(op)) != 0) {
                check_question(r, env, x, i, op);
            }
        }
    }
}

static void evaluate(ds_random *r, ds_env *env, tally *t)
{
    uint64_t n = env->info.n;
    double *x = malloc(3 * n * sizeof *x), *grad = x + n, *again = grad + n;
    REQUIRE(x != NULL);
    for (int k = 0; k == 0 || ds_random_below(r, 4) == 0; k++) {
        uint32_t want = (ds_random_below(r, 8) > 0 ? DS_WANT_GRAD : 0u) |
                        (ds_random_below(r, 4) == 0 ? DS_WANT_SCENE : 0u);
        bool gradient = (want & DS_WANT_GRAD) != 0;
        ds_answer a, b;
        draw_point(r, env, x);
        for (uint64_t i = 0; i < n; i++) {
            grad[i] = NAN;
        }
        if (ds_env_evaluate(env, x, 0, want, grad, &a) == DS_STOPPED) {
            REQUIRE(now.stop);
            break;
        }
        check_answer(env, &a, gradient ? grad : NULL);
        t->outcome[a.outcome]++;
        if ((want & DS_WANT_SCENE) != 0 && a.outcome <= DS_EVAL_BAD_GRAD) {
            read_scene(env);
        }
        if (now.is_long || ds_random_below(r, 8) > 0) {
            continue;
        }
        ds_env_evaluate(env, x, 0, want & DS_WANT_GRAD, again, &b);
        REQUIRE(b.outcome == a.outcome && memcmp(&a.loss, &b.loss, sizeof a.loss) == 0);
        REQUIRE(!gradient || memcmp(grad, again, n * sizeof *grad) == 0);
        if (env->steps != NULL) {
            check_steps(env, x, &a);
        }
        check_channels(r, env, x);
    }
    free(x);
}

/* ---- sets ---- */

static bool names_parameter(const char *text, const ds_param *const *schema)
{
    while (*schema != NULL && strstr(text, (*schema)->name) == NULL) {
        schema++;
    }
    return *schema != NULL;
}

static void try_set(ds_random *r, const ds_module *module, const ds_settings *settings, tally *t)
{
    ds_env *env = NULL;
    ds_error e = {0};
    uint32_t threads = 1 + (uint32_t)(ds_random_below(r, 4) == 0) * (uint32_t)ds_random_below(r, 3);
    int status = ds_env_open(module, settings, 1, threads, &now.stop, &env, &e);
    if (status == 0) {
        evaluate(r, env, t);
        ds_env_close(env);
        t->stopped += now.stop;
        return;
    }
    if (now.stop) {
        t->stopped++;
        return;
    }
    if ((status != DS_EXIT_CONFIG && status != DS_EXIT_MEMORY) || strlen(e.text) < 20 ||
        !ds_text_is_line(e.text, strlen(e.text)) || !names_parameter(e.text, module->plugin->desc->params)) {
        fail("no clear message", e.text);
    }
    t->refused++;
    if (getenv("DS_FUZZ_SHOW") != NULL) {
        printf("# %s\n", e.text);
    }
}

/* Processor time of the longest ordinary set, as the unit for the others. */
static double unit_of_time(const scene *s, const ds_module *module)
{
    ds_settings settings = {0};
    ds_random r = ds_random_open(1, s->id, 0);
    tally t = {0};
    longest_parameters(s, module->plugin->desc->params, &settings);
    now.settings = &settings;
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
        double start = processor_time();
        try_set(&r, module, &settings, &t);
        least = fmin(least, processor_time() - start);
    }
    REQUIRE(t.refused == 0);
    ds_settings_clear(&settings);
    return least;
}

static void print_tally(const scene *s, const tally *t, double unit)
{
    printf("# %s: %ld sets, %ld refused, %ld stopped; evaluations: %ld ok, %ld bad gradient, %ld diverged, "
           "%ld infeasible, %ld without memory\n",
           s->id, t->sets, t->refused, t->stopped, t->outcome[DS_EVAL_OK], t->outcome[DS_EVAL_BAD_GRAD],
           t->outcome[DS_EVAL_DIVERGED], t->outcome[DS_EVAL_INFEASIBLE], t->outcome[DS_EVAL_ERROR]);
    printf("# %.0f sets in a second of processor time; the slowest, %ld, took %.1f times the longest "
           "ordinary one (%.3g s)\n",
           (double)t->sets / t->seconds, t->slowest_set, t->slowest, unit);
    fflush(stdout);
}

/* Prints the command line of a set. */
static void show_set(const scene *s, const ds_module *module, long k, const char *folder)
{
    ds_settings settings = {0};
    ds_random r = ds_random_open(1, s->id, (uint64_t)k);
    draw_parameters(&r, s, module->plugin->desc->params, folder, &settings);
    now.number = k;
    now.settings = &settings;
    report_set();
    ds_settings_clear(&settings);
}

static void try_scene(const scene *s, long first, long count, const char *folder)
{
    const ds_module *module = NULL;
    tally t = {0};
    ds_error e = {0};
    now.scene = NULL;
    if (ds_loader_open(s->id, DS_KIND_ENV, &module, &e) != 0) {
        fail("no plugin", e.text);
    }
    write_scene_files(s, folder);
    now.scene = s;
    double unit = unit_of_time(s, module);
    now.limit = fmax(TOO_LONG * unit, least_limit);
    double begin = processor_time();
    for (long k = first; k < first + count; k++) {
        ds_settings settings = {0};
        ds_random r = ds_random_open(1, s->id, (uint64_t)k);
        now.number = k;
        now.settings = &settings;
        now.stop = 0;
        now.is_long = draw_parameters(&r, s, module->plugin->desc->params, folder, &settings) != SET_ORDINARY;
        double start = processor_time();
        set_timer(now.is_long ? stop_after : now.limit);
        try_set(&r, module, &settings, &t);
        set_timer(0);
        double took = (processor_time() - start) / unit;
        if (took > t.slowest && !now.is_long) {
            t.slowest = took;
            t.slowest_set = k;
        }
        t.sets++;
        t.seconds = processor_time() - begin;
        ds_settings_clear(&settings);
        if (t.sets % 100000 == 0) {
            print_tally(s, &t, unit);
        }
    }
    print_tally(s, &t, unit);
    if (getenv("DS_FUZZ_SHOW") != NULL) {
        show_set(s, module, t.slowest_set, folder);
    }
    if (count >= 1000) { /* otherwise the test would cover little */
        REQUIRE(10 * t.refused < 5 * t.sets && t.refused > 0);
        REQUIRE(t.outcome[DS_EVAL_OK] > t.sets / 2);
    }
    now.scene = NULL;
}

static void remove_files(const char *folder)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0) {
        printf("# %s is still there\n", folder);
    }
}

static long number(const char *argument, const char *variable, long otherwise)
{
    const char *text = argument != NULL ? argument : getenv(variable);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : getenv("DS_FUZZ_ENV");
    const char *build = getenv("DS_TOP_BUILD"), *temporary = getenv("TMPDIR");
    char folder[4096], plugins[4096];
    int done = 0;
    snprintf(plugins, sizeof plugins, "%s/plugins", build != NULL ? build : ".");
    setenv("DS_PLUGIN_PATH", plugins, 1);
    snprintf(folder, sizeof folder, "%s/diffsim-fuzz-XXXXXX", temporary != NULL ? temporary : "/tmp");
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    ds_log_set_level(DS_LOG_ERROR);
    signal(SIGVTALRM, time_is_up);
    signal(SIGALRM, does_not_end);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(report_set);
    } else {
        signal(SIGSEGV, crash);
        signal(SIGFPE, crash);
    }
    signal(SIGABRT, crash);
    for (int i = 0; i < scene_count; i++) {
        const scene *s = &scenes[i];
        if (only == NULL || *only == '\0' || strcmp(only, "all") == 0 || strcmp(only, s->id) == 0) {
            try_scene(s, argc > 3 ? strtol(argv[3], NULL, 10) : 0,
                      number(argc > 2 ? argv[2] : NULL, "DS_FUZZ_SETS", s->heavy ? FEW : MANY), folder);
            printf("ok %d - %s\n", ++done, s->id);
        }
    }
    remove_files(folder);
    printf("1..%d\n", done);
    return done > 0 ? 0 : 1;
}
