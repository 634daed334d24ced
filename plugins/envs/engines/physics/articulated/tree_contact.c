/* SPDX-License-Identifier: Apache-2.0 */
/* tree_contact.c - compliant contact of trees of rigid bodies: which solids can meet, force, derivatives
 * (tree.h). */
#include "engines/physics/articulated/tree_contact.h"

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

/* ---- forces ---- */

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

static void relative_velocity(const tree_work *w, const tree_contact *c, const double x[3], int rates,
                              double out[3])
{
    static const double rest[6];
    double other[3];
    const limb *a = c->link < 0 ? NULL : &w->limb[c->link], *b = c->against < 0 ? NULL : &w->limb[c->against];
    velocity_at(a ? (rates ? a->d : a->v) : rest, x, out);
    velocity_at(b ? (rates ? b->d : b->v) : rest, x, other);
    vec3_add_scaled(out, -1, other);
}

/* Hunt and Crossley (1975) with exponent 3/2; friction of Coulomb, proportional to the slip below t->slip. */
static void force_of(const tree *t, touch *c, double friction, const double u[3])
{
    double un = vec3_dot(u, c->n), power = c->depth * sqrt(c->depth);
    double normal = t->number[TREE_STIFFNESS] * power * (1 - t->number[TREE_DISSIPATION] * un);
    c->approach = un;
    c->N = normal > 0 ? normal : 0;
    for (int k = 0; k < 3; k++) {
        c->slip[k] = u[k] - un * c->n[k];
    }
    c->speed = sqrt(vec3_dot(c->slip, c->slip) + t->slip * t->slip);
    double drag = t->number[TREE_FRICTION] * friction * c->N / c->speed;
    for (int k = 0; k < 3; k++) {
        c->F[k] = c->N * c->n[k] - drag * c->slip[k];
    }
}

void tree_press(const tree *t, tree_work *w)
{
    w->touching = 0;
    for (int k = 0; k < t->contacts; k++) {
        const tree_contact *c = &t->contact[k];
        touch *at = &w->touch[w->touching];
        double place[3], r[3], y[3], g[3], u[3];
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
        relative_velocity(w, c, at->x, 0, u);
        force_of(t, at, c->friction, u);
        if (c->link >= 0) {
            add_wrench(w->limb[c->link].f, 1, at->x, at->F);
        }
        if (c->against >= 0) {
            add_wrench(w->limb[c->against].f, -1, at->x, at->F);
        }
        w->touching++;
    }
}

/* Derivatives of the force along F_bar, by depth, normal and velocity; those by the numbers are added. */
static void force_bar(const tree *t, const touch *c, double friction, const double F_bar[3],
                      double *depth_bar, double n_bar[3], double u_bar[3], double *number_bar)
{
    double mu = t->number[TREE_FRICTION] * friction, k = t->number[TREE_STIFFNESS];
    double damping = t->number[TREE_DISSIPATION], root = sqrt(c->depth), power = c->depth * root;
    double along = vec3_dot(F_bar, c->slip), slip_bar[3];
    double N_bar = vec3_dot(F_bar, c->n) - mu * along / c->speed, un_bar = 0;
    for (int i = 0; i < 3; i++) {
        slip_bar[i] = -mu * c->N / c->speed * (F_bar[i] - along * c->slip[i] / (c->speed * c->speed));
        n_bar[i] = c->N * F_bar[i];
    }
    *depth_bar = 0;
    if (c->N > 0) {
        double factor = 1 - damping * c->approach;
        *depth_bar = N_bar * 1.5 * k * root * factor;
        un_bar = -N_bar * k * power * damping;
        if (number_bar) {
            number_bar[TREE_STIFFNESS] += N_bar * power * factor;
            number_bar[TREE_DISSIPATION] -= N_bar * k * power * c->approach;
            number_bar[TREE_FRICTION] -= friction * c->N * along / c->speed;
        }
    }
    un_bar -= vec3_dot(slip_bar, c->n);
    for (int i = 0; i < 3; i++) {
        /* slip = u - (u n) n and un = u n, with u = slip + approach n */
        u_bar[i] = slip_bar[i] + un_bar * c->n[i];
        n_bar[i] += un_bar * (c->slip[i] + c->approach * c->n[i]) - c->approach * slip_bar[i];
    }
}

