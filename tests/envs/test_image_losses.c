/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_losses.c - loss = image of the environments that also have other losses: derivatives over whole
 * episodes against central differences in both precisions; the least loss; several cameras and frames;
 * targets from PNG files; channels; stepwise control; refusals. */
#include "differences.h"
#include "engines/physics/cloth/lift.h"
#include "host.h"
#include "sanitizers.h"
#include "temporary.h"
#include "test.h"

#include <cairo.h>
#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/random.h>

enum { MOST = 128, SETTINGS = 9 };

/* Short episodes, small images, and variables that matter for them. */
typedef struct scene {
    const char *name;
    const char *const settings[SETTINGS];
    double spread; /* of the points, as a fraction of the box */
} scene;

static const scene particles[] = {
    {"envs/assembly", {"loss=image", "preset=small", "image_size=32"}, 0.9},
    {"envs/chopsticks", {"loss=image", "preset=small", "image_size=32"}, 0.9},
    {"envs/move", {"loss=image", "preset=small", "image_size=32"}, 0.9},
    {"envs/pinch", {"loss=image", "preset=small", "image_size=32", "tool_start=0.5,0.2,0.5,1,0,0,0"}, 0.9},
    {"envs/rollingpin", {"loss=image", "preset=small", "image_size=32"}, 0.9},
    {"envs/rope", {"loss=image", "preset=small", "image_size=32", "steps=20"}, 0.9},
    {"envs/table", {"loss=image", "preset=small", "image_size=32", "steps=20"}, 0.9},
    {"envs/torus",
     {"loss=image", "preset=small", "image_size=32", "tool_start=0.5,0.13,0.5,0,0,0,1", "frames=3"},
     0.9},
    {"envs/triplemove", {"loss=image", "preset=small", "image_size=32"}, 0.9},
    {"envs/writer", {"loss=image", "preset=small", "image_size=32", "disc_opacity=0.05"}, 0.9},
    {"envs/fluid", {"loss=image", "preset=small", "image_size=32", "steps=20", "frames=2"}, 0.3},
};
enum { PARTICLES = sizeof particles / sizeof *particles };

/* Every fifth scene, up to fluid: the others share the engine of assembly and rope. */
static int next(void)
{
    return check_all() ? 1 : 5;
}

/* Before contact: after it, tiny changes make neighbouring vertices touch the floor in another order. */
static const scene cloths[] = {
    {"envs/swing",
     {"loss=image", "variables=velocity", "floor=-10", "duration=0.3", "cells=8", "image_size=32",
      "frames=2"},
     0.5},
    {"envs/swing",
     {"loss=image", "patches=2", "size=true", "floor=-10", "duration=0.2", "cells=8", "image_size=32",
      "obs=over"},
     0.5},
    {"envs/flip", {"loss=image", "duration=0.05", "segments=2", "image_size=32", "frames=2"}, 0.05},
    {"envs/realtosim", {"loss=image", "h=1e-3", "image_size=32", "frames=3"}, 0.5},
};
enum { CLOTHS = sizeof cloths / sizeof *cloths };

static void random_point(const fake_env *e, double spread, uint64_t key, double *x)
{
    ds_random r = ds_random_open(key, "image losses", 0);
    for (uint64_t i = 0; i < e->info.n; i++) {
        const double middle = 0.5 * (e->lower[i] + e->upper[i]), half = 0.5 * (e->upper[i] - e->lower[i]);
        x[i] = middle + spread * half * (2 * ds_random_uniform(&r) - 1);
    }
}

static double along(fake_env *e, const double *x, const double *v, double h)
{
    double there[MOST];
    for (uint64_t i = 0; i < e->info.n; i++) {
        there[i] = x[i] + h * v[i];
    }
    return fake_eval(e, there, NULL, 0, NULL);
}

/* Distance between the derivative along v and the closest central difference. */
static double worst_of_best(fake_env *e, const double *x, const double *v, double slope)
{
    double best = HUGE_VAL;
    for (double h = 1e-5; h > 5e-9; h *= 0.0316) { /* the last steps fit between two kinks of a contact */
        best = fmin(best, fabs((along(e, x, v, h) - along(e, x, v, -h)) / (2 * h) - slope));
    }
    return best;
}

