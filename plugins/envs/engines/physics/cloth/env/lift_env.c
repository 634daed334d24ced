/* SPDX-License-Identifier: Apache-2.0 */
/* lift_env.c - finds the properties of a cloth from a recording of its corners while a gripper lifts it;
 * the decision variables are size, mass, friction and the stiffness of 64 patches. */
#include "engines/physics/cloth/env/lift_env.h"

#include "engines/physics/cloth/lift.h"
#include "engines/kit/bundled.h"
#include "engines/data/recording.h"

#include <stdlib.h>
#include <string.h>

enum { CLOTH, GRIPPER, CORNERS, TARGET };

const char lift_env_cure[] = "reduce parameter h";
static const char *const norms[] = {"l2", "sq", NULL}, *const losses[] = {"task", "image", NULL},
                         *const objects[] = {"cloth", "paper", NULL};

const ds_param *const lift_env_params[] = {
    DS_ENUM("object", "cloth", objects,
            "What the bundled recording shows, and the ranges searched: a cloth (0.01 to 0.1 kg, 10 to 200 "
            "N/m), or "
            "stiff paper (0.01 to 0.1 kg, 60 to 600 N/m; set h = 1e-4)."),
    DS_LIST("mass_range", "", 1e-6, 1e3, 2, "kg", "Smallest and largest mass; empty = those of the object."),
    DS_LIST("stiffness_range", "", 1e-6, 1e9, 2, "N/m",
            "Smallest and largest stiffness of a patch; empty = those of the object."),
    DS_PATH("data", "",
            "Recorded lift, a text file of format ds-cloth-1; empty, and without parameter file = a "
            "synthetic one of the object that comes with the plugin.",
            .flags = 0),
    RECORDED_PARAMS(
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
        "For parameter file: names or numbers (from 1) of 15 columns: x, y, z of the gripper, then of the "
        "four corners; y is up. A corner that was not seen has none of the three (gaps = true).",
        "30", "For parameter file without time_column: samples per second.", "0",
        "Number of compared samples, with the start; 0: all of data except held_out. Required with file."),
    DS_LIST("nominal_size", "0.2, 0.2", 1e-3, 100, 2, "m",
            "For parameter file: approximate width and length of the cloth; half to one and a half of it are "
            "searched."),
    DS_ENUM(
        "r2s_norm", "l2", norms,
        "Loss over all corners seen at all samples: l2 = mean distance, sq = mean squared distance (a sum of "
        "squares: for lm and pbh)."),
    DS_BOOL("toi", "true",
            "Continuous time of impact: a vertex moves on until it meets the table. Without it the vertex "
            "loses its velocity at the beginning of the step."),
    DS_REAL("h", "2e-4", 1e-6, 0.1, "s", "Time step."),
    DS_ENUM("loss", "task", losses,
            "task: distance of the corners from the recorded ones, by r2s_norm. image: what cameras see of "
            "the cloth while it is lifted along the recorded path, compared with an episode of a known cloth "
            "or a PNG file."),
    DS_LIST("reference", "", -1, 1, LIFT_VARIABLES, "",
            "loss = image: variables of the known cloth, one value for all or 68. Empty: of the cloth in the "
            "recording that comes with the plugin."),
    IMAGE_LOSS_PARAMS("0,25,30"),
    CAMERAS_MESH_PARAMS("alpha"),
    DS_HYBRID_PARAMS,
    NULL};

static const double ground = -0.003; /* m, of the drawn table */

/* ---- set-up ---- */

/* Copies a row of the recording to the trajectory; returns 0 if a part of it is missing. */
static int take_row(const double *from, double time, int first, double *to)
{
    to[0] = time;
    memcpy(to + 1, from, (TRAJECTORY_COLUMNS - 1) * sizeof *to);
    for (int p = 1; p < TRAJECTORY_COLUMNS; p += 3) {
        const int missing = isnan(to[p]) + isnan(to[p + 1]) + isnan(to[p + 2]);
        if (missing == 1 || missing == 2 || (missing == 3 && (first || p == 1))) {
            return 0;
        }
    }
    return 1;
}

