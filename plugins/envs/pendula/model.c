/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the variants of double_pendulum that compare angles: their models, unknown quantities and
 * targets.
 *
 * lengths, damping: the simulated double pendulum of E. Heiden et al., "NeuralSim" (ICRA 2021): a sphere of
 * 0.15 m at the end of each arm, joint angles compared. recording, synthetic: the same equations with the
 * constants that angles alone determine, divided by C: P1 = A/C, P2 = B/C, R = G1/G2; G2/C = g / length of
 * the first arm. initial: the double pendulum of H. J. T. Suh et al., "Do differentiable simulators give
 * better policy gradients?" (ICML 2022), with the equations of two point masses, without wrapping. */
#include "model.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846, sphere = 0.4 * 0.15 * 0.15; /* m^2: inertia / mass */

/* ---- variables and constants ---- */

/* Constants of two masses at the ends of the arms, each with its own inertia. */
static void masses(const model *m, const double length[2], double inertia, double *k)
{
    const double both = m->mass[0] + m->mass[1];
    k[COMPOUND_A] = both * length[0] * length[0] + inertia * m->mass[0];
    k[COMPOUND_B] = m->mass[1] * (length[1] * length[1] + inertia);
    k[COMPOUND_C] = m->mass[1] * length[0] * length[1];
    k[COMPOUND_G1] = both * m->gravity * length[0];
    k[COMPOUND_G2] = m->mass[1] * m->gravity * length[1];
}

static void by_lengths(const model *m, const double *x, compound *p)
{
    const double both = m->mass[0] + m->mass[1];
    masses(m, x, sphere, p->constant);
    p->slope[COMPOUND_A][0] = 2 * both * x[0];
    p->slope[COMPOUND_B][1] = 2 * m->mass[1] * x[1];
    p->slope[COMPOUND_C][0] = m->mass[1] * x[1];
    p->slope[COMPOUND_C][1] = m->mass[1] * x[0];
    p->slope[COMPOUND_G1][0] = both * m->gravity;
    p->slope[COMPOUND_G2][1] = m->mass[1] * m->gravity;
}

static void by_damping(const model *m, const double *x, compound *p)
{
    masses(m, m->length, sphere, p->constant);
    for (int i = 0; i < 2; i++) {
        p->constant[COMPOUND_D1 + i] = x[i];
        p->slope[COMPOUND_D1 + i][i] = 1;
    }
}

enum { P1, P2, R, RATE1, RATE2, D1, D2, SEVEN };

static void by_seven(const model *m, const double *x, compound *p)
{
    const double k[COMPOUND_CONSTANTS] = {x[P1],         x[P2],  1,     x[R] * m->per_length,
                                          m->per_length, -x[D1], -x[D2]};
    memcpy(p->constant, k, sizeof k);
    p->slope[COMPOUND_A][P1] = p->slope[COMPOUND_B][P2] = 1;
    p->slope[COMPOUND_G1][R] = m->per_length;
    p->slope[COMPOUND_D1][D1] = p->slope[COMPOUND_D2][D2] = -1;
    for (int i = 0; i < 2; i++) {
        p->start[2 + i] = x[RATE1 + i];
        p->start_dot[(2 + i) * COMPOUND_VARIABLES + RATE1 + i] = 1;
    }
}

static void by_start(const model *m, const double *x, compound *p)
{
    masses(m, m->length, 0, p->constant);
    for (int i = 0; i < COMPOUND_STATES; i++) {
        p->start[i] = x[i];
        p->start_dot[i * COMPOUND_VARIABLES + i] = 1;
    }
}

void model_set(const model *m, const double *x, compound *out)
{
    static void (*const by[])(const model *, const double *, compound *) = {NULL,     by_lengths, by_damping,
                                                                            by_seven, by_seven,   by_start};
    *out = (compound){.method = m->method};
    memcpy(out->start, m->start, sizeof m->start);
    by[m->variant](m, x, out);
}

void model_arms(const model *m, const double *x, double length[2])
{
    memcpy(length, m->variant == VARIANT_LENGTHS ? x : m->length, 2 * sizeof *length);
}

/* ---- targets ---- */

uint64_t model_quantities(const model *m)
{
    return m->rates ? 4 : 2;
}

void model_observe(const model *m, const double *y, size_t stride, double *out)
{
    out[0] = y[0];
    out[1] = m->joints ? y[stride] - y[0] : y[stride];
    if (m->rates) {
        out[2] = y[2 * stride];
        out[3] = y[3 * stride];
    }
}

void model_observe_bar(const model *m, uint64_t q, double bar, double *y_bar)
{
    y_bar[q] += bar;
    if (m->joints && q == 1) {
        y_bar[0] -= bar;
    }
}