static uint64_t largest(uint64_t n, const double *g)
{
    uint64_t at = 0;
    for (uint64_t i = 1; i < n; i++) {
        at = fabs(g[i]) > fabs(g[at]) ? i : at;
    }
    return at;
}

/* At a point: along a random direction, and of single components including the largest. */
static double derivative_error(fake_env *e, double spread, uint64_t key)
{
    const uint64_t n = e->info.n;
    double x[MOST], v[MOST], g[MOST], slope = 0, norm = 0, error = 0;
    uint32_t outcome = 0;
    random_point(e, spread, key, x);
    differences_random(key + 100, n, v);
    fake_eval(e, x, g, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    for (uint64_t i = 0; i < n; i++) {
        slope += g[i] * v[i];
        norm += g[i] * g[i];
    }
    norm = sqrt(norm);
    assert_true(norm > 0);
    error = worst_of_best(e, x, v, slope) / norm;
    const uint64_t component[2] = {largest(n, g), key % n};
    for (int k = 0; k < 2; k++) {
        double unit[MOST] = {0};
        unit[component[k]] = 1;
        error = fmax(error, worst_of_best(e, x, unit, g[component[k]]) / norm);
    }
    return error;
}

static void derivatives_of(const scene *s, double agree)
{
    fake_env e;
    fake_env_open(&e, s->name, s->settings, 0, 0);
    for (uint64_t key = 0; key < (check_all() ? 2u : 1u); key++) {
        const double error = derivative_error(&e, s->spread, key);
        print_message("%s: %.2g\n", s->name, error);
        assert_true(error <= agree);
    }
    fake_env_close(&e);
}

static void derivatives_of_particles(void **state)
{
    for (int k = 0; k < PARTICLES; k += next()) {
        /* Near one of its points the rolling pin gains contacts: the quotients still converge where rounding
         * stops them. */
        derivatives_of(&particles[k], strcmp(particles[k].name, "envs/rollingpin") == 0 ? 1e-4 : 1e-5);
    }
}

static void derivatives_of_cloths(void **state)
{
    for (int k = 0; k < CLOTHS; k++) {
        derivatives_of(&cloths[k], 1e-5);
    }
}

/* ---- precision, cameras, channels ---- */

/* Gradients in single precision agree with double precision to the accuracy of the simulation. */
static void single_precision(void **state)
{
    for (int k = 0; k < PARTICLES; k += next()) {
        double x[MOST], g[2][MOST], error = 0, norm = 0, loss[2];
        for (int single = 0; single < 2; single++) {
            const char *settings[SETTINGS + 1] = {NULL};
            int n = 0;
            fake_env e;
            for (; particles[k].settings[n] != NULL; n++) {
                settings[n] = particles[k].settings[n];
            }
            settings[n] = single ? "precision=f32" : "precision=f64";
            fake_env_open(&e, particles[k].name, settings, 0, 0);
            random_point(&e, 0.5 * particles[k].spread, 3, x);
            loss[single] = fake_eval(&e, x, g[single], 0, NULL);
            for (uint64_t i = 0; single && i < e.info.n; i++) {
                error += (g[1][i] - g[0][i]) * (g[1][i] - g[0][i]);
                norm += g[0][i] * g[0][i];
            }
            fake_env_close(&e);
        }
        print_message("%s: f32 differs by %.2g of the gradient\n", particles[k].name, sqrt(error / norm));
        assert_near(loss[1], loss[0], 1e-4 * loss[0]);
        /* Where a tool hardly touches the material the gradient is small, but rounding is not. */
        assert_true(sqrt(error) <= 1e-2 * sqrt(norm) + 1e-5 * loss[0]);
    }
}

/* The loss of two cameras is the mean of both losses. */
static void several_cameras(void **state)
{
    static const char *const places[3] = {"camera=1,30,0", "camera=0.8,60,110", "camera=1,30,0,0.8,60,110"};
    double loss[3];
    for (int k = 0; k < 3; k++) {
        fake_env e;
        double x[MOST];
        fake_env_open(&e, "envs/torus",
                      (const char *const[]){"loss=image", "preset=small", "look_at=0.5,0.1,0.5", places[k],
                                            "tool_start=0.5,0.13,0.5,0,0,0,1", NULL},
                      0, 0);
        random_point(&e, 0.9, 5, x);
        loss[k] = fake_eval(&e, x, NULL, 0, NULL);
        assert_true(loss[k] > 0);
        fake_env_close(&e);
    }
    assert_true(fabs(loss[0] - loss[1]) > 1e-3 * loss[0]);
    assert_near(loss[2], 0.5 * (loss[0] + loss[1]), 1e-15);
}

/* The values of a channel in an episode at x, to be freed. */
static double *values_of(fake_env *e, uint64_t channel, const char *name, const double *x, ds_channel *c,
                         double *loss)
{
    const ds_env_channels *channels = e->plugin->env->get_extension(e->self, DS_EXT_CHANNELS);
    size_t size = 1;
    *c = (ds_channel){.struct_size = sizeof *c};
    assert_int_equal(channels->describe(e->self, channel, c), DS_OK);
    assert_string_equal(c->name, name);
    assert_int_equal(c->ops, DS_CAN(DS_QUERY_VALUE) |
                                 (channel == 0 ? DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) : 0));
    for (uint32_t d = 0; d < c->ndim; d++) {
        size *= c->shape[d];
    }
    double *out = calloc(size, sizeof *out);
    ds_eval_query ask = {
        .channel = (uint32_t)channel, .op = DS_QUERY_VALUE, .out = out, .bytes = size * sizeof *out};
    ds_eval_query *asks = &ask;
    ds_eval io = {.bad_step = -1, .n = e->info.n, .x = x, .queries = 1, .query = &asks};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    *loss = io.loss;
    return out;
}

