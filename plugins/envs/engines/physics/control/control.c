/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - open-loop controllers (see control.h). The sinusoids of all steps are tabulated; a step
 * computes only sums of products and tanh, in vectors of groups. */
#include "control.h"

#include "common/isa.h"
#include "engines/physics/control/kernel.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 8 };

struct control {
    control_options o;
    const control_kernel *kernel;
    size_t groups, padded; /* padded: whole chunks */
    uint32_t *group;       /* [elements]; NULL: each element has its own */
    double *signal;        /* [steps][phases] */
    double *weight, *bar;  /* [phases][padded] */
    double *tanh;          /* [padded], of the last step */
    double *sum;           /* [padded]: derivatives or changes of the activations of the groups */
    /* Of a tunable controller, [2 + phases]: scale, rate, phases as opened, now, and derivatives. */
    double *opened, *now, *now_bar;
    double *slope; /* [steps][phases]: derivatives of the signal by its angle */
};

static int makes_sense(const control_options *o)
{
    if (o->elements == 0 || o->steps == 0 || o->phases == 0 || o->phases > CONTROL_MOST_PHASES ||
        !isfinite(o->rate) || !isfinite(o->scale) || !isfinite(o->dt)) {
        return 0;
    }
    for (size_t i = 0; i < o->elements && o->groups > 0; i++) {
        if (o->group[i] >= o->groups) {
            return 0;
        }
    }
    for (size_t p = 0; p < o->phases; p++) {
        if (!isfinite(o->phase[p])) {
            return 0;
        }
    }
    return 1;
}

static void fill_signals(control *c, double rate, const double *phase)
{
    for (uint64_t step = 0; step < c->o.steps; step++) {
        const double angle = rate * ((double)step * c->o.dt);
        for (size_t p = 0; p < c->o.phases; p++) {
            c->signal[step * c->o.phases + p] = sin(angle + phase[p]);
            if (c->slope) {
                c->slope[step * c->o.phases + p] = cos(angle + phase[p]);
            }
        }
    }
}

extern const control_kernel control_kernel_baseline, control_kernel_avx2, control_kernel_avx512;

control *control_open(ds_memory *room, const control_options *o)
{
    static const control_kernel *const variant[] = ISA_VARIANTS(control_kernel, NULL);
    const int isa = isa_choose(o->isa);
    const control_kernel *kernel = isa >= 0 ? variant[isa] : NULL;
    if (!makes_sense(o) || !kernel) {
        return NULL;
    }
    control *c = ds_memory_take(room, 1, sizeof *c);
    if (!c) {
        return NULL;
    }
    const size_t groups = o->groups > 0 ? o->groups : o->elements;
    *c = (control){
        .o = *o, .kernel = kernel, .groups = groups, .padded = (groups + CHUNK - 1) / CHUNK * CHUNK};
    c->group = o->groups > 0 ? ds_memory_take(room, o->elements, sizeof *c->group) : NULL;
    c->signal = o->steps <= SIZE_MAX / o->phases / sizeof(double)
                    ? ds_memory_doubles(room, o->steps * o->phases)
                    : NULL;
    ds_memory_each(room, c->padded * o->phases, (double **const[]){&c->weight, &c->bar, NULL});
    ds_memory_each(room, c->padded, (double **const[]){&c->tanh, &c->sum, NULL});
    if (o->tunable && c->signal) {
        c->slope = ds_memory_doubles(room, o->steps * o->phases);
        ds_memory_each(room, CONTROL_PHASE + o->phases,
                       (double **const[]){&c->opened, &c->now, &c->now_bar, NULL});
    }
    if (room->failed || !c->signal) {
        room->failed = 1;
        return NULL;
    }
    if (c->group) {
        memcpy(c->group, o->group, o->elements * sizeof *c->group);
    }
    fill_signals(c, o->rate, o->phase);
    if (c->opened) {
        c->opened[CONTROL_SCALE] = o->scale;
        c->opened[CONTROL_RATE] = o->rate;
        memcpy(c->opened + CONTROL_PHASE, o->phase, o->phases * sizeof *o->phase);
        memcpy(c->now, c->opened, (CONTROL_PHASE + o->phases) * sizeof *c->now);
    }
    return c;
}

const double *control_numbers(const control *c)
{
    return c->opened;
}

size_t control_count(const control *c)
{
    return CONTROL_PHASE + c->o.phases;
}

void control_tune(control *c, const double *numbers)
{
    memcpy(c->now, numbers ? numbers : c->opened, (CONTROL_PHASE + c->o.phases) * sizeof *c->now);
    c->o.scale = c->now[CONTROL_SCALE];
    fill_signals(c, c->now[CONTROL_RATE], c->now + CONTROL_PHASE);
}

