/* SPDX-License-Identifier: Apache-2.0 */
/* hill_full - the environment of hill.c on the kit: start from here where the short form does not fit, here
 * for a metric. x = start position [m] and start velocity [m/s]; gradient in forward mode. */
#include <diffsim/helper/env_kit.h>

enum { STEPS = 200, GROUND = 161 /* vertices of the ground that is drawn */ };
static const double DT = 0.01; /* seconds */

static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

typedef struct hill {
    ds_env_kit kit; /* first */
    double friction, target;
    double path[STEPS + 1]; /* of the ball, step by step */
    uint32_t segment[2 * (GROUND - 1)];
} hill;

static void hill_read(void *self, ds_param_reader *in)
{
    hill *h = self;
    h->friction = ds_param_real(in, "friction");
    h->target = ds_param_real(in, "target");
    h->kit.n = 2;
    h->kit.steps = STEPS;
    h->kit.dt = DT;
    h->kit.loss_floor = 0;
}

static void hill_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    (void)self, (void)i;
    *lower = -4;
    *upper = 4;
    *start = 0.5;
}

static void hill_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    (void)self;
    ds_env_variable_put(out->name, i == 0 ? "position" : "velocity");
    ds_env_variable_put(out->unit, i == 0 ? "m" : "m/s");
}

static ds_status hill_simulate(void *self, ds_eval *io)
{
    hill *h = self;
    double q = io->x[0], v = io->x[1];     /* state */
    double dq[2] = {1, 0}, dv[2] = {0, 1}; /* its derivative with respect to x */
    for (int k = 0; k < STEPS; k++) {      /* symplectic Euler */
        h->path[k] = q;
        double slope = -3 * sin(3 * q), curvature = -9 * cos(3 * q);
        for (int i = 0; i < 2; i++) {
            dv[i] += DT * (-9.81 * curvature * dq[i] - h->friction * dv[i]);
            dq[i] += DT * dv[i];
        }
        v += DT * (-9.81 * slope - h->friction * v);
        q += DT * v;
    }
    h->path[STEPS] = q;
    io->loss = (q - h->target) * (q - h->target);
    if (io->want & DS_WANT_GRAD) {
        io->grad[0] = 2 * (q - h->target) * dq[0];
        io->grad[1] = 2 * (q - h->target) * dq[1];
        io->grad_kind = DS_GRAD_FORWARD;
    }
    return DS_OK;
}

/* ---- what it looks like: the ground, the ball and the target ---- */

enum { HILLS, BALL, TARGET };
static const ds_scene_kit_label metrics[] = {{"distance", "m"}, {NULL, NULL}};

static double ground(uint64_t i) /* position of a vertex */
{
    return -5 + 10.0 * (double)i / (GROUND - 1);
}

static double height(double q)
{
    return cos(3 * q);
}

static void hill_bodies(void *self, ds_scene_kit *s)
{
    hill *h = self;
    for (uint32_t i = 0; i < 2 * (GROUND - 1); i++) {
        h->segment[i] = (i + 1) / 2;
        ds_scene_kit_include(s, ground(i / 2), height(ground(i / 2)), 0, 0.3);
    }
    ds_scene_kit_body(s, "hills", DS_BODY_LINES, DS_ROLE_FIXED, GROUND, (double[4]){0.04});
    ds_scene_kit_at(s, HILLS)->index = h->segment;
    ds_scene_kit_at(s, HILLS)->index_count = 2 * (GROUND - 1);
    ds_scene_kit_body(s, "ball", DS_BODY_POINTS, DS_ROLE_MATERIAL, 1, (double[4]){0.12});
    ds_scene_kit_body(s, "target", DS_BODY_POINTS, DS_ROLE_TARGET, 1, (double[4]){0.12});
    s->info.flat = 1;
}

static void hill_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const hill *h = self;
    for (uint64_t i = 0; i < (b == HILLS ? GROUND : 1); i++) {
        const double q = b == HILLS ? ground(i) : b == BALL ? h->path[k] : h->target;
        out[3 * i] = q;
        out[3 * i + 1] = height(q) + (b == HILLS ? 0 : 0.14); /* rests on the line */
        out[3 * i + 2] = 0;
    }
}

static void hill_measure(void *self, uint64_t k, double *out)
{
    const hill *h = self;
    out[0] = fabs(h->path[k] - h->target);
}

static const ds_env_table env = {.size = sizeof(hill),
                                 .read = hill_read,
                                 .range = hill_range,
                                 .variable = hill_variable,
                                 .simulate = hill_simulate,
                                 .metrics = metrics,
                                 .bodies = hill_bodies,
                                 .place = hill_place,
                                 .measure = hill_measure};

static const ds_desc desc = {DS_ENV_KIT_DESC("hill_full", "1", "Apache-2.0", params),
                             .flags = DS_ENV_GRADIENT, .summary = "A ball pushed over hilly ground.",
                             .description = "", .citation = ""};

DS_ENV_KIT_DEFINE(env, desc)