/* The squares of the residuals sum to the loss, and so do those of image minus target divided by their
 * number. Without images there are no channels. */
static void channels_of(const scene *s)
{
    fake_env e;
    ds_channel c;
    double x[MOST], loss, sum = 0, square = 0;
    fake_env_open(&e, s->name, s->settings, 0, 0);
    random_point(&e, s->spread, 7, x);
    double *r = values_of(&e, 0, "residuals", x, &c, &loss);
    const size_t n = c.shape[0];
    double *picture = values_of(&e, 1, "pictures", x, &c, &loss);
    assert_int_equal(c.role, DS_CHANNEL_IMAGE);
    double *target = values_of(&e, 2, "target", x, &c, &loss);
    assert_int_equal(c.shape[0] * c.shape[1], n);
    for (size_t i = 0; i < n; i++) {
        sum += r[i] * r[i];
        square += (picture[i] - target[i]) * (picture[i] - target[i]);
        assert_true(picture[i] >= 0 && picture[i] <= 1);
    }
    assert_true(loss > 0);
    assert_near(sum, loss, 1e-12 * loss);
    assert_near(square / (double)n, loss, 1e-12 * loss);
    free(r);
    free(picture);
    free(target);
    fake_env_close(&e);
    fake_env_open(&e, s->name, s->settings + 1, 0, 0);
    assert_null(e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS));
    fake_env_close(&e);
}

static void channels_of_particles(void **state)
{
    channels_of(&particles[7]);
    channels_of(&particles[10]);
}

static void channels_of_cloths(void **state)
{
    for (int k = 0; k < CLOTHS; k++) {
        if (k != 1) { /* of four numbers per pixel */
            channels_of(&cloths[k]);
        }
    }
}

/* ---- products ---- */

/* J v and J' w of the residuals at x, in one evaluation, or one of them where the other is NULL. Returns the
 * loss. */
static double products(fake_env *e, uint64_t size, const double *x, const double *v, const double *w,
                       double *jv, double *jtw, uint32_t kind[2])
{
    const size_t n = e->info.n;
    ds_eval_query ask[2] = {{.op = DS_QUERY_JV, .v = v, .out = jv, .bytes = size * sizeof *jv},
                            {.op = DS_QUERY_JTV, .v = w, .out = jtw, .bytes = n * sizeof *jtw}};
    ds_eval_query *const asks[2] = {&ask[jv == NULL], &ask[1]};
    ds_eval io = {.bad_step = -1,
                  .n = n,
                  .x = x,
                  .queries = (jv != NULL) + (jtw != NULL),
                  .query = jv != NULL ? asks : asks + 1};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    assert_true(io.cost_steps > e->info.steps);
    kind[0] = ask[0].kind;
    kind[1] = ask[1].kind;
    return io.loss;
}

