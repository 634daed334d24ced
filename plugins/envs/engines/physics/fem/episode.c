/* SPDX-License-Identifier: Apache-2.0 */
/* episode.c - episodes: forward, adjoint, tangent, longest stable step (see episode.h).
 *
 * States are kept in the layout of the kernels. If all of them exceed the memory limit, the episode keeps the
 * states of one segment and a checkpoint at the start of each segment.
 *
 * Adjoint: with a = u_bar' + dt q_bar', the derivatives by the forces of a step are dt a / mass; the laws
 * pass them on to positions, velocities and constants. Tangent: the Jacobian of each law times the change of
 * the state and of the constants, carried forward with the episode.
 *
 * Longest stable step: the reverse of the forces, (df/dq)' and (df/du)', is applied to motions of the start
 * shape at rest, where both are symmetric. Power iteration approaches the largest eigenvalue of M^-1 (dt^2 K
 * + 2 dt C) from below: no warning is false. */
#include "engines/physics/fem/episode.h"

#include "engines/physics/fem/ground.h"
#include "engines/physics/fem/kernels/kernels.h"
#include "engines/physics/fem/obstacle.h"
#include "engines/physics/fem/plain.h"
#include "engines/physics/fem/rest.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

struct fem_episode {
    const fem_model *model;
    const ds_host *host;
    const fem_kernels *kernels;
    fem_options options;
    fem_pack pack;
    ds_memory room;
    size_t bytes;

    const fem_driver *driver;
    void *self;
    int keep;
    int ended;    /* 1: a step was bad */
    size_t frame; /* index of the next frame to be shown */

    uint64_t at;        /* the present state */
    uint64_t segment;   /* steps between checkpoints */
    double *checkpoint; /* [segments][particles][8], if there are several segments */
    double *kept;       /* [segment + 1][particles][8]: the states of a segment */
    uint64_t here;      /* the first state in `kept` */
    double *force;      /* [particles][4]; derivatives by forces in the reverse */
    double *bar;        /* [particles][8] */
    double *mass_bar;   /* [particles] */
    double gravity_bar[4];
    double *hand;               /* [particles][3]: what the hands of the driver set, or derivatives by it */
    int across;                 /* axis that the adjoint leaves out, see FEM_WANT_IN_PLANE; -1: none */
    fem_state shown, shown_bar; /* [particles][3] */
};

/* Numbers in a state. */
static inline size_t episode_width(const fem_episode *e)
{
    return FEM_WIDTH * e->pack.particles;
}

/* The activations that the driver sets, or their derivatives in a step. */
static inline fem_activation episode_activation(fem_pack *p)
{
    return (fem_activation){p->triangle.act, p->edge.act, p->tet.act};
}

void episode_show(fem_episode *e, const double *state);

/* ---- set-up ---- */

static const size_t default_bytes = 300000000;
static const double default_speed = 1e5;

enum { STOP_EVERY = 64 };

/* Steps between checkpoints: all steps if they fit, otherwise about the square root, which needs the least
 * memory. */
static uint64_t segment_of(const fem_options *o, size_t state_bytes)
{
    if (o->steps + 1 <= o->memory_bytes / state_bytes) {
        return o->steps;
    }
    return (uint64_t)ceil(sqrt((double)o->steps));
}

static void *take_array(fem_episode *e, size_t count, size_t size)
{
    e->bytes += count * size;
    return ds_memory_take(&e->room, count, size);
}

/* Aligns to cache lines: one line per particle. */
static double *aligned(double *block)
{
    const uintptr_t line = 64;
    return (double *)(((uintptr_t)block + line - 1) / line * line);
}

static void open_arrays(fem_episode *e)
{
    const size_t n = e->model->particles, width = FEM_WIDTH * n;
    e->segment = segment_of(&e->options, width * sizeof(double));
    const uint64_t segments = (e->options.steps + e->segment - 1) / e->segment;
    e->kept = take_array(e, width * (e->segment + 1) + FEM_WIDTH, sizeof *e->kept);
    e->kept = e->kept ? aligned(e->kept) : NULL;
    e->checkpoint = segments > 1 ? take_array(e, width * segments, sizeof *e->checkpoint) : NULL;
    e->force = take_array(e, 4 * n, sizeof *e->force);
    e->bar = take_array(e, width, sizeof *e->bar);
    e->mass_bar = take_array(e, n, sizeof *e->mass_bar);
    e->hand = take_array(e, 3 * n, sizeof *e->hand);
    e->shown.q = take_array(e, 3 * n, sizeof(double));
    e->shown.u = take_array(e, 3 * n, sizeof(double));
    e->shown_bar.q = take_array(e, 3 * n, sizeof(double));
    e->shown_bar.u = take_array(e, 3 * n, sizeof(double));
}

