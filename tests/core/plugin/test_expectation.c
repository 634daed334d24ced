/* SPDX-License-Identifier: Apache-2.0 */
/* test_expectation.c - env.expect: loss, gradient, channels and products are the means (or lists) of those of
 * single episodes with the drawn settings, bit for bit where a mean is a sum divided by the draws; the draws
 * have their distributions, do not depend on each other, and stay in range; every mistake is one line. The
 * environment is defined here, with known derivatives. */
#include "config/expect.h"
#include "plugin/instance.h"
#include "test.h"

#include <diffsim/ext/variables.h>
#include <diffsim/helper/random.h>

enum { N = 3, M = 4, DRAWS = 5 };

/* r_i = mass sin x_i - start_i + noise, i < 3; r_3 = mass. loss = r . r */
typedef struct toy {
    const ds_host *host;
    double mass, start[N];
    int64_t count;
    double noise;
} toy;

static int live; /* instances */

static ds_status create(const ds_host *host, void **out)
{
    toy *t = calloc(1, sizeof *t);
    const double *start = NULL;
    uint64_t n = 0;
    assert_non_null(t);
    t->host = host;
    host->get_real(host, "mass", &t->mass);
    host->get_list(host, "start", &start, &n);
    host->get_int(host, "count", &t->count);
    for (uint64_t i = 0; i < n && i < N; i++) {
        t->start[i] = start[i];
    }
    live++;
    *out = t;
    return DS_OK;
}

static void destroy(void *self)
{
    live -= self != NULL;
    free(self);
}

static ds_status info(void *self, ds_env_info *out)
{
    const toy *t = self;
    out->n = (uint64_t)t->count;
    out->max_rows = 4;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -2;
        upper[i] = 2;
        x0[i] = 0;
    }
    return DS_OK;
}

enum { RESIDUAL, LOSS, PIXELS, CHANNELS };

static ds_status count_channels(void *self, uint64_t *count)
{
    (void)self;
    *count = CHANNELS;
    return DS_OK;
}

static ds_status describe(void *self, uint64_t i, ds_channel *out)
{
    static const uint32_t all =
        DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV);
    (void)self;
    out->role = i == RESIDUAL ? DS_CHANNEL_RESIDUAL : i == LOSS ? DS_CHANNEL_LOSS : DS_CHANNEL_IMAGE;
    out->type = i == PIXELS ? DS_TYPE_F32 : DS_TYPE_F64;
    out->ops = i == PIXELS ? DS_CAN(DS_QUERY_VALUE) : all;
    out->ndim = i == LOSS ? 0 : i == RESIDUAL ? 1 : 2;
    out->shape[0] = i == RESIDUAL ? M : 1;
    out->shape[1] = 2;
    out->name = i == RESIDUAL ? "error" : i == LOSS ? "loss" : "photo";
    out->unit = "";
    out->doc = "";
    return DS_OK;
}

/* d r_i / d x_i and its derivative. */
static double slope(const toy *t, const double *x, int i)
{
    return i < N ? t->mass * cos(x[i]) : 0;
}

static double curvature(const toy *t, const double *x, int i)
{
    return i < N ? -t->mass * sin(x[i]) : 0;
}