static uint64_t residuals_of(const fake_env *e)
{
    const ds_env_channels *channels = e->plugin->env->get_extension(e->self, DS_EXT_CHANNELS);
    ds_channel c = {.struct_size = sizeof c};
    assert_int_equal(channels->describe(e->self, 0, &c), DS_OK);
    assert_int_equal(c.role, DS_CHANNEL_RESIDUAL);
    return c.shape[0];
}

/* How far w . J v is from J' w . v, relative to their sizes; bound: at the bounds of the box. */
static double misfit(fake_env *e, const scene *s, uint64_t key, int bound)
{
    const size_t n = e->info.n, size = residuals_of(e);
    double x[MOST], v[MOST], jtw[MOST], alone[MOST], *w = calloc(3 * size, sizeof *w), *jv = w + size;
    uint32_t kind[2];
    random_point(e, s->spread, key, x);
    for (uint64_t i = 0; bound && i < n; i++) { /* none on either side of v */
        x[i] = i % 2 ? e->lower[i] : e->upper[i];
    }
    differences_random(key + 1, n, v);
    differences_random(key + 2, size, w);
    for (uint64_t i = 0; i < n; i++) {
        v[i] *= e->upper[i] - e->lower[i];
        v[i] = bound ? (i % 2 ? fabs(v[i]) : -fabs(v[i])) : v[i];
    }
    const double loss = products(e, size, x, v, w, jv, jtw, kind);
    assert_int_equal(kind[0], DS_GRAD_FD);
    assert_int_equal(kind[1], DS_GRAD_ADJOINT);
    /* no state remains from the last call */
    assert_near(products(e, size, x, v, w, NULL, alone, kind), loss, 0);
    assert_memory_equal(alone, jtw, n * sizeof *jtw);
    assert_near(fake_eval(e, x, NULL, 0, NULL), loss, 0);
    const double there = differences_dot(size, w, jv), back = differences_dot(n, jtw, v),
                 length = sqrt(differences_dot(size, w, w) * differences_dot(size, jv, jv));
    free(w);
    assert_true(length > 0);
    return fabs(there - back) / length;
}

/* J' w of the residuals themselves is half the gradient. */
static void half_the_gradient(fake_env *e, const scene *s)
{
    const size_t n = e->info.n, size = residuals_of(e);
    double x[MOST], g[MOST], half[MOST], *r = calloc(size, sizeof *r);
    uint32_t kind[2];
    ds_eval_query ask = {.op = DS_QUERY_VALUE, .out = r, .bytes = size * sizeof *r};
    ds_eval_query *asks = &ask;
    ds_eval io = {.bad_step = -1, .n = n, .x = x, .queries = 1, .query = &asks};
    random_point(e, s->spread, 21, x);
    fake_eval(e, x, g, 0, NULL);
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    products(e, size, x, NULL, r, NULL, half, kind);
    const double longest = fabs(g[largest(n, g)]);
    for (uint64_t i = 0; i < n; i++) {
        assert_near(2 * half[i], g[i], 1e-10 * longest);
    }
    free(r);
}

static void products_of(const scene *s, double agree)
{
    fake_env e;
    double worst = 0;
    fake_env_open(&e, s->name, s->settings, 0, 0);
    for (uint64_t key = 30; key < (check_all() ? 36u : 33u); key += 3) {
        worst = fmax(worst, misfit(&e, s, key, 0));
    }
    print_message("%s: w . J v differs from J' w . v by %.2g\n", s->name, worst);
    assert_true(worst <= agree);
    half_the_gradient(&e, s);
    fake_env_close(&e);
}

static void products_of_particles(void **state)
{
    for (int k = 0; k < PARTICLES; k += next()) {
        products_of(&particles[k], 1e-5);
    }
}

static void products_of_cloths(void **state)
{
    for (int k = 0; k < CLOTHS; k++) {
        products_of(&cloths[k], 1e-5);
    }
}

