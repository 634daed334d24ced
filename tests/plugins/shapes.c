/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - an environment with landscapes whose properties are known, for tests of their measures: bowls,
 * steps, plateaus, gradients that are wrong, and the pathologies of simulators: time of impact and billiards.
 */
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const shapes[] = {"bowl", "step",       "plateau",  "wrong",     "exploding",
                                     "saw",  "ball_naive", "ball_toi", "billiards", "blowup",
                                     "flat", "holes",      NULL};
enum { BOWL, STEP, PLATEAU, WRONG, EXPLODING, SAW, BALL_NAIVE, BALL_TOI, BILLIARDS, BLOWUP, FLAT, HOLES };

static const ds_param *const params[] = {
    DS_ENUM("shape", "bowl", shapes, "Which landscape."),
    DS_INT("n", "2", 1, 100, "", "Decision variables; only the first two count."),
    DS_INT("frames", "1024", 2, 100000, "", "States of the billiards."), NULL};

typedef struct env {
    int64_t shape, n, frames;
} env;

/* A number with its derivatives by the first two variables. */
typedef struct dual {
    double v, d[2];
} dual;

static dual value(double v)
{
    return (dual){v, {0, 0}};
}

static dual add(dual a, double s, dual b) /* a + s b */
{
    return (dual){a.v + s * b.v, {a.d[0] + s * b.d[0], a.d[1] + s * b.d[1]}};
}

static dual mul(dual a, dual b)
{
    return (dual){a.v * b.v, {a.d[0] * b.v + a.v * b.d[0], a.d[1] * b.v + a.v * b.d[1]}};
}

static dual divide(dual a, dual b)
{
    double q = a.v / b.v;
    return (dual){q, {(a.d[0] - q * b.d[0]) / b.v, (a.d[1] - q * b.d[1]) / b.v}};
}

static dual root(dual a)
{
    double r = sqrt(a.v);
    return (dual){r, {a.d[0] / (2 * r), a.d[1] / (2 * r)}};
}

/* ---- a ball that falls onto a floor, elastic, without gravity ---- */

/* Final height from 0.5 + 0.1 x, speed -2, floor 0.1, 203 steps of 2e-3: truly 1.012 - height. */
static dual ball(double x, int toi)
{
    dual y = {0.5 + 0.1 * x, {0.1, 0}};
    double v = -2, h = 2e-3;
    for (int t = 1; t < 204; t++) {
        if (toi && v < 0 && y.v + h * v < 0.1) { /* moves with the old velocity until it hits */
            dual impact = add(value(-0.1 / v), 1 / v, add(value(0.2), -1, y));
            double new_v = -v;
            y = add(add(y, v, impact), new_v, add(value(h), -1, impact));
            v = new_v;
            continue;
        }
        v = !toi && v < 0 && y.v < 0.1 ? -v : v;
        y.v += h * v;
    }
    return y;
}

/* ---- billiards ---- */

enum { BALLS = 11 };

/* DiffTaichi's billiards.py: eleven balls, the first one is shot at a triangle of ten, the last one shall
 * reach the goal. Variables: 0.1 x0 is added to the sideways speed, 0.1 x1 to the sideways position. */
static dual billiards(const double *x, int64_t frames)
{
    static const double radius = 0.03, e = 0.8, dt = 3e-3;
    dual p[BALLS][2], v[BALLS][2], shift[BALLS][2], push[BALLS][2];
    int n = 0;
    memset(v, 0, sizeof v);
    p[0][0] = value(0.1);
    p[0][1] = (dual){0.5 + 0.1 * x[1], {0, 0.1}};
    v[0][0] = value(0.3);
    v[0][1] = (dual){0.1 * x[0], {0.1, 0}};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j <= i; j++) {
            n++;
            p[n][0] = value(i * 2 * radius + 0.5);
            p[n][1] = value(j * 2 * radius + 0.5 - i * radius * 0.7);
        }
    }
    for (int64_t t = 1; t < frames; t++) {
        memset(shift, 0, sizeof shift);
        memset(push, 0, sizeof push);
        for (int i = 0; i < BALLS; i++) {
            for (int j = 0; j < BALLS; j++) {
                dual d[2], w[2];
                for (int k = 0; k < 2; k++) {
                    w[k] = add(v[i][k], -1, v[j][k]);
                    d[k] = add(add(p[i][k], -1, p[j][k]), dt, w[k]);
                }
                double far = d[0].v * d[0].v + d[1].v * d[1].v;
                if (i == j || far >= 4 * radius * radius) {
                    continue;
                }
                dual length = root(add(mul(d[0], d[0]), 1, mul(d[1], d[1])));
                dual u[2] = {divide(d[0], length), divide(d[1], length)};
                dual speed = add(mul(u[0], w[0]), 1, mul(u[1], w[1]));
                if (speed.v >= 0) {
                    continue;
                }
                dual slow = speed.v < -1e-3 ? speed : value(-1e-3);
                dual toi = divide(add(length, -1, value(2 * radius)), slow);
                dual late = add(toi, -1, value(dt));
                late = late.v < 0 ? late : value(0);
                for (int k = 0; k < 2; k++) {
                    dual impulse = mul(add(value(0), -(1 + e) / 2, speed), u[k]);
                    push[i][k] = add(push[i][k], 1, impulse);
                    shift[i][k] = add(shift[i][k], 1, mul(late, impulse));
                }
            }
        }
        for (int i = 0; i < BALLS; i++) {
            for (int k = 0; k < 2; k++) {
                v[i][k] = add(v[i][k], 1, push[i][k]);
                p[i][k] = add(add(p[i][k], dt, v[i][k]), 1, shift[i][k]);
            }
        }
    }
    dual a = add(p[BALLS - 1][0], -1, value(0.9)), b = add(p[BALLS - 1][1], -1, value(0.75));
    return add(mul(a, a), 1, mul(b, b));
}