static void answer(const toy *t, const double *x, const double *r, const ds_query *q, const ds_reply *out,
                   uint64_t k)
{
    double *to = (double *)(void *)((char *)out->out + k * out->stride);
    const double *v = q->v + (q->v != NULL ? k * q->v_stride : 0);
    const double *w = q->w != NULL ? q->w + k * q->w_stride : NULL;
    out->kind[k] = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_ADJOINT;
    if (q->channel == PIXELS) {
        ((float *)(void *)to)[0] = (float)t->mass;
        ((float *)(void *)to)[1] = (float)x[0];
    } else if (q->channel == RESIDUAL) {
        for (int i = 0; i < (q->op == DS_QUERY_JTV || q->op == DS_QUERY_HV ? N : M); i++) {
            to[i] = q->op == DS_QUERY_VALUE ? r[i]
                    : q->op == DS_QUERY_HV  ? (w != NULL ? w[i] : 1) * curvature(t, x, i) * v[i]
                                            : slope(t, x, i) * (i < N ? v[i] : 0);
        }
    } else {
        double sum = 0;
        for (int i = 0; i < N; i++) {
            const double g = 2 * r[i] * slope(t, x, i);
            const double h = 2 * (slope(t, x, i) * slope(t, x, i) + r[i] * curvature(t, x, i));
            sum += q->op == DS_QUERY_JV ? g * v[i] : r[i] * r[i];
            if (q->op == DS_QUERY_JTV || q->op == DS_QUERY_HV) {
                to[i] = q->op == DS_QUERY_JTV ? g * v[0] : h * v[i] * (w != NULL ? w[0] : 1);
            }
        }
        if (q->op == DS_QUERY_VALUE || q->op == DS_QUERY_JV) {
            to[0] = q->op == DS_QUERY_VALUE ? sum + r[N] * r[N] : sum;
        }
    }
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    toy *t = self;
    for (uint64_t k = 0; k < rows->count; k++) {
        const double *x = rows->x + k * rows->stride;
        double r[M], loss = 0;
        ds_random noise = ds_random_open(0, "noise", rows->noise_key[k]);
        t->noise = rows->noise_key[k] != 0 ? 0.1 * ds_random_normal(&noise) : 0;
        for (int i = 0; i < M; i++) {
            r[i] = i < N ? t->mass * sin(x[i]) - t->start[i] + t->noise : t->mass;
            loss += r[i] * r[i];
        }
        results->loss[k] = loss;
        results->cost_steps[k] = 10;
        if (t->mass > 3 && x[0] > 1.5) {
            t->host->error(t->host, DS_E_NUMERIC, "too heavy");
            results->outcome[k] = DS_EVAL_DIVERGED;
            results->loss[k] = INFINITY;
            results->bad_step[k] = 7;
        }
        for (int i = 0; i < N && (rows->want & DS_WANT_GRAD) != 0; i++) {
            results->grad[k * results->stride + (uint64_t)i] = 2 * r[i] * slope(t, x, i);
            results->grad_kind[k] = DS_GRAD_ADJOINT;
        }
        for (uint64_t q = 0; q < rows->queries; q++) {
            answer(t, x, r, rows->query[q], results->reply[q], k);
        }
    }
    return DS_OK;
}

static const void *get_extension(void *self, const char *wanted)
{
    static const ds_env_channels channels = {
        .struct_size = sizeof channels, .count = count_channels, .describe = describe};
    (void)self;
    return strcmp(wanted, DS_EXT_CHANNELS) == 0 ? &channels : NULL;
}

static const char *const moods[] = {"calm", "wild", NULL};
static const ds_param *const params[] = {
    DS_REAL("mass", "2", 0, 4, "", ""), DS_LIST("start", "0.1 0.2 0.3", -5, 5, 0, "", ""),
    DS_INT("count", "3", 1, 9, "", ""), DS_ENUM("mood", "calm", moods, ""), NULL};
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
static const ds_env_vtable vtable = {sizeof vtable, 0,      create,   destroy,
                                     info,          bounds, evaluate, get_extension};
static const ds_plugin plugin = {DS_MAGIC, sizeof plugin, DS_ABI_MAJOR, DS_ABI_MINOR, DS_LAYOUT, 0,
                                 "",       &desc,         &vtable,      NULL};
static char path[] = "/toy.so", id[] = "toy";
static const ds_module module = {.path = path, .id = id, .plugin = &plugin, .env = vtable};

/* Opens the environment with settings "key=value"; the list ends with NULL. Returns its exit status. */
static int open_with(ds_env **out, ds_error *e, const char *const *given)
{
    ds_settings s = {0};
    int rc = 0;
    for (; rc == 0 && *given != NULL; given++) {
        char text[300];
        snprintf(text, sizeof text, "env.%s", *given);
        rc = ds_settings_set(&s, text, e);
    }
    rc = rc != 0 ? rc : ds_env_open(&module, &s, 1, 1, NULL, out, e);
    ds_settings_clear(&s);
    return rc;
}

#define OPEN(...) opened((const char *const[]){__VA_ARGS__, NULL})
static ds_env *opened(const char *const *given)
{
    ds_env *env = NULL;
    ds_error e = {0};
    if (open_with(&env, &e, given) != 0) {
        fail_msg("%s", e.text);
    }
    return env;
}

