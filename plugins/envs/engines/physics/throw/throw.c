/* SPDX-License-Identifier: Apache-2.0 */
/* throw.c - the thrown cube: motion with springs, its adjoint and tangent; motion with impulses (see
 * throw.h).
 *
 * Impulses: with the rows J of all normals, then of all sliding directions, (J M^-1 J' + 1e-5) f = b with 0
 * <= f for normals and |f| <= mu f_n along the sliding, by projected Gauss-Seidel; b = -(v_n - 0.01 depth /
 * h), -v_t. */
#include "throw.h"

#include "engines/kit/lanes.h"
#include "engines/kit/norm.h"

#include <math.h>
#include <string.h>

#define real_sqrt sqrt
#include "throw_step.h"

/* c = corner 0 .. 7 in the frame of the body. */
static inline void throw_corner_of(int i, double c[3])
{
    for (int d = 0; d < 3; d++) {
        c[d] = i >> d & 1 ? throw_corner : -throw_corner;
    }
}

/* out = c turned by the unit quaternion q = (x, y, z, w). */
static inline void turn_vector(const double q[4], const double c[3], double out[3])
{
    double t[3] = {0, 0, 0}, s[3] = {0, 0, 0};
    add_cross(q, c, t);
    add_cross(q, t, s);
    for (int d = 0; d < 3; d++) {
        out[d] = c[d] + 2 * (q[3] * t[d] + s[d]);
    }
}

/* Bit mask of the spheres that may meet the plane. Most do not; the lowest row of the rotation matrix decides
 * for all of them at once. */
static inline unsigned throw_low(const double *pose)
{
    const double *q = pose + THROW_TURN, c = throw_corner, room = pose[THROW_PLACE + 2] - throw_radius - 1e-9;
    const double a = 2 * (q[0] * q[2] - q[1] * q[3]) * c, b = 2 * (q[1] * q[2] + q[0] * q[3]) * c,
                 d = (1 - 2 * (q[0] * q[0] + q[1] * q[1])) * c;
    unsigned low = 0;
    if (room > fabs(a) + fabs(b) + fabs(d)) {
        return 0;
    }
    for (unsigned i = 0; i < 8; i++) {
        low |= (unsigned)(room + (i & 1 ? a : -a) + (i & 2 ? b : -b) + (i & 4 ? d : -d) <= 0) << i;
    }
    return low;
}

/* The sphere of a corner in contact: arm from the centre of the cube to its lowest point, penetration
 * (negative above the plane), velocity of that point. */
typedef struct touch {
    double c[3], arm[3], depth, v[3];
} touch;

static inline int throw_touch(const double *pose, const double *velocities, int corner, touch *t)
{
    const double *q = pose + THROW_TURN;
    throw_corner_of(corner, t->c);
    turn_vector(q, t->c, t->arm);
    t->arm[2] -= throw_radius;
    t->depth = -(pose[THROW_PLACE + 2] + t->arm[2]);
    if (!(t->depth > 0)) {
        return 0;
    }
    for (int d = 0; d < 3; d++) {
        t->v[d] = velocities[THROW_VELOCITY + d];
    }
    add_cross(velocities + THROW_SPIN, t->arm, t->v);
    return 1;
}

/* ---- springs ---- */

int throw_open(throw_motion *t, ds_memory *m, double h, uint64_t steps)
{
    t->h = h;
    t->steps = steps;
    t->kept = ds_memory_doubles(m, (steps + 1) * THROW_KEPT);
    t->contact = ds_memory_take(m, THROW_CORNERS * steps, sizeof *t->contact);
    return t->kept != NULL && t->contact != NULL;
}

/* ---- the corners ---- */

