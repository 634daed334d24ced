/* SPDX-License-Identifier: Apache-2.0 */
/* episode.c - episodes of an FMU and their derivatives: see model.h. */
#include "adapters/fmi/model.h"

enum { BISECTIONS = 60, EVENTS = 100000 };
static const double TINY = 1e-13; /* relative width of an event in time */

/* ---- values ---- */

/* The piece of an input in the interval that begins at point k. */
static uint64_t piece_of(const fmu *e, const fmu_decision *q, uint64_t k)
{
    return q->first + (q->is_input ? k * q->pieces / e->points : 0);
}

static int set_inputs(fmu *e, const double *x, uint64_t k)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < e->decisions; i++) {
        const fmu_decision *q = &e->decision[i];
        rc = q->is_input ? fmi_set(&e->inst, 1, &q->v, &x[piece_of(e, q, k)]) : 0;
    }
    return rc;
}

/* Starts an episode with x, of which x[but] is replaced by `value` (but = n: none). */
static int begin(fmu *e, const double *x, uint64_t but, double value, double *next_event)
{
    size_t count = e->fixed;
    for (size_t i = 0; i < e->decisions; i++) {
        const uint64_t at = piece_of(e, &e->decision[i], 0);
        e->given[count] = e->decision[i].v;
        e->value[count++] = at == but ? value : x[at];
    }
    return fmi_begin(&e->inst, e->time[0], e->time[e->points], count, e->given, e->value, next_event);
}

static int get_outputs(fmu *e, uint64_t k)
{
    return fmi_get(&e->inst, e->outputs, e->output, &e->y[k * e->outputs]);
}

/* ---- model exchange ---- */

static int at_state(fmu *e, double t, const double *x)
{
    const int rc = fmi_set_time(&e->inst, t);
    return rc != 0 ? rc : fmi_set_states(&e->inst, x);
}

static int slopes(fmu *e, double t, const double *x, double *k)
{
    const int rc = at_state(e, t, x);
    return rc != 0 ? rc : fmi_get_derivatives(&e->inst, k);
}

static const double REACH[4] = {0, 0.5, 0.5, 1}, SHARE[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

/* One step of the classical Runge-Kutta method; the stages X_i stay in e->stage[0 .. 4 n), the slopes
 * behind them. */
static int step(fmu *e, double t, double h, const double *x, double *out)
{
    const size_t n = e->d.states;
    double *point = e->stage, *slope = e->stage + 4 * n;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 4; i++) {
        for (size_t j = 0; j < n; j++) {
            point[i * n + j] = i == 0 ? x[j] : x[j] + REACH[i] * h * slope[(i - 1) * n + j];
        }
        rc = slopes(e, t + REACH[i] * h, point + i * n, slope + i * n);
    }
    for (size_t j = 0; rc == 0 && j < n; j++) {
        out[j] = x[j] + h * (SHARE[0] * slope[j] + SHARE[1] * slope[n + j] + SHARE[2] * slope[2 * n + j] +
                             SHARE[3] * slope[3 * n + j]);
    }
    return rc;
}

static int note_signs(fmu *e)
{
    return fmi_get_indicators(&e->inst, e->sign);
}

/* Steps from (t, x) by h to `out`, where the FMU then is. *crossed: has an indicator changed its sign? */
static int try_step(fmu *e, double t, double h, const double *x, double *out, int *crossed)
{
    double *z = e->sign + e->d.indicators;
    int rc = step(e, t, h, x, out);
    rc = rc != 0 ? rc : at_state(e, t + h, out);
    rc = rc != 0 ? rc : fmi_get_indicators(&e->inst, z);
    *crossed = 0;
    for (size_t i = 0; rc == 0 && i < e->d.indicators; i++) {
        *crossed = *crossed || (z[i] > 0) != (e->sign[i] > 0);
    }
    return rc;
}

static int handle_event(fmu *e, double *x, double *next_event, int *ended)
{
    e->events++;
    if (e->events > EVENTS) {
        snprintf(e->inst.last, sizeof e->inst.last, "more than %d events in one episode", EVENTS);
        return 3;
    }
    int rc = fmi_event(&e->inst, next_event, ended);
    rc = rc != 0 ? rc : fmi_get_states(&e->inst, x);
    return rc != 0 ? rc : note_signs(e);
}

