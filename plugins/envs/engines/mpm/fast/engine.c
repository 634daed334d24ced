/* SPDX-License-Identifier: Apache-2.0 */
/* Order of work of the fast engine. A substep is: particles of each block gather the velocities of the substep before,
 * deform, and spread momentum to the block's slab; then the planes of the grid sum the slabs and become velocities. The
 * episode is cut into segments between two sorts. Forward, the state at the start of each segment is kept and, within a
 * budget of memory, the grid of all its substeps (of the last segment everything); backward, the particles of a segment are
 * simulated again with their history, on the grid as it was if that was kept, and then differentiated. */
#include "engine.h"

#include "segment.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SORT_INTERVAL = 38,        /* substeps: longer, and particles of one cell are scattered in the order */
    PARTICLES_PER_BLOCK = 2500,
    MOST_DRIFT_ROOM = 4        /* cells */
};

/* Bytes. Beyond what it must have, the engine keeps as much of the grid for the adjoint as fits. */
static const size_t memory_budget = 210000000;

/* Bound of the sum of |weights| of a stencil: 1, but for positions within half a cell of the origin 1.5 per axis. */
static const double weight_bound = 3.375;

/* The particles of one matter. They stay together in the order: `room` says where in the fields. */
typedef struct group {
    const mpm_phase *phase;
    mpm_room room;
} group;

struct mpm_fast {
    const mpm_kernels *kernels;
    const mpm_sim *sim;
    mpm_team *team;
    uint32_t threads, interval;
    bool store;
    double *times;
    size_t padded;
    int n_groups, n_blocks;
    group groups[MPM_MAX_BODIES];
    int lowest[3], highest[3];      /* base nodes that particles may have, as the domain stops them */
    mpm_block blocks[MPM_MAX_BLOCKS];
    mpm_buffer slabs, scratch;
    mpm_near near[MPM_PLANE_TASKS]; /* for the box that the slabs are laid out for */
    mpm_buffer work, bars, loose;   /* fields: present particles; their adjoints; between two orders */
    mpm_fields now, bar, between;
    mpm_buffer velocity, node_bar;  /* grid, when no history is kept */
    mpm_buffer sorting;
    size_t marks_stride;
    uint32_t (*should_stop)(const void *context);
    const void *stop_context;
    /* the episode */
    const mpm_pose *poses;
    uint32_t substeps, frame;
    bool with_adjoint, backward;
    uint32_t n_segments, segment_capacity;
    mpm_segment *segments;
    mpm_history shared;             /* of one segment at a time, unless all are stored */
    mpm_grid_history shared_grid;   /* the same for segments that do not keep their own */
    uint32_t shared_owner;
    double speed;                   /* largest velocity component on the grid */
    uint32_t bar_segment;           /* whose order the adjoints have */
    uint32_t pending;               /* adjoint: local substep whose particle pass is still to do; NONE = at a border */
};

enum { NONE = UINT32_MAX };

const char *mpm_fast_isa(const mpm_fast *f)
{
    return f->kernels->isa;
}

void mpm_fast_on_stop(mpm_fast *f, uint32_t (*should_stop)(const void *context), const void *context)
{
    f->should_stop = should_stop;
    f->stop_context = context;
}

/* Groups without particles are left out. */
static void make_groups(mpm_fast *f)
{
    size_t chunk = (size_t)f->kernels->chunk;
    for (uint32_t k = 0; k < f->sim->n_phases; k++) {
        const mpm_phase *phase = &f->sim->phases[k];
        if (phase->count > 0) {
            group *g = &f->groups[f->n_groups++];
            g->phase = phase;
            g->room.first = f->padded;
            g->room.slots = (phase->count + chunk - 1) / chunk * chunk;
            f->padded += g->room.slots;
        }
    }
    for (int k = 0; k < f->n_groups; k++) {
        f->groups[k].room.padded = f->padded;
    }
}

static void make_group_blocks(mpm_fast *f, int index, uint32_t most)
{
    const group *g = &f->groups[index];
    uint32_t n = g->phase->count, chunk = (uint32_t)f->kernels->chunk;
    uint32_t wanted = (n + PARTICLES_PER_BLOCK - 1) / PARTICLES_PER_BLOCK;
    wanted = wanted < 2 && n >= PARTICLES_PER_BLOCK / 4 ? 2 : wanted;
    wanted = wanted > most ? most : wanted;
    size_t chunks = g->room.slots / chunk, done = 0;
    for (uint32_t b = 0; b < wanted; b++) {
        size_t end = chunks * (b + 1) / wanted;
        uint32_t first = (uint32_t)done * chunk, last = (uint32_t)end * chunk;
        if (end > done) {
            mpm_block *block = &f->blocks[f->n_blocks++];
            block->first = (uint32_t)g->room.first + first;
            block->count = (last < n ? last : n) - first;
            block->group = (uint32_t)index;
        }
        done = end;
    }
}

