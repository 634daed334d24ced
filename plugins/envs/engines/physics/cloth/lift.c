/* SPDX-License-Identifier: Apache-2.0 */
/* lift.c - identification of a cloth from a recorded lift (see lift.h): R. Antonova et al., CoRL 2022,
 * section 5.2. */
#include "lift.h"

#include "engines/kit/norm.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

enum { SEGMENT = 100, PATCHES = LIFT_CELLS * LIFT_CELLS };

static const double start_height = 0.001, grip_radius = 0.02; /* m */
static const double damping = 0.002, drag = 1, gravity = 9.81;

/* ---- callbacks of an episode ---- */

static int anchor(void *self, uint64_t step, double velocity[3])
{
    const lift *l = self;
    memcpy(velocity, l->grip + 3 * step, 3 * sizeof *velocity);
    return 1;
}

/* Copies state k to `frame` if it is an output step of an episode of `steps` steps. */
static void keep(const lift *l, uint64_t steps, uint64_t k, const double *x, double *frame)
{
    const size_t n = l->c.mesh.stride;
    if (k <= steps && (k % l->every == 0 || k == steps)) {
        memcpy(frame + (k + l->every - 1) / l->every * 3 * n, x, 3 * n * sizeof *x);
    }
}

static void state(void *self, uint64_t k, const double *x, const double *v)
{
    lift *l = self;
    const size_t n = l->c.mesh.stride;
    (void)v;
    for (; l->next < l->data.rows && l->sample_step[l->next] == k; l->next++) {
        for (size_t c = 0; c < 4; c++) {
            for (size_t i = 0; i < 3; i++) {
                l->corners[12 * l->next + 3 * c + i] = x[i * n + l->corner[c]];
            }
        }
    }
    keep(l, l->steps, k, x, l->frame);
    if (l->fitted_frame != l->frame) {
        keep(l, l->fitted_steps, k, x, l->fitted_frame);
    }
}

/* e = simulated minus recorded corner; returns 0 if the recording lacks the corner. */
static int error_of(const lift *l, uint64_t row, size_t c, double e[3])
{
    const double *seen = l->data.row + TRAJECTORY_COLUMNS * row + 4 + 3 * c,
                 *got = l->corners + 12 * row + 3 * c;
    for (int i = 0; i < 3; i++) {
        e[i] = got[i] - seen[i];
    }
    return !isnan(seen[0]);
}

static void state_bar(void *self, uint64_t k, double *x_bar)
{
    lift *l = self;
    double e[3];
    if (l->seen != NULL) {
        if (k % l->every == 0 || k == l->fitted_steps) {
            cloth_camera_bar(l->seen, (k + l->every - 1) / l->every, l->fitted_frame, x_bar);
        }
        return;
    }
    for (; l->next > 0 && l->sample_step[l->next - 1] == k; l->next--) {
        for (size_t c = 0; c < 4; c++) {
            if (!error_of(l, l->next - 1, c, e)) {
                continue;
            }
            if (!l->squared) {
                norm_of(3, e, e);
            }
            double per = (l->squared ? 2 : 1) / (double)l->pairs;
            const double *weight = l->weight ? l->weight + 12 * (l->next - 1) + 3 * c : NULL;
            for (size_t i = 0; i < 3; i++) {
                x_bar[i * l->c.mesh.stride + l->corner[c]] +=
                    weight ? weight[i] / sqrt((double)l->pairs) : per * e[i];
            }
        }
    }
}

static void force(void *self, const double *x, const double *v, double *f)
{
    vertex_net_force(&((lift *)self)->net, x, v, f);
}

static void force_bar(void *self, const double *x, const double *v, const double *f_bar, double *x_bar,
                      double *v_bar)
{
    vertex_net_force_bar(&((lift *)self)->net, x, v, f_bar, x_bar, v_bar);
}

static const cloth_driver driver = {.anchor = anchor, .state = state, .state_bar = state_bar};
static const cloth_driver driver_with_networks = {
    .anchor = anchor, .force = force, .force_bar = force_bar, .state = state, .state_bar = state_bar};

void lift_wire(lift *l, ds_memory *room, const ds_hybrid *hybrid)
{
    if (hybrid->nets > 0) {
        vertex_net_open(&l->net, room, hybrid, &l->c);
        l->c.driver = &driver_with_networks;
    }
}