/* Change of the edges along that of the quaternion. */
static void edges_tangent(const double *q, const double *q_dot, edges *out)
{
    const double c = 2 * throw_corner, x = q[0], y = q[1], z = q[2], w = q[3];
    const double xx = 2 * x * q_dot[0], yy = 2 * y * q_dot[1], zz = 2 * z * q_dot[2];
    const double xy = x * q_dot[1] + y * q_dot[0], xz = x * q_dot[2] + z * q_dot[0],
                 yz = y * q_dot[2] + z * q_dot[1];
    const double wx = w * q_dot[0] + x * q_dot[3], wy = w * q_dot[1] + y * q_dot[3],
                 wz = w * q_dot[2] + z * q_dot[3];
    *out = (edges){{{-c * (yy + zz), c * (xy + wz), c * (xz - wy)},
                    {c * (xy - wz), -c * (xx + zz), c * (yz + wx)},
                    {c * (xz + wy), c * (yz - wx), -c * (xx + yy)}}};
}

/* ---- forward ---- */

/* Computes and keeps the forces and torques on the next state, from the contacts at this pose. */
static void add_forces(throw_motion *t, uint64_t step, const double *at, double *next)
{
    const double height =
        /* height of the lowest points of the spheres, without the corners */
        at[THROW_PLACE + 2] - throw_radius;
    edges e;
    memset(next + THROW_FORCE, 0, 6 * sizeof *next);
    edges_of(at + THROW_TURN, &e);
    if (height > fabs(e.e[0][2]) + fabs(e.e[1][2]) + fabs(e.e[2][2]) + 1e-9) {
        return; /* all spheres are above the plane, the usual case */
    }
    for (uint64_t i = 0; i < THROW_CORNERS; i++) {
        const double up = corner_of(&e, i, 2), depth = -(height + up);
        if (depth > 0) {
            throw_contact *c = t->contact + t->contacts;
            double v[3] = {next[THROW_VELOCITY], next[THROW_VELOCITY + 1], next[THROW_VELOCITY + 2]};
            c->step = step;
            c->corner = i;
            c->arm[0] = corner_of(&e, i, 0);
            c->arm[1] = corner_of(&e, i, 1);
            c->arm[2] = up - throw_radius;
            add_cross(next + THROW_SPIN, c->arm, v);
            contact_law_force(&t->law, depth, v, &c->law);
            for (int d = 0; d < 3; d++) {
                next[THROW_FORCE + d] += c->law.force[d];
            }
            add_cross(c->arm, c->law.force, next + THROW_TORQUE);
            t->contacts++;
        }
    }
}

/* Simulates steps `from` .. `until` - 1. */
static int64_t move_on(throw_motion *t, uint64_t from, uint64_t until)
{
    for (uint64_t k = from; k < until; k++) {
        const double *at = t->kept + k * THROW_KEPT;
        double *next = t->kept + (k + 1) * THROW_KEPT;
        accelerate(t->h, at, next);
        add_forces(t, k, at, next);
        next[THROW_NORM] = throw_move(t->h, at, next);
        if (!all_finite(THROW_KEPT, next)) {
            return (int64_t)k;
        }
    }
    return -1;
}

int64_t throw_simulate(throw_motion *t, const double *theta, const double start[THROW_STATES])
{
    contact_law_set(&t->law, theta);
    memcpy(t->kept, start, THROW_STATES * sizeof *start);
    memset(t->kept + THROW_FORCE, 0, 6 * sizeof *start);
    t->contacts = 0;
    return move_on(t, 0, t->steps);
}

int64_t throw_go_on(throw_motion *t, uint64_t until)
{
    const uint64_t contacts = t->contacts;
    const int64_t lost = move_on(t, t->steps, until);
    t->contacts = contacts;
    return lost;
}

/* ---- adjoint ---- */

/* Reverse of the contacts of a step, the last ones before `end`; returns the index of the first. */
static const throw_contact *forces_adjoint(const throw_motion *t, uint64_t step, const throw_contact *end,
                                           const double *at, const double *next, const double *next_bar,
                                           double *at_bar, double *velocity_bar, contact_sums *sums)
{
    const double *torque_bar = next_bar + THROW_TORQUE;
    const throw_contact *c = end;
    edges bar = {{{0}}};
    for (; c > t->contact && c[-1].step == step; c--) {
        const double *arm = c[-1].arm;
        double f_bar[3], arm_bar[3] = {0}, v_bar[3] = {0}, depth_bar = 0;
        memcpy(f_bar, next_bar + THROW_FORCE, sizeof f_bar);
        add_cross(torque_bar, arm, f_bar);
        contact_law_adjoint(&t->law, &c[-1].law, f_bar, &depth_bar, v_bar, sums);
        add_cross(c[-1].law.force, torque_bar, arm_bar);
        add_cross(v_bar, next + THROW_SPIN, arm_bar);
        add_cross(arm, v_bar, velocity_bar + THROW_SPIN);
        at_bar[THROW_PLACE + 2] -= depth_bar;
        arm_bar[2] -= depth_bar;
        for (int d = 0; d < 3; d++) {
            velocity_bar[THROW_VELOCITY + d] += v_bar[d];
            for (int k = 0; k < 3; k++) {
                bar.e[k][d] += sign[c[-1].corner][k] * arm_bar[d];
            }
        }
    }
    if (c < end) {
        edges_adjoint(at + THROW_TURN, &bar, at_bar + THROW_TURN);
    }
    return c;
}