/* From *t to `end`, through all events between them. */
static int advance(fmu *e, double *t, double end, double *x, double *next_event, int *ended)
{
    double *out = e->stage + 8 * e->d.states;
    int rc = 0;
    while (rc == 0 && !*ended && *t < end) {
        int crossed, event = 0;
        const int timed = *next_event <= end && *next_event > *t;
        double h = timed ? *next_event - *t : end - *t, low = 0;
        rc = try_step(e, *t, h, x, out, &crossed);
        for (int i = 0; rc == 0 && crossed && i < BISECTIONS && h - low > TINY * fmax(1, fabs(*t)); i++) {
            int is_late;
            const double middle = 0.5 * (low + h);
            rc = try_step(e, *t, middle, x, out, &is_late);
            low = is_late ? low : middle;
            h = is_late ? middle : h;
        }
        if (rc == 0 && crossed) {
            int still;
            rc = try_step(e, *t, h, x, out, &still);
        }
        const int last = !crossed && !timed;
        *t = last ? end : *t + h;
        memcpy(x, out, e->d.states * sizeof *x);
        rc = rc != 0 ? rc : fmi_completed(&e->inst, &event, ended);
        if (rc == 0 && !*ended && (crossed || timed || event)) {
            rc = handle_event(e, x, next_event, ended);
        }
        if (end - *t < TINY * fmax(1, fabs(end))) {
            *t = end;
        }
    }
    return rc;
}

static int run_exchange(fmu *e, const double *x, int keep, double next_event, uint64_t *k, int *ended)
{
    const size_t n = e->d.states;
    double *state = e->stage + 9 * n, t = e->time[0];
    int rc = fmi_get_states(&e->inst, state);
    rc = rc != 0 ? rc : note_signs(e);
    for (*k = 0; rc == 0 && !*ended && *k < e->points; ++*k) {
        const double from = e->time[*k], h = (e->time[*k + 1] - from) / (double)e->substeps;
        rc = set_inputs(e, x, *k);
        rc = rc != 0 || *k > 0 ? rc : get_outputs(e, 0);
        for (uint64_t s = 0; rc == 0 && !*ended && s < e->substeps; s++) {
            if (keep) {
                memcpy(e->path + (*k * e->substeps + s) * n, state, n * sizeof *state);
            }
            rc = advance(e, &t, s + 1 == e->substeps ? e->time[*k + 1] : from + (double)(s + 1) * h, state,
                         &next_event, ended);
            e->until = t;
        }
        rc = rc != 0 ? rc : get_outputs(e, *k + 1);
        if (e->kit.host->should_stop(e->kit.host)) {
            return DS_STOPPED;
        }
    }
    if (rc == 0 && keep) {
        memcpy(e->path + e->points * e->substeps * n, state, n * sizeof *state);
    }
    return rc;
}

/* ---- co-simulation ---- */

static int run_steps(fmu *e, const double *x, uint64_t *k, int *ended)
{
    int rc = set_inputs(e, x, 0);
    rc = rc != 0 ? rc : get_outputs(e, 0);
    for (*k = 0; rc == 0 && !*ended && *k < e->points; ++*k) {
        const double from = e->time[*k], h = (e->time[*k + 1] - from) / (double)e->substeps;
        rc = set_inputs(e, x, *k);
        for (uint64_t s = 0; rc == 0 && !*ended && s < e->substeps; s++) {
            rc = fmi_do_step(&e->inst, from + (double)s * h, h, ended);
            e->until = from + (double)(s + 1) * h;
        }
        rc = rc != 0 ? rc : get_outputs(e, *k + 1);
        if (e->kit.host->should_stop(e->kit.host)) {
            return DS_STOPPED;
        }
    }
    return rc;
}