#define REFUSED(part, ...) refused(part, (const char *const[]){__VA_ARGS__, NULL})
static void refused(const char *part, const char *const *given)
{
    ds_env *env = NULL;
    ds_error e = {0};
    if (open_with(&env, &e, given) == 0) {
        fail_msg("accepted instead of '%s'", part);
    }
    if (strstr(e.text, part) == NULL || e.status != DS_EXIT_CONFIG) {
        fail_msg("'%s' (%d) does not contain '%s'", e.text, e.status, part);
    }
    assert_int_equal(live, 0);
}

static const double point[N] = {0.4, -1.1, 0.9};

/* The value of channel `name`, in doubles. */
static void value_of(ds_env *env, const char *name, uint64_t key, double *out)
{
    ds_answer a;
    ds_query_layout q = {.count = 1};
    char text[DS_QUERY_TEXT];
    uint64_t c = 0;
    while (strcmp(env->channels.list[c]->name, name) != 0) {
        c++;
    }
    q.query[0] = (ds_placed_query){.op = DS_QUERY_VALUE, .channel = (uint32_t)c};
    assert_int_equal(ds_query_layout_make(&q, &env->channels, N, NULL, text), 0);
    const ds_query_io io = {&q, NULL, out};
    ds_env_evaluate_queries(env, point, key, 0, NULL, &io, &a);
    assert_int_equal(a.outcome, DS_EVAL_OK);
}

/* The instance with the settings of draw k, from the values that the channel expect_draws shows. */
static ds_env *single(const double *draw, int with_start)
{
    char mass[60], start[200];
    snprintf(mass, sizeof mass, "mass=%.17g", draw[0]);
    snprintf(start, sizeof start, "start=%.17g %.17g %.17g", with_start ? draw[1] : 0.1,
             with_start ? draw[2] : 0.2, with_start ? draw[3] : 0.3);
    return OPEN(mass, start);
}

#define BOTH "expect_over=mass=uniform(1,2.5), start+=normal(0,0.5)"

static void mean_of_singles(void **state)
{
    ds_env *env = OPEN("expect=5", BOTH);
    double draw[DRAWS][4], loss = 0, sum[N] = {0}, grad[N], g[N];
    ds_answer a;
    assert_int_equal(env->episodes, DRAWS);
    assert_int_equal(live, DRAWS);
    assert_true(env->has_gradient && env->info.loss_floor == 0 && !env->stochastic && env->max_rows == 4);
    value_of(env, "expect_draws", 0, draw[0]);
    for (int k = 0; k < DRAWS; k++) {
        ds_env *one = single(draw[k], 1);
        ds_env_evaluate(one, point, 0, DS_WANT_GRAD, g, &a);
        loss += a.loss;
        for (int i = 0; i < N; i++) {
            sum[i] += g[i];
        }
        ds_env_close(one);
        assert_true(draw[k][0] >= 1 && draw[k][0] <= 2.5 && (k == 0 || draw[k][0] != draw[k - 1][0]));
        assert_true(draw[k][1] != 0.1 && draw[k][1] - 0.1 != draw[k][2] - 0.2); /* every element on its own */
    }
    ds_env_evaluate(env, point, 0, DS_WANT_GRAD, grad, &a);
    assert_true(a.loss == loss / DRAWS && a.grad_kind == DS_GRAD_ADJOINT && a.cost_steps == 10 * DRAWS);
    for (int i = 0; i < N; i++) {
        assert_true(grad[i] == sum[i] / DRAWS);
        double x[N], f[2];
        for (int s = 0; s < 2; s++) {
            memcpy(x, point, sizeof x);
            x[i] += s == 0 ? -1e-6 : 1e-6;
            ds_env_evaluate(env, x, 0, 0, NULL, &a);
            f[s] = a.loss;
        }
        assert_near(grad[i], (f[1] - f[0]) / 2e-6, 1e-7);
    }
    /* common random numbers: the noise key of a row does not matter */
    const double before = a.loss;
    ds_env_evaluate(env, point, 99, 0, NULL, &a);
    ds_answer again;
    ds_env_evaluate(env, point, 7, 0, NULL, &again);
    assert_true(a.loss == again.loss && a.loss != before);
    ds_env_close(env);
    assert_int_equal(live, 0);
}