static void make_blocks(mpm_fast *f)
{
    for (int k = 0; k < f->n_groups; k++) {
        make_group_blocks(f, k, (uint32_t)(MPM_MAX_BLOCKS - f->n_blocks - (f->n_groups - 1 - k)));
    }
}

static double in_spacings(const mpm_domain *domain, double x)
{
    return x * domain->inv_dx + domain->offset;
}

static void set_limits(mpm_fast *f)
{
    const mpm_domain *domain = &f->sim->domain;
    for (int d = 0; d < 3; d++) {
        f->lowest[d] = (int)(in_spacings(domain, domain->low[d]) - 0.5);
        f->highest[d] = (int)(in_spacings(domain, domain->high[d]) - 0.5);
    }
}

mpm_fast *mpm_fast_create(const mpm_sim *sim, const mpm_fast_options *options)
{
    const mpm_kernels *kernels = mpm_kernels_find(options->bits, options->isa);
    mpm_fast *f = kernels && sim->n_particles > 0 ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        return NULL;
    }
    f->kernels = kernels;
    f->sim = sim;
    f->store = options->store;
    f->times = options->times;
    f->interval = options->interval ? options->interval : SORT_INTERVAL;
    f->threads = options->threads ? options->threads : 1;
    make_groups(f);
    set_limits(f);
    f->shared_owner = NONE;
    make_blocks(f);
    f->threads = f->threads > MPM_MAX_BLOCKS ? MPM_MAX_BLOCKS : f->threads;
    f->team = mpm_team_create(f->threads);
    size_t nodes = (size_t)sim->domain.n * (size_t)sim->domain.n;
    f->marks_stride = (nodes + kernels->lanes) * (sizeof(uint32_t) + 1);
    size_t n = sim->n_particles, cells = nodes * (size_t)sim->domain.n;
    if (!f->team || !mpm_buffer_reserve(&f->work, mpm_fields_bytes(kernels, f->padded)) ||
        !mpm_buffer_reserve(&f->scratch, f->threads * (kernels->scratch + f->marks_stride + 128)) ||
        !mpm_buffer_reserve(&f->loose, mpm_fields_bytes(kernels, f->padded)) ||
        !mpm_buffer_reserve(&f->sorting, 6 * n + 64 + 4 * (n + cells + 1 + 3 * n))) {
        mpm_fast_destroy(f);
        return NULL;
    }
    memset(f->scratch.at, 0, f->scratch.bytes);
    memset(f->work.at, 0, f->work.bytes);
    memset(f->loose.at, 0, f->loose.bytes);
    f->now = mpm_fields_in(kernels, f->padded, f->work.at);
    f->between = mpm_fields_in(kernels, f->padded, f->loose.at);
    return f;
}

void mpm_fast_destroy(mpm_fast *f)
{
    if (!f) {
        return;
    }
    mpm_team_destroy(f->team);
    for (uint32_t s = 0; s < f->segment_capacity; s++) {
        mpm_buffer_free(&f->segments[s].order);
        mpm_buffer_free(&f->segments[s].state);
        mpm_grid_history_free(&f->segments[s].grid);
        if (f->segments[s].history != &f->shared && f->segments[s].history) {
            mpm_history_free(f->segments[s].history);
            free(f->segments[s].history);
        }
    }
    free(f->segments);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        mpm_near_free(&f->near[t]);
    }
    mpm_history_free(&f->shared);
    mpm_grid_history_free(&f->shared_grid);
    mpm_buffer_free(&f->slabs);
    mpm_buffer_free(&f->scratch);
    mpm_buffer_free(&f->work);
    mpm_buffer_free(&f->bars);
    mpm_buffer_free(&f->loose);
    mpm_buffer_free(&f->velocity);
    mpm_buffer_free(&f->node_bar);
    mpm_buffer_free(&f->sorting);
    free(f);
}

static size_t segment_bytes(const mpm_segment *s)
{
    return s->order.bytes + s->state.bytes + mpm_grid_history_bytes(&s->grid);
}

size_t mpm_fast_memory(const mpm_fast *f)
{
    size_t bytes = f->slabs.bytes + f->scratch.bytes + f->work.bytes + f->bars.bytes + f->loose.bytes +
                   f->velocity.bytes + f->node_bar.bytes + f->sorting.bytes + mpm_history_bytes(&f->shared) +
                   mpm_grid_history_bytes(&f->shared_grid);
    for (uint32_t s = 0; s < f->segment_capacity; s++) {
        bytes += segment_bytes(&f->segments[s]);
        if (f->segments[s].history && f->segments[s].history != &f->shared) {
            bytes += mpm_history_bytes(f->segments[s].history);
        }
    }
    return bytes;
}

static void add_pose(mpm_pose *to, const mpm_pose *from)
{
    for (int k = 0; k < 3; k++) {
        to->position[k] += from->position[k];
    }
    for (int k = 0; k < 4; k++) {
        to->rotation[k] += from->rotation[k];
    }
    to->gap += from->gap;
}

