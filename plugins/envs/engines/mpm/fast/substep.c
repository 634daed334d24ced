/* SPDX-License-Identifier: Apache-2.0 */
/* One substep of the fast engine, forward and adjoint: tasks for the team of threads over blocks of particles, then over
 * planes of the grid. */
#include "engine_parts.h"

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

/* Lets the team do n tasks of a phase (MPM_TIME_...). */
static void run(mpm_fast *f, int phase, mpm_team_task *task, void *job, int n)
{
    double begin = mpm_fast_begin_time(f);
    mpm_team_run(f->team, task, job, n);
    mpm_fast_end_time(f, phase, begin);
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

static void *velocity_slot(const mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local)
{
    return g ? (char *)g->velocity.at + local * s->box.nodes * 4 * f->kernels->real : f->velocity.at;
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

mpm_result mpm_fast_step(mpm_fast *f, const mpm_segment *s, mpm_history *h, mpm_grid_history *g, uint32_t local)
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
        j.pass.keep_x = mpm_history_x(f, h, local);
        j.pass.keep_f = mpm_history_f(f, h, local);
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

void mpm_fast_settle(mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local)
{
    job j;
    begin_job(f, s, g, local, &j);
    j.pass.now = f->now;
    j.pass.velocity = velocity_slot(f, s, g, local);
    j.pass.out = f->between;
    j.kind = MPM_PASS_GATHER;
    run(f, MPM_TIME_SORT, block_task, &j, f->n_blocks);
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

void mpm_fast_step_adjoint(mpm_fast *f, const mpm_segment *s, uint32_t local, mpm_pose *now_bar, mpm_pose *next_bar)
{
    mpm_history *h = s->history;
    mpm_grid_history *grid = mpm_fast_grid_history(f, f->bar_segment);
    job j;
    begin_job(f, s, grid, local, &j);
    j.pass.x_before = mpm_history_x(f, h, local);
    j.pass.velocity = j.nodes.velocity = velocity_slot(f, s, grid, local);
    j.kind = MPM_PASS_GATHER_ADJOINT;
    if (f->pending != MPM_NONE) {
        j.pass.now.x = mpm_history_x(f, h, f->pending);
        j.pass.now.f = mpm_history_f(f, h, f->pending);
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
}

void mpm_fast_first_adjoint(mpm_fast *f)
{
    const mpm_segment *s = &f->segments[f->bar_segment];
    job j;
    begin_job(f, s, mpm_fast_grid_history(f, f->bar_segment), 0, &j);
    j.pass.now = s->fields;
    j.kind = MPM_PASS_ADJOINT_FIRST;
    run(f, MPM_TIME_ADJOINT, block_task, &j, f->n_blocks);
    f->pending = MPM_NONE;
}
