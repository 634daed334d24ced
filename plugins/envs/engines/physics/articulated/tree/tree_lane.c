/* SPDX-License-Identifier: Apache-2.0 */
/* tree_lane.c - contact of robots side by side, lane by lane (tree_lane.h). */
#include "engines/physics/articulated/tree/tree_lane.h"

#include "engines/physics/articulated/tree/tree_compliant.h"

#include <stddef.h>

enum { LIMB = sizeof(limb) / sizeof(double) }; /* numbers of a link */

/* What a lane has between tree_lane_forces() and its adjoint. */
typedef struct lane_state {
    tree_work *work;
    double *number;
    unsigned char *has; /* of the links: is in the list of those that may touch */
    int *link, links;
} lane_state;

struct tree_lane {
    tree model; /* with the numbers of the present lane */
    size_t width;
    lane_state *lane;
    double *number_bar;
};

tree_lane *tree_lane_create(ds_memory *m, const tree *t, int width)
{
    const size_t links = (size_t)t->links + 1;
    tree_lane *c = ds_memory_take(m, 1, sizeof *c);
    lane_state *lane = ds_memory_take(m, (size_t)width, sizeof *lane);
    for (int k = 0; lane != NULL && k < width; k++) {
        lane[k].work = tree_work_create(m, t);
        lane[k].has = ds_memory_take(m, links, sizeof *lane->has);
        lane[k].link = ds_memory_take(m, links, sizeof *lane->link);
    }
    double *number_bar = ds_memory_doubles(m, (size_t)t->numbers + 1);
    if (m->failed) {
        return NULL;
    }
    *c = (tree_lane){*t, (size_t)width, lane, number_bar};
    return c;
}

void tree_lane_number(tree_lane *c, int lane, double *number)
{
    c->lane[lane].number = number;
}

/* Numbers from ... of a link, in the state of the lane and among those of all lanes. */
static void read_limb(const tree_lane *c, limb *b, const double *all, size_t from, size_t count)
{
    double *to = (double *)b + from;
    for (size_t k = 0; k < count; k++) {
        to[k] = all[(from + k) * c->width];
    }
}

static void write_limb(const tree_lane *c, const limb *b, double *all, size_t from, size_t count)
{
    const double *of = (const double *)b + from;
    for (size_t k = 0; k < count; k++) {
        all[(from + k) * c->width] = of[k];
    }
}

#define AT(field) (offsetof(limb, field) / sizeof(double))

static void read_pose(const tree_lane *c, lane_state *s, int link, const double *all)
{
    if (link < 0 || s->has[link]) {
        return;
    }
    limb *b = &s->work->limb[link];
    all += (size_t)link * LIMB * c->width;
    read_limb(c, b, all, AT(R), 12); /* and x */
    read_limb(c, b, all, AT(v), 6);
    memset(b->f, 0, sizeof b->f);
    s->has[link] = 1;
    s->link[s->links++] = link;
}

void tree_lane_forces(tree_lane *c, int lane, const double *ref, double *limbs, const int *near, int count)
{
    const tree *t = &c->model;
    lane_state *s = &c->lane[lane];
    while (s->links > 0) {
        s->has[s->link[--s->links]] = 0;
    }
    s->work->touching = 0;
    if (count == 0) {
        return;
    }
    c->model.number = s->number;
    for (int k = 0; k < 3; k++) {
        s->work->ref[k] = ref[(size_t)k * c->width];
    }
    for (int k = 0; k < count; k++) {
        const tree_contact *head = &t->contact[near[k]];
        read_pose(c, s, t->shape[head->first].link, limbs);
        read_pose(c, s, t->shape[head->second].link, limbs);
        tree_touch_find_group(t, s->work, near[k]);
    }
    if (s->work->touching > 0) {
        tree_compliant(t, s->work);
        for (int k = 0; k < s->links; k++) {
            const int link = s->link[k];
            write_limb(c, &s->work->limb[link], limbs + (size_t)link * LIMB * c->width, AT(f), 6);
        }
    }
}

/* The numbers by which contact has derivatives. */
static int is_of_contact(const tree *t, int k)
{
    const int length = tree_link_number(t, TREE_LENGTH, 0);
    return k < TREE_GLOBALS || (k >= length && k < length + t->links);
}

void tree_lane_forces_bar(tree_lane *c, int lane, double *limbs, double *number_bar)
{
    const tree *t = &c->model;
    lane_state *s = &c->lane[lane];
    if (s->work->touching == 0) {
        return;
    }
    c->model.number = s->number;
    for (int k = 0; k < s->links; k++) {
        const double *all = limbs + (size_t)s->link[k] * LIMB * c->width;
        read_limb(c, &s->work->limb[s->link[k]], all, AT(d), 6);
        read_limb(c, &s->work->limb[s->link[k]], all, AT(fb), 6);
        read_limb(c, &s->work->limb[s->link[k]], all, AT(vb), 6);
        read_limb(c, &s->work->limb[s->link[k]], all, AT(pose), 6);
    }
    for (int k = 0; number_bar != NULL && k < t->numbers; k++) {
        c->number_bar[k] = is_of_contact(t, k) ? number_bar[(size_t)k * c->width] : 0;
    }
    tree_compliant_bar(t, s->work, number_bar != NULL ? c->number_bar : NULL);
    tree_distant_bar(t, s->work, number_bar != NULL ? c->number_bar : NULL);
    for (int k = 0; number_bar != NULL && k < t->numbers; k++) {
        if (is_of_contact(t, k)) {
            number_bar[(size_t)k * c->width] = c->number_bar[k];
        }
    }
    for (int k = 0; k < s->links; k++) {
        double *all = limbs + (size_t)s->link[k] * LIMB * c->width;
        write_limb(c, &s->work->limb[s->link[k]], all, AT(fb), 6);
        write_limb(c, &s->work->limb[s->link[k]], all, AT(vb), 6);
        write_limb(c, &s->work->limb[s->link[k]], all, AT(pose), 6);
    }
}
