/* SPDX-License-Identifier: Apache-2.0 */
/* strike.c - tools, and floor and walls with friction, at grid nodes. A signed distance changes by at most
 * the length of a step. So one evaluation in the middle can skip a whole rectangle of nodes far from a tool,
 * and the result of a search stays valid until the tool has moved some way. */
#include "engines/physics/mpm/fast/strike.h"

#include "engines/physics/mpm/sim/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double mass_floor = 1e-12; /* see grid.c */

/* A rectangle of nodes of one plane. */
typedef struct rectangle {
    int j, k, nj, nk;
} rectangle;

typedef struct search {
    const mpm_strike *strike;
    const mpm_tool *tool;
    const mpm_pose *pose;
    double x, dx, reach;
    int offset;
    uint8_t bit;
    uint8_t *marks;
    uint32_t *marked, count;
} search;

/* Marks the nodes within reach of the tool. */
static void look(search *s, rectangle r)
{
    const mpm_box *box = s->strike->box;
    double half_j = 0.5 * (r.nj - 1), half_k = 0.5 * (r.nk - 1);
    const double middle[3] = {s->x, (box->lower[1] - s->offset + r.j + half_j) * s->dx,
                              (box->lower[2] - s->offset + r.k + half_k) * s->dx};
    double d = mpm_tool_distance_bound(s->tool, s->pose, middle);
    if (d > s->reach + s->dx * sqrt(half_j * half_j + half_k * half_k)) {
        return;
    }
    if (r.nj == 1 && r.nk == 1) {
        uint32_t at = (uint32_t)(r.j * box->stride_y + r.k);
        if (!s->marks[at]) {
            s->marked[s->count++] = at;
        }
        s->marks[at] |= s->bit;
        return;
    }
    rectangle a = r, b = r;
    if (r.nj > r.nk) {
        a.nj = r.nj / 2;
        b.j += a.nj;
        b.nj -= a.nj;
    } else {
        a.nk = r.nk / 2;
        b.k += a.nk;
        b.nk -= a.nk;
    }
    look(s, a);
    look(s, b);
}

/* Adds the marked nodes of a plane and clears the marks. */
static bool collect(mpm_near *near, const search *s, int plane)
{
    int stride = s->strike->box->stride_y;
    if (near->count + s->count > near->capacity) {
        size_t capacity = 2 * (near->count + s->count) + 256;
        mpm_near_node *nodes = realloc(near->nodes, capacity * sizeof *nodes);
        if (!nodes) {
            for (uint32_t i = 0; i < s->count; i++) {
                s->marks[s->marked[i]] = 0;
            }
            return false;
        }
        near->nodes = nodes;
        near->capacity = capacity;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = s->marked[i];
        near->nodes[near->count++] = (mpm_near_node){(uint16_t)plane, (uint16_t)((int)at / stride),
                                                     (uint16_t)((int)at % stride), s->marks[at]};
        s->marks[at] = 0;
    }
    return true;
}

/* Bound of the change of a tool's signed distance at any node of the box between two poses. The rotation from
 * p to q moves a point by at most 2 |q - p| times its distance to the tool's origin. */
static double motion(const mpm_strike *s, const mpm_pose *from, const mpm_pose *to)
{
    double shift = 0.0, turn = 0.0, reach = 0.0;
    for (int d = 0; d < 3; d++) {
        double first = (s->box->lower[d] - s->forcing->offset) * s->forcing->dx;
        double a = fabs(from->position[d] - first);
        double b = fabs(from->position[d] - first - (s->box->size[d] - 1) * s->forcing->dx);
        double step = to->position[d] - from->position[d];
        shift += step * step;
        reach += (a > b ? a : b) * (a > b ? a : b);
    }
    for (int d = 0; d < 4; d++) {
        double step = to->rotation[d] - from->rotation[d];
        turn += step * step;
    }
    return sqrt(shift) + 2.0 * sqrt(turn * reach) + fabs(to->gap - from->gap);
}

bool mpm_near_update(mpm_near *near, const mpm_strike *s, int from, int to, uint8_t *marks, uint32_t *marked)
{
    const mpm_box *box = s->box;
    const double slack = 0.5 * s->forcing->dx; /* more finds more nodes, less needs more searches */
    uint32_t n_tools = s->forcing->n_tools;
    double softness = s->forcing->softness;
    near->next = 0;
    for (uint32_t t = 0; t < n_tools && near->valid; t++) {
        near->valid = motion(s, &near->poses[t], &s->now[t]) < slack;
    }
    if (near->valid) {
        return true;
    }
    for (uint32_t t = 0; t < n_tools; t++) { /* without tools s->now is NULL */
        near->poses[t] = s->now[t];
    }
    near->count = 0;
    search look_for = {
        .strike = s, .dx = s->forcing->dx, .offset = s->forcing->offset, .marks = marks, .marked = marked};
    /* influence exp(-softness d) > 0.1, plus a little for rounding */
    look_for.reach = 1e-9 + slack + (softness > 0.0 ? log(10.0) / softness : 0.0);
    const rectangle all = {0, 0, box->size[1], box->size[2]};
    for (int plane = from; plane < to; plane++) {
        look_for.x = (box->lower[0] - look_for.offset + plane) * look_for.dx;
        look_for.count = 0;
        for (uint32_t t = 0; t < n_tools; t++) {
            look_for.tool = &s->forcing->tools[t];
            look_for.pose = &s->now[t];
            look_for.bit = (uint8_t)(1u << t);
            look(&look_for, all);
        }
        if (!collect(near, &look_for, plane)) {
            return false;
        }
    }
    near->valid = true;
    return true;
}

void mpm_near_free(mpm_near *near)
{
    free(near->nodes);
    memset(near, 0, sizeof *near);
}