/* A table of rows has the results of its rows alone, with other strides and queries as well. */
static void tables(void **state)
{
    ds_env *env = OPEN("expect=5", BOTH);
    double x[3 * 5], grad[3 * 4], alone[N];
    uint64_t key[3] = {0};
    ds_answer a[3], one;
    ds_answer *list[3] = {&a[0], &a[1], &a[2]};
    for (int i = 0; i < 15; i++) {
        x[i] = 0.1 * i - 0.7;
    }
    const ds_env_rows t = {.count = 3,
                           .want = DS_WANT_GRAD,
                           .x = x,
                           .x_stride = 5,
                           .noise_key = key,
                           .grad = grad,
                           .grad_stride = 4,
                           .answer = list};
    assert_int_equal(ds_env_evaluate_table(env, &t), DS_OK);
    for (int k = 0; k < 3; k++) {
        ds_env_evaluate(env, x + 5 * k, 0, DS_WANT_GRAD, alone, &one);
        assert_true(one.loss == a[k].loss && memcmp(alone, grad + 4 * k, sizeof alone) == 0);
    }
    ds_env_close(env);
}

/* Answers one product with the channel, v and weights at `point`. */
static void product(ds_env *env, uint32_t channel, uint32_t op, const double *v, uint64_t nv, const double *w,
                    uint64_t nw, double *out)
{
    ds_query_layout q = {.count = 1};
    ds_answer a;
    double in[64];
    char text[DS_QUERY_TEXT];
    q.query[0] = (ds_placed_query){.op = op, .channel = channel, .weighted = w != NULL};
    assert_int_equal(ds_query_layout_make(&q, &env->channels, N, NULL, text), 0);
    memcpy(in + q.query[0].v, v, nv * sizeof *v);
    if (w != NULL) {
        memcpy(in + q.query[0].w, w, nw * sizeof *w);
    }
    const ds_query_io io = {&q, in, out};
    ds_env_evaluate_queries(env, point, 0, 0, NULL, &io, &a);
    assert_true(a.outcome == DS_EVAL_OK && a.product_kind == DS_GRAD_ADJOINT);
}

static void channels(void **state)
{
    ds_env *env = OPEN("expect=5", BOTH);
    double r[DRAWS * M], grad[N], out[DRAWS * M], back[N], v[DRAWS * M], loss, norm = 0;
    float photo[2 * DRAWS];
    ds_answer a;
    const ds_channel *pixels = env->channels.list[PIXELS];
    assert_int_equal(ds_channels_residuals(&env->channels), DRAWS * M);
    assert_true(pixels->ndim == 2 && pixels->shape[0] == DRAWS && pixels->shape[1] == 2);
    assert_int_equal(ds_channel_elements(env->channels.list[LOSS]), 1);
    ds_env_evaluate(env, point, 0, DS_WANT_GRAD, grad, &a);
    value_of(env, "error", 0, r);
    value_of(env, "loss", 0, &loss);
    for (int i = 0; i < DRAWS * M; i++) {
        norm += r[i] * r[i];
    }
    assert_near(norm, a.loss, 1e-13); /* the residuals are still those of the loss */
    assert_near(loss, a.loss, 1e-13);
    double numbers[DRAWS], draws[DRAWS][4];
    value_of(env, "photo", 0, numbers);
    value_of(env, "expect_draws", 0, draws[0]);
    memcpy(photo, numbers, sizeof photo);
    for (int k = 0; k < DRAWS; k++) {
        assert_true(photo[2 * k] == (float)draws[k][0] && photo[2 * k + 1] == (float)point[0]);
    }
    product(env, RESIDUAL, DS_QUERY_JTV, r, DRAWS * M, NULL, 0, back);
    for (int i = 0; i < N; i++) {
        assert_near(2 * back[i], grad[i], 1e-13);
    }
    /* w . J v = J' w . v, with J v by differences */
    const double d[N] = {0.3, -0.7, 0.2};
    double left = 0, right = 0, more[DRAWS * M], x[N];
    for (int i = 0; i < DRAWS * M; i++) {
        v[i] = sin(3.0 * i);
    }
    product(env, RESIDUAL, DS_QUERY_JV, d, N, NULL, 0, out);
    product(env, RESIDUAL, DS_QUERY_JTV, v, DRAWS * M, NULL, 0, back);
    for (int i = 0; i < DRAWS * M; i++) {
        left += v[i] * out[i];
    }
    for (int i = 0; i < N; i++) {
        right += back[i] * d[i];
    }
    assert_near(left, right, 1e-13);
    product(env, LOSS, DS_QUERY_JV, d, N, NULL, 0, &loss);
    assert_near(loss, grad[0] * d[0] + grad[1] * d[1] + grad[2] * d[2], 1e-13);
    /* H v of the loss and of weighted residuals, by differences of J' v */
    double hv[2][N], half[2][N], w1 = 1;
    product(env, LOSS, DS_QUERY_HV, d, N, NULL, 0, hv[0]);
    product(env, LOSS, DS_QUERY_HV, d, N, &w1, 1, hv[1]);
    assert_memory_equal(hv[0], hv[1], sizeof hv[0]);
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < N; i++) {
            x[i] = point[i] + (s == 0 ? -1e-6 : 1e-6) * d[i];
        }
        ds_env_evaluate(env, x, 0, DS_WANT_GRAD, half[s], &a);
    }
    for (int i = 0; i < N; i++) {
        assert_near(hv[0][i], (half[1][i] - half[0][i]) / 2e-6, 1e-7);
    }
    product(env, RESIDUAL, DS_QUERY_HV, d, N, v, DRAWS * M, hv[0]);
    for (int i = 0; i < N; i++) {
        more[i] = 0;
        for (int k = 0; k < DRAWS; k++) {
            more[i] += v[k * M + i] * -draws[k][0] * sin(point[i]) * d[i] / sqrt(DRAWS);
        }
        assert_near(hv[0][i], more[i], 1e-13);
    }
    for (int i = 0; i < DRAWS * M; i++) {
        v[i] = 1;
    }
    product(env, RESIDUAL, DS_QUERY_HV, d, N, NULL, 0, hv[0]); /* without weights: all are 1 */
    product(env, RESIDUAL, DS_QUERY_HV, d, N, v, DRAWS * M, hv[1]);
    for (int i = 0; i < N; i++) {
        assert_near(hv[0][i], hv[1][i], 1e-13);
    }
    ds_env_close(env);
}

