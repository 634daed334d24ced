/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - grid step of the material point method (PlasticineLab: mpm_simulator.py, grid_op) and its adjoint.
 */
#include "engines/physics/mpm/sim/grid.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/tool.h"

#include <stdlib.h>

static const double mass_floor = 1e-12; /* lighter nodes keep velocity 0 */

/* Branches of floor and walls taken at a node, and the velocity before the Coulomb branch. */
typedef struct wall_state {
    bool stopped[3]; /* the velocity along this axis was set to 0 */
    bool stuck;      /* sticky floor: all axes */
    bool slid;       /* Coulomb floor */
    double before[3];
} wall_state;

static double *alloc_field(mpm_grid *grid)
{
    size_t n = (size_t)grid->n;
    return ds_memory_doubles(&grid->memory, n * n * n * 4);
}

bool mpm_grid_init(mpm_grid *grid, int n)
{
    memset(grid, 0, sizeof *grid);
    grid->n = n;
    grid->node = alloc_field(grid);
    grid->velocity = alloc_field(grid);
    return grid->node && grid->velocity;
}

bool mpm_grid_init_adjoint(mpm_grid *grid)
{
    if (!grid->velocity_bar) {
        grid->velocity_bar = alloc_field(grid);
    }
    if (!grid->node_bar) {
        grid->node_bar = alloc_field(grid);
    }
    return grid->velocity_bar && grid->node_bar;
}

void mpm_grid_free(mpm_grid *grid)
{
    ds_memory_free(&grid->memory);
    memset(grid, 0, sizeof *grid);
}

void mpm_grid_record_free(mpm_grid_record *record)
{
    free(record->nodes);
    memset(record, 0, sizeof *record);
}

void mpm_grid_set_box(mpm_grid *grid, const int lower[3], const int upper[3])
{
    memcpy(grid->lower, lower, sizeof grid->lower);
    memcpy(grid->upper, upper, sizeof grid->upper);
}

static size_t node_index(const mpm_grid *grid, int i, int j, int k)
{
    return ((size_t)i * (size_t)grid->n + (size_t)j) * (size_t)grid->n + (size_t)k;
}

void mpm_grid_clear(const mpm_grid *grid, double *field)
{
    size_t row = (size_t)(grid->upper[2] - grid->lower[2]) * 4 * sizeof(double);
    for (int i = grid->lower[0]; i < grid->upper[0]; i++) {
        for (int j = grid->lower[1]; j < grid->upper[1]; j++) {
            memset(field + 4 * node_index(grid, i, j, grid->lower[2]), 0, row);
        }
    }
}

/* Floor and the five walls, at node i with velocity u. */
static void walls(const mpm_forcing *forcing, const int i[3], double u[3], wall_state *state)
{
    memset(state, 0, sizeof *state);
    double friction = forcing->ground_friction;
    for (int d = 0; d < 3; d++) {
        if (i[d] <= forcing->wall_low[d] && u[d] < 0.0) {
            if (d != 1 || friction <= 0.0) {
                u[d] = 0.0;
                state->stopped[d] = true;
            } else if (friction >= MPM_STICKY_FRICTION) {
                u[0] = u[1] = u[2] = 0.0;
                state->stuck = true;
            } else {
                memcpy(state->before, u, sizeof state->before);
                double speed = sqrt(u[0] * u[0] + u[2] * u[2] + 1e-8);
                double left = 1.0 + friction * u[1] / speed;
                left = left > 0.0 ? left : 0.0;
                u[0] *= left;
                u[1] = 0.0;
                u[2] *= left;
                state->slid = true;
            }
        }
        if (i[d] >= forcing->wall_high[d] && u[d] > 0.0) {
            u[d] = 0.0;
            state->stopped[d] = true;
        }
    }
}

/* u_bar: adjoint of the velocity after the walls on entry, before them on return. The axes are processed in
 * reverse; each axis has at most one branch, except that a sticky floor ends everything before it. Adds to
 * the adjoint of the friction. */