/* J v from one side. */
static void products_at_bounds(void **state)
{
    fake_env e;
    fake_env_open(&e, cloths[0].name, cloths[0].settings, 0, 0);
    assert_true(misfit(&e, &cloths[0], 40, 1) <= 1e-5);
    fake_env_close(&e);
}

/* In single precision J v would be rounding alone; J' w is available. */
static void products_in_single_precision(void **state)
{
    const scene s = {"envs/writer", {"loss=image", "preset=small", "image_size=32", "precision=f32"}, 0.9};
    fake_env e;
    ds_channel c = {.struct_size = sizeof c};
    fake_env_open(&e, s.name, s.settings, 0, 0);
    const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
    assert_int_equal(channels->describe(e.self, 0, &c), DS_OK);
    assert_int_equal(c.ops, DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JTV));
    half_the_gradient(&e, &s);
    fake_env_close(&e);
}

/* Where the loss has other terms than images there are no residuals. */
static void no_residuals(void **state)
{
    fake_env e;
    ds_channel c = {.struct_size = sizeof c};
    fake_env_open(&e, "envs/flip",
                  (const char *const[]){"loss=image", "duration=0.05", "contact_loss=1", NULL}, 0, 0);
    const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
    assert_int_equal(channels->describe(e.self, 0, &c), DS_OK);
    assert_int_equal(c.role, DS_CHANNEL_STATE);
    assert_int_equal(c.ops, DS_CAN(DS_QUERY_VALUE));
    fake_env_close(&e);
}

/* A network with weight costs adds such a term. */
static void no_residuals_with_costs(void **state)
{
    static const struct {
        const char *name, *settings[SETTINGS];
    } at[] = {
        {"envs/torus",
         {"loss=image", "preset=small", "image_size=16", "residual=yield_stress = shear | 2", NULL}},
        {"envs/swing",
         {"loss=image", "duration=0.1", "cells=8", "image_size=16", "residual=force = height | 2", NULL}}};
    static const char *const costs[3] = {"residual_l1=0", "residual_l1=0.1", "residual_l2=0.1"};
    for (int k = 0; k < 6; k++) {
        const char *settings[SETTINGS + 1] = {costs[k % 3]};
        fake_env e;
        ds_channel c = {.struct_size = sizeof c};
        memcpy(settings + 1, at[k / 3].settings, sizeof at->settings);
        fake_env_open(&e, at[k / 3].name, settings, 0, 0);
        const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
        assert_int_equal(channels->describe(e.self, 0, &c), DS_OK);
        assert_int_equal(c.role, k % 3 == 0 ? DS_CHANNEL_RESIDUAL : DS_CHANNEL_STATE);
        assert_int_equal(c.ops & DS_CAN(DS_QUERY_JTV), k % 3 == 0 ? DS_CAN(DS_QUERY_JTV) : 0);
        fake_env_close(&e);
    }
}

/* All that the observation of body 0 shows in the last frame, after an evaluation with these queries; to be
 * freed. */
static double *last_seen(fake_env *e, const double *x, uint64_t asks, ds_eval_query *const *ask,
                         uint64_t *numbers)
{
    ds_eval io = {.bad_step = -1,
                  .want = DS_WANT_SCENE,
                  .n = e->info.n,
                  .x = x,
                  .queries = asks,
                  .query = asks > 0 ? ask : NULL};
    const ds_scene *drawn = e->plugin->env->get_extension(e->self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    ds_scene_body body = {.struct_size = sizeof body};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    assert_int_equal(drawn->info(e->self, &info), DS_OK);
    assert_int_equal(info.frames, e->info.steps + 1);
    assert_int_equal(drawn->body(e->self, 0, &body), DS_OK);
    *numbers = 7 * body.count;
    double *out = calloc(*numbers, sizeof *out);
    assert_int_equal(drawn->frame(e->self, info.frames - 1, 0, *numbers, out), DS_OK);
    return out;
}

/* The scene is of its own point, even if products simulated others. */
static void scene_after_products(void **state)
{
    static const scene corners = {"envs/realtosim", {"r2s_norm=sq", "h=1e-3", "n_samples=9"}, 0.5};
    const scene *const at[] = {&particles[7], &particles[10], &cloths[0], &cloths[2], &cloths[3], &corners};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        fake_env e;
        double x[MOST], v[MOST], back[MOST];
        uint64_t numbers, same;
        fake_env_open(&e, at[k]->name, at[k]->settings, 0, 0);
        const uint64_t size = residuals_of(&e);
        double *w = calloc(2 * size, sizeof *w);
        random_point(&e, at[k]->spread, 50, x);
        differences_random(51, e.info.n, v);
        differences_random(52, size, w);
        ds_eval_query ask[2] = {{.op = DS_QUERY_JV, .v = v, .out = w + size, .bytes = size * sizeof *w},
                                {.op = DS_QUERY_JTV, .v = w, .out = back, .bytes = e.info.n * sizeof *back}};
        double *alone = last_seen(&e, x, 0, NULL, &numbers);
        for (int which = 0; which < 2; which++) {
            ds_eval_query *const asks[] = {&ask[which]};
            double *seen = last_seen(&e, x, 1, asks, &same);
            assert_int_equal(same, numbers);
            assert_memory_equal(seen, alone, numbers * sizeof *seen);
            free(seen);
        }
        free(alone);
        free(w);
        fake_env_close(&e);
    }
}