/* x is moved and clamped; clamped variables have no gradient. */
static void moved_variables(void **state)
{
    ds_env *env = OPEN("expect=5", "expect_over=x[0]+=normal(0,0.5), x[2]+=uniform(5,6)");
    ds_env *plain = OPEN("mass=2");
    double grad[N], sum[N] = {0}, g[N], loss = 0, mean = 0;
    ds_answer a;
    assert_int_equal(live, 2); /* one instance serves all draws */
    assert_int_equal(env->channels.count, CHANNELS);
    ds_env_evaluate(env, point, 0, DS_WANT_GRAD, grad, &a);
    ds_random r;
    for (int k = 0; k < DRAWS; k++) {
        ds_answer one;
        double x[N] = {0, point[1], 2};
        r = ds_random_open(0, "expect/x[]", (uint64_t)k);
        r = ds_random_open(r.key, "expect/x[]", 0);
        x[0] = point[0] + 0.5 * ds_random_normal(&r);
        ds_env_evaluate(plain, x, 0, DS_WANT_GRAD, g, &one);
        loss += one.loss;
        sum[0] += g[0];
        sum[1] += g[1];
        mean += x[0] / DRAWS;
    }
    assert_true(a.loss == loss / DRAWS && grad[0] == sum[0] / DRAWS && grad[1] == sum[1] / DRAWS &&
                grad[2] == 0);
    assert_true(fabs(mean - point[0]) < 0.8);
    ds_env_close(env);
    ds_env_close(plain);
}

/* expect_draws = row: a row has the draws of its noise key. */
static void draws_of_rows(void **state)
{
    ds_env *env = OPEN("expect=5", "expect_over=mass*=loguniform(0.5,2)", "expect_draws=row");
    ds_env *fixed = OPEN("expect=5", "expect_over=mass*=loguniform(0.5,2)");
    ds_answer a, b;
    double draw[2][DRAWS], grad[N], sum[N] = {0}, g[N];
    assert_true(env->stochastic && isinf(env->info.loss_floor));
    ds_env_evaluate(env, point, 3, DS_WANT_GRAD, grad, &a);
    ds_env_evaluate(env, point, 4, 0, NULL, &b);
    assert_true(a.loss != b.loss);
    ds_env_evaluate(env, point, 3, 0, NULL, &b);
    assert_true(a.loss == b.loss);
    value_of(env, "expect_draws", 3, draw[0]);
    for (int k = 0; k < DRAWS; k++) {
        ds_env *one = single(&draw[0][k], 0);
        ds_env_evaluate(one, point, 0, DS_WANT_GRAD, g, &b);
        for (int i = 0; i < N; i++) {
            sum[i] += g[i];
        }
        ds_env_close(one);
        assert_true(draw[0][k] >= 1 && draw[0][k] <= 4);
    }
    for (int i = 0; i < N; i++) {
        assert_true(grad[i] == sum[i] / DRAWS);
    }
    ds_env_evaluate(env, point, 0, 0, NULL, &a); /* without a key: the draws of the run */
    ds_env_evaluate(fixed, point, 0, 0, NULL, &b);
    assert_true(a.loss == b.loss);
    value_of(env, "expect_draws", 0, draw[0]);
    value_of(fixed, "expect_draws", 0, draw[1]);
    assert_memory_equal(draw[0], draw[1], sizeof draw[0]);
    ds_env_close(env);
    ds_env_close(fixed);
    assert_int_equal(live, 0);
}