double lift_loss(const lift *l)
{
    double sum = 0, e[3];
    for (uint64_t row = 0; row < l->fitted; row++) {
        for (size_t c = 0; c < 4; c++) {
            if (error_of(l, row, c, e)) {
                sum += l->squared ? e[0] * e[0] + e[1] * e[1] + e[2] * e[2] : norm_of(3, e, NULL);
            }
        }
    }
    return sum / (double)l->pairs;
}

uint64_t lift_residual_count(const lift *l)
{
    return 12 * l->fitted;
}

void lift_residuals(const lift *l, double *out)
{
    double e[3];
    for (uint64_t k = 0; k < 4 * l->fitted; k++) {
        int seen = error_of(l, k / 4, k % 4, e);
        for (uint64_t i = 0; i < 3; i++) {
            out[3 * k + i] = seen ? e[i] / sqrt((double)l->pairs) : 0;
        }
    }
}

/* ---- set-up ---- */

void lift_set_ranges(lift *l, const double mass[2], const double stiffness[2])
{
    if (mass != NULL) {
        l->mass_middle = sqrt(mass[0] * mass[1]);
        l->mass_ratio = mass[1] / mass[0];
    }
    if (stiffness != NULL) {
        l->stiffness_low = stiffness[0];
        l->stiffness_ratio = stiffness[1] / stiffness[0];
    }
}

void lift_hidden(uint64_t seed, double u[LIFT_VARIABLES])
{
    ds_random hidden = ds_random_open(seed, "lift cloth", 0);
    for (int i = 0; i < LIFT_VARIABLES; i++) {
        u[i] = 1.6 * ds_random_uniform(&hidden) - 0.8;
    }
}

double lift_rms(const lift *l, uint64_t from, uint64_t to)
{
    double sum = 0, e[3];
    uint64_t seen = 0;
    for (uint64_t k = 4 * from; k < 4 * to; k++) {
        if (error_of(l, k / 4, k % 4, e)) {
            sum += e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
            seen++;
        }
    }
    return seen > 0 ? sqrt(sum / (double)seen) : (double)NAN;
}

/* Interpolates three numbers from column `first` on between the rows before and after a time. */
static void between(const trajectory *t, double time, int first, double out[3])
{
    const double *a = t->row;
    uint64_t low = 0, high = t->rows - 1;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        *(t->row[TRAJECTORY_COLUMNS * middle] <= time ? &low : &high) = middle;
    }
    a += TRAJECTORY_COLUMNS * low;
    const double *b = a + TRAJECTORY_COLUMNS;
    double share = fmin(1, fmax(0, (time - a[0]) / (b[0] - a[0])));
    for (int i = first; i < first + 3; i++) {
        out[i - first] = a[i] + share * (b[i] - a[i]);
    }
}

void lift_gripper(const trajectory *t, double time, double out[3])
{
    between(t, time, 1, out);
}

void lift_corner(const trajectory *t, double time, size_t c, double out[3])
{
    between(t, time, 4 + 3 * (int)c, out);
}

/* Sets the middle and the directions of the sheet from the corners of the first row. */
static void fit(lift *l)
{
    const double *c = l->data.row + 4;
    double wide[2], deep[2];
    for (int i = 0; i < 2; i++) {
        int j = 2 * i; /* x and z */
        l->centre[i] = 0.25 * (c[j] + c[3 + j] + c[6 + j] + c[9 + j]);
        wide[i] = 0.5 * (c[3 + j] - c[j] + c[9 + j] - c[6 + j]);
        deep[i] = 0.5 * (c[6 + j] - c[j] + c[9 + j] - c[3 + j]);
    }
    double length = hypot(wide[0], wide[1]);
    l->along[0] = length > 0 ? wide[0] / length : 1;
    l->along[1] = length > 0 ? wide[1] / length : 0;
    double side = -l->along[1] * deep[0] + l->along[0] * deep[1] < 0 ? -1 : 1;
    l->across[0] = -side * l->along[1];
    l->across[1] = side * l->along[0];
}

/* Number of steps up to a row. */
static uint64_t steps_to(const trajectory *t, uint64_t row, double h)
{
    return (uint64_t)fmax(1, floor(t->row[TRAJECTORY_COLUMNS * row] / h + 0.5));
}

