/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/hybrid.h - networks in the equations of motion, which the user wires to the hook points of
 * an environment (diffsim/ext/draft/hooks.h).
 *
 * Header only, optional, no part of the binary interface. An environment puts DS_HYBRID_PARAMS at the end of
 * its schema and lists its hook points. In create(),
 *
 *     const ds_hook hook[] = {
 *         DS_HYBRID_HOOK(DS_HOOK_INPUT, 3, "velocity", "m/s", "Of the ball."),
 *         DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 3, "force", "N", "On the ball, each step.")};
 *     ds_status status = ds_hybrid_open(&e->hybrid, host, 2, hook);
 *
 * Its variables are the physical ones, then e->hybrid.variables parameters of networks: 0 where nothing is
 * wired. In a step, with the weights w = x + n_physical, and in the adjoint of the step,
 *
 *     if (e->hybrid.nets > 0) {
 *         ds_hybrid_forward(&e->hybrid, w, velocity, force, tape);
 *     }
 *     if (e->hybrid.nets > 0) {
 *         ds_hybrid_reverse(&e->hybrid, w, tape, force_bar, w_bar, velocity_bar);
 *     }
 *
 * where inputs and outputs are one array each: all elements of the hook points of that kind, in order. The
 * user writes
 *
 *     residual = force.2, force.3 = velocity | 5 5 | elu | residual
 *
 * that is: outputs = inputs | sizes of the hidden layers | activations | residual or replace | biases. The
 * name of a hook point stands for all its elements. Fields may be omitted from the end; their defaults are 5
 * 5, elu, residual, hidden. The size "-" means no hidden layers. Give one activation for all hidden layers,
 * or one for each, and optionally one more for the outputs, which default to identity. Biases: hidden, none,
 * all, or some of input, hidden, output. '&' separates networks; no output belongs to two of them. */
#ifndef DIFFSIM_HELPER_HYBRID_H
#define DIFFSIM_HELPER_HYBRID_H

#include <diffsim/ext/draft/hooks.h>
#include <diffsim/helper/network_file.h>
#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>

enum {
    DS_HYBRID_NETS = 8,   /* networks of an instance */
    DS_HYBRID_WIRES = 64, /* inputs of a network, and outputs */
    DS_HYBRID_TEXT = 4096 /* bytes of a wiring */
};

/* One network and its wiring. */
typedef struct ds_hybrid_net {
    ds_network net;
    uint64_t at;                   /* where its parameters begin among those of all networks */
    uint32_t in[DS_HYBRID_WIRES];  /* positions of its inputs among all inputs */
    uint32_t out[DS_HYBRID_WIRES]; /* the same for its outputs */
    uint32_t replace;              /* 0: its output is added to the existing value */
    uint32_t reserved;
} ds_hybrid_net;

/* The networks of an instance. ds_hybrid_open() makes them; afterwards they are only read. */
typedef struct ds_hybrid {
    uint32_t nets; /* 0 = nothing is wired */
    uint32_t reserved;
    ds_hybrid_net net[DS_HYBRID_NETS];
    uint64_t variables;              /* parameters of all networks */
    uint64_t tape;                   /* doubles of a tape */
    double weight_limit, bias_limit; /* a weight lies in [-limit, limit] */
    double l1, l2;                   /* see ds_network_penalty() */
    double *start;                   /* `variables` initial parameters */
} ds_hybrid;