/* ---- targets from files ---- */

static void write_png(const char *path, const ds_channel *c, const double *value)
{
    const int rows = (int)c->shape[0], columns = (int)c->shape[1];
    cairo_surface_t *png = cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows);
    unsigned char *data = cairo_image_surface_get_data(png);
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < 4 * columns; i++) {
            data[r * cairo_image_surface_get_stride(png) + i] =
                (unsigned char)lround(255 * value[r * columns + i / 4]);
        }
    }
    cairo_surface_mark_dirty(png);
    assert_int_equal(cairo_surface_write_to_png(png, path), CAIRO_STATUS_SUCCESS);
    cairo_surface_destroy(png);
}

/* A target that was written as an 8-bit file and read back: values differ by at most half a step, and so do
 * roots of losses. */
static void round_trip(const scene *s)
{
    fake_env e;
    ds_channel c;
    temporary t;
    char setting[600];
    const char *settings[SETTINGS + 1] = {NULL};
    double x[MOST], loss, again;
    temporary_open(&t);
    fake_env_open(&e, s->name, s->settings, 0, 0);
    random_point(&e, s->spread, 9, x);
    double *target = values_of(&e, 2, "target", x, &c, &loss);
    write_png(temporary_path(&t, "target.png"), &c, target);
    free(target);
    fake_env_close(&e);
    snprintf(setting, sizeof setting, "target_image=%s", t.path);
    memcpy(settings, s->settings, sizeof s->settings);
    int n = 0;
    while (settings[n] != NULL) {
        n++;
    }
    settings[n] = setting;
    fake_env_open(&e, s->name, settings, 0, 0);
    again = fake_eval(&e, x, NULL, 0, NULL);
    assert_true(fabs(again - loss) > 0);
    assert_near(sqrt(again), sqrt(loss), 0.5 / 255);
    fake_env_close(&e);
    settings[n + 1] = "image_size=16";
    fake_env_refuses(s->name, settings, "pixels: give");
    temporary_close(&t);
}

static void files_of_particles(void **state)
{
    round_trip(&particles[7]);
    round_trip(&particles[10]);
}

static void files_of_cloths(void **state)
{
    round_trip(&cloths[0]);
    round_trip(&cloths[2]);
    round_trip(&cloths[3]);
}

/* ---- the target ---- */

/* The variables of an episode that is its own target. */
static void no_loss(const scene *s, const double *truth)
{
    fake_env e;
    fake_env_open(&e, s->name, s->settings, 0, 0);
    assert_near(fake_eval(&e, truth, NULL, 0, NULL), 0, 0);
    assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 1e-3);
    fake_env_close(&e);
}

static void known_cloths(void **state)
{
    const double thrown[3] = {0, -0.4, 0.6};
    double hidden[LIFT_VARIABLES];
    lift_hidden(LIFT_OWN_SEED, hidden);
    no_loss(&cloths[0], thrown);
    no_loss(&cloths[3], hidden);
}

/* The moves that produced the target of a task leave a small part of the start's loss: the target keeps only
 * the particles' density, so its mask has not exactly their shape. */