/* The trajectory of parameter file. */
static ds_status read_columns(ds_param_reader *in, uint64_t samples, uint64_t held_out, trajectory *t)
{
    recorded r;
    const double rate = ds_param_real(in, "sample_rate");
    if (in->status == DS_OK && (samples < 2 || !(rate > 0))) {
        return ds_host_fail(in->host, DS_E_PARAM,
                            "parameter file: set n_samples = 2 or more, the number of compared samples, and "
                            "sample_rate above 0");
    }
    ds_param_values(in, "nominal_size", 2, t->size);
    ds_status status = in->status == DS_OK ? recorded_open(&r, in, rate, samples, held_out) : in->status;
    if (status != DS_OK) {
        return status;
    }
    if (r.data.columns != TRAJECTORY_COLUMNS - 1) {
        status = ds_host_fail(in->host, DS_E_PARAM, "parameter columns names %llu columns: 15 are needed",
                              (unsigned long long)r.data.columns);
    }
    t->rate = 1 / r.dt;
    t->rows = r.data.rows;
    t->row = status == DS_OK ? malloc(t->rows * TRAJECTORY_COLUMNS * sizeof *t->row) : NULL;
    if (status == DS_OK && t->row == NULL) {
        status = DS_E_NOMEM;
    }
    for (uint64_t i = 0; status == DS_OK && i < t->rows; i++) {
        if (!take_row(r.data.value + i * r.data.columns, (double)i * r.dt, i == 0,
                      t->row + i * TRAJECTORY_COLUMNS)) {
            status = ds_host_fail(in->host, DS_E_DATA,
                                  "parameter file: sample %llu: the gripper, and in the first sample every "
                                  "corner, must be present, and of a corner all three coordinates or none",
                                  (unsigned long long)i);
        }
    }
    recorded_close(&r);
    if (status != DS_OK) {
        trajectory_free(t);
    }
    return status;
}

/* Drops the rows after the wanted ones; *fitted: the number of compared rows. */
static ds_status choose_rows(const ds_host *host, uint64_t samples, uint64_t held_out, trajectory *t,
                             uint64_t *fitted)
{
    const uint64_t wanted = samples > 0 ? samples + held_out : t->rows;
    *fitted = samples > 0 ? samples : t->rows - held_out;
    if (wanted > t->rows || held_out + 2 > wanted) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "parameters n_samples = %llu and held_out = %llu: the recording has %llu samples, and at least "
            "2 must be compared",
            (unsigned long long)samples, (unsigned long long)held_out, (unsigned long long)t->rows);
    }
    t->rows = wanted;
    return DS_OK;
}

static ds_status read_data(ds_param_reader *in, double h, int paper, trajectory *t, uint64_t *fitted)
{
    const char *own = paper ? "data/paper.lift" : "data/cloth.lift";
    const ds_host *host = in->host;
    const uint64_t samples = (uint64_t)ds_param_int(in, "n_samples"),
                   held_out = (uint64_t)ds_param_int(in, "held_out");
    const int columns = *ds_param_text(in, "file") != '\0';
    const char *path = ds_param_text(in, "data");
    char buffer[4096], error[512];
    if (in->status == DS_OK && columns && *path) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameters data and file both name a recording: set one of them");
    }
    if (in->status == DS_OK && !*path && !columns) {
        ds_status status = host->resource(host, own, buffer, sizeof buffer, NULL);
        path = buffer;
        if (status != DS_OK) {
            return ds_host_fail(host, status,
                                "%s is missing next to the plugin: install it, or set parameter data", own);
        }
    }
    if (in->status != DS_OK) {
        return in->status;
    }
    int failed = 0;
    if (columns) {
        const ds_status status = read_columns(in, samples, held_out, t);
        if (status != DS_OK) {
            return status;
        }
    } else {
        failed = trajectory_read(t, path, error);
    }
    if (failed) {
        return ds_host_fail(host,
                            failed == 3   ? DS_E_IO
                            : failed == 2 ? DS_E_NOMEM
                                          : DS_E_DATA,
                            "parameter data: %.300s: %.200s", path, error);
    }
    const ds_status chosen = choose_rows(host, samples, held_out, t, fitted);
    if (chosen != DS_OK) {
        trajectory_free(t);
        return chosen;
    }
    double last = t->row[TRAJECTORY_COLUMNS * (t->rows - 1)];
    if (last / h > LIFT_MAX_STEPS) {
        trajectory_free(t);
        return ds_host_fail(host, DS_E_PARAM,
                            "the recording lasts %g s, which with h = %g is more than %d steps: increase "
                            "parameter h or shorten it",
                            last, h, LIFT_MAX_STEPS);
    }
    return DS_OK;
}