uint32_t fmu_run(fmu *e, const double *x, int keep)
{
    double next_event;
    uint64_t k = 0;
    int ended = 0;
    e->events = 0;
    e->bad_step = -1;
    if (begin(e, x, e->kit.n, 0, &next_event) != 0) {
        return DS_EVAL_INFEASIBLE;
    }
    const int rc = e->me ? run_exchange(e, x, keep, next_event, &k, &ended) : run_steps(e, x, &k, &ended);
    if (rc != 0 || (ended && k < e->points)) {
        e->bad_step = (int64_t)k;
        if (rc == 0) {
            snprintf(e->inst.last, sizeof e->inst.last,
                     "the FMU ended the simulation at t = %g s, the episode lasts until %g s: set stop=%g",
                     e->until, e->time[e->points], e->until - e->time[0]);
        }
        return DS_EVAL_DIVERGED;
    }
    for (size_t i = 0; i < e->fits; i++) {
        const fmu_fit *f = &e->fit[i];
        e->r[i] = f->weight * (e->y[f->point * e->outputs + f->output] - f->value);
        if (!isfinite(e->r[i])) {
            e->bad_step = (int64_t)f->point;
            const double y = e->y[f->point * e->outputs + f->output];
            snprintf(e->inst.last, sizeof e->inst.last, "output '%.60s' is %g at t = %g s%s",
                     e->output[f->output]->name, isnan(y) ? fabs(y) : y, e->time[f->point],
                     e->me && e->d.states > 0 ? ": if the model is stiff, take more substeps" : "");
            return DS_EVAL_DIVERGED;
        }
    }
    return DS_EVAL_OK;
}

/* ---- derivatives of the FMU ---- */

/* Both have e->known as knowns: states, then decisions. */
static size_t knowns(const fmu *e)
{
    return e->d.states + e->decisions;
}

/* out (knowns) = J' seed */
static int back_product(fmu *e, size_t m, const fmi_variable *const *unknown, const double *seed, double *out)
{
    const size_t n = knowns(e);
    double *unit = e->stage + 16 * e->d.states + 8 * n;
    int rc = 0;
    if (e->d.me.adjoint) {
        return fmi_adjoint(&e->inst, m, unknown, n, e->known, seed, out);
    }
    for (size_t j = 0; rc == 0 && j < n; j++) {
        const double one = 1;
        rc = fmi_directional(&e->inst, m, unknown, 1, &e->known[j], &one, unit);
        out[j] = 0;
        for (size_t i = 0; i < m; i++) {
            out[j] += unit[i] * seed[i];
        }
    }
    return rc;
}

/* out (m) = J seed */
static int fore_product(fmu *e, size_t m, const fmi_variable *const *unknown, const double *seed, double *out)
{
    const size_t n = knowns(e);
    double *row = e->stage + 16 * e->d.states + 8 * n;
    int rc = 0;
    if (e->d.me.directional) {
        return fmi_directional(&e->inst, m, unknown, n, e->known, seed, out);
    }
    for (size_t i = 0; rc == 0 && i < m; i++) {
        const double one = 1;
        rc = fmi_adjoint(&e->inst, 1, &unknown[i], n, e->known, &one, row);
        out[i] = 0;
        for (size_t j = 0; j < n; j++) {
            out[i] += row[j] * seed[j];
        }
    }
    return rc;
}

/* The number of the state that a variable is; -1. */
static long state_of(const fmu *e, const fmi_variable *v)
{
    for (size_t i = 0; i < e->d.states; i++) {
        if (e->d.state[i]->vr == v->vr && e->d.state[i]->element == v->element) {
            return (long)i;
        }
    }
    return -1;
}

/* A start value of a state does not appear in the equations: it acts through the first state only. */
static int acts_later(const fmu *e, size_t i)
{
    return state_of(e, e->decision[i].v) < 0;
}

/* The derivatives of the first states, by central differences of the initialisation, which are exact where
 * the states depend linearly on a start value; its own is 1. */
static int first_states(fmu *e, const double *x)
{
    const size_t n = e->d.states;
    double *high = e->stage, *low = e->stage + n, next;
    int rc = 0;
    memset(e->first, 0, n * e->kit.n * sizeof *e->first);
    for (size_t i = 0; rc == 0 && i < e->decisions; i++) {
        const fmu_decision *q = &e->decision[i];
        const double h = 1e-6 * (q->upper - q->lower), at = x[q->first];
        const double up = fmin(at + h, q->upper), down = fmax(at - h, q->lower);
        if (q->is_input || up <= down) {
            continue;
        }
        rc = begin(e, x, q->first, up, &next);
        rc = rc != 0 ? rc : fmi_get_states(&e->inst, high);
        rc = rc != 0 ? rc : begin(e, x, q->first, down, &next);
        rc = rc != 0 ? rc : fmi_get_states(&e->inst, low);
        for (size_t j = 0; rc == 0 && j < n; j++) {
            const double slope = (high[j] - low[j]) / (up - down);
            e->first[j * e->kit.n + q->first] = fabs(slope - 1) < 1e-9 ? 1 : slope;
        }
    }
    return rc;
}