/* The gripper after k steps. Up to the last fitted row it does not depend on later rows. */
static void grip_after(const lift *l, uint64_t k, double out[3])
{
    const double time = (double)k * l->c.h, last = l->data.row[TRAJECTORY_COLUMNS * (l->fitted - 1)];
    lift_gripper(&l->data, k <= l->fitted_steps ? fmin(time, last) : time, out);
}

static int allocate(lift *l, ds_memory *room, double h, const ds_host *host)
{
    const trajectory data = l->data;
    cloth_mesh mesh;
    if (!sheet_open(&l->s, &mesh, room, LIFT_CELLS, LIFT_CELLS, LIFT_CELLS, damping)) {
        return 0;
    }
    l->steps = steps_to(&data, data.rows - 1, h);
    l->every = h < 0.01 ? (uint64_t)(0.01 / h + 0.5) : 1;
    l->frames = (l->steps + l->every - 1) / l->every;
    l->fitted_steps = steps_to(&data, l->fitted - 1, h);
    l->fitted_frames = (l->fitted_steps + l->every - 1) / l->every;
    l->c.h = h;
    l->c.drag = drag;
    l->c.gravity = gravity;
    l->c.floor.toi = 1;
    l->sample_step = ds_memory_take(room, data.rows, sizeof *l->sample_step);
    l->corners = ds_memory_doubles(room, 12 * data.rows);
    l->grip = ds_memory_doubles(room, 3 * l->steps);
    l->frame = ds_memory_doubles(room, (l->frames + 1) * 3 * mesh.stride);
    l->fitted_frame = l->fitted_steps == l->steps || l->fitted_steps % l->every == 0
                          ? l->frame
                          : ds_memory_doubles(room, (l->fitted_frames + 1) * 3 * mesh.stride);
    const int opened = cloth_open(&l->c, room, &mesh, l->steps, SEGMENT, host, &driver, l);
    l->c.steps = l->fitted_steps;
    return opened;
}

int lift_open(lift *l, ds_memory *room, const trajectory *data, uint64_t fitted, double h,
              const ds_host *host)
{
    static const uint32_t side = LIFT_CELLS + 1;
    const uint32_t corner[4] = {0, side * (side - 1), side - 1, side * side - 1};
    memset(l, 0, sizeof *l);
    l->data = *data;
    l->fitted = fitted;
    l->mass_middle = 0.0316;
    l->mass_ratio = 10;
    l->stiffness_low = 10;
    l->stiffness_ratio = 20;
    if (!allocate(l, room, h, host)) {
        return 0;
    }
    memcpy(l->corner, corner, sizeof corner);
    fit(l);
    for (uint64_t r = 0; r < l->data.rows; r++) {
        uint64_t step = (uint64_t)floor(l->data.row[TRAJECTORY_COLUMNS * r] / h + 0.5);
        l->sample_step[r] = step < l->steps ? step : l->steps;
        for (size_t c = 0; c < 4; c++) {
            l->pairs += r < fitted && !isnan(l->data.row[TRAJECTORY_COLUMNS * r + 4 + 3 * c]);
        }
    }
    for (uint64_t k = 0; k < l->steps; k++) {
        double from[3], to[3];
        grip_after(l, k, from);
        grip_after(l, k + 1, to);
        for (int i = 0; i < 3; i++) {
            l->grip[3 * k + (uint64_t)i] = (to[i] - from[i]) / h;
        }
    }
    return 1;
}

/* ---- episode ---- */

static void set_variables(lift *l, const double *u)
{
    l->size[0] = l->data.size[0] * (1 + 0.5 * u[0]);
    l->size[1] = l->data.size[1] * (1 + 0.5 * u[1]);
    l->mass = l->mass_middle * pow(l->mass_ratio, 0.5 * u[2]);
    l->friction = 0.5 * (u[3] + 1);
    for (int i = 0; i < PATCHES; i++) {
        l->patch[i] = l->stiffness_low * pow(l->stiffness_ratio, 0.5 * (u[4 + i] + 1));
    }
    l->c.mass = l->mass / (double)l->c.mesh.vertices;
    l->c.floor.mu = l->friction;
    sheet_set_size(&l->s, &l->c.mesh, l->size[0], l->size[1]);
    sheet_set_stiffness(&l->s, &l->c.mesh, l->patch);
}

