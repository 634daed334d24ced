/* SPDX-License-Identifier: Apache-2.0 */
/* tree_meet.c - which solids of a tree of rigid bodies can meet, and how (tree.h). */
#include "engines/physics/articulated/tree/tree.h"

#include "engines/kit/algebra/mat3.h"

enum { MOST_BALLS = TREE_CORNERS, RIM_POINTS = 8, BOX_TOUCHES = 24 };

/* ---- pairs of solids ---- */

/* The link that link i moves with: itself, or the one that it is fixed to. */
static int moving(const tree *t, int i)
{
    while (i >= 0 && t->link[i].kind == TREE_FIXED) {
        i = t->link[i].parent;
    }
    return i;
}

static int related(const tree *t, int a, int b)
{
    a = moving(t, a);
    b = moving(t, b);
    int up_a = a < 0 ? -1 : moving(t, t->link[a].parent), up_b = b < 0 ? -1 : moving(t, t->link[b].parent);
    for (int k = 0; k < t->exclusions; k++) {
        int first = moving(t, t->excluded[k][0]), second = moving(t, t->excluded[k][1]);
        if ((first == a && second == b) || (first == b && second == a)) {
            return 1;
        }
    }
    return a == b || (up_a == b && b >= 0) || (up_b == a && a >= 0);
}

static int can_meet(const tree *t, const tree_shape *a, const tree_shape *b)
{
    int fixed = a->form == TREE_PLANE || a->form == TREE_TERRAIN,
        other = b->form == TREE_PLANE || b->form == TREE_TERRAIN;
    return a != b && a->collides && b->collides && !(fixed && other) &&
           ((a->mask[0] & b->mask[1]) || (b->mask[0] & a->mask[1])) && !related(t, a->link, b->link);
}

/* ---- contacts of a pair ---- */

/* Balls of solid s against `other`, in the link of s: their number. */
static int balls_of(const tree_shape *s, const tree_shape *other, double at[MOST_BALLS][3], double *radius)
{
    int n = 0;
    double local[MOST_BALLS][3] = {{0}};
    *radius = s->form == TREE_SPHERE || s->form == TREE_CAPSULE ? s->size[0] : 0;
    if (s->form == TREE_SPHERE) {
        n = 1;
    } else if (other->form == TREE_SPHERE) {
        n = 0; /* the sphere is the ball */
    } else if (s->form == TREE_CAPSULE) {
        double apart = 2 * s->size[1] / s->size[0];
        n = other->form != TREE_TERRAIN ? 2 : apart < MOST_BALLS - 2 ? (int)apart + 2 : MOST_BALLS;
        for (int i = 0; i < n; i++) {
            local[i][2] = s->size[1] * (2.0 * i / (n - 1) - 1);
        }
    } else if (s->form == TREE_BOX && other->form != TREE_BOX) {
        for (n = 0; n < 8; n++) {
            for (int k = 0; k < 3; k++) {
                local[n][k] = (n >> k & 1) ? s->size[k] : -s->size[k];
            }
        }
    } else if (s->form == TREE_CYLINDER) {
        /* On a plane the rims carry a cylinder that rolls, and these points one that stands. */
        double r = other->form == TREE_PLANE ? 0.99 * s->size[0] : s->size[0];
        for (n = 0; n < 2 * RIM_POINTS; n++) {
            double angle = 0.78539816339744830962 * (n % RIM_POINTS);
            local[n][0] = r * cos(angle);
            local[n][1] = r * sin(angle);
            local[n][2] = n < RIM_POINTS ? -s->size[1] : s->size[1];
        }
    } else if (s->form == TREE_MESH) {
        n = s->hull->points;
        memcpy(local, s->hull->point, (size_t)n * sizeof *local);
    }
    for (int i = 0; i < n; i++) {
        mat3_apply(s->rotation, local[i], at[i]);
        vec3_add_scaled(at[i], 1, s->at);
    }
    return n;
}

typedef struct lister {
    const tree *t;
    tree_contact *list; /* NULL: count only */
    int count, touches;
} lister;

static tree_contact *add(lister *l, tree_meeting kind, const tree_shape *a, const tree_shape *b, int most)
{
    static tree_contact none;
    tree_contact *c = l->list ? &l->list[l->count] : &none;
    *c = (tree_contact){.kind = kind, .most = most, .friction = fmax(a->friction, b->friction)};
    c->first = (int)(a - l->t->shape);
    c->second = (int)(b - l->t->shape);
    l->count++;
    l->touches += most;
    return c;
}