/* Adds what seeds of the outputs at point k give to the states, and to the decisions in out. */
static int back_outputs(fmu *e, uint64_t k, const double *w, double *state_bar, double *p_bar)
{
    const size_t n = e->d.states;
    double *got = e->stage + 16 * n;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < e->fits; i++) {
        const fmu_fit *f = &e->fit[i];
        const double seed = f->weight * w[i];
        if (f->point != k || seed == 0) {
            continue;
        }
        const long s = state_of(e, e->output[f->output]);
        if (s >= 0) {
            state_bar[s] += seed;
            continue;
        }
        rc = back_product(e, 1, &e->output[f->output], &seed, got);
        for (size_t j = 0; rc == 0 && j < n; j++) {
            state_bar[j] += got[j];
        }
        for (size_t j = 0; rc == 0 && j < e->decisions; j++) {
            p_bar[j] += acts_later(e, j) ? got[n + j] : 0;
        }
    }
    return rc;
}

/* One step backwards: bar becomes the derivative by the state before it. */
static int back_step(fmu *e, double t, double h, const double *x, double *bar, double *p_bar)
{
    const size_t n = e->d.states;
    double *got = e->stage + 16 * n, *k_bar = e->stage + 10 * n, *x_bar = e->stage + 11 * n,
           *sum = e->stage + 12 * n;
    int rc = step(e, t, h, x, e->stage + 8 * n);
    memcpy(sum, bar, n * sizeof *bar);
    for (int i = 3; rc == 0 && i >= 0; i--) {
        for (size_t j = 0; j < n; j++) {
            k_bar[j] = h * SHARE[i] * bar[j] + (i < 3 ? REACH[i + 1] * h * x_bar[j] : 0);
        }
        rc = at_state(e, t + REACH[i] * h, e->stage + (size_t)i * n);
        rc = rc != 0 ? rc : back_product(e, n, e->d.derivative, k_bar, got);
        for (size_t j = 0; rc == 0 && j < n; j++) {
            x_bar[j] = got[j];
            sum[j] += got[j];
        }
        for (size_t j = 0; rc == 0 && j < e->decisions; j++) {
            p_bar[j] += acts_later(e, j) ? got[n + j] : 0;
        }
    }
    memcpy(bar, sum, n * sizeof *bar);
    return rc;
}

static void give_to_pieces(const fmu *e, uint64_t k, double *p_bar, double *out)
{
    for (size_t i = 0; i < e->decisions; i++) {
        out[piece_of(e, &e->decision[i], k)] += p_bar[i];
        p_bar[i] = 0;
    }
}

/* J' w of an episode without events, whose path is kept. */
static int sweep_back(fmu *e, const double *x, const double *w, double *out)
{
    const size_t n = e->d.states;
    double *bar = e->stage + 13 * n, *p_bar = e->stage + 16 * n + 2 * knowns(e);
    memset(out, 0, e->kit.n * sizeof *out);
    memset(bar, 0, n * sizeof *bar);
    memset(p_bar, 0, e->decisions * sizeof *p_bar);
    int rc = 0;
    for (uint64_t k = e->points; rc == 0 && k-- > 0;) {
        const double from = e->time[k], h = (e->time[k + 1] - from) / (double)e->substeps;
        rc = set_inputs(e, x, k);
        rc = rc != 0 ? rc : at_state(e, e->time[k + 1], e->path + (k + 1) * e->substeps * n);
        rc = rc != 0 ? rc : back_outputs(e, k + 1, w, bar, p_bar);
        for (uint64_t s = e->substeps; rc == 0 && s-- > 0;) {
            rc = back_step(e, from + (double)s * h,
                           s + 1 == e->substeps ? e->time[k + 1] - (from + (double)s * h) : h,
                           e->path + (k * e->substeps + s) * n, bar, p_bar);
        }
        if (rc == 0 && k == 0) {
            rc = at_state(e, from, e->path);
            rc = rc != 0 ? rc : back_outputs(e, 0, w, bar, p_bar);
        }
        give_to_pieces(e, k, p_bar, out);
    }
    double *kept = e->stage + 14 * n;
    memcpy(kept, bar, n * sizeof *bar);
    rc = rc != 0 ? rc : first_states(e, x);
    for (size_t j = 0; rc == 0 && j < n; j++) {
        for (uint64_t i = 0; i < e->kit.n; i++) {
            out[i] += e->first[j * e->kit.n + i] * kept[j];
        }
    }
    return rc;
}

