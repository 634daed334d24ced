/* SPDX-License-Identifier: Apache-2.0 */
/* substep.c - one substep of the fast engine, forward and adjoint: tasks for the threads over blocks of
 * particles, then over planes of the grid. */
#include "engines/physics/mpm/fast/engine_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

double mpm_fast_begin_time(const mpm_fast *f)
{
    struct timespec t = {0};
    if (f->times) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    }
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void mpm_fast_end_time(const mpm_fast *f, int phase, double begin)
{
    if (f->times) {
        f->times[phase] += mpm_fast_begin_time(f) - begin;
    }
}

/* Runs n tasks of a phase (MPM_TIME_...) on the team. */
static void run_phase(mpm_fast *f, int phase, kit_team_task *task, void *job, int n)
{
    double begin = mpm_fast_begin_time(f);
    kit_team_run(f->team, task, job, n);
    mpm_fast_end_time(f, phase, begin);
}

typedef struct job {
    mpm_fast *f;
    const mpm_segment *segment;
    mpm_pass pass;
    int kind; /* MPM_PASS_... */
    mpm_nodes nodes;
    mpm_strike strike;
    mpm_grid_history *grid; /* NULL: not stored */
    uint32_t local;         /* substep of the segment */
    uint32_t ahead;         /* substep whose grid is unpacked to `to` for the next pass; MPM_NONE: none */
    void *to;
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
    mpm_material law = phase->material;
    mpm_pass pass = j->pass;
    law.part = (uint32_t)task;
    pass.law = &law;
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

/* Unpacks the planes of a task of one substep. */
static void unpack(const job *j, int task, uint32_t local, void *to)
{
    const mpm_packed *kept = &j->grid->velocity[task];
    const char *at = (const char *)kept->buffer.at + kept->start[local];
    int from, end;
    plane_range(j, task, &from, &end);
    for (int plane = from; plane < end; plane++) {
        at += j->f->kernels->unpack(&j->segment->box, at, plane, to);
    }
}

static void unpack_task(void *context, int task, int member)
{
    const job *j = context;
    (void)member;
    unpack(j, task, j->ahead, j->to);
}

/* Particles of this substep on a known grid; also unpacks the grid of the next substep. */
static void repeat_task(void *context, int task, int member)
{
    const job *j = context;
    if (task < j->f->n_blocks) {
        block_task(context, task, member);
    } else {
        unpack_task(context, task - j->f->n_blocks, member);
    }
}

/* Packs the planes of a task. */
static bool pack(const job *j, int task)
{
    const mpm_kernels *kernels = j->f->kernels;
    const mpm_box *box = &j->segment->box;
    mpm_packed *kept = &j->grid->velocity[task];
    int from, to;
    plane_range(j, task, &from, &to);
    if (!mpm_packed_reserve(kept, (size_t)(to - from) * mpm_packed_plane(kernels, box), j->local,
                            mpm_fast_most_substeps(j->f, j->segment))) {
        return false;
    }
    kept->start[j->local] = kept->used;
    for (int plane = from; plane < to; plane++) {
        kept->used += kernels->pack(box, j->nodes.velocity, plane, (char *)kept->buffer.at + kept->used);
    }
    return true;
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
        j->failed[task] |= !pack(j, task);
    }
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
    j->ahead = MPM_NONE;
    j->pass.velocity = j->nodes.velocity = f->velocity.at;
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
        j->pass.low[d] = mpm_in_spacings(domain, domain->low[d]);
        j->pass.high[d] = mpm_in_spacings(domain, domain->high[d]);
    }
    j->nodes.sticky_floor = forcing->ground_friction >= MPM_STICKY_FRICTION;
    j->strike.with_walls = forcing->ground_friction > 0.0 && !j->nodes.sticky_floor;
    j->strike.forcing = forcing;
    j->strike.box = &s->box;
    j->strike.now = poses;
    j->strike.next = poses + forcing->n_tools;
}

static void hold(mpm_fast *f, const mpm_segment *s, uint32_t local)
{
    f->held_segment = (uint32_t)(s - f->segments);
    f->held = local;
}

/* Makes f->velocity the grid of a substep of the job's segment. */
static void ensure_velocity(mpm_fast *f, job *j, uint32_t local)
{
    if (f->held_segment != (uint32_t)(j->segment - f->segments) || f->held != local) {
        j->ahead = local;
        j->to = f->velocity.at;
        run_phase(f, f->backward ? MPM_TIME_GRID_ADJOINT : MPM_TIME_GRID, unpack_task, j, MPM_PLANE_TASKS);
        hold(f, j->segment, local);
    }
}

/* The particles of a substep with a known grid. */
static void repeat_step(mpm_fast *f, job *j)
{
    if (j->local > 0) {
        ensure_velocity(f, j, j->local - 1);
    }
    j->ahead = j->local;
    j->to = f->other_velocity.at;
    run_phase(f, MPM_TIME_REPEAT, repeat_task, j, f->n_blocks + MPM_PLANE_TASKS);
    mpm_buffer swap = f->velocity;
    f->velocity = f->other_velocity;
    f->other_velocity = swap;
    hold(f, j->segment, j->local);
}

/* Records the packed size of the grid of a substep. */
static void note_packed(mpm_fast *f, const mpm_grid_history *g, uint32_t local)
{
    f->packed = g ? 0 : f->packed;
    for (int t = 0; g && t < MPM_PLANE_TASKS; t++) {
        f->packed += g->velocity[t].used - g->velocity[t].start[local];
    }
}