int throw_adjoint(const throw_motion *t, const double *state_bar, double *theta_bar)
{
    double bar[THROW_KEPT] = {0};
    const throw_contact *end = t->contact + t->contacts;
    contact_sums sums = {.theta = {0}};
    memcpy(bar, state_bar + t->steps * THROW_STATES, THROW_STATES * sizeof *bar);
    for (uint64_t k = t->steps; k-- > 0;) {
        const double *at = t->kept + k * THROW_KEPT, *next = at + THROW_KEPT;
        double at_bar[THROW_KEPT] = {0}, velocity_bar[THROW_STATES] = {0};
        memcpy(velocity_bar + THROW_SPIN, bar + THROW_SPIN, 6 * sizeof *bar);
        move_adjoint(t->h, at, next, bar, at_bar, velocity_bar);
        end = forces_adjoint(t, k, end, at, next, bar, at_bar, velocity_bar, &sums);
        for (int d = 0; d < 3; d++) {
            at_bar[THROW_VELOCITY + d] = velocity_bar[THROW_VELOCITY + d];
            at_bar[THROW_SPIN + d] = velocity_bar[THROW_SPIN + d];
            at_bar[THROW_FORCE + d] = t->h / throw_mass * velocity_bar[THROW_VELOCITY + d];
            at_bar[THROW_TORQUE + d] = t->h * velocity_bar[THROW_SPIN + d];
        }
        for (int i = 0; i < THROW_KEPT; i++) {
            bar[i] = at_bar[i] + (i < THROW_STATES ? state_bar[k * THROW_STATES + (uint64_t)i] : 0);
        }
    }
    contact_law_gather(&t->law, &sums, theta_bar);
    return all_finite(LAW_CONSTANTS, theta_bar);
}

/* ---- tangent ---- */

/* Tangent of the contacts of a step, from `first` on; returns the index of the next step's first. */
static const throw_contact *forces_tangent(const throw_motion *t, uint64_t step, const throw_contact *first,
                                           const double *at, const double *next, const contact_change *change,
                                           const double *at_dot, double *next_dot)
{
    const throw_contact *c = first;
    edges e_dot;
    memset(next_dot + THROW_FORCE, 0, 6 * sizeof *next_dot);
    for (; c < t->contact + t->contacts && c->step == step; c++) {
        double f_dot[3], arm_dot[3], v_dot[3];
        if (c == first) {
            edges_tangent(at + THROW_TURN, at_dot + THROW_TURN, &e_dot);
        }
        for (int d = 0; d < 3; d++) {
            arm_dot[d] = corner_of(&e_dot, c->corner, d);
        }
        const double depth_dot = -(at_dot[THROW_PLACE + 2] + arm_dot[2]);
        memcpy(v_dot, next_dot + THROW_VELOCITY, sizeof v_dot);
        add_cross(next_dot + THROW_SPIN, c->arm, v_dot);
        add_cross(next + THROW_SPIN, arm_dot, v_dot);
        contact_law_tangent(&t->law, &c->law, change, depth_dot, v_dot, f_dot);
        for (int d = 0; d < 3; d++) {
            next_dot[THROW_FORCE + d] += f_dot[d];
        }
        add_cross(arm_dot, c->law.force, next_dot + THROW_TORQUE);
        add_cross(c->arm, f_dot, next_dot + THROW_TORQUE);
    }
    return c;
}