static void walls_adjoint(const mpm_forcing *forcing, const wall_state *state, double u_bar[3],
                          double *friction_bar)
{
    for (int d = 2; d >= 0; d--) {
        if (state->stopped[d]) {
            u_bar[d] = 0.0;
        }
        if (d == 1 && state->stuck) {
            u_bar[0] = u_bar[1] = u_bar[2] = 0.0;
        }
        if (d == 1 && state->slid) {
            const double *u = state->before;
            double friction = forcing->ground_friction;
            double speed = sqrt(u[0] * u[0] + u[2] * u[2] + 1e-8);
            double left = 1.0 + friction * u[1] / speed;
            if (left > 0.0) {
                double left_bar = u_bar[0] * u[0] + u_bar[2] * u[2];
                double speed_bar = -left_bar * friction * u[1] / (speed * speed);
                *friction_bar += left_bar * u[1] / speed;
                u_bar[0] = left * u_bar[0] + speed_bar * u[0] / speed;
                u_bar[1] = left_bar * friction / speed;
                u_bar[2] = left * u_bar[2] + speed_bar * u[2] / speed;
            } else {
                u_bar[0] = u_bar[1] = u_bar[2] = 0.0;
            }
        }
    }
}

static mpm_contact contact_of(const mpm_forcing *forcing, uint32_t t, const mpm_pose *now,
                              const mpm_pose *next)
{
    mpm_contact contact = {&forcing->tools[t], &now[t], &next[t], forcing->softness, forcing->dt};
    return contact;
}

static void node_position(const mpm_forcing *forcing, const int i[3], double x[3])
{
    for (int d = 0; d < 3; d++) {
        x[d] = (i[d] - forcing->offset) * forcing->dx;
    }
}

static bool keep(mpm_grid_record *record, const int i[3], const double node[4], const double velocity[3])
{
    if (record->count == record->capacity) {
        size_t capacity = record->capacity ? 2 * record->capacity : 4096;
        mpm_node_record *nodes = realloc(record->nodes, capacity * sizeof *nodes);
        if (!nodes) {
            return false;
        }
        record->nodes = nodes;
        record->capacity = capacity;
    }
    mpm_node_record *r = &record->nodes[record->count++];
    r->i = (uint32_t)i[0];
    r->j = (uint32_t)i[1];
    r->k = (uint32_t)i[2];
    memcpy(r->node, node, sizeof r->node);
    memcpy(r->velocity, velocity, sizeof r->velocity);
    return true;
}

bool mpm_node_push(const mpm_forcing *forcing, const int i[3], uint32_t tools, bool with_walls,
                   const mpm_pose *now, const mpm_pose *next, double u[3])
{
    double x[3];
    node_position(forcing, i, x);
    bool acted = false;
    for (uint32_t t = 0; t < forcing->n_tools; t++) {
        if ((tools >> t & 1) != 0) {
            mpm_contact contact = contact_of(forcing, t, now, next);
            acted |= mpm_contact_apply(&contact, x, u);
        }
    }
    wall_state state = {0};
    if (with_walls) {
        walls(forcing, i, u, &state);
    }
    return acted || state.stopped[0] || state.stopped[1] || state.stopped[2] || state.stuck || state.slid;
}

bool mpm_grid_update(mpm_grid *grid, const mpm_forcing *forcing, const mpm_pose *now, const mpm_pose *next,
                     mpm_grid_record *record)
{
    if (record) {
        record->count = 0;
        memcpy(record->lower, grid->lower, sizeof record->lower);
        memcpy(record->upper, grid->upper, sizeof record->upper);
    }
    int i[3];
    for (i[0] = grid->lower[0]; i[0] < grid->upper[0]; i[0]++) {
        for (i[1] = grid->lower[1]; i[1] < grid->upper[1]; i[1]++) {
            for (i[2] = grid->lower[2]; i[2] < grid->upper[2]; i[2]++) {
                size_t at = 4 * node_index(grid, i[0], i[1], i[2]);
                const double *node = grid->node + at;
                double *u = grid->velocity + at;
                u[0] = u[1] = u[2] = u[3] = 0.0;
                if (!(node[3] > mass_floor)) {
                    continue;
                }
                for (int d = 0; d < 3; d++) {
                    u[d] = node[d] / node[3] + forcing->dt * forcing->gravity[d];
                }
                mpm_node_push(forcing, i, MPM_ALL_TOOLS, true, now, next, u);
                if (record && !keep(record, i, node, u)) {
                    return false;
                }
            }
        }
    }
    return true;
}