ds_status fem_episode_open(fem_episode **out, const fem_model *m, const fem_options *o, const ds_host *host)
{
    *out = NULL;
    const fem_kernels *kernels = o->kernels ? o->kernels : fem_kernels_find(o->isa);
    if (!(isfinite(o->dt) && o->dt > 0) || o->steps == 0 || o->steps > (uint64_t)1 << 32 || !kernels) {
        return DS_E_PARAM;
    }
    fem_episode *e = calloc(1, sizeof *e);
    if (!e) {
        return DS_E_NOMEM;
    }
    *e = (fem_episode){.model = m, .host = host, .kernels = kernels, .options = *o};
    e->options.memory_bytes = o->memory_bytes ? o->memory_bytes : default_bytes;
    e->options.most_speed = o->most_speed > 0 ? o->most_speed : default_speed;
    fem_pack_open(&e->pack, &e->room, m);
    open_arrays(e);
    if (e->room.failed) {
        fem_episode_close(e);
        return DS_E_NOMEM;
    }
    *out = e;
    return DS_OK;
}

void fem_episode_close(fem_episode *e)
{
    if (e) {
        ds_memory_free(&e->room);
        free(e);
    }
}

size_t fem_episode_bytes(const fem_episode *e)
{
    return e->bytes + e->pack.slots * FEM_WIDTH * sizeof(double);
}

/* ---- forward ---- */

/* Returns whether state k is a frame. Call it in ascending order of k. */
static int episode_frame(fem_episode *e, uint64_t k)
{
    const fem_driver *d = e->driver;
    while (e->frame < d->frame_count && d->frames[e->frame] < k) {
        e->frame++;
    }
    return e->frame < d->frame_count && d->frames[e->frame] == k;
}

void episode_show(fem_episode *e, const double *state)
{
    fem_pack_from_state(e->pack.particles, state, 0, e->shown.q);
    fem_pack_from_state(e->pack.particles, state, 4, e->shown.u);
}

/* Adds the numbers that a hand sets to three numbers of each of its particles, `width` numbers apart; with
 * `replace` writes them there. */
static void put_hand(fem_episode *e, const fem_hand *h, uint64_t step, int replace, size_t width, double *to)
{
    if (h->count == 0) {
        return;
    }
    h->set(e->self, step, e->hand);
    for (size_t i = 0; i < 3 * h->count; i++) {
        double *at = to + width * h->particle[i / 3] + i % 3;
        *at = (replace ? 0.0 : *at) + e->hand[i];
    }
}

/* Passes on the derivatives by the numbers of a hand, and with `replace` sets them to 0. */
static void take_hand(fem_episode *e, const fem_hand *h, uint64_t step, int replace, size_t width,
                      double *from)
{
    for (size_t i = 0; i < 3 * h->count; i++) {
        double *at = from + width * h->particle[i / 3] + i % 3;
        e->hand[i] = *at;
        *at = replace ? 0.0 : *at;
    }
    if (h->count > 0 && h->bar) {
        h->bar(e->self, step, e->hand);
    }
}

/* Gives driven particles the velocities with which state k was shown. */
static void undo_drive(fem_episode *e, uint64_t k, double *state)
{
    const fem_hand *h = &e->driver->drive;
    if (k > 0) {
        put_hand(e, h, k - 1, 1, FEM_WIDTH, state + 4);
        return;
    }
    for (size_t i = 0; i < 3 * h->count; i++) {
        state[FEM_WIDTH * h->particle[i / 3] + 4 + i % 3] = e->model->u[3 * h->particle[i / 3] + i % 3];
    }
}

/* Sets the driven velocities and the activations of a step and the forces at a state. */
static void episode_force(fem_episode *e, uint64_t step, double *state)
{
    put_hand(e, &e->driver->drive, step, 1, FEM_WIDTH, state + 4);

    if (e->driver->activate) {
        fem_activation act = episode_activation(&e->pack);
        e->driver->activate(e->self, step, &act);
    }
    e->kernels->force(&e->pack, state, e->force);
    fem_obstacles_force(e->model->obstacle, e->model->obstacles, e->pack.particles, state, e->force);
    fem_contact_force(&e->model->contact, state, e->force);
    put_hand(e, &e->driver->push, step, 0, 4, e->force);
    if (e->driver->field.add) {
        e->driver->field.add(e->self, state, e->force);
    }
}

/* One step; returns 0 if the next state has exploded. */
static int episode_step(fem_episode *e, uint64_t step, double *state, double *next)
{
    episode_force(e, step, state);
    const double most = e->kernels->step(&e->pack, e->options.dt, state, e->force, next);
    return most <= e->options.most_speed * e->options.most_speed;
}

static int episode_stopped(const fem_episode *e, uint64_t step)
{
    return step % STOP_EVERY == 0 && e->host && e->host->should_stop(e->host);
}

/* Place of state k during work on the segment of `at`; without `keep` two places alternate. */
static double *place_of(const fem_episode *e, uint64_t k)
{
    const uint64_t begin = k == 0 ? 0 : (k - 1) / e->segment * e->segment;
    return e->kept + episode_width(e) * (e->keep ? k - begin : k % 2);
}