static void reached_target(void **state)
{
    static const double moves[15] = {-1, 0, 0.5, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0};
    fake_env e;
    if (SANITIZED) {
        skip(); /* of full size */
    }
    fake_env_open(&e, "envs/torus", (const char *const[]){"loss=image", "softness=0", "precision=f32", NULL},
                  0, 0);
    const double reached = fake_eval(&e, moves, NULL, 0, NULL), start = fake_eval(&e, e.x0, NULL, 0, NULL);
    print_message("torus: %.3g at the start, %.3g where the target has been made\n", start, reached);
    assert_true(reached < 0.4 * start);
    fake_env_close(&e);
}

/* ---- stepwise control ---- */

/* The rewards sum to minus the loss, or to the start's loss minus the loss where one state is compared. */
static void stepwise(const scene *s, const char *frames)
{
    fake_env e;
    const char *settings[SETTINGS + 1] = {NULL};
    int n = 0;
    for (; s->settings[n] != NULL; n++) {
        settings[n] = s->settings[n];
    }
    settings[n] = frames;
    fake_env_open(&e, s->name, settings, 0, 0);
    const ds_env_steps *rl = e.plugin->env->get_extension(e.self, DS_EXT_STEPS);
    ds_steps_info info = {.struct_size = sizeof info};
    assert_int_equal(rl->info(e.self, &info), DS_OK);
    double x[MOST], *obs = calloc(info.n_obs, sizeof *obs), sum = 0;
    ds_step step = {.obs = obs};
    random_point(&e, s->spread, 11, x);
    const double loss = fake_eval(&e, x, NULL, 0, NULL);
    assert_int_equal(ds_step_begin_call(rl, e.self, 0, 0, obs, NULL), DS_OK);
    for (uint64_t k = 0; k < info.horizon; k++) {
        step.action = x + k * info.n_act;
        assert_int_equal(ds_step_call(rl, e.self, 0, &step), DS_OK);
        sum += step.reward;
    }
    assert_true(loss > 0 && fabs(step.loss - loss) <= 0);
    if (strcmp(frames, "frames=1") != 0) {
        assert_near(sum, -loss, 1e-12 * loss);
    } else {
        assert_true(sum + loss > 0);
    }
    free(obs);
    fake_env_close(&e);
}

static void stepwise_particles(void **state)
{
    stepwise(&particles[9], "frames=1");
    stepwise(&particles[9], "frames=4");
    stepwise(&particles[10], "frames=4");
}

static void stepwise_flip(void **state)
{
    static const scene flip = {"envs/flip", {"loss=image", "duration=0.2", "image_size=32"}, 0.1};
    stepwise(&flip, "frames=1");
    stepwise(&flip, "frames=4");
}

static void refused(void **state)
{
    static const struct {
        const char *setting, *word;
    } cases[] = {{"camera=0.1,30,0", "camera 1 at (0.49"},
                 {"camera=0,30,0,2,90,0", "camera 2: camera: `up`"},
                 {"camera=1,2", "camera has 2 values"},
                 {"look_at=1,2", "look_at has 2 values"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_env_refuses("envs/torus",
                         (const char *const[]){"loss=image", "preset=small", cases[k].setting, NULL},
                         cases[k].word);
    }
    char file[700];
    snprintf(file, sizeof file, "target_image=%s/plugins/envs/data/cloth.lift", getenv("DS_TOP_SRC"));
    fake_host f;
    void *self = NULL;
    fake_host_open(&f, "envs/torus", 0, (const char *const[]){"loss=image", "preset=small", file, NULL});
    assert_int_equal(f.plugin->env->create(&f.services.host, &self), DS_E_DATA);
    assert_non_null(strstr(f.error, "parameter target_image"));
    fake_host_close(&f);
}

RUN_TESTS(derivatives_of_particles, derivatives_of_cloths, single_precision, several_cameras,
          channels_of_particles, channels_of_cloths, products_of_particles, products_of_cloths,
          products_at_bounds, products_in_single_precision, no_residuals, no_residuals_with_costs,
          scene_after_products, files_of_particles, files_of_cloths, reached_target, known_cloths,
          stepwise_particles, stepwise_flip, refused)