size_t control_weights(const control *c)
{
    return c->groups * c->o.phases;
}

/* From [groups][phases] to [phases][padded]. */
static void transpose(const control *c, const double *from, double *to)
{
    for (size_t i = 0; i < c->groups * c->o.phases; i++) {
        to[i % c->o.phases * c->padded + i / c->o.phases] = from[i];
    }
}

void control_set(control *c, const double *weights)
{
    transpose(c, weights, c->weight);
}

static const double *signal_of(const control *c, uint64_t step)
{
    return c->signal + step * c->o.phases;
}

void control_activate(control *c, uint64_t step, double *act)
{
    c->kernel->activate(c->padded, c->o.phases, signal_of(c, step), c->weight, c->tanh);
    for (size_t i = 0; i < c->o.elements; i++) {
        act[i] = c->o.scale * c->tanh[c->group ? c->group[i] : i];
    }
}

void control_clear(control *c)
{
    memset(c->bar, 0, c->padded * c->o.phases * sizeof *c->bar);
    if (c->now_bar) {
        memset(c->now_bar, 0, (CONTROL_PHASE + c->o.phases) * sizeof *c->now_bar);
    }
}

/* Adds the derivatives by scale, rate and phases. */
static void tune_adjoint(control *c, uint64_t step)
{
    const double t = (double)step * c->o.dt;
    for (size_t g = 0; g < c->groups; g++) {
        c->now_bar[CONTROL_SCALE] += c->sum[g] * c->tanh[g];
    }
    for (size_t p = 0; p < c->o.phases; p++) {
        double sum = 0;
        for (size_t g = 0; g < c->groups; g++) {
            sum += c->sum[g] * (1 - c->tanh[g] * c->tanh[g]) * c->weight[p * c->padded + g];
        }
        sum *= c->o.scale * c->slope[step * c->o.phases + p];
        c->now_bar[CONTROL_PHASE + p] += sum;
        c->now_bar[CONTROL_RATE] += sum * t;
    }
}

void control_adjoint(control *c, uint64_t step, const double *act_bar)
{
    memset(c->sum, 0, c->padded * sizeof *c->sum);
    for (size_t i = 0; i < c->o.elements; i++) {
        c->sum[c->group ? c->group[i] : i] += act_bar[i];
    }
    if (c->now_bar) {
        tune_adjoint(c, step);
    }
    c->kernel->adjoint(c->padded, c->o.phases, c->o.scale, signal_of(c, step), c->tanh, c->sum, c->bar);
}

void control_gradient(const control *c, double *weights_bar)
{
    for (size_t i = 0; i < c->groups * c->o.phases; i++) {
        weights_bar[i] = c->bar[i % c->o.phases * c->padded + i / c->o.phases];
    }
}

void control_tune_gradient(const control *c, double *numbers_bar)
{
    memcpy(numbers_bar, c->now_bar, (CONTROL_PHASE + c->o.phases) * sizeof *numbers_bar);
}

void control_tangent(control *c, uint64_t step, const double *weights_dot, const double *numbers_dot,
                     double *act_dot)
{
    const double *signal = signal_of(c, step);
    const double t = (double)step * c->o.dt;
    for (size_t g = 0; g < c->groups; g++) {
        double sum = 0;
        for (size_t p = 0; p < c->o.phases; p++) {
            sum += weights_dot ? weights_dot[g * c->o.phases + p] * signal[p] : 0;
            sum += numbers_dot ? c->weight[p * c->padded + g] * c->slope[step * c->o.phases + p] *
                                     (numbers_dot[CONTROL_PHASE + p] + t * numbers_dot[CONTROL_RATE])
                               : 0;
        }
        c->sum[g] = c->o.scale * (1 - c->tanh[g] * c->tanh[g]) * sum +
                    (numbers_dot ? numbers_dot[CONTROL_SCALE] * c->tanh[g] : 0);
    }
    for (size_t i = 0; i < c->o.elements; i++) {
        act_dot[i] = c->sum[c->group ? c->group[i] : i];
    }
}

static const double pi = 3.14159265358979323846;

double control_gear_phases(size_t phases, double *phase)
{
    const double rate = 2.5;
    for (size_t p = 0; p < phases; p++) {
        phase[p] = rate * (double)p * pi / 4;
    }
    return rate;
}

double control_walker_phases(size_t phases, double *phase)
{
    for (size_t p = 0; p < phases; p++) {
        phase[p] = phases == 2 ? (double)p * pi / 2 : 2 * pi * (double)p / (double)phases;
    }
    return 20;
}

double control_jellyfish_phases(size_t phases, double *phase)
{
    control_walker_phases(phases, phase);
    return 10;
}