static void move_tangent(double h, const double *at, const double *next, const double *at_dot,
                         double *next_dot)
{
    const double *q = at + THROW_TURN, *turned = next + THROW_TURN;
    double by_q[4], by_w[4], raw_dot[4], along = 0;
    spin_quaternion(next + THROW_SPIN, at_dot + THROW_TURN, by_q);
    spin_quaternion(next_dot + THROW_SPIN, q, by_w);
    for (int i = 0; i < 4; i++) {
        raw_dot[i] = at_dot[THROW_TURN + i] + 0.5 * h * (by_q[i] + by_w[i]);
        along += turned[i] * raw_dot[i];
    }
    for (int i = 0; i < 4; i++) {
        next_dot[THROW_TURN + i] = (raw_dot[i] - turned[i] * along) / next[THROW_NORM];
    }
    for (int d = 0; d < 3; d++) {
        next_dot[THROW_PLACE + d] = at_dot[THROW_PLACE + d] + h * next_dot[THROW_VELOCITY + d];
    }
}

int throw_tangent(const throw_motion *t, const double *theta_dot, double *state_dot)
{
    double dot[2][THROW_KEPT] = {{0}};
    const throw_contact *c = t->contact;
    contact_change change;
    contact_law_change(&t->law, theta_dot, &change);
    memset(state_dot, 0, THROW_STATES * sizeof *state_dot);
    for (uint64_t k = 0; k < t->steps; k++) {
        const double *at = t->kept + k * THROW_KEPT, *next = at + THROW_KEPT, *at_dot = dot[k % 2];
        double *next_dot = dot[1 - k % 2];
        for (int d = 0; d < 3; d++) {
            next_dot[THROW_VELOCITY + d] =
                at_dot[THROW_VELOCITY + d] + t->h * at_dot[THROW_FORCE + d] / throw_mass;
            next_dot[THROW_SPIN + d] = at_dot[THROW_SPIN + d] + t->h * at_dot[THROW_TORQUE + d];
        }
        c = forces_tangent(t, k, c, at, next, &change, at_dot, next_dot);
        move_tangent(t->h, at, next, at_dot, next_dot);
        memcpy(state_dot + (k + 1) * THROW_STATES, next_dot, THROW_STATES * sizeof *state_dot);
    }
    return all_finite(THROW_KEPT, dot[t->steps % 2]);
}

/* ---- impulses ---- */

enum { ROWS = 16, SWEEPS = 50 };
static const double mended = 0.01, softness = 1e-5, most = 1e5;

typedef struct rows {
    int contacts;
    double j[ROWS][6]; /* torque, force of a unit impulse */
    double b[ROWS], f[ROWS];
} rows;

static void set_row(rows *r, int row, const double arm[3], const double along[3])
{
    memset(r->j[row], 0, sizeof r->j[row]);
    add_cross(arm, along, r->j[row]);
    memcpy(r->j[row] + 3, along, 3 * sizeof *along);
}

/* Sets the rows of the spheres in contact. */
static void collect(double h, const double *at, const double *next, rows *r)
{
    static const double up[3] = {0, 0, 1};
    touch c[8];
    r->contacts = 0;
    const unsigned low = throw_low(at);
    for (int i = 0; i < 8; i++) {
        r->contacts += (low >> i & 1) != 0 && throw_touch(at, next, i, &c[r->contacts]);
    }
    for (int i = 0; i < r->contacts; i++) {
        const double v = sqrt(c[i].v[0] * c[i].v[0] + c[i].v[1] * c[i].v[1]);
        const double along[3] = {v > 1e-4 ? c[i].v[0] / v : 1, v > 1e-4 ? c[i].v[1] / v : 0, 0};
        set_row(r, i, c[i].arm, up);
        set_row(r, r->contacts + i, c[i].arm, along);
        r->b[i] = -c[i].v[2] + mended * c[i].depth / h;
        r->b[r->contacts + i] = -(c[i].v[0] * along[0] + c[i].v[1] * along[1]);
    }
}