/* ---- tasks ---- */

/* Processor seconds so far; 0 where nobody asks, because it takes a system call. */
static double begin_time(const mpm_fast *f)
{
    struct timespec t = {0};
    if (f->times) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    }
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void end_time(const mpm_fast *f, int phase, double begin)
{
    if (f->times) {
        f->times[phase] += begin_time(f) - begin;
    }
}

/* Lets the team do n tasks of a phase (MPM_TIME_...). */
static void run(mpm_fast *f, int phase, mpm_team_task *task, void *job, int n)
{
    double begin = begin_time(f);
    mpm_team_run(f->team, task, job, n);
    end_time(f, phase, begin);
}

typedef struct job {
    mpm_fast *f;
    const mpm_segment *segment;
    mpm_pass pass;
    int kind; /* MPM_PASS_... */
    mpm_nodes nodes;
    mpm_strike strike;
    mpm_grid_history *grid; /* NULL: not kept */
    uint32_t local; /* substep of the segment */
    double speed[MPM_PLANE_TASKS];
    bool failed[MPM_PLANE_TASKS];
    mpm_pose now_bar[MPM_PLANE_TASKS][MPM_MAX_TOOLS], next_bar[MPM_PLANE_TASKS][MPM_MAX_TOOLS];
} job;

static char *scratch_of(const mpm_fast *f, int member)
{
    size_t stride = (f->kernels->scratch + f->marks_stride + 127) / 64 * 64;
    return (char *)f->scratch.at + (size_t)member * stride;
}

static void block_task(void *context, int task, int member)
{
    const job *j = context;
    mpm_fast *f = j->f;
    const mpm_domain *domain = &f->sim->domain;
    mpm_block *block = &f->blocks[task];
    const mpm_phase *phase = f->groups[block->group].phase;
    mpm_pass pass = j->pass;
    pass.law = &phase->material;
    pass.mass = phase->mass;
    pass.stress = -domain->dt * phase->volume * 4.0 * domain->inv_dx;
    f->kernels->particles[j->kind](&pass, block, scratch_of(f, member));
}

static void plane_range(const job *j, int task, int *from, int *to)
{
    int planes = j->segment->box.size[0];
    *from = planes * task / MPM_PLANE_TASKS;
    *to = planes * (task + 1) / MPM_PLANE_TASKS;
}

static void plane_task(void *context, int task, int member)
{
    job *j = context;
    const mpm_kernels *kernels = j->f->kernels;
    mpm_struck_list *list = j->grid ? &j->grid->struck[task] : NULL;
    uint32_t *marked = (uint32_t *)(void *)(scratch_of(j->f, member) + kernels->scratch);
    uint8_t *marks = (uint8_t *)(marked + j->f->marks_stride / 5);
    int from, to;
    plane_range(j, task, &from, &to);
    mpm_near *near = &j->f->near[task];
    if (!mpm_near_update(near, &j->strike, from, to, marks, marked)) {
        j->failed[task] = true;
        return;
    }
    if (list) {
        list->start[j->local] = list->count;
    }
    for (int plane = from; plane < to; plane++) {
        kernels->nodes_forward(&j->nodes, plane);
        if (!mpm_strike_plane(&j->strike, kernels, j->nodes.velocity, plane, near, marks, list)) {
            j->failed[task] = true;
        }
        if (!j->strike.with_walls) {
            kernels->nodes_walls(&j->nodes, plane);
        }
        double speed = kernels->nodes_speed(&j->nodes, plane);
        j->speed[task] = speed > j->speed[task] ? speed : j->speed[task];
    }
    if (list) {
        list->start[j->local + 1] = list->count;
    }
}

static void plane_adjoint_task(void *context, int task, int member)
{
    job *j = context;
    const mpm_struck_list *list = &j->grid->struck[task];
    size_t start = list->start[j->local], end = list->start[j->local + 1];
    int from, to;
    (void)member;
    plane_range(j, task, &from, &to);
    for (int plane = from; plane < to; plane++) {
        j->f->kernels->nodes_adjoint(&j->nodes, plane);
    }
    mpm_strike_adjoint(&j->strike, j->f->kernels, j->nodes.velocity, j->nodes.node_bar, list->nodes + start,
                       end - start, j->now_bar[task], j->next_bar[task]);
}

/* ---- substeps ---- */

static void *velocity_slot(const mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local)
{
    return g ? (char *)g->velocity.at + local * s->box.nodes * 4 * f->kernels->real : f->velocity.at;
}

static void *history_x(const mpm_fast *f, const mpm_history *h, uint32_t local)
{
    return (char *)h->x.at + local * f->padded * 4 * f->kernels->real;
}

static void *history_f(const mpm_fast *f, const mpm_history *h, uint32_t local)
{
    return (char *)h->f.at + local * f->padded * 9 * f->kernels->real;
}