/* Reads a range into `to`, which keeps its numbers where the parameter is empty. */
static void read_range(ds_param_reader *in, const char *name, double to[2])
{
    ds_param_values(in, name, 2, to);
    if (in->status == DS_OK && !(to[0] < to[1])) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM, "parameter %s: %g is not below %g", name, to[0], to[1]);
    }
}

void lift_env_read(void *self, ds_param_reader *in)
{
    lift_env *e = self;
    trajectory data = {{0, 0}, 0, 0, NULL};
    uint64_t fitted = 0;
    double h = ds_param_real(in, "h");
    int squared = ds_param_int(in, "r2s_norm") == 1, toi = (int)ds_param_int(in, "toi");
    const int paper = ds_param_int(in, "object") == 1;
    double mass[2] = {0, 1}, stiffness[2] = {0, 1};
    in->status = in->status == DS_OK ? read_data(in, h, paper, &data, &fitted) : in->status;
    if (in->status == DS_OK && !lift_open(&e->l, &e->kit.memory, &data, fitted, h, in->host)) {
        in->status = DS_E_NOMEM;
    }
    if (in->status == DS_OK && paper) {
        lift_set_ranges(&e->l, lift_paper_mass, lift_paper_stiffness);
    }
    read_range(in, "mass_range", mass);
    read_range(in, "stiffness_range", stiffness);
    if (in->status == DS_OK) {
        lift_set_ranges(&e->l, mass[0] > 0 ? mass : NULL, stiffness[0] > 0 ? stiffness : NULL);
    }
    e->own = in->status == DS_OK && *ds_param_text(in, "data") == '\0' && *ds_param_text(in, "file") == '\0';
    if (e->own) {
        lift_hidden(paper ? LIFT_PAPER_SEED : LIFT_OWN_SEED, e->reference);
    }
    ds_param_list(in, "reference", &e->known);
    ds_param_values(in, "reference", LIFT_VARIABLES, e->reference);
    e->l.squared = squared;
    e->l.c.floor.toi = toi;
    e->kit.n = LIFT_VARIABLES;
    e->kit.cost = e->l.fitted_steps;
    e->kit.steps = e->l.frames;
    e->kit.dt = e->l.c.h * (double)e->l.every;
    image_loss_read(&e->seen.image_loss, in, ds_param_int(in, "loss") == 1, e->l.fitted_frames, 1);
    e->l.seen = e->seen.image_loss.wanted ? &e->seen : NULL;
}

/* All variables have their own scale, see lift.c: -1 and 1 are the ends of a range. */
void lift_env_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    static const char *const names[4] = {"width", "length", "mass", "friction"};
    (void)self;
    if (i < 4) {
        ds_env_variable_put(out->name, "%s", names[i]);
        ds_env_variable_put(out->group, i < 2 ? "size" : "");
    } else {
        unsigned patch = (unsigned)i - 4;
        ds_env_variable_put(out->name, "stiffness.%u.%u", patch / LIFT_CELLS, patch % LIFT_CELLS);
        ds_env_variable_put(out->group, "stiffness");
    }
}

/* The last available row, if an episode diverges among the held-out rows. */
static const double *frame_of(const lift_env *e, uint64_t k)
{
    return e->l.frame + (k < e->l.known ? k : e->l.known) * 3 * e->l.c.mesh.stride;
}

static ds_status open_pictures(lift_env *e)
{
    const frames_subject subject = {
        .mesh = {(uint32_t)e->l.c.mesh.vertices, 2 * LIFT_CELLS * LIFT_CELLS, e->l.s.triangle}};
    const double *states = e->l.fitted_frame;
    const size_t stride = e->l.c.mesh.stride;
    int64_t bad = -1;
    if (!e->known && !e->own && *e->seen.image_loss.image == '\0') {
        return ds_host_fail(e->kit.host, DS_E_PARAM,
                            "loss = image with your own recording: give images of the cloth (parameter "
                            "target_image), or the variables of a known cloth (parameter reference)");
    }
    ds_status status = lift_simulate(&e->l, e->reference, &bad);
    if (status == DS_OK && bad >= 0) {
        return ds_host_fail(e->kit.host, DS_E_PARAM, "the target diverges at step %d: %s", (int)bad,
                            lift_env_cure);
    }
    status = status != DS_OK ? status
                             : cloth_camera_open(&e->seen, &subject, stride, NULL, states,
                                                 states + e->l.fitted_frames * 3 * stride, e->kit.host);
    return status != DS_OK ? status : cloth_camera_target(&e->seen, states);
}