/* The parameters that ds_hybrid_open() reads, for the end of a schema (C only). */
#ifndef __cplusplus
static const char *const ds_hybrid_starts[] = {"xavier", "tds", "zero", NULL};
#define DS_HYBRID_PARAMS                                                                                     \
    DS_TEXT(                                                                                                 \
        "residual", "",                                                                                      \
        "Networks in the equations of motion: outputs = inputs | hidden layers | activations | residual or " \
        "replace | biases; '&' between networks. Their weights are further variables. Empty = none.",        \
        .flags = DS_PARAM_SHAPE),                                                                            \
        DS_PATH("residual_weights", "", "File of initial weights of these networks; empty = drawn."),        \
        DS_ENUM(                                                                                             \
            "residual_start", "xavier", ds_hybrid_starts,                                                    \
            "Initial weights. xavier: normal, variance 2/(inputs + outputs), biases 0; tds: that as the "    \
            "deviation, biases 0.5; zero. Cut at the limits."),                                              \
        DS_INT("residual_seed", "0", 0, 9007199254740991, "", "Of the initial weights."),                    \
        DS_REAL("residual_limit", "0.5", 1e-9, 1e9, "", "Weights lie within +- this."),                      \
        DS_REAL("residual_bias_limit", "0.5", 1e-9, 1e9, "", "Biases lie within +- this."),                  \
        DS_REAL("residual_l1", "0", 0, 1e9, "",                                                              \
                "Times the sum of |weight| of first layers, added to the loss."),                            \
        DS_REAL("residual_l2", "0", 0, 1e9, "",                                                              \
                "Times the sum of squares of weights and biases, added to the loss.")

/* One hook point: kind, elements, name, unit, documentation. */
#define DS_HYBRID_HOOK(kind_, count_, name_, unit_, doc_)                                                    \
    {                                                                                                        \
        .struct_size = sizeof(ds_hook), .kind = (kind_), .count = (count_), .name = (name_),                 \
        .unit = (unit_), .doc = (doc_)                                                                       \
    }
#endif

/* Reads the parameters of DS_HYBRID_PARAMS and wires the networks to hook points 0 .. hooks - 1. Returns
 * DS_OK, or a status after reporting the reason to the host; *h is then all zeros. Release with
 * ds_hybrid_close(). [instance] */
static inline ds_status ds_hybrid_open(ds_hybrid *h, const ds_host *host, uint64_t hooks,
                                       const ds_hook *hook);

/* The same from a text, without a host: `wiring` as in the parameter. Returns 0 and one line in
 * why[DS_NETWORK_FILE_TEXT] on failure. Sets no initial parameters. */
static inline int ds_hybrid_wire(ds_hybrid *h, const char *wiring, uint64_t hooks, const ds_hook *hook,
                                 char *why);

static inline void ds_hybrid_close(ds_hybrid *h);

/* Bounds and start of variable i = 0 .. variables - 1 of the networks. `start` may be NULL. */
static inline void ds_hybrid_range(const ds_hybrid *h, uint64_t i, double *lower, double *upper,
                                   double *start);

/* The name of variable i, "net1.w1.2.3" (network 1; see ds_network_name()), and of its group, "net1". */
static inline void ds_hybrid_name(const ds_hybrid *h, uint64_t i, char *name, char *group, size_t size);

/* Applies the networks with parameters w to `outputs`. Writes `tape` (h->tape doubles) for the two functions
 * below. */
static inline void ds_hybrid_forward(const ds_hybrid *h, const double *w, const double *inputs,
                                     double *outputs, double *tape);

/* Reverse of the forward pass that wrote the tape. outputs_bar: in, derivatives with respect to the outputs
 * after the pass; out, before it. Adds to w_bar and inputs_bar; either may be NULL. */
static inline void ds_hybrid_reverse(const ds_hybrid *h, const double *w, const double *tape,
                                     double *outputs_bar, double *w_bar, double *inputs_bar);

/* Directional derivative of the forward pass that wrote the tape. outputs_dot: in, of the outputs before the
 * pass; out, after it. w_dot and inputs_dot may be NULL (0). */
static inline void ds_hybrid_tangent(const ds_hybrid *h, const double *w, const double *tape,
                                     const double *w_dot, const double *inputs_dot, double *outputs_dot);

/* The penalty added to the loss; adds its derivative to w_bar (may be NULL). */
static inline double ds_hybrid_penalty(const ds_hybrid *h, const double *w, double *w_bar);

#include <diffsim/helper/hybrid.inl>

#endif