static void begin_job(mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local, job *j)
{
    const mpm_domain *domain = &f->sim->domain;
    const mpm_forcing *forcing = &f->sim->forcing;
    const mpm_pose *poses = f->poses + (s->first + (size_t)local) * forcing->n_tools;
    memset(j, 0, sizeof *j);
    j->f = f;
    j->segment = s;
    j->grid = g;
    j->local = local;
    j->pass.box = s->box;
    j->pass.padded = f->padded;
    j->pass.drift = domain->dt * domain->inv_dx;
    j->pass.stretch = 4.0 * domain->inv_dx * domain->dt;
    j->pass.rate = 1.0 / domain->dt;
    j->pass.node_bar = f->node_bar.at;
    j->pass.bar = f->bar;
    j->nodes.box = s->box;
    j->nodes.n_blocks = f->n_blocks;
    j->nodes.blocks = f->blocks;
    j->nodes.node_bar = f->node_bar.at;
    for (int d = 0; d < 3; d++) {
        j->nodes.fall[d] = forcing->dt * forcing->gravity[d];
        j->nodes.wall_low[d] = forcing->wall_low[d];
        j->nodes.wall_high[d] = forcing->wall_high[d];
        j->pass.low[d] = in_spacings(domain, domain->low[d]);
        j->pass.high[d] = in_spacings(domain, domain->high[d]);
    }
    j->nodes.sticky_floor = forcing->ground_friction >= MPM_STICKY_FRICTION;
    j->strike.with_walls = forcing->ground_friction > 0.0 && !j->nodes.sticky_floor;
    j->strike.forcing = forcing;
    j->strike.box = &s->box;
    j->strike.now = poses;
    j->strike.next = poses + forcing->n_tools;
}

/* Substep `local` of a segment. What the adjoint needs is kept where h (particles) and g (grid) are not NULL; the grid is
 * taken from g if it is complete. */
static mpm_result step(mpm_fast *f, const mpm_segment *s, mpm_history *h, mpm_grid_history *g, uint32_t local)
{
    job j;
    bool known = g && g->complete;
    begin_job(f, s, g, local, &j);
    j.pass.now = f->now;
    if (local == 0) {
        memcpy(f->now.x, s->fields.x, f->padded * 4 * f->kernels->real);
        memcpy(f->now.f, s->fields.f, f->padded * 9 * f->kernels->real);
        j.pass.now.v = s->fields.v;
        j.pass.now.m = s->fields.m;
        j.kind = known ? MPM_PASS_REPEAT_FIRST : MPM_PASS_FORWARD_FIRST;
    } else {
        j.pass.velocity = velocity_slot(f, s, g, local - 1);
        j.kind = known ? MPM_PASS_REPEAT : MPM_PASS_FORWARD;
    }
    if (h) {
        j.pass.keep_x = history_x(f, h, local);
        j.pass.keep_f = history_f(f, h, local);
    }
    run(f, f->backward ? MPM_TIME_REPEAT : MPM_TIME_FORWARD, block_task, &j, f->n_blocks);
    if (known) {
        return MPM_OK;
    }
    j.nodes.velocity = velocity_slot(f, s, g, local);
    run(f, f->backward ? MPM_TIME_REPEAT : MPM_TIME_GRID, plane_task, &j, MPM_PLANE_TASKS);
    f->speed = 0.0;
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        f->speed = j.speed[t] > f->speed ? j.speed[t] : f->speed;
        if (j.failed[t]) {
            return MPM_NO_MEMORY;
        }
    }
    return isfinite(f->speed) ? MPM_OK : MPM_DIVERGED;
}

/* Base nodes that a particle may come to from `base` within one substep. */
static int step_room(const mpm_fast *f)
{
    double cells = f->speed * weight_bound * f->sim->domain.dt * f->sim->domain.inv_dx;
    return cells < f->sim->domain.n ? 1 + (int)cells : f->sim->domain.n;
}

/* Would all particles stay in the box and in the slabs of their blocks for one more substep? */
static bool room_left(const mpm_fast *f, const mpm_segment *s)
{
    int room = step_room(f);
    for (int b = 0; b < f->n_blocks; b++) {
        const mpm_block *block = &f->blocks[b];
        for (int d = 0; d < 3; d++) {
            int low = d == 0 ? s->block_low[b] : s->low[d], high = d == 0 ? s->block_high[b] : s->high[d];
            if ((low > f->lowest[d] && (int)block->lower[d] - room < low) ||
                (high < f->highest[d] && (int)block->upper[d] + room > high)) {
                return false;
            }
        }
    }
    return true;
}

/* Gathers the velocities that the particles have not got yet: x, v and moments to `between`. */
static void settle(mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local)
{
    job j;
    begin_job(f, s, g, local, &j);
    j.pass.now = f->now;
    j.pass.velocity = velocity_slot(f, s, g, local);
    j.pass.out = f->between;
    j.kind = MPM_PASS_GATHER;
    run(f, MPM_TIME_SORT, block_task, &j, f->n_blocks);
}