/* Noise alone: every episode has a key of its own. */
static void noise(void **state)
{
    desc.flags |= DS_ENV_STOCHASTIC;
    ds_env *env = OPEN("expect=5"), *rows = OPEN("expect=5", "expect_draws=row"), *plain = OPEN("mass=2");
    ds_answer a, b;
    double loss = 0;
    assert_true(plain->stochastic && !env->stochastic && rows->stochastic);
    for (uint64_t k = 0; k < DRAWS; k++) {
        ds_env_evaluate(plain, point, ds_expect_noise_key(0, k), 0, NULL, &a);
        loss += a.loss;
    }
    ds_env_evaluate(env, point, 12, 0, NULL, &a);
    assert_true(a.loss == loss / DRAWS);
    ds_env_evaluate(rows, point, 12, 0, NULL, &a);
    ds_env_evaluate(rows, point, 13, 0, NULL, &b);
    assert_true(a.loss != b.loss && a.loss != loss / DRAWS);
    ds_env_close(env);
    ds_env_close(rows);
    ds_env_close(plain);
    desc.flags = DS_ENV_GRADIENT;
}

/* A row fails with its first failing draw, whose values the message names. */
static void failures(void **state)
{
    ds_env *env = OPEN("expect=5", "expect_over=mass=uniform(2.8,3.2)");
    const double high[N] = {1.7, 0, 0};
    double draw[DRAWS], grad[N] = {1, 1, 1};
    ds_answer a;
    int k = 0;
    value_of(env, "expect_draws", 0, draw);
    while (draw[k] <= 3) {
        k++;
    }
    char text[60];
    snprintf(text, sizeof text, "draw %d (mass = %.4g", k, draw[k]);
    ds_env_evaluate(env, high, 0, DS_WANT_GRAD, grad, &a);
    assert_true(a.outcome == DS_EVAL_DIVERGED && isinf(a.loss) && a.bad_step == 7 && grad[0] == 0);
    if (strncmp(a.message, text, strlen(text) - 1) != 0 || strstr(a.message, "): too heavy") == NULL) {
        fail_msg("'%s' does not begin with '%s'", a.message, text);
    }
    ds_env_evaluate(env, point, 0, DS_WANT_GRAD, grad, &a);
    assert_int_equal(a.outcome, DS_EVAL_OK);
    ds_env_close(env);
}