static void list_balls(lister *l, const tree_shape *a, const tree_shape *b)
{
    double at[MOST_BALLS][3], radius;
    int none =
        a->form == TREE_PLANE || a->form == TREE_TERRAIN || (a->form == TREE_MESH && b->form == TREE_MESH);
    int n = none ? 0 : balls_of(a, b, at, &radius);
    for (int i = 0; i < n; i++) {
        tree_contact *c = add(l, TREE_BALL, a, b, 1);
        memcpy(c->at, at[i], sizeof c->at);
        c->radius = radius;
    }
}

static void list_rims(lister *l, const tree_shape *a, const tree_shape *b)
{
    for (int end = -1; a->form == TREE_CYLINDER && b->form == TREE_PLANE && end < 2; end += 2) {
        tree_contact *c = add(l, TREE_RIM, a, b, 1);
        for (int k = 0; k < 3; k++) {
            c->axis[k] = end * a->rotation[3 * k + 2];
            c->at[k] = a->at[k] + a->size[1] * c->axis[k];
        }
    }
}

static int has_axis(const tree_shape *s)
{
    return s->form == TREE_CAPSULE || s->form == TREE_CYLINDER;
}

static void list_edges(lister *l, const tree_shape *a, const tree_shape *b)
{
    if (a->form == TREE_BOX && b->form == TREE_BOX) {
        add(l, TREE_BOXES, a, b, BOX_TOUCHES);
    } else if ((has_axis(a) || a->form == TREE_BOX) && (has_axis(b) || b->form == TREE_BOX)) {
        add(l, TREE_EDGES, a, b, a->form == TREE_BOX || b->form == TREE_BOX ? 12 : 1);
    }
}

/* The points of terrain that can be inside a solid at once are those below its bounding sphere. */
static void list_peaks(lister *l, const tree_shape *a, const tree_shape *b)
{
    if (b->form != TREE_TERRAIN ||
        (a->form != TREE_BOX && a->form != TREE_CYLINDER && a->form != TREE_MESH)) {
        return;
    }
    double reach = tree_reach(a);
    int most = 1;
    for (int k = 0; k < 2; k++) {
        int all = k ? b->terrain->rows : b->terrain->columns;
        double n = 2 * reach / b->terrain->cell[k] + 2;
        most *= n < all ? (int)n : all;
    }
    add(l, TREE_PEAKS, a, b, most);
}

static void list_contacts(lister *l)
{
    const tree *t = l->t;
    for (int i = 0; i < t->shapes; i++) {
        for (int j = i + 1; j < t->shapes; j++) {
            const tree_shape *a = &t->shape[i], *b = &t->shape[j];
            int first = l->count;
            if (!can_meet(t, a, b)) {
                continue;
            }
            list_balls(l, a, b);
            if (!(a->form == TREE_SPHERE && b->form == TREE_SPHERE)) {
                list_balls(l, b, a);
            }
            list_rims(l, a, b);
            list_rims(l, b, a);
            list_edges(l, a, b);
            list_peaks(l, a, b);
            list_peaks(l, b, a);
            if (l->list && l->count > first) {
                l->list[first].group = l->count - first;
            }
        }
    }
}

int tree_contacts(tree *t)
{
    lister count = {.t = t}, list = {.t = t};
    list_contacts(&count);
    t->contacts = count.count;
    t->touches = count.touches;
    t->contact = list.list = ds_memory_take(t->memory, (size_t)t->contacts + 1, sizeof *t->contact);
    if (t->contact == NULL) {
        return 0;
    }
    list_contacts(&list);
    return 1;
}

double tree_reach(const tree_shape *s)
{
    const double *e = s->size;
    return s->form == TREE_BOX                                ? sqrt(vec3_dot(e, e))
           : s->form == TREE_CAPSULE                          ? e[0] + e[1]
           : s->form == TREE_CYLINDER                         ? sqrt(e[0] * e[0] + e[1] * e[1])
           : s->form == TREE_PLANE || s->form == TREE_TERRAIN ? HUGE_VAL
                                                              : e[0];
}