static double coupling(const rows *r, int a, int b)
{
    double sum = 0;
    for (int d = 0; d < 3; d++) {
        sum += r->j[a][d] * r->j[b][d] + r->j[a][3 + d] * r->j[b][3 + d] / throw_mass;
    }
    return sum;
}

static void solve(rows *r, double mu)
{
    const int n = 2 * r->contacts;
    double a[ROWS][ROWS];
    for (int i = 0; i < n; i++) {
        r->f[i] = 0;
        for (int j = 0; j < n; j++) {
            a[i][j] = coupling(r, i, j) + (i == j ? softness : 0);
        }
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 0; i < n; i++) {
            double rest = r->b[i];
            for (int j = 0; j < n; j++) {
                rest -= i != j ? a[i][j] * r->f[j] : 0;
            }
            const int normal = i < r->contacts;
            const double high = normal ? most : mu * r->f[i - r->contacts], low = normal ? 0 : -high;
            r->f[i] = fmin(high, fmax(low, rest / a[i][i]));
        }
    }
}

void throw_impulses(double h, uint64_t steps, double mu, const double start[THROW_STATES], double *out)
{
    rows r;
    memcpy(out, start, THROW_STATES * sizeof *start);
    for (uint64_t k = 0; k < steps; k++) {
        const double *at = out + k * THROW_STATES;
        double *next = out + (k + 1) * THROW_STATES;
        memcpy(next, at, THROW_STATES * sizeof *at);
        next[THROW_VELOCITY + 2] -= h * throw_gravity;
        collect(h, at, next, &r);
        solve(&r, mu);
        for (int i = 0; i < 2 * r.contacts; i++) {
            for (int d = 0; d < 3; d++) {
                next[THROW_SPIN + d] += r.j[i][d] * r.f[i];
                next[THROW_VELOCITY + d] += r.j[i][3 + d] * r.f[i] / throw_mass;
            }
        }
        throw_move(h, at, next);
    }
}

/* ---- motions side by side ---- */

enum { LANES_STEPS = 4096 }; /* longer motions have no lanes: their states would not fit into caches */

void throw_lanes_open(throw_motion *t, ds_memory *m)
{
    if (t->steps > LANES_STEPS || t->law.hybrid != NULL) {
        return;
    }
    const throw_lanes *lanes = throw_lanes_find();
    t->lanes_law = lanes_memory(m, THROW_LAW, lanes->width);
    t->table = (throw_table){
        .h = t->h,
        .steps = t->steps,
        .network = t->law.network,
        .law = t->lanes_law,
        .kept = lanes_memory(m, (t->steps + 1) * THROW_KEPT, lanes->width),
        .contact = lanes_memory(m, THROW_CORNERS * t->steps * lanes->contact_doubles, lanes->width)};
    t->lanes = m->failed ? NULL : lanes;
}

void throw_lanes_simulate(throw_motion *t, const double *const *theta, const double *start,
                          const double *target, double *loss)
{
    const uint64_t width = t->lanes->width;
    for (uint64_t lane = 0; lane < width; lane++) {
        contact_law_set(&t->law, theta[lane]);
        const double *first = t->law.first.theta, *net = &t->law.net.w[0][0];
        for (uint64_t i = 0; i < THROW_LAW; i++) {
            t->lanes_law[i * width + lane] = i < LAW_NETWORK    ? first[i]
                                             : i == LAW_NETWORK ? t->law.first.per_slip
                                                                : net[i - THROW_LAW_NET];
        }
    }
    t->table.kind = t->law.kind;
    t->table.start = start;
    t->table.target = target;
    t->lanes->simulate(&t->table, loss);
}

void throw_lanes_adjoint(throw_motion *t, const double *const *theta, double *const *theta_bar)
{
    const uint64_t width = t->lanes->width;
    double out[THROW_SUMS * LANES_MOST];
    t->lanes->adjoint(&t->table, out);
    for (uint64_t lane = 0; lane < width; lane++) {
        contact_sums sums;
        double *to = sums.theta;
        for (uint64_t i = 0; i < THROW_SUMS; i++) {
            to[i] = out[i * width + lane];
        }
        contact_law_set(&t->law, theta[lane]);
        contact_law_gather(&t->law, &sums, theta_bar[lane]);
    }
}