static void show_frame(fem_episode *e)
{
    if (episode_frame(e, e->at) && e->driver->state) {
        episode_show(e, place_of(e, e->at));
        e->driver->state(e->self, e->at, &e->shown);
    }
}

void fem_episode_begin(fem_episode *e, const fem_driver *driver, void *self, int keep)
{
    static const fem_driver none = {0};
    const size_t n = e->pack.particles;
    fem_pack_load(&e->pack, e->model);
    e->driver = driver ? driver : &none;
    e->self = self;
    e->keep = keep;
    e->ended = 0;
    e->frame = 0;
    e->at = 0;
    e->here = 0;
    fem_pack_to_state(n, e->model->q, e->kept, 0);
    fem_pack_to_state(n, e->model->u, e->kept, 4);
    show_frame(e);
}

/* Moves the state at the start of a segment to its place in the new segment and to the checkpoint. */
static double *begin_step(fem_episode *e)
{
    double *state = place_of(e, e->at);
    if (!e->keep || e->at % e->segment != 0 || !e->checkpoint) {
        return state;
    }
    const size_t bytes = episode_width(e) * sizeof *state;
    memcpy(e->checkpoint + e->at / e->segment * episode_width(e), state, bytes);
    e->here = e->at;
    if (state != e->kept) {
        memcpy(e->kept, state, bytes);
    }
    return e->kept;
}

ds_status fem_episode_advance(fem_episode *e, uint64_t until, int64_t *bad)
{
    *bad = -1;
    while (e->at < until && e->at < e->options.steps) {
        if (episode_stopped(e, e->at)) {
            return DS_STOPPED;
        }
        double *state = begin_step(e);
        if (e->ended || !episode_step(e, e->at, state, place_of(e, e->at + 1))) {
            e->ended = 1;
            *bad = (int64_t)e->at;
            return DS_OK;
        }
        e->at++;
        show_frame(e);
    }
    return DS_OK;
}

ds_status fem_episode_run(fem_episode *e, const fem_driver *driver, void *self, int keep, int64_t *bad)
{
    fem_episode_begin(e, driver, self, keep);
    return fem_episode_advance(e, e->options.steps, bad);
}

fem_state fem_episode_state(fem_episode *e)
{
    episode_show(e, place_of(e, e->at));
    return e->shown;
}

/* ---- adjoint ---- */

static void clear(double *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

/* ---- motion in a plane ---- */

static int all_zero(const double *x, size_t n)
{
    size_t i = 0;
    while (i < n && x[i] == 0) {
        i++;
    }
    return i == n;
}

/* Returns whether all particles lie and move in one plane across this axis, at the start and in the last
 * state. */
static int lies_across(const fem_episode *e, size_t axis, const double *last)
{
    const fem_model *m = e->model;
    const double at = m->q[axis];
    size_t i = 0;
    while (i < m->particles && m->q[3 * i + axis] == at && m->u[3 * i + axis] == 0 &&
           last[FEM_WIDTH * i + axis] == at && last[FEM_WIDTH * i + 4 + axis] == 0) {
        i++;
    }
    return i == m->particles;
}

/* The axis across the plane of the motion, or -1. Every law gives mirror images of its forces for mirror
 * images of a state, so only gravity, wind, the ground or a bent edge could push particles out of the
 * plane. */
static int axis_across(const fem_episode *e, const double *last)
{
    const fem_model *m = e->model;
    const int flat = all_zero(m->edge_rest, m->edges) && all_zero(e->pack.edge.act, m->edges) &&
                     m->obstacles == 0 && m->contact.surfaces == NULL && e->driver->drive.count == 0 &&
                     e->driver->push.count == 0 && e->driver->field.add == NULL;
    int axis = flat && (e->options.want & FEM_WANT_IN_PLANE) ? 2 : -1;
    while (axis >= 0 && (m->gravity[axis] != 0 || m->wind[axis] != 0 || (m->ground.on && axis == 1) ||
                         !lies_across(e, (size_t)axis, last))) {
        axis--;
    }
    return axis;
}

static void stay_in_plane(fem_episode *e)
{
    for (size_t i = 0; i < e->pack.particles && e->across >= 0; i++) {
        double *bar = e->bar + FEM_WIDTH * i + e->across;
        bar[0] = bar[4] = 0;
    }
}

/* ---- one step ---- */

/* Adds the direct derivatives by state k. */
static void add_frame(fem_episode *e, uint64_t k, const double *state)
{
    const fem_driver *d = e->driver;
    const size_t n = e->pack.particles;
    while (e->frame > 0 && d->frames[e->frame - 1] > k) {
        e->frame--;
    }
    if (e->frame == 0 || d->frames[e->frame - 1] != k || !d->state_bar) {
        return;
    }
    episode_show(e, state);
    clear(e->shown_bar.q, 3 * n);
    clear(e->shown_bar.u, 3 * n);
    d->state_bar(e->self, k, &e->shown, &e->shown_bar);
    for (size_t i = 0; i < 3 * n; i++) {
        e->bar[FEM_WIDTH * (i / 3) + i % 3] += e->shown_bar.q[i];
        e->bar[FEM_WIDTH * (i / 3) + 4 + i % 3] += e->shown_bar.u[i];
    }
}

static void add_sums(double *to, const fem_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        to[i] += s->act_bar[i];
    }
}