uint64_t lift_env_hooks(const void *self, ds_hook *out)
{
    (void)self;
    return vertex_net_hooks(out, "Of the vertex above the table.");
}

ds_status lift_env_allocate(void *self)
{
    lift_env *e = self;
    e->side = ds_memory_doubles(&e->kit.memory,
                                2 * lift_residual_count(&e->l) + e->kit.n + e->kit.hybrid.variables);
    lift_wire(&e->l, &e->kit.memory, &e->kit.hybrid);
    const ds_status status = lift_check_step(&e->l, lift_env_cure);
    return status == DS_OK && e->seen.image_loss.wanted ? open_pictures(e) : status;
}

void lift_env_release(void *self)
{
    lift_env *e = self;
    trajectory_free(&e->l.data);
    cloth_camera_close(&e->seen);
}

/* ---- scene ---- */

static double time_of(const lift_env *e, uint64_t k)
{
    uint64_t step = k * e->l.every < e->l.steps ? k * e->l.every : e->l.steps;
    return (double)step * e->l.c.h;
}

void lift_env_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const lift_env *e = self;
    const cloth_mesh *m = &e->l.c.mesh;
    const trajectory *t = &e->l.data;
    const double *x = frame_of(e, k);
    if (b == CLOTH) {
        for (size_t v = 0; v < m->vertices; v++) {
            for (size_t i = 0; i < 3; i++) {
                out[3 * v + i] = x[i * m->stride + v];
            }
        }
    } else if (b == GRIPPER) {
        double at[3];
        lift_gripper(t, time_of(e, k), at);
        ds_scene_kit_pose(at[0], at[1], at[2], 0, out);
    } else if (b == CORNERS) {
        for (uint64_t c = 0; c < 4; c++) {
            const double *at = x + e->l.corner[c];
            ds_scene_kit_pose(at[0], at[m->stride], at[2 * m->stride], 0, out + 7 * c);
        }
    } else { /* last observed position of each corner */
        for (uint64_t c = 0; c < 4; c++) {
            const double *seen = t->row + TRAJECTORY_COLUMNS * (t->rows - 1) + 4 + 3 * c;
            while (isnan(*seen)) {
                seen -= TRAJECTORY_COLUMNS;
            }
            ds_scene_kit_pose(seen[0], seen[1], seen[2], 0, out + 7 * c);
        }
    }
}

void lift_env_bodies(void *self, ds_scene_kit *s)
{
    const lift_env *e = self;
    const trajectory *t = &e->l.data;
    ds_scene_kit_body(s, "cloth", DS_BODY_MESH, DS_ROLE_MATERIAL, e->l.c.mesh.vertices,
                      (double[4]){0, 0, 0, 0});
    ds_scene_kit_at(s, CLOTH)->index = e->l.s.triangle;
    ds_scene_kit_at(s, CLOTH)->index_count = 6 * LIFT_CELLS * LIFT_CELLS;
    ds_scene_kit_body(s, "gripper", DS_BODY_SPHERE, DS_ROLE_TOOL, 1, (double[4]){0.012, 0, 0, 0});
    ds_scene_kit_body(s, "corners", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 4, (double[4]){0.004, 0, 0, 0});
    ds_scene_kit_at(s, CORNERS)->variety = 1;
    ds_scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 4, (double[4]){0.008, 0, 0, 0});
    for (uint64_t r = 0; r < t->rows; r++) {
        const double *row = t->row + TRAJECTORY_COLUMNS * r;
        for (int p = 1; p < TRAJECTORY_COLUMNS; p += 3) {
            if (!isnan(row[p])) {
                ds_scene_kit_include(s, row[p], row[p + 1], row[p + 2], 0.02);
            }
        }
    }
    /* Drawn a little lower: a cloth without thickness would lie exactly in the plane of the table. */
    s->info.box[1] = ground;
    s->info.ground = ground;
}