/* Sets target and recorded states from the true motion, with noise in the angles. */
static void made_recording(model *m, ds_param_reader *in, ds_memory *room, double noise)
{
    compound p;
    ds_random r = ds_random_open((uint64_t)ds_param_int(in, "seed"), "recording", 0);
    double *y = ds_memory_doubles(room, m->rows * COMPOUND_STATES);
    model_set(m, m->truth, &p);
    if (in->status != DS_OK || room->failed) {
        return;
    }
    if (compound_run(&p, m->dt / (double)m->substeps, m->rows - 1, m->substeps, y, NULL) >= 0) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM, "the motion of the target diverges: raise steps_per_sample");
        return;
    }
    for (uint64_t i = 0; i < m->rows; i++, y += COMPOUND_STATES) {
        y[0] += noise > 0 ? noise * ds_random_normal(&r) : 0;
        y[1] += noise > 0 ? noise * ds_random_normal(&r) : 0;
        model_observe(m, y, 1, m->fit.target + i * model_quantities(m));
        memcpy(m->given + i * COMPOUND_STATES, y, COMPOUND_STATES * sizeof *y);
    }
}

/* Target: upright rest at every sample; the last one has weight 2000. */
static void upright(model *m)
{
    static const double goal[4] = {3.14159265358979323846, 3.14159265358979323846, 0, 0},
                        q[4] = {1, 1, 0.1, 0.1};
    for (uint64_t k = 0; k < 4 * m->rows; k++) {
        m->fit.target[k] = goal[k % 4];
        m->fit.weight[k] = sqrt(q[k % 4] * (k / 4 + 1 == m->fitted ? 2000 : 1));
    }
}

/* ---- a recording ---- */

/* Converts pivot and tips (downward coordinate first) to angles. Returns the lengths of both arms. */
static void points_to_angles(const double *at, double angle[2], double length[2])
{
    for (int k = 0; k < 2; k++) {
        const double down = at[2 * k + 2] - at[2 * k], aside = at[2 * k + 3] - at[2 * k + 1];
        angle[k] = atan2(aside, down);
        length[k] = hypot(aside, down);
    }
}

/* Writes the angles of all samples to the target and checks that a pendulum can have them. */
static void recorded_angles(model *m, const recording *d, const ds_host *host)
{
    double least[2] = {HUGE_VAL, HUGE_VAL}, most[2] = {0, 0}, jump = 0;
    for (uint64_t i = 0; i < m->rows; i++) {
        double *angle = m->fit.target + 2 * i, length[2] = {1, 1};
        if (d->columns == 6) {
            points_to_angles(d->value + 6 * i, angle, length);
        } else {
            memcpy(angle, d->value + 2 * i, 2 * sizeof *angle);
        }
        for (int k = 0; k < 2; k++) {
            least[k] = fmin(least[k], length[k]);
            most[k] = fmax(most[k], length[k]);
            jump = fmax(jump, i > 0 ? fabs(remainder(angle[k] - angle[k - 2], 2 * pi)) : 0);
        }
    }
    if (most[0] > 1.1 * least[0] || most[1] > 1.1 * least[1]) {
        ds_host_say(
            host, DS_LOG_WARNING,
            "the arms of the recording are %.4g to %.4g and %.4g to %.4g long: are these the right columns?",
            least[0], most[0], least[1], most[1]);
    }
    if (jump > 1) {
        ds_host_say(host, DS_LOG_WARNING,
                    "an angle of the recording changes by %.3g rad between two samples: for degrees set "
                    "column_scale = 0.0174532925199433, for other columns parameter columns",
                    jump);
    }
}

/* Rate of an angle at sample i: from a parabola through five samples at the start, else from both neighbours.
 */
static double rate_at(const model *m, uint64_t i, uint64_t q)
{
    static const double first[5] = {-54.0 / 70, 13.0 / 70, 40.0 / 70, 27.0 / 70, -26.0 / 70};
    double rate = 0;
    if (i == 0 && m->rows >= 5) {
        for (uint64_t k = 0; k < 5; k++) {
            rate += first[k] * remainder(m->fit.target[2 * k + q] - m->fit.target[q], 2 * pi);
        }
        return rate / m->dt;
    }
    if (i == 0 || i + 1 == m->rows) {
        return NAN;
    }
    return remainder(m->fit.target[2 * i + 2 + q] - m->fit.target[2 * i - 2 + q], 2 * pi) / (2 * m->dt);
}

/* Unwraps angles: each is less than half a turn from the last known one. */
static void follow_turns(model *m)
{
    for (uint64_t q = 0; q < 2; q++) {
        double last = m->fit.target[q];
        for (uint64_t i = 1; i < m->rows; i++) {
            double *angle = m->fit.target + 2 * i + q;
            *angle = last + remainder(*angle - last, 2 * pi);
            last = isnan(*angle) ? last : *angle;
        }
    }
}