/* ---- the plugin ---- */

static dual evaluate_shape(const env *s, const double *x)
{
    double y = s->n > 1 ? x[1] : 0, r = hypot(x[0], y);
    dual bowl = {x[0] * x[0] + y * y, {2 * x[0], 2 * y}};
    switch (s->shape) {
    case STEP:
        return (dual){x[0] > 0.123 + 0.2 * y ? 1 + 0.1 * x[0] : 0.1 * x[0], {0.1, 0}};
    case PLATEAU:
        return (dual){r > 0.5 ? r - 0.5 : 0, {r > 0.5 ? x[0] / r : 0, r > 0.5 ? y / r : 0}};
    case WRONG:
        return (dual){bowl.v, {-bowl.d[0], -bowl.d[1]}};
    case EXPLODING:
        return (dual){bowl.v, {1e6 * bowl.d[0], 1e6 * bowl.d[1]}};
    case SAW: /* rises in every tooth, falls from tooth to tooth */
        return (dual){x[0] - 0.02 * floor(x[0] / 0.01), {1, 0}};
    case BALL_NAIVE:
    case BALL_TOI:
        return ball(x[0], s->shape == BALL_TOI);
    case BILLIARDS: {
        const double z[2] = {x[0], y};
        return billiards(z, s->frames);
    }
    case FLAT:
        return value(3);
    default:
        return bowl;
    }
}

static ds_status create(const ds_host *host, void **out)
{
    env *s = calloc(1, sizeof *s);
    if (s == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    ds_status st = host->get_int(host, "shape", &s->shape);
    st = st == DS_OK ? host->get_int(host, "n", &s->n) : st;
    st = st == DS_OK ? host->get_int(host, "frames", &s->frames) : st;
    if (st != DS_OK) {
        free(s);
        return st;
    }
    *out = s;
    return DS_OK;
}

static void destroy(void *self)
{
    free(self);
}

static ds_status info(void *self, ds_env_info *out)
{
    const env *s = self;
    out->n = (uint64_t)s->n;
    out->steps = 1;
    out->dt = 0;
    out->loss_floor = -INFINITY;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0 != NULL) {
            x0[i] = 0;
        }
    }
    return DS_OK;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    const env *s = self;
    dual f = evaluate_shape(s, io->x);
    io->loss = f.v;
    io->outcome = DS_EVAL_OK;
    io->bad_step = -1;
    io->cost_steps = 1;
    io->grad_kind = DS_GRAD_NONE;
    if (s->shape == BLOWUP && io->x[0] > 0.5) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
        io->bad_step = 0;
    }
    if ((io->want & DS_WANT_GRAD) != 0) {
        memset(io->grad, 0, io->n * sizeof(double));
        io->grad[0] = f.d[0];
        if (io->n > 1) {
            io->grad[1] = f.d[1];
        }
        io->grad_kind = DS_GRAD_FORWARD;
        /* A gradient is missing where x0 is large, and away from the middle of the third variable. */
        if (s->shape == HOLES && (io->x[0] > 0.75 || (io->n > 2 && fabs(io->x[2]) > 0.5))) {
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const ds_desc desc = {.struct_size = sizeof(ds_desc),
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "shapes",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Landscapes with known properties.",
                             .description = "For tests.",
                             .citation = "Billiards and time of impact: Hu et al., DiffTaichi, ICLR 2020.",
                             .params = params};
static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),
                                     .create = create,
                                     .destroy = destroy,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate_rows};
DS_DEFINE_ENV(desc, vtable)