/* The derivatives of the outputs at point k along (dot, v). */
static int fore_outputs(fmu *e, uint64_t k, const double *seed, double *out)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < e->fits; i++) {
        const fmu_fit *f = &e->fit[i];
        const long s = state_of(e, e->output[f->output]);
        double d = s >= 0 ? seed[s] : 0;
        if (f->point == k) {
            rc = s >= 0 ? 0 : fore_product(e, 1, &e->output[f->output], seed, &d);
            out[i] = f->weight * d;
        }
    }
    return rc;
}

/* One step forwards: the first part of seed, the derivative of the state, moves on. */
static int fore_step(fmu *e, double t, double h, const double *x, double *seed)
{
    const size_t n = e->d.states;
    double *dot = e->stage + 10 * n, *slope = e->stage + 11 * n, *sum = e->stage + 12 * n;
    int rc = step(e, t, h, x, e->stage + 8 * n);
    memcpy(dot, seed, n * sizeof *dot);
    memcpy(sum, seed, n * sizeof *dot);
    for (size_t i = 0; rc == 0 && i < 4; i++) {
        for (size_t j = 0; j < n; j++) {
            seed[j] = i == 0 ? dot[j] : dot[j] + REACH[i] * h * slope[j];
        }
        rc = at_state(e, t + REACH[i] * h, e->stage + i * n);
        rc = rc != 0 ? rc : fore_product(e, n, e->d.derivative, seed, slope);
        for (size_t j = 0; rc == 0 && j < n; j++) {
            sum[j] += h * SHARE[i] * slope[j];
        }
    }
    memcpy(seed, sum, n * sizeof *sum);
    return rc;
}

/* J v of an episode without events, whose path is kept. */
static int sweep_fore(fmu *e, const double *x, const double *v, double *out)
{
    const size_t n = e->d.states;
    double *seed = e->stage + 16 * n + 2 * knowns(e), next;
    int rc = first_states(e, x);
    rc = rc != 0 ? rc : begin(e, x, e->kit.n, 0, &next);
    for (size_t j = 0; j < n; j++) {
        seed[j] = 0;
        for (uint64_t i = 0; i < e->kit.n; i++) {
            seed[j] += e->first[j * e->kit.n + i] * v[i];
        }
    }
    for (uint64_t k = 0; rc == 0 && k < e->points; k++) {
        const double from = e->time[k], h = (e->time[k + 1] - from) / (double)e->substeps;
        for (size_t i = 0; i < e->decisions; i++) {
            seed[n + i] = acts_later(e, i) ? v[piece_of(e, &e->decision[i], k)] : 0;
        }
        rc = set_inputs(e, x, k);
        if (rc == 0 && k == 0) {
            rc = at_state(e, from, e->path);
            rc = rc != 0 ? rc : fore_outputs(e, 0, seed, out);
        }
        for (uint64_t s = 0; rc == 0 && s < e->substeps; s++) {
            rc = fore_step(e, from + (double)s * h,
                           s + 1 == e->substeps ? e->time[k + 1] - (from + (double)s * h) : h,
                           e->path + (k * e->substeps + s) * n, seed);
        }
        rc = rc != 0 ? rc : at_state(e, e->time[k + 1], e->path + (k + 1) * e->substeps * n);
        rc = rc != 0 ? rc : fore_outputs(e, k + 1, seed, out);
    }
    return rc;
}

/* The derivatives of the states, then the outputs, at a time and states of the episode that has begun. */
static int rates_of(fmu *e, double t, const double *state, double *out)
{
    const int rc = slopes(e, t, state, out);
    return rc != 0 ? rc : fmi_get(&e->inst, e->outputs, e->output, out + e->d.states);
}

/* The same of another episode, with x[but] replaced. */
static int rates_at(fmu *e, const double *x, uint64_t but, double value, double t, const double *state,
                    double *out)
{
    double next;
    int rc = begin(e, x, but, value, &next);
    for (size_t i = 0; rc == 0 && i < e->decisions; i++) {
        const fmu_decision *q = &e->decision[i];
        rc = q->is_input ? fmi_set(&e->inst, 1, &q->v, q->first == but ? &value : &x[q->first]) : 0;
    }
    return rc != 0 ? rc : rates_of(e, t, state, out);
}