static void pass_activations(fem_episode *e, uint64_t step, fem_variation *g)
{
    if (e->driver->activate_bar) {
        const fem_activation bar = {e->pack.triangle.act_bar, e->pack.edge.act_bar, e->pack.tet.act_bar};
        e->driver->activate_bar(e->self, step, &bar);
    }
    if (e->options.want & FEM_WANT_ACTIVATION) {
        add_sums(g->triangle_act, &e->pack.triangle);
        add_sums(g->tet_act, &e->pack.tet);
    }
    if (e->options.want & (FEM_WANT_ACTIVATION | FEM_WANT_MATERIAL)) {
        add_sums(g->edge_act, &e->pack.edge);
    }
}

/* Reverse from state k + 1 to state k; returns 0 if the adjoint is not finite. */
static int reverse_step(fem_episode *e, uint64_t k, double *state, const double *next, fem_variation *g)
{
    put_hand(e, &e->driver->drive, k, 1, FEM_WIDTH, state + 4);
    const double most = e->kernels->step_bar(&e->pack, e->options.dt, state, next, e->bar, e->force,
                                             e->mass_bar, e->gravity_bar);
    if (!isfinite(most)) {
        return 0;
    }
    if (e->driver->activate) {
        fem_activation act = episode_activation(&e->pack);
        e->driver->activate(e->self, k, &act);
    }
    e->kernels->vjp(&e->pack, state, e->force, e->bar);
    if (e->options.want & FEM_WANT_REST) {
        fem_rest_vjp(&e->pack, e->model, state, e->force, g);
    }
    fem_obstacles_vjp(e->model->obstacle, e->model->obstacles, e->pack.particles, state, e->force, e->bar,
                      g->obstacle);
    fem_contact_vjp(&e->model->contact, state, e->force, e->bar, &g->contact);
    if (e->driver->field.bar) {
        e->driver->field.bar(e->self, state, e->force, e->bar);
    }
    take_hand(e, &e->driver->push, k, 0, 4, e->force);
    take_hand(e, &e->driver->drive, k, 1, FEM_WIDTH, e->bar + 4);
    pass_activations(e, k, g);
    undo_drive(e, k, state);
    add_frame(e, k, state);
    stay_in_plane(e);
    return 1;
}

/* Computes the states of a segment again, unless they are still kept. */
static ds_status repeat_segment(fem_episode *e, uint64_t begin, uint64_t end)
{
    const size_t width = episode_width(e);
    if (e->here == begin) {
        return DS_OK;
    }
    e->here = begin;
    memcpy(e->kept, e->checkpoint + begin / e->segment * width, width * sizeof *e->kept);
    for (uint64_t k = begin; k < end; k++) {
        if (episode_stopped(e, k)) {
            return DS_STOPPED;
        }
        episode_step(e, k, e->kept + (k - begin) * width, e->kept + (k + 1 - begin) * width);
    }
    return DS_OK;
}

static ds_status reverse_segment(fem_episode *e, uint64_t begin, uint64_t end, fem_variation *g, int64_t *bad)
{
    const size_t width = episode_width(e);
    ds_status status = repeat_segment(e, begin, end);
    for (uint64_t k = end; k > begin && status == DS_OK && *bad < 0; k--) {
        double *next = e->kept + (k - begin) * width;
        if (episode_stopped(e, k)) {
            status = DS_STOPPED;
        } else if (!reverse_step(e, k - 1, next - width, next, g)) {
            *bad = (int64_t)k - 1;
        }
    }
    return status;
}

/* ---- gathering the derivatives ---- */

/* Sum over the lanes of field k of the single chunk that all elements share. */
static double shared_sum(const fem_set *s, size_t k)
{
    double sum = 0;
    for (size_t lane = 0; lane < FEM_CHUNK; lane++) {
        sum += s->bar[k * FEM_CHUNK + lane];
    }
    return sum;
}

static double element_bar(const fem_set *s, size_t i, size_t k, size_t bars)
{
    return s->bar[(i / FEM_CHUNK * bars + k) * FEM_CHUNK + i % FEM_CHUNK];
}

