/* SPDX-License-Identifier: Apache-2.0 */
/* tree_touch.c - where the solids of a tree of rigid bodies touch (tree_touch.h). */
#include "engines/physics/articulated/tree/tree_touch.h"

/* ---- which solids can meet ---- */

/* The balls of a shape, in its link: their number. */
static int balls_of(const tree_shape *s, double at[TREE_CORNERS][3], double *radius)
{
    int n = 0;
    double local[TREE_CORNERS][3] = {{0}};
    *radius = s->form == TREE_SPHERE || s->form == TREE_CAPSULE ? s->size[0] : 0;
    if (s->form == TREE_SPHERE) {
        n = 1;
    } else if (s->form == TREE_CAPSULE) {
        n = 2;
        local[0][2] = -s->size[1];
        local[1][2] = s->size[1];
    } else if (s->form == TREE_BOX) {
        for (n = 0; n < 8; n++) {
            for (int k = 0; k < 3; k++) {
                local[n][k] = (n >> k & 1) ? s->size[k] : -s->size[k];
            }
        }
    } else if (s->form == TREE_CYLINDER) {
        for (n = 0; n < 16; n++) {
            double angle = 0.78539816339744830962 * (n % 8);
            local[n][0] = s->size[0] * cos(angle);
            local[n][1] = s->size[0] * sin(angle);
            local[n][2] = n < 8 ? -s->size[1] : s->size[1];
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

static int can_meet(const tree *t, const tree_shape *ball, const tree_shape *solid)
{
    int solid_form = solid->form == TREE_SPHERE || solid->form == TREE_CAPSULE || solid->form == TREE_BOX ||
                     solid->form == TREE_PLANE;
    /* Of two balls of a single point, the first one has the list. */
    int twice = ball->form == TREE_SPHERE && solid->form == TREE_SPHERE && solid < ball;
    return ball != solid && ball->collides && solid->collides && solid_form && !twice &&
           ((ball->mask[0] & solid->mask[1]) || (solid->mask[0] & ball->mask[1])) &&
           !related(t, ball->link, solid->link);
}

/* Lists the contacts from number `have`; with list NULL, counts them. */
static int list_contacts(const tree *t, tree_contact *list)
{
    int count = 0;
    for (int a = 0; a < t->shapes; a++) {
        double at[TREE_CORNERS][3], radius;
        const tree_shape *ball = &t->shape[a];
        int n = balls_of(ball, at, &radius);
        for (int b = 0; b < t->shapes; b++) {
            const tree_shape *s = &t->shape[b];
            for (int i = 0; i < n && can_meet(t, ball, s); i++, count++) {
                if (list == NULL) {
                    continue;
                }
                tree_contact *c = &list[count];
                *c =
                    (tree_contact){.link = ball->link, .against = s->link, .radius = radius, .form = s->form};
                c->friction = fmax(ball->friction, s->friction);
                memcpy(c->at, at[i], sizeof c->at);
                memcpy(c->place, s->at, sizeof c->place);
                memcpy(c->turn, s->rotation, sizeof c->turn);
                memcpy(c->size, s->size, sizeof c->size);
            }
        }
    }
    return count;
}

int tree_contacts(tree *t)
{
    t->contacts = list_contacts(t, NULL);
    t->contact = ds_memory_take(t->memory, (size_t)t->contacts + 1, sizeof *t->contact);
    if (t->contact == NULL) {
        return 0;
    }
    list_contacts(t, t->contact);
    return 1;
}

/* ---- distances ---- */

/* Signed distance of y from a solid in its frame. It is |mask y'| - constant with a shifted y', so its second
 * derivative is (mask - g g') / length; length INFINITY: 0. */
static double distance(const tree_contact *c, const double y[3], double g[3], double mask[3], double *length)
{
    double e[3] = {y[0], y[1], y[2]}, radius = c->form == TREE_BOX ? 0 : c->size[0];
    mask[0] = mask[1] = mask[2] = 1;
    *length = INFINITY;
    if (c->form == TREE_PLANE) {
        g[0] = g[1] = 0;
        g[2] = 1;
        return y[2];
    }
    if (c->form == TREE_CAPSULE) {
        mask[2] = fabs(y[2]) > c->size[1];
        e[2] = mask[2] > 0 ? y[2] - copysign(c->size[1], y[2]) : 0;
    } else if (c->form == TREE_BOX) {
        int face = 0, outside = 0;
        for (int k = 0; k < 3; k++) {
            double over = fabs(y[k]) - c->size[k];
            mask[k] = over > 0;
            e[k] = over > 0 ? copysign(over, y[k]) : 0;
            outside |= over > 0;
            face = over > fabs(y[face]) - c->size[face] ? k : face;
        }
        if (!outside) {
            g[0] = g[1] = g[2] = 0;
            g[face] = copysign(1, y[face]);
            return fabs(y[face]) - c->size[face];
        }
    }
    double norm = sqrt(vec3_dot(e, e));
    for (int k = 0; k < 3; k++) {
        g[k] = norm > 0 ? e[k] / norm : k == 2;
    }
    *length = norm > 0 ? norm : (double)INFINITY;
    return norm - radius;
}

/* out = second derivative of the distance, applied to z in the axes of the shape. */
static void bend(const touch *c, const double g[3], const double z[3], double out[3])
{
    const double m[3] = {c->mask[0] * z[0], c->mask[1] * z[1], c->mask[2] * z[2]};
    double along = vec3_dot(g, m);
    for (int k = 0; k < 3; k++) {
        out[k] = isinf(c->length) ? 0 : (m[k] - along * g[k]) / c->length;
    }
}

/* ---- contacts that touch ---- */

void tree_touch_find(const tree *t, tree_work *w)
{
    w->touching = 0;
    for (int k = 0; k < t->contacts; k++) {
        const tree_contact *c = &t->contact[k];
        touch *at = &w->touch[w->touching];
        double place[3], r[3], y[3], g[3];
        tree_point_of(t, w, c->link, c->at, at->c);
        tree_point_of(t, w, c->against, c->place, place);
        for (int i = 0; i < 3; i++) {
            r[i] = at->c[i] - place[i];
        }
        if (c->form != TREE_PLANE) {
            double reach = c->radius + c->size[0] + (c->form == TREE_BOX ? c->size[1] + c->size[2] : 0) +
                           (c->form == TREE_CAPSULE ? c->size[1] : 0);
            if (vec3_dot(r, r) >= reach * reach) {
                continue;
            }
        }
        if (c->against < 0) {
            memcpy(at->R, c->turn, sizeof at->R);
        } else {
            mat3_mul(w->limb[c->against].R, c->turn, at->R);
        }
        mat3_tapply(at->R, r, y);
        at->depth = c->radius - distance(c, y, g, at->mask, &at->length);
        if (!(at->depth > 0)) {
            continue;
        }
        mat3_apply(at->R, g, at->n);
        for (int i = 0; i < 3; i++) {
            at->x[i] = at->c[i] - c->radius * at->n[i];
        }
        at->k = k;
        at->friction = c->friction;
        w->touching++;
    }
}

void tree_touch_bar(const tree *t, tree_work *w, const touch *c, double depth_bar, const double n_bar[3],
                    const double x_bar[3], double *number_bar)
{
    const tree_contact *k = &t->contact[c->k];
    limb *a = limb_of(w, k->link), *b = limb_of(w, k->against);
    double g[3], g_bar[3], y_bar[3], y_world[3], c_bar[3], all[3], part[3];
    for (int i = 0; i < 3; i++) {
        all[i] = n_bar[i] - k->radius * x_bar[i];
    }
    /* From the normal and the depth to the place of the ball in the frame of the solid. */
    mat3_tapply(c->R, c->n, g);
    mat3_tapply(c->R, all, g_bar);
    bend(c, g, g_bar, y_bar);
    vec3_add_scaled(y_bar, -depth_bar, g);
    mat3_apply(c->R, y_bar, y_world);
    for (int i = 0; i < 3; i++) {
        c_bar[i] = x_bar[i] + y_world[i];
    }
    if (a) {
        add_wrench(a->pose, 1, c->c, c_bar);
        tree_length_bar(t, w, k->link, k->at, c_bar, number_bar);
    }
    if (b) {
        add_wrench(b->pose, -1, c->c, y_world);
        vec3_cross(c->n, all, part);
        for (int i = 0; i < 3; i++) {
            b->pose[i] += part[i];
            part[i] = -y_world[i];
        }
        tree_length_bar(t, w, k->against, k->place, part, number_bar);
    }
}

void tree_touch_dot(const tree *t, tree_work *w, touch *c, const tree_bar *dot)
{
    const tree_contact *k = &t->contact[c->k];
    const double *turn_a = limb_field(w, k->link, TREE_POSE_DOT);
    const double *turn_b = limb_field(w, k->against, TREE_POSE_DOT);
    double c_dot[3], frame[3], part[3], y_dot[3], g[3], bent[3];
    velocity_at(turn_a, c->c, c_dot);
    tree_stretch(t, w, dot, k->link, k->at, part);
    vec3_add_scaled(c_dot, 1, part);
    velocity_at(turn_b, c->c, frame);
    tree_stretch(t, w, dot, k->against, k->place, part);
    for (int i = 0; i < 3; i++) {
        part[i] = c_dot[i] - frame[i] - part[i];
    }
    mat3_tapply(c->R, part, y_dot);
    mat3_tapply(c->R, c->n, g);
    bend(c, g, y_dot, bent);
    mat3_apply(c->R, bent, c->n_dot);
    vec3_cross(turn_b, c->n, part);
    vec3_add_scaled(c->n_dot, 1, part);
    for (int i = 0; i < 3; i++) {
        c->x_dot[i] = c_dot[i] - k->radius * c->n_dot[i];
    }
    c->depth_dot = -vec3_dot(g, y_dot);
}

/* ---- velocities and forces ---- */

void tree_touch_velocity(const tree *t, const tree_work *w, const touch *c, tree_field field, double out[3])
{
    const tree_contact *k = &t->contact[c->k];
    double other[3];
    velocity_at(limb_field(w, k->link, field), c->x, out);
    velocity_at(limb_field(w, k->against, field), c->x, other);
    vec3_add_scaled(out, -1, other);
}

void tree_touch_spin(const tree *t, const tree_work *w, const touch *c, tree_field field, double out[3])
{
    const tree_contact *k = &t->contact[c->k];
    for (int i = 0; i < 3; i++) {
        out[i] = limb_field(w, k->link, field)[i] - limb_field(w, k->against, field)[i];
    }
}

void tree_touch_push(const tree *t, tree_work *w, const touch *c, tree_field field, double scale,
                     const double force[3])
{
    const tree_contact *k = &t->contact[c->k];
    if (k->link >= 0) {
        add_wrench(limb_sum(w, k->link, field), scale, c->x, force);
    }
    if (k->against >= 0) {
        add_wrench(limb_sum(w, k->against, field), -scale, c->x, force);
    }
}

void tree_touch_push_dot(const tree *t, tree_work *w, const touch *c, const double force_dot[3])
{
    const tree_contact *k = &t->contact[c->k];
    double turn[3];
    vec3_cross(c->x_dot, c->F, turn);
    tree_touch_push(t, w, c, TREE_ACCELERATION_BAR, -1, force_dot);
    for (int i = 0; i < 3; i++) {
        if (k->link >= 0) {
            w->limb[k->link].ab[i] -= turn[i];
        }
        if (k->against >= 0) {
            w->limb[k->against].ab[i] += turn[i];
        }
    }
}