/* The gripper holds all vertices near it, or else the nearest one. */
static void attach(lift *l, const double *x)
{
    const size_t n = l->c.mesh.stride;
    const double *grip = l->data.row + 1;
    double least = HUGE_VAL;
    uint32_t nearest = 0;
    l->c.anchors = 0;
    for (uint32_t v = 0; v < l->c.mesh.vertices; v++) {
        double dx = x[v] - grip[0], dy = x[n + v] - grip[1], dz = x[2 * n + v] - grip[2];
        double d = sqrt(dx * dx + dy * dy + dz * dz);
        if (d <= grip_radius) {
            l->c.anchored[l->c.anchors++] = v;
        }
        if (d < least) {
            least = d;
            nearest = v;
        }
    }
    if (l->c.anchors == 0) {
        l->c.anchored[l->c.anchors++] = nearest;
    }
}

/* Place of a vertex in the sheet, from -1/2 to 1/2. */
static double part(size_t index)
{
    return (double)index / LIFT_CELLS - 0.5;
}

static double *lay_cloth(lift *l, const double *u)
{
    const size_t n = l->c.mesh.stride;
    double *x = cloth_start(&l->c);
    set_variables(l, u);
    memset(x, 0, 6 * n * sizeof *x);
    for (size_t v = 0; v < l->c.mesh.vertices; v++) {
        double a = part(v / (LIFT_CELLS + 1)) * l->size[0], b = part(v % (LIFT_CELLS + 1)) * l->size[1];
        x[v] = l->centre[0] + a * l->along[0] + b * l->across[0];
        x[n + v] = start_height;
        x[2 * n + v] = l->centre[1] + a * l->along[1] + b * l->across[1];
    }
    return x;
}

ds_status lift_check_step(lift *l, const char *cure)
{
    double u[LIFT_VARIABLES] = {0, 0, -1};
    for (int i = 4; i < LIFT_VARIABLES; i++) {
        u[i] = 1;
    }
    return cloth_warn_of_step(&l->c, lay_cloth(l, u), " where the cloth is lightest and stiffest", cure);
}

ds_status lift_simulate(lift *l, const double *u, int64_t *bad)
{
    attach(l, lay_cloth(l, u));
    l->next = 0;
    return cloth_simulate(&l->c, bad);
}

ds_status lift_go_on(lift *l)
{
    const size_t numbers = 3 * l->c.mesh.stride;
    int64_t bad = -1;
    const ds_status status = l->fitted_steps < l->steps ? cloth_advance(&l->c, l->steps, &bad) : DS_OK;
    const uint64_t reached = bad < 0 ? l->frames : (uint64_t)bad / l->every;
    for (l->known = l->fitted_steps / l->every; l->known < reached; l->known++) {
        if (!all_finite(numbers, l->frame + (l->known + 1) * numbers)) {
            break;
        }
    }
    return status;
}

ds_status lift_gradient(lift *l, double *grad)
{
    const size_t n = l->c.mesh.stride;
    l->next = l->fitted;
    ds_status status = cloth_adjoint(&l->c);
    if (status != DS_OK) {
        return status;
    }
    sheet_size_bar(&l->s, &l->c, l->size[0], l->size[1], grad);
    for (size_t v = 0; v < l->c.mesh.vertices; v++) {
        const double bx = l->c.x_bar[v], bz = l->c.x_bar[2 * n + v];
        grad[0] += part(v / (LIFT_CELLS + 1)) * (bx * l->along[0] + bz * l->along[1]);
        grad[1] += part(v % (LIFT_CELLS + 1)) * (bx * l->across[0] + bz * l->across[1]);
    }
    grad[0] *= 0.5 * l->data.size[0];
    grad[1] *= 0.5 * l->data.size[1];
    grad[2] = l->c.mass_bar / (double)l->c.mesh.vertices * l->mass * 0.5 * log(l->mass_ratio);
    grad[3] = 0.5 * l->c.mu_bar;
    sheet_stiffness_bar(&l->s, &l->c, l->patch_bar);
    for (int i = 0; i < PATCHES; i++) {
        grad[4 + i] = l->patch_bar[i] * l->patch[i] * 0.5 * log(l->stiffness_ratio);
    }
    return DS_OK;
}

ds_status lift_residual_gradient(lift *l, const double *weight, double *grad)
{
    l->weight = weight;
    ds_status status = lift_gradient(l, grad);
    l->weight = NULL;
    return status;
}