/* The constants of the membranes: one chunk of sums, or those of each element. */
static void read_sheets(const fem_pack *p, const fem_model *m, fem_variation *g)
{
    const fem_set *t = &p->triangle;
    if (!p->mixed) {
        g->membrane[0] = (fem_membrane){shared_sum(t, 0), shared_sum(t, 1), shared_sum(t, 2),
                                        shared_sum(t, 3), shared_sum(t, 4)};
        g->bending[0] = (fem_bending){shared_sum(&p->edge, 0), shared_sum(&p->edge, 1)};
        for (size_t d = 0; d < 3; d++) {
            g->wind[d] = shared_sum(t, 5 + d);
        }
        return;
    }
    for (size_t i = 0; i < t->count; i++) {
        fem_membrane *to = &g->membrane[m->triangle_sheet[i]];
        to->mu += element_bar(t, i, 0, FEM_TRIANGLE_BARS);
        to->lambda += element_bar(t, i, 1, FEM_TRIANGLE_BARS);
        to->kd += element_bar(t, i, 2, FEM_TRIANGLE_BARS);
        to->drag += element_bar(t, i, 3, FEM_TRIANGLE_BARS);
        to->lift += element_bar(t, i, 4, FEM_TRIANGLE_BARS);
        for (size_t d = 0; d < 3; d++) {
            g->wind[d] += element_bar(t, i, 5 + d, FEM_TRIANGLE_BARS);
        }
    }
    for (size_t i = 0; i < p->edge.count; i++) {
        fem_bending *to = &g->bending[m->edge_sheet[i]];
        to->ke += element_bar(&p->edge, i, 0, FEM_EDGE_BARS);
        to->kd += element_bar(&p->edge, i, 1, FEM_EDGE_BARS);
    }
}

static void read_materials(const fem_pack *p, const fem_model *m, fem_variation *g)
{
    for (size_t i = 0; i < p->spring.count; i++) {
        g->spring_ke[i] = element_bar(&p->spring, i, 0, FEM_SPRING_BARS);
        g->spring_kd[i] = element_bar(&p->spring, i, 1, FEM_SPRING_BARS);
        g->spring_rest[i] = element_bar(&p->spring, i, 2, FEM_SPRING_BARS);
    }
    for (size_t i = 0; i < p->tet.count; i++) {
        g->solid[i] =
            (fem_solid){element_bar(&p->tet, i, 0, FEM_TET_BARS), element_bar(&p->tet, i, 1, FEM_TET_BARS),
                        element_bar(&p->tet, i, 2, FEM_TET_BARS)};
    }
    read_sheets(p, m, g);
    for (size_t i = 0; i < p->edge.count; i++) {
        g->edge_rest[i] = g->edge_act[i];
    }
}

static void read_gradient(const fem_episode *e, fem_variation *g)
{
    const size_t n = e->pack.particles;
    fem_pack_from_state(n, e->bar, 0, g->q);
    fem_pack_from_state(n, e->bar, 4, g->u);
    memcpy(g->mass, e->mass_bar, n * sizeof *g->mass);
    memcpy(g->gravity, e->gravity_bar, sizeof g->gravity);
    g->ke = e->pack.ground_bar.ke;
    g->kd = e->pack.ground_bar.kd;
    g->kf = e->pack.ground_bar.kf;
    g->mu = e->pack.ground_bar.mu;
    g->offset = e->pack.ground_bar.offset;
    if (e->options.want & FEM_WANT_MATERIAL) {
        read_materials(&e->pack, e->model, g);
    }
}

static int all_finite(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] - x[i];
    }
    return sum == 0;
}

ds_status fem_episode_adjoint(fem_episode *e, fem_variation *gradient, int64_t *bad)
{
    const uint64_t steps = e->options.steps;
    *bad = -1;
    fem_variation_clear(gradient, e->model);
    fem_pack_clear(&e->pack);
    e->pack.want_material = (e->options.want & FEM_WANT_MATERIAL) != 0;
    clear(e->bar, episode_width(e));
    clear(e->mass_bar, e->pack.particles);
    clear(e->gravity_bar, 4);
    e->frame = e->driver->frame_count;
    const uint64_t last = (steps - 1) / e->segment * e->segment;
    ds_status status = repeat_segment(e, last, steps);
    if (status == DS_OK) {
        const double *end = e->kept + (steps - last) * episode_width(e);
        e->across = axis_across(e, end);
        add_frame(e, steps, end);
        stay_in_plane(e);
    }
    for (uint64_t end = steps, begin = last; end > 0 && status == DS_OK && *bad < 0;
         end = begin, begin -= e->segment) {
        status = reverse_segment(e, begin, end, gradient, bad);
    }
    if (*bad < 0 && !all_finite(e->bar, episode_width(e))) {
        *bad = 0;
    }
    if (status == DS_OK && *bad < 0) {
        read_gradient(e, gradient);
    } else {
        fem_variation_clear(gradient, e->model);
    }
    return status;
}

/* ---- tangent ---- */

typedef struct tangent {
    fem_episode *e;
    const fem_variation *along;
    fem_activation act; /* change of the activations in a step; set by the driver */
    double *state[2];   /* [particles][8], present and next state */
    double *dot;        /* [particles][8]: the change of the state */
    double *force_dot;  /* [particles][4] */
    fem_state shown;    /* [particles][3] */
    ds_memory room;
} tangent;

