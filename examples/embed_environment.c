/* SPDX-License-Identifier: Apache-2.0 */
/* embed_environment.c - an environment inside another program: losses of many points at once, channels,
 * metrics and last positions of the best one, and its episode step by step:
 *     embed_environment ENVIRONMENT [SETTINGS]
 * Compile: see README.md in this folder. */
#include <diffsim/lib/environment.h>

#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 16 };

/* Evaluates points between the start point and the upper bounds in parallel. Returns the number of the best
 * one, or -1 after an error. */
static int scan(ds_environment *e, const ds_environment_box *box, double *x)
{
    double loss[POINTS];
    uint32_t outcome[POINTS];
    const ds_rows rows = {.struct_size = sizeof rows, .count = POINTS, .n = box->n, .stride = box->n, .x = x};
    const ds_results results = {.struct_size = sizeof results, .loss = loss, .outcome = outcome};
    int best = 0;
    for (uint64_t i = 0; i < POINTS * box->n; i++) {
        uint64_t k = i / box->n, v = i % box->n;
        x[i] = box->x0[v] + (double)k / POINTS * (box->upper[v] - box->x0[v]);
    }
    if (ds_environment_evaluate_many(e, &rows, &results, NULL, NULL) != DS_OK) {
        fprintf(stderr, "%s\n", ds_environment_message(e));
        return -1;
    }
    for (int k = 0; k < POINTS; k++) {
        if (outcome[k] != DS_EVAL_OK) { /* a simulation that diverged, or a plugin that crashed */
            printf("point %d has no loss: %s\n", k, ds_environment_message_of(e, (uint64_t)k));
        }
        best = loss[k] < loss[best] ? k : best;
    }
    printf("loss %.17g at point %d of %d\n", loss[best], best, POINTS);
    return best;
}

/* Prints metrics and positions of the last frame of a point. */
static void show(ds_environment *e, const double *x)
{
    ds_scene_view scene = {.struct_size = sizeof scene};
    ds_metric_view metric = {.struct_size = sizeof metric};
    ds_body_view body = {.struct_size = sizeof body};
    if (ds_environment_simulate(e, x, 0, DS_FRAMES_ALL, NULL, NULL) != DS_OK ||
        ds_environment_scene(e, &scene) != DS_OK) {
        printf("no scene: %s\n", ds_environment_message(e));
        return;
    }
    for (uint64_t m = 0; m < scene.metrics && ds_environment_metric(e, m, &metric) == DS_OK; m++) {
        printf("metric %s: %g %s\n", metric.name, metric.values[metric.count - 1], metric.unit);
    }
    for (uint64_t k = 0; k < scene.bodies && ds_environment_body(e, k, &body) == DS_OK; k++) {
        const double *at = body.data + (scene.kept - 1) * body.count * body.width;
        printf("body %s ends at %.3f %.3f %.3f m\n", body.name, at[0], at[1], at[2]);
    }
}

/* Prints the sum of squares of each channel of a point: residuals, constraints, states. */
static void print_channels(ds_environment *e, const ds_environment_box *box, const double *x)
{
    for (uint64_t i = 0; i < ds_environment_channels(e); i++) {
        ds_channel c = {.struct_size = sizeof c};
        if (ds_environment_channel(e, i, &c) != DS_OK || c.type != DS_TYPE_F64) {
            continue;
        }
        double loss, sum = 0, *value = calloc(ds_channel_elements(&c), sizeof *value);
        const uint64_t bytes = ds_channel_bytes(&c, DS_QUERY_VALUE, box->n);
        const ds_query query = {.struct_size = sizeof query, .op = DS_QUERY_VALUE, .channel = (uint32_t)i};
        const ds_query *queries[] = {&query};
        const ds_reply reply = {.struct_size = sizeof reply, .out = value, .stride = bytes, .bytes = bytes};
        const ds_reply *replies[] = {&reply};
        const ds_rows rows = {.struct_size = sizeof rows,
                              .count = 1,
                              .n = box->n,
                              .stride = box->n,
                              .x = x,
                              .queries = 1,
                              .query = queries};
        const ds_results results = {.struct_size = sizeof results, .loss = &loss, .reply = replies};
        if (value != NULL && ds_environment_evaluate_many(e, &rows, &results, NULL, NULL) == DS_OK) {
            for (uint64_t k = 0; k < ds_channel_elements(&c); k++) {
                sum += value[k] * value[k];
            }
            printf("channel %s: sum of squares %.17g\n", c.name, sum);
        }
        free(value);
    }
}

/* Simulates the same point, one action after the other: the loss at the end is the same. */
static void play(ds_environment *e, const double *x)
{
    ds_steps_info info = {.struct_size = sizeof info};
    const uint64_t lane = 0;
    uint32_t ended = DS_STEPS_CONTINUES;
    double reward, loss = 0, sum = 0;
    if (ds_environment_episodes(e, &info) != DS_OK) {
        printf("no stepwise control\n");
        return;
    }
    double *obs = calloc(info.n_obs, sizeof *obs);
    ds_step_rows rows = {.struct_size = sizeof rows, .count = 1, .lane = &lane};
    const ds_step_results results = {
        .struct_size = sizeof results, .obs = obs, .reward = &reward, .ended = &ended, .loss = &loss};
    ds_status status = obs != NULL ? ds_environment_reset(e, &rows, &results, NULL) : DS_E_NOMEM;
    while (status == DS_OK && ended == DS_STEPS_CONTINUES) {
        rows.action = x; /* a policy would choose it from obs */
        status = ds_environment_step(e, &rows, &results, NULL);
        sum += reward;
        x += info.n_act;
    }
    printf("stepwise loss %.17g, rewards %g\n", loss, sum);
    free(obs);
}

int main(int argc, char **argv)
{
    char why[600];
    ds_environment_options o = {
        .struct_size = sizeof o, .settings = argc > 2 ? argv[2] : NULL, .timeout_s = 60};
    ds_environment *e = argc > 1 ? ds_environment_open(argv[1], &o, why, sizeof why) : NULL;
    if (e == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? why : "usage: embed_environment ENVIRONMENT [SETTINGS]");
        return 1;
    }
    ds_environment_box box = {.struct_size = sizeof box};
    ds_environment_describe(e, &box);
    double *x = malloc(POINTS * box.n * sizeof *x);
    int best = x != NULL ? scan(e, &box, x) : -1;
    if (best >= 0) {
        print_channels(e, &box, x + (uint64_t)best * box.n);
        show(e, x + (uint64_t)best * box.n);
        play(e, x + (uint64_t)best * box.n);
    }
    free(x);
    ds_environment_close(e);
    return best < 0;
}