static void read_recording(model *m, ds_param_reader *in, const recorded *r)
{
    if (r->data.columns != 2 && r->data.columns != 6) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter columns names %llu columns; give two angles or six coordinates",
                                  (unsigned long long)r->data.columns);
        return;
    }
    recorded_angles(m, &r->data, in->host);
    if (isnan(m->fit.target[0]) || isnan(m->fit.target[1])) {
        in->status = ds_host_fail(in->host, DS_E_DATA,
                                  "the first sample of the recording is missing: choose another first_row");
    } else if (m->fit.angles == 0) {
        follow_turns(m);
    }
}

/* Sets the recorded states, the start, and the rates at the start of a search. */
static void start_of_recording(model *m)
{
    for (uint64_t i = 0; i < m->rows; i++) {
        for (uint64_t q = 0; q < 2; q++) {
            m->given[4 * i + q] = m->fit.target[2 * i + q];
            m->given[4 * i + 2 + q] = rate_at(m, i, q);
        }
    }
    for (int q = 0; q < 2; q++) {
        model_variable *v = &m->variable[RATE1 + q];
        m->start[q] = m->given[q];
        v->start = isfinite(m->given[2 + q]) ? fmin(v->upper, fmax(v->lower, m->given[2 + q])) : 0;
    }
}

/* ---- variants ---- */

static const model_variable of_lengths[] = {{"length.1", "m", "length", 0.1, 10, 8},
                                            {"length.2", "m", "length", 0.1, 10, 4}};
static const model_variable of_damping[] = {{"torque.1", "N m s/rad", "torque", -1, 1, 0},
                                            {"torque.2", "N m s/rad", "torque", -1, 1, 0}};
static const model_variable of_seven[] = {{"inertia.1", "", "inertia", 0.5, 20, 9.8},
                                          {"inertia.2", "", "inertia", 0.2, 3, 0.735},
                                          {"moment", "", "", 1, 20, 6.3},
                                          {"rate.1", "rad/s", "rate", -60, 60, 0},
                                          {"rate.2", "rad/s", "rate", -60, 60, 0},
                                          {"damping.1", "1/s", "damping", 0, 5, 0.4},
                                          {"damping.2", "1/s", "damping", 0, 2, 0.1}};
static const model_variable of_start[] = {{"angle.1", "rad", "angle", -6.5, 6.5, 1.5707963267948966},
                                          {"angle.2", "rad", "angle", -6.5, 6.5, 0},
                                          {"rate.1", "rad/s", "rate", -15, 15, 5},
                                          {"rate.2", "rad/s", "rate", -15, 15, -5}};

#define QUARTER 1.57079632679489661923

/* Defaults of the variants. */
static const struct {
    const model_variable *variable;
    uint64_t n, samples;
    double rate, length[2], angle[2];
} usual[] = {[VARIANT_LENGTHS] = {of_lengths, 2, 51, 60, {3, 4}, {QUARTER, QUARTER}},
             [VARIANT_DAMPING] = {of_damping, 2, 2501, 500, {0.5, 0.5}, {QUARTER, QUARTER}},
             [VARIANT_RECORDING] = {of_seven, SEVEN, 200, 500, {0.091, 0.07}, {0, 0}},
             [VARIANT_SYNTHETIC] = {of_seven, SEVEN, 200, 500, {0.091, 0.07}, {1.951, -0.082}},
             [VARIANT_INITIAL] = {of_start, 4, 1001, 1000, {1, 1}, {0, 0}}};

static void read_truth(model *m, ds_param_reader *in)
{
    static const double seven[SEVEN] = {9.8, 0.735, 9.9, -26.5, -26, 0.35, 0.1};
    double damping[2] = {0.2, 0.1};
    for (uint64_t i = 0; i < m->n; i++) {
        m->truth[i] = NAN;
    }
    if (m->variant == VARIANT_LENGTHS) {
        memcpy(m->truth, m->length, sizeof m->length);
    } else if (m->variant == VARIANT_DAMPING) {
        ds_param_values(in, "damping", 2, damping);
        m->truth[0] = -damping[0];
        m->truth[1] = -damping[1];
    } else if (m->variant == VARIANT_SYNTHETIC) {
        memcpy(m->truth, seven, sizeof seven);
    }
}