static int is_close(double exact, double up, double down, double apart)
{
    const double slope = (up - down) / apart;
    return !isfinite(slope) ||
           fabs(exact - slope) <= 1e-3 * fmax(fabs(exact), fabs(slope)) + 1e-9 * fmax(1, fabs(up)) / apart;
}

/* The largest value of state i in the episode whose path is kept; 1 where it is always 0. */
static double size_of_state(const fmu *e, size_t i)
{
    double size = 0;
    for (uint64_t k = 0; k <= e->points * e->substeps; k++) {
        size = fmax(size, fabs(e->path[k * e->d.states + i]));
    }
    return size > 0 ? size : 1;
}

/* The rates on both sides of known i, and the distance of the sides; 0 where it does not act. The known is
 * shifted in an episode that has begun, or in one of its own. */
static int rates_beside(fmu *e, const double *x, size_t i, double t, const double *state, double *high,
                        double *low, double *apart)
{
    const size_t n = e->d.states;
    int rc;
    *apart = 0;
    if (i < n) {
        const double h = 1e-5 * size_of_state(e, i);
        memcpy(e->stage, state, n * sizeof *state);
        e->stage[i] = state[i] + h;
        rc = rates_of(e, t, e->stage, high);
        e->stage[i] = state[i] - h;
        rc = rc != 0 ? rc : rates_of(e, t, e->stage, low);
        *apart = 2 * h;
        return rc != 0 ? rc : at_state(e, t, state);
    }
    if (!acts_later(e, i - n)) {
        return 0;
    }
    const fmu_decision *q = &e->decision[i - n];
    const double h = 1e-4 * (q->upper - q->lower), at = x[q->first];
    const double up = fmin(at + h, q->upper), down = fmax(at - h, q->lower);
    rc = rates_at(e, x, q->first, up, t, state, high);
    rc = rc != 0 ? rc : rates_at(e, x, q->first, down, t, state, low);
    *apart = up - down;
    return rc != 0 ? rc : rates_at(e, x, e->kit.n, 0, t, state, e->rates);
}

/* FMUs give derivatives by parameters in some modes alone, and zero in the others, or have wrong ones:
 * compares those by states and parameters with differences, at a time and states. */
static int agrees_at(fmu *e, const double *x, double t, const double *state)
{
    const size_t n = e->d.states, rates = n + e->outputs;
    double *exact = e->rates, *high = exact + rates, *low = high + rates,
           *seed = e->stage + 16 * n + 2 * knowns(e), apart;
    int rc = rates_at(e, x, e->kit.n, 0, t, state, exact);
    for (size_t i = 0; rc == 0 && i < knowns(e); i++) {
        rc = rates_beside(e, x, i, t, state, high, low, &apart);
        if (rc != 0 || !(apart > 0)) {
            continue;
        }
        memset(seed, 0, knowns(e) * sizeof *seed);
        seed[i] = 1;
        rc = fore_product(e, n, e->d.derivative, seed, exact);
        for (size_t f = 0; rc == 0 && f < e->fits; f++) {
            const size_t j = e->fit[f].output;
            const int again = f > 0 && e->fit[f - 1].output == j;
            if (state_of(e, e->output[j]) >= 0) {
                high[n + j] = low[n + j] = exact[n + j] = 0;
            } else if (!again) {
                rc = fore_product(e, 1, &e->output[j], seed, &exact[n + j]);
            }
        }
        for (size_t j = 0; rc == 0 && j < n; j++) {
            rc = is_close(exact[j], high[j], low[j], apart) ? 0 : -1;
        }
        for (size_t f = 0; rc == 0 && f < e->fits; f++) {
            const size_t j = n + e->fit[f].output;
            rc = is_close(exact[j], high[j], low[j], apart) ? 0 : -1;
        }
        if (rc == -1) {
            snprintf(e->inst.last, sizeof e->inst.last, "those by '%.60s' differ from differences",
                     e->known[i]->name);
        }
    }
    return rc == 0;
}