void mpm_grid_restore(mpm_grid *grid, const mpm_grid_record *record)
{
    mpm_grid_set_box(grid, record->lower, record->upper);
    mpm_grid_clear(grid, grid->velocity);
    for (size_t r = 0; r < record->count; r++) {
        const mpm_node_record *n = &record->nodes[r];
        memcpy(grid->velocity + 4 * node_index(grid, (int)n->i, (int)n->j, (int)n->k), n->velocity,
               sizeof n->velocity);
    }
}

void mpm_node_push_adjoint(const mpm_forcing *forcing, const int i[3], uint32_t tools, bool with_walls,
                           const double u[3], const mpm_pose *now, const mpm_pose *next, double u_bar[3],
                           mpm_pose *now_bar, mpm_pose *next_bar)
{
    double x[3];
    node_position(forcing, i, x);
    if (!with_walls && tools != 0 && (tools & (tools - 1)) == 0) {
        uint32_t only = 0; /* nothing else happened at this node: its forward step need not be repeated */
        while ((tools >> only & 1) == 0) {
            only++;
        }
        mpm_contact contact = contact_of(forcing, only, now, next);
        mpm_contact_adjoint(&contact, x, u, u_bar, &now_bar[only], &next_bar[only]);
        return;
    }
    double stage[MPM_MAX_TOOLS + 1][3];
    bool acted[MPM_MAX_TOOLS];
    memcpy(stage[0], u, sizeof stage[0]);
    for (uint32_t t = 0; t < forcing->n_tools; t++) {
        mpm_contact contact = contact_of(forcing, t, now, next);
        memcpy(stage[t + 1], stage[t], sizeof stage[t]);
        acted[t] = (tools >> t & 1) != 0 && mpm_contact_apply(&contact, x, stage[t + 1]);
    }
    if (with_walls) {
        wall_state state;
        walls(forcing, i, stage[forcing->n_tools], &state);
        walls_adjoint(forcing, &state, u_bar, &now_bar[0].constants.ground_friction);
    }
    for (uint32_t t = forcing->n_tools; t-- > 0;) {
        if (acted[t]) {
            mpm_contact contact = contact_of(forcing, t, now, next);
            mpm_contact_adjoint(&contact, x, stage[t], u_bar, &now_bar[t], &next_bar[t]);
        }
    }
}

static void node_adjoint(const mpm_grid *grid, const mpm_forcing *forcing, const mpm_node_record *n,
                         const mpm_pose *now, const mpm_pose *next, mpm_pose *now_bar, mpm_pose *next_bar)
{
    const int i[3] = {(int)n->i, (int)n->j, (int)n->k};
    double own[3], u[3], u_bar[3];
    for (int d = 0; d < 3; d++) {
        own[d] = n->node[d] / n->node[3];
        u[d] = own[d] + forcing->dt * forcing->gravity[d];
    }
    size_t at = 4 * node_index(grid, i[0], i[1], i[2]);
    memcpy(u_bar, grid->velocity_bar + at, sizeof u_bar);
    mpm_node_push_adjoint(forcing, i, MPM_ALL_TOOLS, true, u, now, next, u_bar, now_bar, next_bar);
    double *node_bar = grid->node_bar + at;
    for (int d = 0; d < 3; d++) {
        node_bar[d] = u_bar[d] / n->node[3];
    }
    node_bar[3] = -vec3_dot(u_bar, own) / n->node[3];
}

void mpm_grid_update_adjoint(mpm_grid *grid, const mpm_forcing *forcing, const mpm_grid_record *record,
                             const mpm_pose *now, const mpm_pose *next, mpm_pose *now_bar, mpm_pose *next_bar)
{
    mpm_grid_clear(grid, grid->node_bar);
    for (size_t r = 0; r < record->count; r++) {
        node_adjoint(grid, forcing, &record->nodes[r], now, next, now_bar, next_bar);
    }
}