/* ---- segments ---- */

static mpm_segment *add_segment(mpm_fast *f)
{
    if (f->n_segments == f->segment_capacity) {
        uint32_t capacity = f->segment_capacity ? 2 * f->segment_capacity : 32;
        mpm_segment *segments = realloc(f->segments, capacity * sizeof *segments);
        if (!segments) {
            return NULL;
        }
        memset(segments + f->segment_capacity, 0, (capacity - f->segment_capacity) * sizeof *segments);
        f->segments = segments;
        f->segment_capacity = capacity;
    }
    mpm_segment *s = &f->segments[f->n_segments++];
    s->count = 0;
    return s;
}

/* Low and high ends of the base nodes of particles [from, to) along axis d. */
static void extent(const int16_t *base, const uint32_t *order, uint32_t from, uint32_t to, int d, int *low, int *high)
{
    *low = INT16_MAX;
    *high = 0;
    for (uint32_t i = from; i < to; i++) {
        int b = base[3 * (size_t)(order ? order[i] : i) + (size_t)d];
        *low = b < *low ? b : *low;
        *high = b > *high ? b : *high;
    }
}

static int low_end(const mpm_fast *f, int d, int base)
{
    return base > f->lowest[d] ? base : f->lowest[d];
}

static int high_end(const mpm_fast *f, int d, int base)
{
    return base < f->highest[d] ? base : f->highest[d];
}

/* Room for three orders behind what lay_out() needs. */
static uint32_t *local_order(const mpm_fast *f)
{
    size_t n = f->sim->n_particles, cells = (size_t)f->sim->domain.n;
    cells *= cells * cells;
    return (uint32_t *)(void *)((char *)f->sorting.at + (n * 6 + 63) / 64 * 64) + n + cells + 1;
}

/* Box, order of the particles (in `order`, by their present index within their group), and slabs for a new segment. */
static mpm_result lay_out(mpm_fast *f, mpm_segment *s, const void *x, uint32_t *order)
{
    uint32_t n = f->sim->n_particles;
    int16_t *base = f->sorting.at;
    uint32_t *keys = (uint32_t *)(void *)((char *)f->sorting.at + ((size_t)n * 6 + 63) / 64 * 64);
    uint32_t *counts = keys + n;
    int low[3], high[3];
    double drift = f->speed * f->sim->domain.dt * f->sim->domain.inv_dx * f->interval;
    int room = step_room(f) + (drift < MOST_DRIFT_ROOM ? 1 + (int)drift : MOST_DRIFT_ROOM);
    for (int k = 0; k < f->n_groups; k++) {
        const group *g = &f->groups[k];
        f->kernels->bases((const char *)x + g->room.first * 4 * f->kernels->real, g->phase->count,
                          base + 3 * (size_t)g->phase->first);
    }
    for (int d = 0; d < 3; d++) {
        extent(base, NULL, 0, n, d, &low[d], &high[d]);
        s->low[d] = low_end(f, d, low[d] - room);
        s->high[d] = high_end(f, d, high[d] + room);
    }
    for (int k = 0; k < f->n_groups; k++) {
        const mpm_phase *phase = f->groups[k].phase;
        mpm_sort_by_cell(base + 3 * (size_t)phase->first, phase->count, low, high, keys, counts, order + phase->first);
    }
    s->box = mpm_box_make(s->low, s->high, f->kernels->lanes / 4);
    size_t plane = (size_t)s->box.stride_x * 4 * f->kernels->real, used = 0;
    for (int b = 0; b < f->n_blocks; b++) {
        mpm_block *block = &f->blocks[b];
        int l, h;
        const group *g = &f->groups[block->group];
        uint32_t first = block->first - (uint32_t)g->room.first;
        extent(base + 3 * (size_t)g->phase->first, order + g->phase->first, first, first + block->count, 0, &l, &h);
        s->block_low[b] = low_end(f, 0, l - room);
        s->block_high[b] = high_end(f, 0, h + room);
        used += (size_t)(s->block_high[b] - s->block_low[b] + 3) * plane + MPM_ROOM;
    }
    return mpm_buffer_reserve(&f->slabs, used) ? MPM_OK : MPM_NO_MEMORY;
}

/* Points the blocks to their slabs for this segment. */
static void use_slabs(mpm_fast *f, const mpm_segment *s)
{
    size_t plane = (size_t)s->box.stride_x * 4 * f->kernels->real;
    char *at = f->slabs.at;
    for (int b = 0; b < f->n_blocks; b++) {
        mpm_block *block = &f->blocks[b];
        block->plane = s->block_low[b] - s->box.lower[0];
        block->planes = s->block_high[b] - s->block_low[b] + 3;
        block->slab = at;
        at += (size_t)block->planes * plane + MPM_ROOM;
    }
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        f->near[t].valid = false;
    }
    memset(f->slabs.at, 0, (size_t)(at - (char *)f->slabs.at));
}