/* Is w' (J s) = (J' w)' s for these unknowns, with w such that all of J s counts? */
static int transposes(fmu *e, size_t m, const fmi_variable *const *unknown, const double *s)
{
    double *w = e->stage, *got = e->stage + 16 * e->d.states, fore = 0, back = 0, size = 0;
    int rc = fore_product(e, m, unknown, s, w);
    for (size_t i = 0; rc == 0 && i < m; i++) {
        fore += w[i] != 0 ? 1 : 0;
        w[i] = w[i] != 0 ? 1 / w[i] : 1;
    }
    rc = rc != 0 ? rc : back_product(e, m, unknown, w, got);
    for (size_t k = 0; rc == 0 && k < knowns(e); k++) {
        back += got[k] * s[k];
        size += fabs(got[k] * s[k]);
    }
    if (rc == 0 && !(fabs(fore - back) <= 1e-6 * (fore + size))) {
        snprintf(e->inst.last, sizeof e->inst.last, "adjoint and directional derivatives differ");
        rc = -1;
    }
    return rc;
}

/* Do adjoint derivatives, where they are functions of their own, agree with directional ones? */
static int adjoints_agree(fmu *e)
{
    double *s = e->stage + 16 * e->d.states + 2 * knowns(e);
    if (!e->d.me.adjoint || !e->d.me.directional) {
        return 1;
    }
    for (size_t i = 0; i < knowns(e); i++) {
        const fmu_decision *q = i < e->d.states ? NULL : &e->decision[i - e->d.states];
        s[i] = (1 + 0.1 * (double)(i % 7)) * (q == NULL                             ? size_of_state(e, i)
                                              : acts_later(e, i - e->d.states) != 0 ? q->upper - q->lower
                                                                                    : 0);
    }
    int rc = transposes(e, e->d.states, e->d.derivative, s);
    for (size_t f = 0; rc == 0 && f < e->fits; f++) {
        const size_t j = e->fit[f].output;
        const int known = state_of(e, e->output[j]) >= 0 || (f > 0 && e->fit[f - 1].output == j);
        rc = known ? 0 : transposes(e, 1, &e->output[j], s);
    }
    return rc == 0;
}

int fmu_try_derivatives(fmu *e, const double *x)
{
    const size_t n = e->d.states;
    double *seed = e->stage + 16 * n + 2 * knowns(e), *got = e->stage + 16 * n, next;
    for (size_t i = 0; i < knowns(e); i++) {
        seed[i] = 0;
    }
    int rc = begin(e, x, e->kit.n, 0, &next);
    rc = rc != 0 ? rc : set_inputs(e, x, 0);
    rc = rc != 0 ? rc : fore_product(e, n, e->d.derivative, seed, e->stage);
    rc = rc != 0 ? rc : back_product(e, n, e->d.derivative, seed, got);
    for (size_t j = 0; rc == 0 && j < e->fits; j++) {
        const fmi_variable *of = e->output[e->fit[j].output];
        rc = state_of(e, of) >= 0 ? 0 : fore_product(e, 1, &of, seed, e->stage);
    }
    if (rc != 0 || fmu_run(e, x, 1) != DS_EVAL_OK || e->events > 0) {
        return rc == 0; /* an episode with events is differentiated by differences */
    }
    return agrees_at(e, x, e->time[e->points / 2], e->path + e->points / 2 * e->substeps * n) &&
           adjoints_agree(e) && agrees_at(e, x, e->time[e->points], e->path + e->points * e->substeps * n) &&
           adjoints_agree(e);
}

/* ---- differences ---- */

/* The columns of x[i] by differences of the step h: forwards at e->slope, backwards behind it, where the box
 * has room. *sides: 1 forwards, 2 backwards; *apart: the largest difference of the two, *size: the largest of
 * the slopes of each. */
static uint32_t both_slopes(fmu *e, double *p, uint64_t i, const fmu_decision *q, double h, unsigned *sides,
                            double *apart, double size[2])
{
    const double at = p[i];
    uint32_t outcome = DS_EVAL_OK;
    *sides = 0;
    *apart = size[0] = size[1] = 0;
    for (unsigned side = 0; outcome == DS_EVAL_OK && side < 2; side++) {
        double *slope = e->slope + side * e->fits;
        p[i] = side == 0 ? fmin(at + h, q->upper) : fmax(at - h, q->lower);
        if (p[i] == at) {
            continue;
        }
        *sides |= 1u << side;
        outcome = fmu_run(e, p, 0);
        for (size_t j = 0; outcome == DS_EVAL_OK && j < e->fits; j++) {
            slope[j] = (e->r[j] - e->middle[j]) / (p[i] - at);
            size[side] = fmax(size[side], fabs(slope[j]));
            *apart = side == 1 && (*sides & 1u) ? fmax(*apart, fabs(slope[j] - e->slope[j])) : *apart;
        }
    }
    p[i] = at;
    return outcome;
}