mpm_result mpm_fast_step(mpm_fast *f, const mpm_segment *s, mpm_history *h, mpm_grid_history *g,
                         uint32_t local)
{
    job j;
    bool known = g && g->complete;
    begin_job(f, s, g, local, &j);
    j.pass.now = f->now;
    if (local == 0) {
        mpm_fast_copy(f, f->now.x, f->start.x, f->padded * 4 * f->kernels->real);
        mpm_fast_copy(f, f->now.f, f->start.f, f->gradients * f->kernels->real);
        j.pass.now.v = f->start.v;
        j.pass.now.m = f->start.m;
        j.kind = known ? MPM_PASS_REPEAT_FIRST : MPM_PASS_FORWARD_FIRST;
    } else {
        j.kind = known ? MPM_PASS_REPEAT : MPM_PASS_FORWARD;
    }
    if (h) {
        j.pass.keep_x = mpm_history_x(f, h, local);
        j.pass.keep_f = mpm_history_f(f, h, local);
    }
    if (known) {
        repeat_step(f, &j);
        return MPM_OK;
    }
    run_phase(f, f->backward ? MPM_TIME_REPEAT : MPM_TIME_FORWARD, block_task, &j, f->n_blocks);
    run_phase(f, f->backward ? MPM_TIME_REPEAT : MPM_TIME_GRID, plane_task, &j, MPM_PLANE_TASKS);
    f->speed = 0.0;
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        f->speed = j.speed[t] > f->speed ? j.speed[t] : f->speed;
        if (j.failed[t]) {
            return MPM_NO_MEMORY;
        }
    }
    hold(f, s, local);
    note_packed(f, g, local);
    return isfinite(f->speed) ? MPM_OK : MPM_DIVERGED;
}

void mpm_fast_gather(mpm_fast *f, const mpm_segment *s, const void *x, const void *velocity)
{
    job j;
    begin_job(f, s, NULL, 0, &j);
    j.pass.velocity = velocity;
    j.pass.now.x = (void *)(uintptr_t)x;
    j.pass.out = f->between;
    j.kind = MPM_PASS_GATHER;
    run_phase(f, MPM_TIME_SORT, block_task, &j, f->n_blocks);
}

void mpm_fast_settle(mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local)
{
    job j;
    begin_job(f, s, g, local, &j);
    ensure_velocity(f, &j, local);
    mpm_fast_gather(f, s, f->now.x, f->velocity.at);
}

/* ---- adjoint ---- */

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
    if (j->ahead != MPM_NONE) {
        unpack(j, task, j->ahead, j->to); /* no other task uses these planes in this substep */
    }
}

void mpm_fast_step_adjoint(mpm_fast *f, mpm_segment *s, uint32_t local, mpm_pose *now_bar, mpm_pose *next_bar)
{
    const mpm_history *h = mpm_fast_history(f, s);
    mpm_grid_history *grid = mpm_fast_grid_history(f, f->bar_segment);
    job j;
    begin_job(f, s, grid, local, &j);
    j.pass.x_before = mpm_history_x(f, h, local);
    ensure_velocity(f, &j, local);
    j.ahead = local > 0 ? local - 1 : MPM_NONE;
    j.to = f->velocity.at;
    j.kind = MPM_PASS_GATHER_ADJOINT;
    if (f->pending != MPM_NONE) {
        j.pass.now.x = mpm_history_x(f, h, f->pending);
        j.pass.now.f = mpm_history_f(f, h, f->pending);
        j.kind = MPM_PASS_ADJOINT;
    }
    run_phase(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    run_phase(f, MPM_TIME_GRID_ADJOINT, plane_adjoint_task, &j, MPM_PLANE_TASKS);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        for (uint32_t k = 0; k < mpm_pose_bars(f->sim->forcing.n_tools); k++) {
            mpm_pose_add(&now_bar[k], 1.0, &j.now_bar[t][k]);
            mpm_pose_add(&next_bar[k], 1.0, &j.next_bar[t][k]);
        }
    }
    hold(f, s, local > 0 ? local - 1 : MPM_NONE);
    f->pending = local;
}

void mpm_fast_part_adjoint(mpm_fast *f)
{
    mpm_segment *s = &f->segments[f->bar_segment];
    const mpm_history *h = mpm_fast_history(f, s);
    mpm_grid_history *grid = mpm_fast_grid_history(f, f->bar_segment);
    job j;
    begin_job(f, s, grid, f->pending - 1, &j);
    ensure_velocity(f, &j, f->pending - 1);
    j.pass.velocity = f->velocity.at;
    j.pass.now.x = mpm_history_x(f, h, f->pending - 1);
    j.pass.out = f->between;
    j.kind = MPM_PASS_GATHER;
    run_phase(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    j.pass.now = f->between;
    j.pass.now.x = mpm_history_x(f, h, f->pending);
    j.pass.now.f = mpm_history_f(f, h, f->pending);
    j.kind = MPM_PASS_ADJOINT_FIRST;
    run_phase(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    f->pending = MPM_NONE;
}

void mpm_fast_first_adjoint(mpm_fast *f)
{
    const mpm_segment *s = &f->segments[f->bar_segment];
    job j;
    begin_job(f, s, mpm_fast_grid_history(f, f->bar_segment), 0, &j);
    j.pass.now = f->start;
    j.kind = MPM_PASS_ADJOINT_FIRST;
    run_phase(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    f->pending = MPM_NONE;
}