/* Moments of the distributions over many draws, with a bound of 4.5 standard errors. */
static void distributions(void **state)
{
    enum { MANY = 4096 };
    static double draw[MANY][4];
    ds_env *env = OPEN("expect=4096", "expect_over=mass=loguniform(0.5,2) start[1]=normal(1,0.5) "
                                      "start[0]=uniform(-1,3), mood=choice(calm, wild)");
    double mean[4] = {0}, square[4] = {0};
    value_of(env, "expect_draws", 0, draw[0]);
    for (int k = 0; k < MANY; k++) {
        for (int i = 0; i < 4; i++) {
            const double v = i == 0 ? log(draw[k][i]) : draw[k][i];
            mean[i] += v / MANY;
            square[i] += v * v / MANY;
        }
    }
    const double want[4] = {0, 1, 1, 0.5}, sd[4] = {2 * log(2) / sqrt(12), 0.5, 4 / sqrt(12), 0.5};
    for (int i = 0; i < 4; i++) {
        assert_near(mean[i], want[i], 4.5 * sd[i] / sqrt(MANY));
        assert_near(sqrt(square[i] - mean[i] * mean[i]), sd[i], 4.5 * sd[i] / sqrt(MANY));
    }
    ds_env_close(env);
    /* another term, another order and more draws leave the draws as they are; another seed does not */
    ds_env *two = OPEN("expect=2", "expect_over=start[0]=uniform(-1,3), mass=loguniform(0.5,2)");
    ds_env *other = OPEN("expect=2", "expect_over=start[0]=uniform(-1,3)", "expect_seed=1");
    double pair[2][2], single_draw[2];
    value_of(two, "expect_draws", 0, pair[0]);
    value_of(other, "expect_draws", 0, single_draw);
    assert_true(pair[1][0] == draw[1][2] && pair[1][1] == draw[1][0] && single_draw[1] != pair[1][0]);
    ds_env_close(two);
    ds_env_close(other);
    /* whole numbers, both ends included; draws outside the range are drawn again */
    ds_env *whole = OPEN("expect=64", "expect_over=start[2]=normal(0,100)");
    double cut[64];
    value_of(whole, "expect_draws", 0, cut);
    for (int k = 0; k < 64; k++) {
        assert_true(cut[k] >= -5 && cut[k] <= 5);
    }
    ds_env_close(whole);
}

static void mistakes(void **state)
{
    REFUSED("has no effect without expect", "expect_over=mass=uniform(1,2)");
    REFUSED("nothing differs between the episodes", "expect=8");
    REFUSED("did you mean 'mass'?", "expect=8", "expect_over=mas=uniform(1,2)");
    REFUSED("expected NAME=uniform(A,B)", "expect=8", "expect_over=mass=1..2");
    REFUSED("expected NAME=uniform(A,B)", "expect=8", "expect_over=mass=gamma(1,2)");
    REFUSED("expected NAME=uniform(A,B)", "expect=8", "expect_over=mass");
    REFUSED("expected two numbers", "expect=8", "expect_over=mass=uniform(1)");
    REFUSED("expected two numbers", "expect=8", "expect_over=mass=uniform(1,two)");
    REFUSED("expected two numbers", "expect=8", "expect_over=mass=uniform(1,2,3)");
    REFUSED("the first number is above the second", "expect=8", "expect_over=mass=uniform(2,1)");
    REFUSED("standard deviation is negative", "expect=8", "expect_over=mass=normal(2,-1)");
    REFUSED("numbers above 0", "expect=8", "expect_over=mass=loguniform(0,1)");
    REFUSED("use choice(A,B,...)", "expect=8", "expect_over=mood=uniform(0,1)");
    REFUSED("a choice replaces the value", "expect=8", "expect_over=mass+=choice(1,2)");
    REFUSED("is a whole number", "expect=8", "expect_over=count=normal(3,1)");
    REFUSED("is not a list", "expect=8", "expect_over=mass[0]=uniform(1,2)");
    REFUSED("the list has 3 elements", "expect=8", "expect_over=start[3]=uniform(1,2)");
    REFUSED("NAME[NUMBER]", "expect=8", "expect_over=start[a]=uniform(1,2)");
    REFUSED("it is drawn twice", "expect=8", "expect_over=start[1]=uniform(1,2), start+=normal(0,1)");
    REFUSED("decision variables are moved", "expect=8", "expect_over=x=uniform(1,2)");
    REFUSED("x[3] does not exist; the last of 3 variables is x[2]. Write x to move all of them", "expect=8",
            "expect_over=x[3]+=uniform(1,2)");
    REFUSED("no draw of mass lies in its range", "expect=8", "expect_over=mass=uniform(5,6)");
    REFUSED("other variables, bounds, steps or channels", "expect=8", "expect_over=count=uniform(3,9)");
    REFUSED("expected one of calm, wild", "expect=8", "expect_over=mood=choice(sad)");
    REFUSED("from 0 to 4096", "expect=5000");
    REFUSED("has no parameter 'expect'", "expect=8", "expect_over=expect=uniform(1,2)");
    desc.flags |= DS_ENV_OWN_PROCESS;
    REFUSED("a process of its own", "expect=8", "expect_over=mass=uniform(1,2)");
    desc.flags = DS_ENV_GRADIENT;
}

RUN_TESTS(mean_of_singles, tables, channels, moved_variables, draws_of_rows, noise, failures, distributions,
          mistakes)
