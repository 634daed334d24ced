/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - the model of a tree of rigid bodies (tree.h). */
#include "engines/physics/articulated/tree/tree.h"

#include "engines/kit/algebra/mat3.h"

/* ---- model ---- */

tree *tree_create(ds_memory *m, int room)
{
    tree *t = ds_memory_take(m, 1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    size_t n = (size_t)room + 1;
    t->memory = m;
    t->room = room;
    t->link = ds_memory_take(m, n, sizeof *t->link);
    t->shape = ds_memory_take(m, n, sizeof *t->shape);
    t->site = ds_memory_take(m, n, sizeof *t->site);
    t->start = ds_memory_doubles(m, 7 * n);
    t->excluded = ds_memory_take(m, n, sizeof *t->excluded);
    t->coupling = ds_memory_take(m, n, sizeof *t->coupling);
    t->lower = ds_memory_doubles(m, 6 * n);
    t->upper = ds_memory_doubles(m, 6 * n);
    t->numbers = TREE_GLOBALS + (int)n * (TREE_LINK_NUMBERS + 6 * TREE_JOINT_NUMBERS);
    t->number = ds_memory_doubles(m, (size_t)t->numbers);
    t->slip = 0.05;
    t->joint_slip = 0.01;
    t->bounce = 0.1;
    return m->failed ? NULL : t;
}

int tree_add_link(tree *t, int parent, tree_joint kind)
{
    static const int nq[] = {0, 1, 1, 4, 7}, nv[] = {0, 1, 1, 3, 6};
    int i = t->links++;
    tree_link *l = &t->link[i];
    *l = (tree_link){.parent = parent, .kind = kind, .axis = {0, 0, 1}, .q = t->nq, .v = t->nv};
    l->nq = nq[kind];
    l->nv = nv[kind];
    mat3_identity(l->rotation);
    if (l->nq >= 4) {
        t->start[t->nq + l->nq - 4] = 1;
    }
    for (int k = 0; k < l->nv; k++) {
        t->lower[t->nv + k] = -INFINITY;
        t->upper[t->nv + k] = INFINITY;
    }
    t->nq += l->nq;
    t->nv += l->nv;
    return i;
}

int tree_add_shape(tree *t, int link, tree_form form)
{
    tree_shape *s = &t->shape[t->shapes];
    *s = (tree_shape){.link = link, .form = form, .friction = 1, .visible = 1, .collides = 1, .mask = {1, 1}};
    mat3_identity(s->rotation);
    return t->shapes++;
}

int tree_add_site(tree *t, int link)
{
    tree_site *s = &t->site[t->sites];
    *s = (tree_site){.link = link};
    mat3_identity(s->rotation);
    return t->sites++;
}

int tree_find_link(const tree *t, const char *name)
{
    for (int i = 0; i < t->links; i++) {
        if (strcmp(t->link[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int tree_find_joint(const tree *t, const char *name)
{
    for (int i = 0; i < t->links; i++) {
        if (t->link[i].kind != TREE_FIXED && strcmp(t->link[i].joint, name) == 0) {
            return i;
        }
    }
    return -1;
}

int tree_find_site(const tree *t, const char *name)
{
    for (int i = 0; i < t->sites; i++) {
        if (strcmp(t->site[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- joints that follow others ---- */

int tree_follows(const tree *t, int link)
{
    for (int k = 0; k < t->couplings; k++) {
        if (t->coupling[k].follower == link) {
            return k;
        }
    }
    return -1;
}

int tree_order_couplings(tree *t)
{
    for (int k = 0; k < t->couplings; k++) {
        int next = tree_follows(t, t->coupling[k].follower) == k ? k : t->couplings;
        while (next < t->couplings && tree_follows(t, t->coupling[next].leader) >= k) {
            next++;
        }
        if (next == t->couplings) {
            return t->coupling[k].follower;
        }
        tree_coupling first = t->coupling[next];
        t->coupling[next] = t->coupling[k];
        t->coupling[k] = first;
    }
    return -1;
}

void tree_couple(const tree *t, double *q, double *v)
{
    for (int k = 0; k < t->couplings; k++) {
        const tree_coupling *c = &t->coupling[k];
        const tree_link *to = &t->link[c->follower], *from = c->leader < 0 ? NULL : &t->link[c->leader];
        q[to->q] = c->offset + (from ? c->ratio * q[from->q] : 0);
        v[to->v] = from ? c->ratio * v[from->v] : 0;
    }
}

void tree_couple_dot(const tree *t, double *q_dot, double *v_dot)
{
    double *const both[] = {q_dot, v_dot};
    for (int k = 0; k < 2 * t->couplings; k++) {
        const tree_coupling *c = &t->coupling[k / 2];
        double *x = both[k % 2];
        x[t->link[c->follower].v] = c->leader < 0 ? 0 : c->ratio * x[t->link[c->leader].v];
    }
}

void tree_couple_bar(const tree *t, double *q_bar, double *v_bar)
{
    double *const both[] = {q_bar, v_bar};
    for (int k = 2 * t->couplings - 1; k >= 0; k--) {
        const tree_coupling *c = &t->coupling[k / 2];
        double *x = both[k % 2], *from = &x[t->link[c->follower].v];
        if (c->leader >= 0) {
            x[t->link[c->leader].v] += c->ratio * *from;
        }
        *from = 0;
    }
}

/* ---- terrain ---- */

double *tree_add_terrain(tree *t, int columns, int rows, double cell_x, double cell_y)
{
    tree_terrain *f = ds_memory_take(t->memory, 1, sizeof *f);
    double *height = ds_memory_doubles(t->memory, (size_t)columns * (size_t)rows);
    if (f == NULL || height == NULL) {
        return NULL;
    }
    *f = (tree_terrain){.columns = columns, .rows = rows, .cell = {cell_x, cell_y}, .height = height};
    t->shape[tree_add_shape(t, -1, TREE_TERRAIN)].terrain = f;
    return height;
}

/* Column or row k of `count` of a picture of a grid with `all`. */
static int drawn_line(int k, int count, int all)
{
    return (int)((double)k * (all - 1) / (count - 1) + 0.5);
}

int tree_draw_terrain(tree *t, tree_shape *s)
{
    enum { MOST_LINES = 40 };
    const tree_terrain *f = s->terrain;
    int columns = f->columns < MOST_LINES ? f->columns : MOST_LINES;
    int rows = f->rows < MOST_LINES ? f->rows : MOST_LINES, cells = (columns - 1) * (rows - 1);
    tree_mesh *m = ds_memory_take(t->memory, 1, sizeof *m);
    double *point = ds_memory_doubles(t->memory, 3 * (size_t)(columns * rows));
    uint32_t *corner = ds_memory_take(t->memory, 6 * (size_t)cells, sizeof *corner);
    if (m == NULL || point == NULL || corner == NULL) {
        return 0;
    }
    for (int k = 0; k < columns * rows; k++) {
        tree_terrain_point(f, drawn_line(k % columns, columns, f->columns),
                           drawn_line(k / columns, rows, f->rows), point + 3 * k);
    }
    for (int k = 0; k < cells; k++) {
        uint32_t a = (uint32_t)(k / (columns - 1) * columns + k % (columns - 1)), up = a + (uint32_t)columns;
        const uint32_t two[6] = {a, a + 1, up + 1, a, up + 1, up};
        memcpy(corner + 6 * k, two, sizeof two);
    }
    *m = (tree_mesh){columns * rows, 2 * cells, point, corner};
    s->drawn = m;
    return 1;
}