/* Substeps that a segment has, or may come to have. */
static uint32_t most_substeps(const mpm_fast *f, const mpm_segment *s)
{
    uint32_t left = f->substeps - s->first;
    return s->count ? s->count : left < f->interval ? left : f->interval;
}

/* Room for the particles' history of a segment, and for the grid's unless it keeps its own. */
static mpm_result reserve_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    uint32_t count = most_substeps(f, s);
    if (f->store) {
        if (!s->history) {
            s->history = calloc(1, sizeof *s->history);
        }
    } else {
        s->history = &f->shared;
        f->shared_owner = index;
    }
    if (!s->history || !mpm_history_reserve(s->history, f->kernels, f->padded, count)) {
        return MPM_NO_MEMORY;
    }
    return s->keeps_grid || mpm_grid_history_reserve(&f->shared_grid, f->kernels, &s->box, count) ? MPM_OK
                                                                                                : MPM_NO_MEMORY;
}

/* Would all stay within the budget if this segment, the latest, kept its grid? */
static bool affords_grid(const mpm_fast *f, const mpm_segment *s)
{
    size_t later = (f->substeps - s->first - 1) / f->interval;
    size_t history = f->interval * (f->padded * 13 + s->box.nodes * 4) * f->kernels->real;
    size_t grid = most_substeps(f, s) * s->box.nodes * 4 * f->kernels->real;
    size_t used = mpm_fast_memory(f) - mpm_history_bytes(&f->shared) - mpm_grid_history_bytes(&f->shared_grid) -
                  mpm_grid_history_bytes(&s->grid);
    for (uint32_t i = f->n_segments; i < f->segment_capacity; i++) {
        used -= segment_bytes(&f->segments[i]);
    }
    return used + history + grid + later * (s->state.bytes + s->order.bytes) <= memory_budget;
}

/* Starts a segment at the present frame from `between` (x, v, moments) and `now` (F), in the order of the particles
 * that `order` tells in terms of the caller's. */
static mpm_result begin_segment(mpm_fast *f, const uint32_t *order)
{
    uint32_t index = f->with_adjoint ? f->n_segments : 0, n = f->sim->n_particles;
    uint32_t *local = local_order(f), *composed = local + n;
    mpm_segment *s = f->with_adjoint || f->n_segments == 0 ? add_segment(f) : f->segments;
    size_t node_bytes;
    if (!s || !mpm_buffer_reserve(&s->order, n * sizeof(uint32_t)) ||
        !mpm_buffer_reserve(&s->state, mpm_fields_bytes(f->kernels, f->padded))) {
        return MPM_NO_MEMORY;
    }
    s->first = f->frame;
    s->count = 0;
    mpm_fields source = f->between;
    source.f = f->now.f;
    if (lay_out(f, s, source.x, local) != MPM_OK) {
        return MPM_NO_MEMORY;
    }
    s->fields = mpm_fields_in(f->kernels, f->padded, s->state.at);
    for (int k = 0; k < f->n_groups; k++) {
        const group *g = &f->groups[k];
        uint32_t first = g->phase->first, count = g->phase->count;
        for (uint32_t i = first; i < first + count; i++) {
            composed[i] = order[first + local[i]];
        }
        f->kernels->permute(&s->fields, &source, &g->room, count, local + first, 1.0);
    }
    memcpy(s->order.at, composed, n * sizeof(uint32_t));
    node_bytes = s->box.nodes * 4 * f->kernels->real + MPM_ROOM;
    if (!mpm_buffer_reserve(&f->velocity, node_bytes) ||
        (f->with_adjoint && !mpm_buffer_reserve(&f->node_bar, node_bytes))) {
        return MPM_NO_MEMORY;
    }
    use_slabs(f, s);
    s->keeps_grid = f->with_adjoint && (f->store || affords_grid(f, s));
    if (s->keeps_grid && !mpm_grid_history_reserve(&s->grid, f->kernels, &s->box, most_substeps(f, s))) {
        return MPM_NO_MEMORY;
    }
    bool keep = f->with_adjoint && (f->store || f->substeps - s->first <= f->interval);
    return keep ? reserve_history(f, index) : MPM_OK;
}

/* The history that the forward pass keeps for its present segment: for all if they are stored, else for the last. */
static mpm_history *forward_history(mpm_fast *f, uint32_t index)
{
    const mpm_segment *s = &f->segments[index];
    return f->with_adjoint && (f->store || f->shared_owner == index) ? s->history : NULL;
}

/* The grid's history of a segment, as far as there is one. */
static mpm_grid_history *grid_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    return s->keeps_grid ? &s->grid : f->with_adjoint && f->shared_owner == index ? &f->shared_grid : NULL;
}

/* ---- forward ---- */

static uint32_t present_segment(const mpm_fast *f)
{
    return f->n_segments - 1;
}