static int open_tangent(tangent *t, fem_episode *e, const fem_variation *direction)
{
    const size_t n = e->pack.particles;
    *t = (tangent){.e = e, .along = direction};
    t->act.triangle = ds_memory_doubles(&t->room, e->pack.triangle.count + 1);
    t->act.edge = ds_memory_doubles(&t->room, e->pack.edge.count + 1);
    t->act.tet = ds_memory_doubles(&t->room, e->pack.tet.count + 1);
    ds_memory_each(&t->room, FEM_WIDTH * n, (double **const[]){&t->state[0], &t->state[1], &t->dot, NULL});
    t->force_dot = ds_memory_doubles(&t->room, 4 * n);
    ds_memory_each(&t->room, 3 * n, (double **const[]){&t->shown.q, &t->shown.u, NULL});
    return !t->room.failed;
}

/* State and its change at the corners of an element. */
typedef struct corners {
    vec3 q[4], u[4], dq[4], du[4], df[4];
} corners;

static void take_corners(const tangent *t, const fem_set *s, size_t i, size_t n, const double *state,
                         corners *c)
{
    take(s, i, n, state, FEM_WIDTH, c->q);
    take(s, i, n, state + 4, FEM_WIDTH, c->u);
    take(s, i, n, t->dot, FEM_WIDTH, c->dq);
    take(s, i, n, t->dot + 4, FEM_WIDTH, c->du);
}

static void of_springs(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_variation *d = t->along;
    corners c;
    for (size_t i = 0; i < p->spring.count; i++) {
        const fem_spring_law law = spring_law(p, i),
                             dot = {d->spring_ke[i], d->spring_kd[i], d->spring_rest[i]};
        take_corners(t, &p->spring, i, 2, state, &c);
        fem_spring_jvp(&law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->spring, i, 2, c.df, t->force_dot, 4);
    }
}

static void of_triangles(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    corners c;
    for (size_t i = 0; i < p->triangle.count; i++) {
        const fem_membrane *d = &t->along->membrane[t->e->model->triangle_sheet[i]];
        const fem_air_law air = air_law(p, i), air_dot = {d->drag, d->lift, v3(t->along->wind)};
        const fem_triangle_rest rest = triangle_rest(p, i);
        const fem_triangle_law law = triangle_law(p, i);
        const fem_triangle_law dot = {d->mu, d->lambda, d->kd,
                                      t->along->triangle_act[i] + t->act.triangle[i]};
        take_corners(t, &p->triangle, i, 3, state, &c);
        fem_triangle_jvp(&rest, &law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->triangle, i, 3, c.df, t->force_dot, 4);
        fem_air_jvp(&air, c.q, c.u, c.dq, c.du, &air_dot, c.df);
        give(&p->triangle, i, 3, c.df, t->force_dot, 4);
    }
}

static void of_edges(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_variation *d = t->along;
    corners c;
    for (size_t i = 0; i < p->edge.count; i++) {
        const fem_edge_law law = edge_law(p, i);
        const fem_bending *b = &d->bending[t->e->model->edge_sheet[i]];
        const fem_edge_law dot = {b->ke, b->kd, d->edge_rest[i] + d->edge_act[i] + t->act.edge[i]};
        take_corners(t, &p->edge, i, 4, state, &c);
        fem_edge_jvp(edge_length(p, i), &law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->edge, i, 4, c.df, t->force_dot, 4);
    }
}

static void of_tets(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    corners c;
    for (size_t i = 0; i < p->tet.count; i++) {
        const fem_tet_rest rest = tet_rest(p, i);
        const fem_tet_law law = tet_law(p, i);
        const fem_solid *d = &t->along->solid[i];
        const fem_tet_law dot = {d->mu, d->lambda, d->kd, t->along->tet_act[i] + t->act.tet[i]};
        take_corners(t, &p->tet, i, 4, state, &c);
        fem_tet_jvp(&rest, &law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->tet, i, 4, c.df, t->force_dot, 4);
    }
}

static void of_ground(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_ground_bar dot = {t->along->ke, t->along->kd, t->along->kf, t->along->mu, t->along->offset};
    for (size_t i = 0; i < p->particles && p->ground.on; i++) {
        const double *q = state + FEM_WIDTH * i, *dq = t->dot + FEM_WIDTH * i;
        const double c = ground_depth(&p->ground, q);
        if (c < 0) {
            ground_jvp(&p->ground, c, q + 4, dq[1], dq + 4, &dot, t->force_dot + 4 * i);
        }
    }
}

/* As put_hand(), for the change along the direction. */
static void dot_hand(tangent *t, const fem_hand *h, uint64_t step, int replace, size_t width, double *to)
{
    fem_episode *e = t->e;
    memset(e->hand, 0, 3 * h->count * sizeof *e->hand);
    if (h->count > 0 && h->dot) {
        h->dot(e->self, step, e->hand);
    }
    for (size_t i = 0; i < 3 * h->count; i++) {
        double *at = to + width * h->particle[i / 3] + i % 3;
        *at = (replace ? 0.0 : *at) + e->hand[i];
    }
}