#define CORNER_METRICS(c_)                                                                                   \
    {"corner" #c_ "_y", "m"},                                                                                \
    {                                                                                                        \
        "recorded_corner" #c_ "_y", "m"                                                                      \
    }
const ds_scene_kit_label lift_env_metrics[] = {{"stretch", ""},   {"gripper_y", "m"}, {"x", "m"},
                                               {"y", "m"},        {"z", "m"},         CORNER_METRICS(0),
                                               CORNER_METRICS(1), CORNER_METRICS(2),  CORNER_METRICS(3),
                                               {"held_out", ""},  {"rmse", "m"},      {NULL, NULL}};

/* Rows of the recording up to frame k. */
static uint64_t rows_until(const lift_env *e, uint64_t k)
{
    uint64_t rows = 0;
    while (rows < e->l.data.rows && e->l.sample_step[rows] <= k * e->l.every) {
        rows++;
    }
    return rows;
}

/* Positions without a state are NAN. */
void lift_env_measure(void *self, uint64_t k, double *out)
{
    lift_env *e = self;
    const cloth_mesh *m = &e->l.c.mesh;
    const int there = k <= e->l.known;
    const double *x = frame_of(e, k);
    double grip[3], *at = out + 2;
    for (size_t i = 0; i < 3; i++) {
        at[i] = there ? 0 : (double)NAN;
        for (size_t v = 0; v < m->vertices; v++) {
            at[i] += x[i * m->stride + v] / (double)m->vertices;
        }
    }
    if (there) {
        ds_scene_kit_include(&e->kit.scene, at[0], at[1], at[2], 0.02);
    }
    e->kit.scene.info.box[1] = ground;
    lift_gripper(&e->l.data, time_of(e, k), grip);
    out[0] = there ? sheet_stretch(&e->l.s, m, x) : (double)NAN;
    out[1] = grip[1];
    for (size_t c = 0; c < 4; c++) {
        lift_corner(&e->l.data, time_of(e, k), c, grip);
        out[5 + 2 * c] = there ? x[m->stride + e->l.corner[c]] : (double)NAN;
        out[6 + 2 * c] = grip[1];
    }
    const uint64_t rows = rows_until(e, k);
    out[13] = rows > e->l.fitted;
    out[14] = there ? lift_rms(&e->l, rows > e->l.fitted ? e->l.fitted : 0, rows) : (double)NAN;
}

/* ---- episode ---- */

/* The episode of all variables, those of networks included. */
static ds_status simulate_at(lift_env *e, const double *x, int64_t *bad)
{
    e->l.net.w = x + LIFT_VARIABLES;
    return lift_simulate(&e->l, x, bad);
}

/* Where the derivatives by the parameters of networks go. */
static void set_gradient(lift_env *e, double *grad)
{
    e->l.net.w_bar = grad + LIFT_VARIABLES;
    memset(e->l.net.w_bar, 0, e->kit.hybrid.variables * sizeof *grad);
}

ds_status lift_env_simulate(void *self, ds_eval *io)
{
    lift_env *e = self;
    int64_t bad = -1;
    ds_status status = simulate_at(e, io->x, &bad);
    e->displaced = 0;
    io->bad_step = bad >= 0 ? bad / (int64_t)e->l.every : -1;
    if (status == DS_OK && bad < 0 && (io->want & DS_WANT_SCENE) != 0) {
        status = lift_go_on(&e->l);
    }
    if (status == DS_OK && bad < 0 && e->seen.image_loss.wanted) {
        return cloth_camera_loss(&e->seen, e->l.fitted_frame, e->l.fitted_frames, &io->loss);
    }
    io->loss = status == DS_OK && bad < 0 ? lift_loss(&e->l) : (double)INFINITY;
    return status;
}

ds_status lift_env_adjoint(void *self, ds_eval *io)
{
    lift_env *e = self;
    set_gradient(e, io->grad);
    return cloth_camera_status(&e->seen, lift_gradient(&e->l, io->grad));
}

/* ---- residuals of r2s_norm = sq, and images ---- */

/* Simulates the episode at x again, after others. */
static ds_status come_back(lift_env *e, ds_eval *io)
{
    int64_t step = -1;
    e->displaced = 0;
    io->cost_steps += e->l.fitted_steps;
    return simulate_at(e, io->x, &step);
}

/* Residuals at x + t v; *bad: there are none. */
static ds_status residuals_at(lift_env *e, const double *x, const double *v, double t, double *out, int *bad)
{
    const uint64_t n = e->kit.n + e->kit.hybrid.variables;
    double *u = e->side + 2 * lift_residual_count(&e->l);
    int64_t step = -1;
    for (uint64_t i = 0; i < n; i++) {
        u[i] = x[i] + t * v[i];
    }
    ds_status status = simulate_at(e, u, &step);
    *bad = *bad || step >= 0;
    if (status == DS_OK) {
        lift_residuals(&e->l, out);
    }
    return status;
}

/* J v by differences of second order, central if both sides lie in the box: the engine has no forward mode.
 * The step is short because contacts begin and end everywhere. */
static ds_status forward_product(lift_env *e, ds_eval *io, ds_eval_query *ask)
{
    const uint64_t m = lift_residual_count(&e->l);
    const double *v = ask->v;
    double largest = 0, past = 1, *out = ask->out;
    double *plus = e->side, *minus = e->side + m;
    int bad = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        largest = fmax(largest, fabs(v[i]));
    }
    double t = largest > 0 ? 1e-8 / largest : 0;
    for (uint64_t i = 0; i < io->n; i++) {
        double lower, limit = 1;
        if (i >= e->kit.n) {
            ds_hybrid_range(&e->kit.hybrid, i - e->kit.n, &lower, &limit, NULL);
        }
        past = fmin(past, limit - fabs(io->x[i] - t * v[i]));
    }
    int central = past >= 0;
    lift_residuals(&e->l, out); /* at x */
    ds_status status = residuals_at(e, io->x, v, t, plus, &bad);
    status = status == DS_OK ? residuals_at(e, io->x, v, central ? -t : 2 * t, minus, &bad) : status;
    for (uint64_t k = 0; status == DS_OK && k < m; k++) {
        double d = central ? plus[k] - minus[k] : 4 * plus[k] - 3 * out[k] - minus[k];
        out[k] = t > 0 ? d / (2 * t) : 0;
    }
    io->outcome = bad ? DS_EVAL_BAD_GRAD : io->outcome;
    e->displaced = 1;
    ask->kind = DS_GRAD_FD;
    io->cost_steps += 2 * e->l.fitted_steps;
    /* The scene is read later; it has no steps after the compared ones. */
    return status == DS_OK && (io->want & DS_WANT_SCENE) != 0 ? come_back(e, io) : status;
}