mpm_result mpm_fast_start(mpm_fast *f, const mpm_particle *particles, const mpm_pose *poses, uint32_t substeps,
                          bool with_adjoint)
{
    uint32_t n = f->sim->n_particles;
    const mpm_domain *domain = &f->sim->domain;
    f->poses = poses;
    f->substeps = substeps;
    f->with_adjoint = with_adjoint;
    f->backward = false;
    f->frame = 0;
    f->n_segments = 0;
    f->shared_owner = NONE;
    f->speed = 0.0;
    if (with_adjoint && !f->bars.at) {
        size_t bytes = mpm_fields_bytes(f->kernels, f->padded);
        if (!mpm_buffer_reserve(&f->bars, bytes)) {
            return MPM_NO_MEMORY;
        }
        f->bar = mpm_fields_in(f->kernels, f->padded, f->bars.at);
    }
    uint32_t *identity = local_order(f) + 2 * (size_t)n;
    for (uint32_t p = 0; p < n; p++) {
        for (int d = 0; d < 3; d++) {
            double x = particles[p].x[d], v = fabs(particles[p].v[d]);
            if (!(x >= domain->low[d] && x <= domain->high[d])) {
                return MPM_DIVERGED;
            }
            f->speed = v > f->speed ? v : f->speed;
        }
        identity[p] = p;
    }
    mpm_fields to = f->between;
    to.f = f->now.f;
    for (int k = 0; k < f->n_groups; k++) {
        const group *g = &f->groups[k];
        f->kernels->import(&to, &g->room, g->phase->count, identity + g->phase->first, domain->inv_dx, domain->offset,
                           particles);
    }
    return begin_segment(f, identity);
}

mpm_result mpm_fast_advance(mpm_fast *f)
{
    uint32_t index = present_segment(f);
    mpm_segment *s = &f->segments[index];
    uint32_t local = f->frame - s->first;
    if (local > 0 && (local >= f->interval || !room_left(f, s))) {
        s->count = local;
        mpm_grid_history *grid = grid_history(f, index);
        settle(f, s, grid, local - 1);
        if (grid) {
            grid->complete = true;
        }
        double begin = begin_time(f);
        mpm_result result = begin_segment(f, s->order.at);
        end_time(f, MPM_TIME_SORT, begin);
        if (result != MPM_OK) {
            return result;
        }
        index = present_segment(f);
        s = &f->segments[index];
        local = 0;
    }
    mpm_grid_history *grid = grid_history(f, index);
    mpm_history *history = forward_history(f, index); /* s->history may be left from an earlier episode */
    mpm_result result = step(f, s, history, grid, local);
    s->count = local + 1;
    f->frame++;
    if (history && grid && f->frame == f->substeps) {
        history->complete = grid->complete = true;
    }
    return result;
}

static void export_all(mpm_fast *f, const mpm_fields *from, const mpm_segment *s, double inv_dx, double offset,
                       mpm_particle *to)
{
    for (int k = 0; k < f->n_groups; k++) {
        const group *g = &f->groups[k];
        const uint32_t *order = s->order.at;
        f->kernels->export(from, &g->room, g->phase->count, order + g->phase->first, inv_dx, offset, to);
    }
}

/* What syrup does not use of F: diag(J, rest, rest). */
static void clear_unused(const mpm_phase *phase, double rest, mpm_particle *particles)
{
    for (uint32_t p = phase->first; phase->material.law == MPM_SYRUP && p < phase->first + phase->count; p++) {
        for (int i = 1; i < 9; i++) {
            particles[p].f[i] = i % 4 == 0 ? rest : 0.0;
        }
    }
}

mpm_result mpm_fast_state(mpm_fast *f, mpm_particle *particles)
{
    uint32_t index = f->backward ? f->bar_segment : present_segment(f);
    const mpm_segment *s = &f->segments[index];
    mpm_fields from = s->fields;
    if (f->backward && f->pending != NONE) {
        from.x = history_x(f, s->history, f->pending);
        from.f = history_f(f, s->history, f->pending);
        from.v = from.m = NULL;
    } else if (f->frame > s->first) {
        settle(f, s, grid_history(f, index), f->frame - 1 - s->first);
        from = f->between;
        from.f = f->now.f;
    }
    export_all(f, &from, s, f->sim->domain.inv_dx, f->sim->domain.offset, particles);
    for (int k = 0; k < f->n_groups; k++) {
        clear_unused(f->groups[k].phase, 1.0, particles);
    }
    return MPM_OK;
}

/* ---- adjoint ---- */

void mpm_fast_turn(mpm_fast *f)
{
    f->backward = true;
    f->bar_segment = present_segment(f);
    f->pending = NONE;
    memset(f->bars.at, 0, f->bars.bytes);
}