/* Computes the changes of the forces at a state; the activations of the step must be set. */
static void change_forces(tangent *t, uint64_t step, const double *state)
{
    const fem_driver *d = t->e->driver;
    const fem_pack *p = &t->e->pack;
    memset(t->force_dot, 0, 4 * p->particles * sizeof *t->force_dot);
    dot_hand(t, &d->drive, step, 1, FEM_WIDTH, t->dot + 4);
    if (d->activate_dot) {
        memset(t->act.triangle, 0, p->triangle.count * sizeof(double));
        memset(t->act.edge, 0, p->edge.count * sizeof(double));
        memset(t->act.tet, 0, p->tet.count * sizeof(double));
        d->activate_dot(t->e->self, step, &t->act);
    }
    of_springs(t, state);
    of_triangles(t, state);
    of_edges(t, state);
    of_tets(t, state);
    of_ground(t, state);
    if (t->e->options.want & FEM_WANT_REST) {
        fem_rest_jvp(p, t->e->model, state, t->along, t->force_dot);
    }
    fem_obstacles_jvp(t->e->model->obstacle, t->e->model->obstacles, p->particles, state, t->dot,
                      t->along->obstacle, t->force_dot);
    fem_contact_jvp(&t->e->model->contact, state, t->dot, &t->along->contact, t->force_dot);
    dot_hand(t, &d->push, step, 0, 4, t->force_dot);
    if (d->field.dot) {
        d->field.dot(t->e->self, state, t->dot, t->force_dot);
    }
}

/* du' = du + dt (w df + dw f + dg), dq' = dq + dt du'; returns 0 if it is not finite. */
static int change_state(tangent *t)
{
    const fem_episode *e = t->e;
    const double dt = e->options.dt;
    double sum = 0;
    for (size_t i = 0; i < e->pack.particles; i++) {
        const double w = e->pack.inverse_mass[i], dw = -w * w * t->along->mass[i];
        double *d = t->dot + FEM_WIDTH * i;
        for (size_t k = 0; k < 3; k++) {
            const double g = w > 0 ? t->along->gravity[k] : 0;
            d[4 + k] += dt * (w * t->force_dot[4 * i + k] + dw * e->force[4 * i + k] + g);
            d[k] += dt * d[4 + k];
            sum += d[k] - d[k];
        }
    }
    return sum == 0;
}

static void show(tangent *t, uint64_t k, const double *state)
{
    fem_episode *e = t->e;
    if (episode_frame(e, k) && e->driver->state_dot) {
        episode_show(e, state);
        fem_pack_from_state(e->pack.particles, t->dot, 0, t->shown.q);
        fem_pack_from_state(e->pack.particles, t->dot, 4, t->shown.u);
        e->driver->state_dot(e->self, k, &e->shown, &t->shown);
    }
}

static ds_status run(tangent *t, int64_t *bad)
{
    fem_episode *e = t->e;
    show(t, 0, t->state[0]);
    for (uint64_t k = 0; k < e->options.steps; k++) {
        double *state = t->state[k % 2], *next = t->state[(k + 1) % 2];
        if (episode_stopped(e, k)) {
            return DS_STOPPED;
        }
        const int good = episode_step(e, k, state, next);
        change_forces(t, k, state);
        if (!good || !change_state(t)) {
            *bad = (int64_t)k;
            return DS_OK;
        }
        show(t, k + 1, next);
    }
    return DS_OK;
}

ds_status fem_tangent(fem_episode *e, const fem_driver *driver, void *self, const fem_variation *direction,
                      int64_t *bad)
{
    static const fem_driver none = {0};
    const size_t n = e->pack.particles;
    tangent t;
    ds_status status = open_tangent(&t, e, direction) ? DS_OK : DS_E_NOMEM;
    *bad = -1;
    if (status == DS_OK) {
        fem_pack_load(&e->pack, e->model);
        e->driver = driver ? driver : &none;
        e->self = self;
        e->frame = 0;
        fem_pack_to_state(n, e->model->q, t.state[0], 0);
        fem_pack_to_state(n, e->model->u, t.state[0], 4);
        fem_pack_to_state(n, direction->q, t.dot, 0);
        fem_pack_to_state(n, direction->u, t.dot, 4);
        status = run(&t, bad);
    }
    ds_memory_free(&t.room);
    return status;
}

/* ---- the longest stable step ---- */

enum { ITERATIONS = 100 };

typedef struct probe {
    fem_pack pack;
    const fem_kernels *kernels;
    double *state, *force, *bar; /* laid out as in kernels.h */
    double *v;                   /* [particles][4]: a motion times the square root of the masses */
} probe;

/* Forces of the motion v by stiffness and by damping, per mass. Returns v.K v and v.C v. */
static void apply(probe *p, double *stiffness, double *damping)
{
    *stiffness = *damping = 0;
    for (size_t i = 0; i < 4 * p->pack.particles; i++) {
        p->force[i] = sqrt(p->pack.inverse_mass[i / 4]) * p->v[i];
    }
    memset(p->bar, 0, FEM_WIDTH * p->pack.particles * sizeof *p->bar);
    p->kernels->vjp(&p->pack, p->state, p->force, p->bar);
    for (size_t i = 0; i < 4 * p->pack.particles; i++) {
        double *bar = p->bar + FEM_WIDTH * (i / 4) + i % 4;
        *stiffness -= p->force[i] * bar[0];
        *damping -= p->force[i] * bar[4];
    }
}