static void read_constants(model *m, ds_param_reader *in)
{
    const double first = m->variant == VARIANT_INITIAL ? 0.1 : 1;
    memcpy(m->variable, usual[m->variant].variable, m->n * sizeof *m->variable);
    memcpy(m->length, usual[m->variant].length, sizeof m->length);
    memcpy(m->start, usual[m->variant].angle, sizeof usual->angle);
    m->gravity = 9.81;
    ds_param_values(in, "length", 2, m->length);
    ds_param_values(in, "gravity", 1, &m->gravity);
    ds_param_values(in, "angle", 2, m->start);
    ds_param_values(in, "rate", 2, m->start + 2);
    m->mass[0] = first;
    m->mass[1] = first * ds_param_real(in, "mass");
    m->per_length = ds_param_real(in, "per_length");
    const int64_t integrator = ds_param_int(in, "integrator");
    const int fitted = m->variant == VARIANT_RECORDING || m->variant == VARIANT_SYNTHETIC;
    m->method = integrator == 0 ? (fitted ? COMPOUND_RK4 : COMPOUND_SEMI_IMPLICIT)
                                : (integrator == 1 ? COMPOUND_RK4 : COMPOUND_SEMI_IMPLICIT);
    m->joints = m->variant == VARIANT_LENGTHS || m->variant == VARIANT_DAMPING;
    m->rates = m->variant == VARIANT_INITIAL;
}

static void read_size(model *m, ds_param_reader *in)
{
    const int64_t samples = ds_param_int(in, "n_samples"), more = ds_param_int(in, "held_out");
    const double rate = ds_param_real(in, "sample_rate");
    m->fitted = samples > 0 ? (uint64_t)samples : usual[m->variant].samples;
    m->rows = m->fitted + (uint64_t)more;
    m->dt = 1 / (rate > 0 ? rate : usual[m->variant].rate);
    m->substeps = (uint64_t)ds_param_int(in, "steps_per_sample");
    if (in->status == DS_OK && m->fitted < 2) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "n_samples = 1: the start alone determines nothing; give 2 or more");
    }
}

static void make_target(model *m, ds_param_reader *in, ds_memory *room, const recorded *r)
{
    const double noise = ds_param_real(in, "noise");
    m->given = ds_memory_doubles(room, m->rows * COMPOUND_STATES);
    if (in->status != DS_OK || !fit_open(&m->fit, room, m->rows, model_quantities(m))) {
        return;
    }
    m->fit.fitted = m->fitted;
    m->fit.angles = m->variant == VARIANT_INITIAL || ds_param_int(in, "wrap") == 0 ? 0 : 3;
    if (m->variant == VARIANT_RECORDING) {
        read_recording(m, in, r);
        start_of_recording(m);
    } else if (m->variant == VARIANT_INITIAL) {
        upright(m);
    } else {
        made_recording(m, in, room, m->variant == VARIANT_SYNTHETIC ? noise : 0);
    }
    if (m->variant == VARIANT_SYNTHETIC && in->status == DS_OK && !room->failed) {
        /* The known start is that of the motion, as in the source; its rates are unknown. */
        const double start[2] = {m->start[0], m->start[1]};
        start_of_recording(m);
        memcpy(m->start, start, sizeof start);
    }
}

/* Sets the start of the search if the user gives one. */
static void read_search(model *m, ds_param_reader *in)
{
    double start[COMPOUND_VARIABLES];
    for (uint64_t i = 0; i < m->n; i++) {
        start[i] = m->variable[i].start;
    }
    ds_param_values(in, "start", m->n, start);
    for (uint64_t i = 0; in->status == DS_OK && i < m->n; i++) {
        model_variable *v = &m->variable[i];
        if (start[i] < v->lower || start[i] > v->upper) {
            in->status = ds_host_fail(in->host, DS_E_PARAM, "parameter start: %s = %g is not in [%g, %g]",
                                      v->name, start[i], v->lower, v->upper);
        }
        v->start = start[i];
    }
}

void model_read(model *m, ds_param_reader *in, ds_memory *room)
{
    recorded r = {.dt = 0};
    double fade[2] = {0, 1};
    m->variant = (int)ds_param_int(in, "variant");
    if (in->status != DS_OK) {
        return;
    }
    m->n = usual[m->variant].n;
    read_constants(m, in);
    read_size(m, in);
    read_truth(m, in);
    ds_param_values(in, "time_weight", 2, fade);
    if (m->variant == VARIANT_RECORDING && in->status == DS_OK &&
        recorded_open(&r, in, 1 / m->dt, m->fitted, m->rows - m->fitted) == DS_OK) {
        m->dt = r.dt;
    }
    make_target(m, in, room, &r);
    read_search(m, in);
    if (in->status == DS_OK && !room->failed && fade[0] > 0) {
        fit_fade(&m->fit, m->dt, fade[0], fade[1]);
    }
    recorded_close(&r);
}