static bool remember(mpm_struck_list *list, const mpm_struck *node)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 1024;
        mpm_struck *nodes = realloc(list->nodes, capacity * sizeof *nodes);
        if (!nodes) {
            return false;
        }
        list->nodes = nodes;
        list->capacity = capacity;
    }
    list->nodes[list->count++] = *node;
    return true;
}

static void read_node(const mpm_kernels *kernels, const void *field, size_t node, double out[4])
{
    for (size_t c = 0; c < 4; c++) {
        out[c] = kernels->real == sizeof(double) ? ((const double *)field)[4 * node + c]
                                                 : (double)((const float *)field)[4 * node + c];
    }
}

static void write_node(const mpm_kernels *kernels, void *field, size_t node, const double value[4])
{
    for (size_t c = 0; c < 4; c++) {
        if (kernels->real == sizeof(double)) {
            ((double *)field)[4 * node + c] = value[c] + 0.0; /* no -0.0, see nodes.h */
        } else {
            ((float *)field)[4 * node + c] = (float)(value[c] + 0.0);
        }
    }
}

static bool strike_node(const mpm_strike *s, const mpm_kernels *kernels, void *velocity, int plane, int j,
                        int k, unsigned tools, mpm_struck_list *list)
{
    const mpm_box *box = s->box;
    size_t node = (size_t)plane * (size_t)box->stride_x + (size_t)j * (size_t)box->stride_y + (size_t)k;
    const int at[3] = {box->lower[0] + plane, box->lower[1] + j, box->lower[2] + k};
    double u[4];
    mpm_struck struck;
    read_node(kernels, velocity, node, u);
    if (!(u[3] > mass_floor)) {
        return true;
    }
    memcpy(struck.u, u, sizeof struck.u);
    if (!mpm_node_push(s->forcing, at, tools, s->with_walls, s->now, s->next, u)) {
        return true;
    }
    write_node(kernels, velocity, node, u);
    struck.node = (uint32_t)node;
    struck.tools = (uint16_t)tools;
    for (int d = 0; d < 3; d++) {
        struck.at[d] = (int16_t)at[d];
    }
    return !list || remember(list, &struck);
}

/* Nodes of the plane near floor and walls that the tools do not reach. */
static bool strike_walls(const mpm_strike *s, const mpm_kernels *kernels, void *velocity, int plane,
                         const uint8_t *marks, mpm_struck_list *list)
{
    const mpm_box *box = s->box;
    const mpm_forcing *forcing = s->forcing;
    bool whole_plane = mpm_in_wall(forcing, 0, box->lower[0] + plane);
    for (int j = 0; j < box->size[1]; j++) {
        bool whole_row = whole_plane || mpm_in_wall(forcing, 1, box->lower[1] + j);
        if (!whole_row && !mpm_in_wall(forcing, 2, box->lower[2]) &&
            !mpm_in_wall(forcing, 2, box->lower[2] + box->size[2] - 1)) {
            continue;
        }
        for (int k = 0; k < box->size[2]; k++) {
            if ((whole_row || mpm_in_wall(forcing, 2, box->lower[2] + k)) && !marks[j * box->stride_y + k] &&
                !strike_node(s, kernels, velocity, plane, j, k, 0, list)) {
                return false;
            }
        }
    }
    return true;
}

static mpm_near_node *nodes_of_plane(mpm_near *near, int plane, size_t *count)
{
    mpm_near_node *first = near->nodes + near->next;
    *count = 0;
    while (near->next < near->count && near->nodes[near->next].plane == plane) {
        near->next++;
        ++*count;
    }
    return first;
}

bool mpm_strike_plane(const mpm_strike *s, const mpm_kernels *kernels, void *velocity, int plane,
                      mpm_near *near, uint8_t *marks, mpm_struck_list *list)
{
    size_t count;
    const mpm_near_node *nodes = nodes_of_plane(near, plane, &count);
    bool done = true;
    if (s->with_walls) {
        for (size_t i = 0; i < count; i++) {
            marks[nodes[i].j * s->box->stride_y + nodes[i].k] = 1;
        }
        done = strike_walls(s, kernels, velocity, plane, marks, list);
        for (size_t i = 0; i < count; i++) {
            marks[nodes[i].j * s->box->stride_y + nodes[i].k] = 0;
        }
    }
    for (size_t i = 0; i < count && done; i++) {
        done = strike_node(s, kernels, velocity, plane, nodes[i].j, nodes[i].k, nodes[i].tools, list);
    }
    return done;
}

void mpm_strike_adjoint(const mpm_strike *s, const mpm_kernels *kernels, const void *velocity, void *node_bar,
                        const mpm_struck *nodes, size_t count, mpm_pose *now_bar, mpm_pose *next_bar)
{
    for (size_t i = 0; i < count; i++) {
        const mpm_struck *struck = &nodes[i];
        const int at[3] = {struck->at[0], struck->at[1], struck->at[2]};
        double g[4], bar[4], u_bar[3];
        read_node(kernels, velocity, struck->node, g);
        read_node(kernels, node_bar, struck->node, bar);
        for (int d = 0; d < 3; d++) {
            u_bar[d] = bar[d] * g[3];
        }
        mpm_node_push_adjoint(s->forcing, at, struck->tools, s->with_walls, struck->u, s->now, s->next, u_bar,
                              now_bar, next_bar);
        bar[3] = 0.0;
        for (int d = 0; d < 3; d++) {
            bar[d] = u_bar[d] / g[3];
            bar[3] -= bar[d] * (struck->u[d] - s->forcing->dt * s->forcing->gravity[d]);
        }
        write_node(kernels, node_bar, struck->node, bar);
    }
}