static void normalise(double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = sum > 0 ? v[i] / sqrt(sum) : 0;
    }
}

static fem_limit power_iteration(probe *p, double dt)
{
    const size_t n = 4 * p->pack.particles;
    double k = 0, c = 0;
    for (size_t i = 0; i < n; i++) { /* contains every mode; fixed particles do not move */
        p->v[i] = p->pack.inverse_mass[i / 4] > 0 && i % 4 < 3 ? cos(1.7 * (double)(i * i % 1009)) : 0;
    }
    for (int round = 0; round < ITERATIONS; round++) {
        normalise(p->v, n);
        apply(p, &k, &c);
        for (size_t i = 0; i < n; i++) {
            const double *bar = p->bar + FEM_WIDTH * (i / 4) + i % 4;
            p->v[i] = -sqrt(p->pack.inverse_mass[i / 4]) * (dt * dt * bar[0] + 2 * dt * bar[4]);
        }
    }
    const double load = (dt * dt * k + 2 * dt * c) / 4;
    return (fem_limit){.load = load, .dt = load > 0 ? 4 / (c + sqrt(c * c + 4 * k)) : (double)INFINITY};
}

/* Load of the lightest particle alone, held by stiffness and damping of the ground, or by its friction. */
static double ground_load(const fem_pack *p, double dt)
{
    double w = 0;
    for (size_t i = 0; i < p->particles; i++) {
        w = fmax(w, p->inverse_mass[i]);
    }
    const fem_ground *g = &p->ground;
    return g->on ? w * fmax(dt * dt * g->ke + 2 * dt * g->kd, 2 * dt * g->kf) / 4 : 0;
}

/* The same on the hardest obstacle, or between two bodies. */
static double obstacle_load(const fem_model *m, const fem_pack *p, double dt)
{
    fem_pack on = *p;
    double most = 0;
    for (size_t i = 0; i < m->obstacles; i++) {
        const fem_obstacle *o = &m->obstacle[i];
        on.ground = (fem_ground){.on = 1, .ke = o->ke, .kd = o->kd, .kf = o->kf};
        most = fmax(most, ground_load(&on, dt));
    }
    if (m->contact.surfaces != NULL) { /* both sides give way: twice the load */
        const fem_contact_law *c = &m->contact.law;
        on.ground = (fem_ground){.on = 1, .ke = 2 * c->ke, .kd = 2 * c->kd, .kf = 2 * c->kf};
        most = fmax(most, ground_load(&on, dt));
    }
    return most;
}

/* Without drag and lift. */
static void still_air(fem_pack *p)
{
    p->air = 0;
    p->membrane.drag = p->membrane.lift = 0;
    for (size_t i = 0; i < p->triangle.count; i++) {
        double *at = p->triangle.constant + i / FEM_CHUNK * FEM_TRIANGLE_FIELDS * FEM_CHUNK + i % FEM_CHUNK;
        at[(FEM_TRIANGLE_MEMBRANE + 3) * FEM_CHUNK] = at[(FEM_TRIANGLE_MEMBRANE + 4) * FEM_CHUNK] = 0;
    }
}

fem_limit fem_step_limit(const fem_model *m, double dt)
{
    ds_memory room = {0};
    probe p = {.kernels = fem_kernels_find("baseline")};
    fem_limit out = {NAN, NAN, NAN};
    fem_pack_open(&p.pack, &room, m);
    p.state = ds_memory_doubles(&room, FEM_WIDTH * m->particles);
    p.bar = ds_memory_doubles(&room, FEM_WIDTH * m->particles);
    ds_memory_each(&room, 4 * m->particles, (double **const[]){&p.force, &p.v, NULL});
    if (!room.failed) {
        fem_pack_load(&p.pack, m);
        fem_pack_to_state(m->particles, m->q, p.state, 0);
        const double on_ground = fmax(ground_load(&p.pack, dt), obstacle_load(m, &p.pack, dt));
        p.pack.ground.on = 0;
        still_air(&p.pack);
        out = power_iteration(&p, dt);
        out.ground = on_ground;
    }
    ds_memory_free(&room);
    return out;
}

ds_status fem_warn_of_step(const fem_model *m, double dt, const ds_host *host, const char *cure)
{
    const fem_limit limit = fem_step_limit(m, dt);
    if (isnan(limit.load)) {
        return DS_E_NOMEM;
    }
    if (limit.load > 1) {
        ds_host_say(host, DS_LOG_WARNING,
                    "dt = %g s is too long for this body: episodes explode above about %.3g s; %s", dt,
                    0.995 * limit.dt, cure);
    }
    if (limit.ground > 1) {
        ds_host_say(
            host, DS_LOG_WARNING,
            "dt = %g s is too long for the lightest particle on this ground, obstacle or body (%.3g times "
            "its limit); %s",
            dt, limit.ground, cure);
    }
    return DS_OK;
}