uint64_t lift_env_channels(const void *self)
{
    const lift_env *e = self;
    const ds_hybrid *h = &e->kit.hybrid; /* with penalties the loss is not a sum of squares */
    return e->seen.image_loss.wanted ? image_loss_channels(&e->seen.image_loss)
                                     : e->l.squared && !(h->l1 > 0 || h->l2 > 0);
}

void lift_env_channel(const void *self, uint64_t i, ds_channel *out)
{
    const lift_env *e = self;
    if (e->seen.image_loss.wanted) {
        image_loss_channel(&e->seen.image_loss, &e->kit, i, out);
        return;
    }
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->shape[0] = lift_residual_count(&e->l);
    out->name = "residuals";
    out->doc = "Weighted distances from the recording; their squares add up to the loss.";
}

ds_status lift_env_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    lift_env *e = self;
    if (e->seen.image_loss.wanted) {
        return image_loss_answer(&e->seen.image_loss, &e->kit, io, ask);
    }
    const ds_status back = e->displaced ? come_back(e, io) : DS_OK;
    if (back != DS_OK) {
        return back;
    }
    if (ask->op == DS_QUERY_VALUE) {
        lift_residuals(&e->l, ask->out);
        return DS_OK;
    }
    if (ask->op == DS_QUERY_JV) {
        return forward_product(e, io, ask);
    }
    ask->kind = DS_GRAD_ADJOINT;
    io->cost_steps += 2 * e->l.fitted_steps;
    set_gradient(e, ask->out);
    return lift_residual_gradient(&e->l, ask->v, ask->out);
}