void mpm_fast_add_bar(mpm_fast *f, const mpm_particle *bar)
{
    mpm_fields to = f->bar;
    if (f->pending != NONE) {
        to.v = to.m = to.f = NULL;
    }
    const uint32_t *order = f->segments[f->bar_segment].order.at;
    for (int k = 0; k < f->n_groups; k++) {
        const group *g = &f->groups[k];
        f->kernels->add_bar(&to, &g->room, g->phase->count, order + g->phase->first, f->sim->domain.inv_dx, bar);
    }
}

static mpm_result ensure_history(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    if (s->history && s->history->complete && (f->store || f->shared_owner == index)) {
        return MPM_OK;
    }
    mpm_result result = reserve_history(f, index);
    mpm_grid_history *grid = grid_history(f, index);
    for (uint32_t local = 0; local < s->count && result == MPM_OK; local++) {
        if (f->should_stop && f->should_stop(f->stop_context) != 0) {
            return MPM_STOPPED;
        }
        result = step(f, s, s->history, grid, local);
    }
    if (result == MPM_OK) {
        s->history->complete = grid->complete = true;
    }
    return result;
}

/* Particles of the first substep of a segment: leaves the adjoint of its start state in `bar`. */
static void finish_segment_adjoint(mpm_fast *f)
{
    const mpm_segment *s = &f->segments[f->bar_segment];
    job j;
    begin_job(f, s, grid_history(f, f->bar_segment), 0, &j);
    j.pass.now = s->fields;
    j.kind = MPM_PASS_ADJOINT_FIRST;
    run(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    f->pending = NONE;
}

/* Brings `bar` from the order of its segment to that of the one before. */
static void leave_segment(mpm_fast *f)
{
    uint32_t n = f->sim->n_particles, *local = local_order(f), *inverse = local + n;
    const uint32_t *order = f->segments[f->bar_segment].order.at;
    for (uint32_t i = 0; i < n; i++) {
        inverse[order[i]] = i;
    }
    f->bar_segment--;
    order = f->segments[f->bar_segment].order.at;
    for (int k = 0; k < f->n_groups; k++) {
        const group *g = &f->groups[k];
        uint32_t first = g->phase->first, count = g->phase->count;
        for (uint32_t i = first; i < first + count; i++) {
            local[i] = inverse[order[i]] - first;
        }
        f->kernels->permute(&f->between, &f->bar, &g->room, count, local + first, 0.0);
    }
    mpm_fields swap = f->bar;
    mpm_buffer buffer = f->bars;
    f->bar = f->between;
    f->bars = f->loose;
    f->between = swap;
    f->loose = buffer;
    use_slabs(f, &f->segments[f->bar_segment]);
}

mpm_result mpm_fast_retreat(mpm_fast *f, mpm_pose *now_bar, mpm_pose *next_bar)
{
    if (f->pending == 0) {
        finish_segment_adjoint(f);
        double begin = begin_time(f);
        leave_segment(f);
        end_time(f, MPM_TIME_SORT, begin);
    }
    const mpm_segment *s = &f->segments[f->bar_segment];
    mpm_result result = ensure_history(f, f->bar_segment);
    if (result != MPM_OK) {
        return result;
    }
    uint32_t local = f->frame - 1 - s->first;
    mpm_history *h = s->history;
    mpm_grid_history *grid = grid_history(f, f->bar_segment);
    job j;
    begin_job(f, s, grid, local, &j);
    j.pass.x_before = history_x(f, h, local);
    j.pass.velocity = j.nodes.velocity = velocity_slot(f, s, grid, local);
    j.kind = MPM_PASS_GATHER_ADJOINT;
    if (f->pending != NONE) {
        j.pass.now.x = history_x(f, h, f->pending);
        j.pass.now.f = history_f(f, h, f->pending);
        j.kind = MPM_PASS_ADJOINT;
    }
    run(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    run(f, MPM_TIME_GRID_ADJOINT, plane_adjoint_task, &j, MPM_PLANE_TASKS);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        for (uint32_t k = 0; k < f->sim->forcing.n_tools; k++) {
            add_pose(&now_bar[k], &j.now_bar[t][k]);
            add_pose(&next_bar[k], &j.next_bar[t][k]);
        }
    }
    f->pending = local;
    f->frame--;
    return MPM_OK;
}

mpm_result mpm_fast_bar(mpm_fast *f, mpm_particle *bar)
{
    if (f->pending == 0) {
        finish_segment_adjoint(f);
    }
    uint32_t n = f->sim->n_particles;
    const mpm_segment *s = &f->segments[f->bar_segment];
    double inv_dx = f->sim->domain.inv_dx;
    export_all(f, &f->bar, s, 1.0 / inv_dx, 0.0, bar);
    for (int k = 0; k < f->n_groups; k++) {
        clear_unused(f->groups[k].phase, 0.0, bar);
    }
    for (uint32_t p = 0; p < n; p++) {
        for (int k = 0; k < 9; k++) {
            bar[p].c[k] /= 16.0; /* moments are C dx / 4, so their adjoints are those of C times 4 / dx */
        }
    }
    return MPM_OK;
}