/* The column of x[i]: central differences, one-sided at a bound. A jump of an output nearby (an event that
 * is missed) makes the two sides disagree by jump / h: smaller steps are tried, and at last the side
 * without the jump counts. */
static uint32_t column(fmu *e, double *p, uint64_t i, const fmu_decision *q)
{
    const double *forwards = e->slope, *backwards = e->slope + e->fits;
    double h = 1e-6 * (q->upper - q->lower), apart, size[2];
    unsigned sides;
    uint32_t outcome = both_slopes(e, p, i, q, h, &sides, &apart, size);
    for (int finer = 0; outcome == DS_EVAL_OK && finer < 2 && apart > 0.01 * fmin(size[0], size[1]);
         finer++) {
        h /= 16;
        outcome = both_slopes(e, p, i, q, h, &sides, &apart, size);
    }
    const double shares = sides == 3 && size[0] > 10 * size[1]   ? 0
                          : sides == 3 && size[1] > 10 * size[0] ? 1
                          : sides == 3                           ? 0.5
                          : sides == 1                           ? 1
                                                                 : 0;
    for (size_t j = 0; outcome == DS_EVAL_OK && j < e->fits; j++) {
        e->jacobian[j * e->kit.n + i] = sides == 0 ? 0 : shares * forwards[j] + (1 - shares) * backwards[j];
    }
    return outcome;
}

/* The matrix by differences. */
static uint32_t differences(fmu *e, const double *x)
{
    const uint64_t n = e->kit.n;
    double *p = e->at + n;
    if (memcmp(e->at, x, n * sizeof *x) == 0) {
        return DS_EVAL_OK;
    }
    e->at[0] = NAN;
    memcpy(p, x, n * sizeof *p);
    uint32_t outcome = fmu_run(e, x, 0);
    memcpy(e->middle, e->r, e->fits * sizeof *e->middle);
    for (size_t d = 0; outcome == DS_EVAL_OK && d < e->decisions; d++) {
        const fmu_decision *q = &e->decision[d];
        for (uint64_t i = q->first; outcome == DS_EVAL_OK && i < q->first + q->pieces; i++) {
            outcome = column(e, p, i, q);
        }
    }
    if (outcome == DS_EVAL_OK) {
        memcpy(e->at, x, n * sizeof *x);
    }
    return outcome;
}

/* The episode at x once more, with its path: is the way by the FMU's derivatives open? */
static int exact_at(fmu *e, const double *x)
{
    return e->exact && fmu_run(e, x, 1) == DS_EVAL_OK && e->events == 0;
}

uint32_t fmu_transposed(fmu *e, const double *x, const double *w, double *out, uint32_t *kind)
{
    if (exact_at(e, x) && sweep_back(e, x, w, out) == 0) {
        *kind = DS_GRAD_ADJOINT;
        return DS_EVAL_OK;
    }
    *kind = DS_GRAD_FD;
    if (differences(e, x) != DS_EVAL_OK) {
        return DS_EVAL_BAD_GRAD;
    }
    for (uint64_t i = 0; i < e->kit.n; i++) {
        out[i] = 0;
        for (size_t j = 0; j < e->fits; j++) {
            out[i] += e->jacobian[j * e->kit.n + i] * w[j];
        }
    }
    return DS_EVAL_OK;
}

uint32_t fmu_product(fmu *e, const double *x, const double *v, double *out, uint32_t *kind)
{
    if (exact_at(e, x) && sweep_fore(e, x, v, out) == 0) {
        *kind = DS_GRAD_FORWARD;
        return DS_EVAL_OK;
    }
    *kind = DS_GRAD_FD;
    if (differences(e, x) != DS_EVAL_OK) {
        return DS_EVAL_BAD_GRAD;
    }
    for (size_t j = 0; j < e->fits; j++) {
        out[j] = 0;
        for (uint64_t i = 0; i < e->kit.n; i++) {
            out[j] += e->jacobian[j * e->kit.n + i] * v[i];
        }
    }
    return DS_EVAL_OK;
}