void tree_press_bar(const tree *t, tree_work *w, double *number_bar)
{
    static const double rest[6];
    for (int j = 0; j < w->touching; j++) {
        const touch *c = &w->touch[j];
        const tree_contact *k = &t->contact[c->k];
        limb *a = k->link < 0 ? NULL : &w->limb[k->link], *b = k->against < 0 ? NULL : &w->limb[k->against];
        double rate[3], depth_bar, n_bar[3], u_bar[3], x_bar[3], spin[3], d_spin[3], part[3];
        relative_velocity(w, k, c->x, 1, rate);
        force_bar(t, c, k->friction, rate, &depth_bar, n_bar, u_bar, number_bar);
        for (int i = 0; i < 3; i++) {
            spin[i] = (a ? a->v : rest)[i] - (b ? b->v : rest)[i];
            d_spin[i] = (a ? a->d : rest)[i] - (b ? b->d : rest)[i];
        }
        vec3_cross(u_bar, spin, x_bar);
        vec3_cross(c->F, d_spin, part);
        vec3_add_scaled(x_bar, 1, part);
        vec3_add_scaled(n_bar, -k->radius, x_bar);
        /* From the normal and the depth to the place of the ball in the frame of the shape. */
        double g[3], g_bar[3], y_bar[3], y_world[3], c_bar[3];
        mat3_tapply(c->R, c->n, g);
        mat3_tapply(c->R, n_bar, g_bar);
        bend(c, g, g_bar, y_bar);
        vec3_add_scaled(y_bar, -depth_bar, g);
        mat3_apply(c->R, y_bar, y_world);
        for (int i = 0; i < 3; i++) {
            c_bar[i] = x_bar[i] + y_world[i];
        }
        if (a) {
            add_wrench(a->fb, 1, c->x, c->F);
            add_wrench(a->vb, 1, c->x, u_bar);
            add_wrench(a->pose, 1, c->c, c_bar);
            tree_length_bar(t, w, k->link, k->at, c_bar, number_bar);
        }
        if (b) {
            add_wrench(b->fb, -1, c->x, c->F);
            add_wrench(b->vb, -1, c->x, u_bar);
            add_wrench(b->pose, -1, c->c, y_world);
            vec3_cross(c->n, n_bar, part);
            for (int i = 0; i < 3; i++) {
                b->pose[i] += part[i];
                part[i] = -y_world[i];
            }
            tree_length_bar(t, w, k->against, k->place, part, number_bar);
        }
    }
}

int tree_touching(const tree_work *w, double *force)
{
    *force = 0;
    for (int k = 0; k < w->touching; k++) {
        *force += w->touch[k].N;
    }
    return w->touching;
}

/* F_dot of a contact. */
static void force_dot(const tree *t, const touch *c, double friction, const tree_bar *dot, double depth_dot,
                      const double n_dot[3], const double u_dot[3], double F_dot[3])
{
    double k = t->number[TREE_STIFFNESS], damping = t->number[TREE_DISSIPATION];
    double mu = t->number[TREE_FRICTION] * friction, root = sqrt(c->depth), power = c->depth * root;
    double un_dot = vec3_dot(u_dot, c->n) + vec3_dot(c->slip, n_dot) + c->approach * vec3_dot(c->n, n_dot);
    double factor = 1 - damping * c->approach, N_dot = 0, slip_dot[3];
    if (c->N > 0) {
        N_dot = number_dot(dot, TREE_STIFFNESS) * power * factor + 1.5 * k * root * depth_dot * factor -
                k * power * (number_dot(dot, TREE_DISSIPATION) * c->approach + damping * un_dot);
    }
    for (int i = 0; i < 3; i++) {
        slip_dot[i] = u_dot[i] - un_dot * c->n[i] - c->approach * n_dot[i];
    }
    double drag = mu * c->N / c->speed, speed_dot = vec3_dot(c->slip, slip_dot) / c->speed;
    double drag_dot = (mu * N_dot + number_dot(dot, TREE_FRICTION) * friction * c->N) / c->speed -
                      drag * speed_dot / c->speed;
    for (int i = 0; i < 3; i++) {
        F_dot[i] = N_dot * c->n[i] + c->N * n_dot[i] - drag_dot * c->slip[i] - drag * slip_dot[i];
    }
}

void tree_press_dot(const tree *t, tree_work *w, const tree_bar *dot)
{
    static const double rest[6];
    for (int j = 0; j < w->touching; j++) {
        const touch *c = &w->touch[j];
        const tree_contact *k = &t->contact[c->k];
        limb *a = k->link < 0 ? NULL : &w->limb[k->link], *b = k->against < 0 ? NULL : &w->limb[k->against];
        const double *turn_b = b ? b->pose : rest;
        double c_dot[3], frame[3], part[3], y_dot[3], g[3], bent[3], n_dot[3], x_dot[3], u_dot[3], F_dot[3];
        velocity_at(a ? a->pose : rest, c->c, c_dot);
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
        mat3_apply(c->R, bent, n_dot);
        vec3_cross(turn_b, c->n, part);
        vec3_add_scaled(n_dot, 1, part);
        for (int i = 0; i < 3; i++) {
            x_dot[i] = c_dot[i] - k->radius * n_dot[i];
            part[i] = (a ? a->v : rest)[i] - (b ? b->v : rest)[i];
        }
        vec3_cross(part, x_dot, u_dot);
        velocity_at(a ? a->vb : rest, c->x, part);
        vec3_add_scaled(u_dot, 1, part);
        velocity_at(b ? b->vb : rest, c->x, part);
        vec3_add_scaled(u_dot, -1, part);
        force_dot(t, c, k->friction, dot, -vec3_dot(g, y_dot), n_dot, u_dot, F_dot);
        vec3_cross(x_dot, c->F, part);
        for (int side = 0; side < 2; side++) {
            limb *m = side == 0 ? a : b;
            if (m) {
                add_wrench(m->ab, side == 0 ? -1 : 1, c->x, F_dot);
                vec3_add_scaled(m->ab, side == 0 ? -1 : 1, part);
            }
        }
    }
}
