/* SPDX-License-Identifier: Apache-2.0 */
/* fmu_models.c - three models as FMUs of both versions, for tests/cli/plugins/fmu.sh: -DFMI=2 or 3, and
 * one of -DBALL (a bouncing ball, with events), -DVANDERPOL, -DMASSES (two masses with springs, a damper, a
 * force; adjoint derivatives). -DARRAYS: states, derivatives and parameters are arrays. The name of the model
 * in modelDescription.xml may be what the FMU does wrong (faulty()): one library serves for all faults. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(BALL)
enum { STATES = 2, PARAMETERS = 2, INDICATORS = 1, OUTPUTS = 0 };
static const double START[] = {1, 0}, DEFAULT[] = {9.81, 0.7};
#elif defined(VANDERPOL)
enum { STATES = 2, PARAMETERS = 1, INDICATORS = 0, OUTPUTS = 0 };
static const double START[] = {2, 0}, DEFAULT[] = {1};
#else
enum { STATES = 4, PARAMETERS = 2, INDICATORS = 0, OUTPUTS = 1 };
static const double START[] = {1, 0, 0, 0}, DEFAULT[] = {10, 0.5};
#endif
/* value references: states from 0, derivatives from 10, parameters from 20, the force 30, the output 40 */
enum { DERIVATIVE = 10, PARAMETER = 20, FORCE = 30, OUTPUT = 40, KNOWNS = STATES + PARAMETERS + 1 };

static char named[40]; /* the name of the model */

static int faulty(const char *how)
{
    return strcmp(named, how) == 0;
}

typedef struct model {
    double t, x[STATES], p[PARAMETERS], u;
} model;

static void slopes(const model *m, const double *x, double *dx)
{
#if defined(BALL)
    dx[0] = x[1];
    dx[1] = -m->p[0];
#elif defined(VANDERPOL)
    dx[0] = x[1];
    dx[1] = m->p[0] * (1 - x[0] * x[0]) * x[1] - x[0];
#else
    const double spring = m->p[0] * (x[2] - x[0]), damper = m->p[1] * (x[3] - x[1]);
    dx[0] = x[1];
    dx[1] = spring + damper - 5 * x[0] + m->u;
    dx[2] = x[3];
    dx[3] = -spring - damper - 0.2 * x[2] * x[2] * x[2];
#endif
}

static double output(const model *m)
{
    return faulty("NAN output") ? (double)NAN : STATES == 4 ? m->p[0] * (m->x[STATES / 2] - m->x[0]) : 0;
}

/* The rows of the derivatives, then the output, by states, parameters and the force. */
static void jacobian(const model *m, double j[STATES + 1][KNOWNS])
{
    memset(j, 0, (STATES + 1) * sizeof *j);
    const double *x = m->x;
    (void)x;
#if defined(VANDERPOL)
    j[0][1] = 1;
    j[1][0] = -2 * m->p[0] * x[0] * x[1] - 1;
    j[1][1] = m->p[0] * (1 - x[0] * x[0]);
    j[1][2] = (1 - x[0] * x[0]) * x[1];
#elif defined(MASSES)
    j[0][1] = j[2][3] = 1;
    j[1][0] = -m->p[0] - 5;
    j[1][1] = -m->p[1];
    j[1][2] = m->p[0];
    j[1][3] = m->p[1];
    j[1][4] = x[2] - x[0];
    j[1][5] = x[3] - x[1];
    j[1][6] = 1;
    j[3][0] = m->p[0];
    j[3][1] = m->p[1];
    j[3][2] = -m->p[0] - 0.6 * x[2] * x[2];
    j[3][3] = -m->p[1];
    j[3][4] = -(x[2] - x[0]);
    j[3][5] = -(x[3] - x[1]);
    j[4][0] = -m->p[0];
    j[4][2] = m->p[0];
    j[4][4] = x[2] - x[0];
#endif
    for (int i = 0; i <= STATES && faulty("ZERO by parameters"); i++) {
        memset(&j[i][STATES], 0, PARAMETERS * sizeof j[i][0]);
    }
    j[1][0] *= faulty("WRONG by a state") ? 1.5 : 1;
}

static void bounce(model *m)
{
#if defined(BALL)
    if (m->x[0] <= 0 && m->x[1] < 0) {
        m->x[0] = 0;
        m->x[1] *= -m->p[1];
    }
#else
    (void)m;
#endif
}

static double *place(model *m, uint32_t vr)
{
    return vr < STATES                                      ? &m->x[vr]
           : vr >= PARAMETER && vr < PARAMETER + PARAMETERS ? &m->p[vr - PARAMETER]
           : vr == FORCE                                    ? &m->u
                                                            : NULL;
}

static int get(model *m, const uint32_t *vr, size_t n, double *out)
{
    double dx[STATES];
    slopes(m, m->x, dx);
    for (size_t i = 0; i < n; i++) {
        const double *at = place(m, vr[i]);
        if (at != NULL) {
            out[i] = *at;
        } else if (vr[i] >= DERIVATIVE && vr[i] < DERIVATIVE + STATES) {
            out[i] = dx[vr[i] - DERIVATIVE];
        } else if (vr[i] == OUTPUT && OUTPUTS) {
            out[i] = output(m);
        } else {
            return 3;
        }
    }
    return 0;
}

static int set(model *m, const uint32_t *vr, size_t n, const double *in)
{
    for (size_t i = 0; i < n; i++) {
        double *at = place(m, vr[i]);
        if (at == NULL) {
            return 3;
        }
        *at = in[i];
    }
    return 0;
}

static size_t row_of(uint32_t vr)
{
    return vr == OUTPUT ? STATES : vr - DERIVATIVE;
}

static size_t column_of(uint32_t vr)
{
    return vr < STATES ? vr : vr == FORCE ? STATES + PARAMETERS : STATES + vr - PARAMETER;
}

static int products(model *m, const uint32_t *unknown, size_t rows, const uint32_t *known, size_t columns,
                    const double *seed, double *out, int transposed)
{
    double j[STATES + 1][KNOWNS];
    jacobian(m, j);
    memset(out, 0, (transposed ? columns : rows) * sizeof *out);
    for (size_t a = 0; a < rows; a++) {
        for (size_t b = 0; b < columns; b++) {
            if (row_of(unknown[a]) > STATES || column_of(known[b]) >= KNOWNS) {
                return 3;
            }
            double v = j[row_of(unknown[a])][column_of(known[b])];
            v *= transposed && column_of(known[b]) == 1 && faulty("WRONG adjoint") ? 1.5 : 1;
            out[transposed ? b : a] += v * seed[transposed ? a : b];
        }
    }
    return 0;
}

static int do_step(model *m, double h)
{
    const int steps = (int)ceil(h / 1e-3);
    if (faulty("CRASH in DoStep")) {
        abort();
    }
    for (int s = 0; s < steps; s++) {
        const double d = h / steps;
        double k[4][STATES], x[STATES];
        slopes(m, m->x, k[0]);
        for (int i = 1; i < 4; i++) {
            for (int q = 0; q < STATES; q++) {
                x[q] = m->x[q] + (i == 3 ? d : d / 2) * k[i - 1][q];
            }
            slopes(m, x, k[i]);
        }
        for (int q = 0; q < STATES; q++) {
            m->x[q] += d / 6 * (k[0][q] + 2 * k[1][q] + 2 * k[2][q] + k[3][q]);
        }
        bounce(m);
    }
    m->t += h;
    return faulty("ERROR in DoStep") && m->x[0] < 0.5 ? 3 : 0;
}

static void start(model *m)
{
    *m = (model){.t = 0};
    memcpy(m->x, START, sizeof m->x);
    memcpy(m->p, DEFAULT, sizeof m->p);
}

static model *make(const char *token, const char *name)
{
    strncpy(named, name, sizeof named - 1);
    if (faulty("CRASH in Instantiate")) {
        abort();
    }
    if (faulty("NULL")) {
        return NULL;
    }
    model *m = strcmp(token, "{token}") == 0 ? malloc(sizeof *m) : NULL;
    if (m != NULL) {
        start(m);
    }
    return m;
}

#define API __attribute__((visibility("default")))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(JOIN(JOIN(fmi, FMI), name), )

API void F(FreeInstance)(void *c);
API void F(FreeInstance)(void *c)
{
    if (faulty("CRASH in FreeInstance")) {
        abort();
    }
    free(c);
}
API int F(Reset)(void *c);
API int F(Reset)(void *c)
{
    start(c);
    return 0;
}
API int F(Terminate)(void *c);
API int F(Terminate)(void *c)
{
    (void)c;
    for (volatile int i = 1; i && faulty("HANG in Terminate");) {
    }
    return 0;
}
#define NOTHING(name)                                                                                        \
    API int F(name)(void *c);                                                                                \
    API int F(name)(void *c)                                                                                 \
    {                                                                                                        \
        (void)c;                                                                                             \
        return 0;                                                                                            \
    }
NOTHING(ExitInitializationMode)
NOTHING(EnterEventMode)
NOTHING(EnterContinuousTimeMode)
API int F(SetTime)(void *c, double t);
API int F(SetTime)(void *c, double t)
{
    ((model *)c)->t = t;
    return 0;
}
API int F(SetContinuousStates)(void *c, const double *x, size_t n);
API int F(SetContinuousStates)(void *c, const double *x, size_t n)
{
    memcpy(((model *)c)->x, x, n * sizeof *x);
    return n == STATES ? 0 : 3;
}
API int F(GetContinuousStates)(void *c, double *x, size_t n);
API int F(GetContinuousStates)(void *c, double *x, size_t n)
{
    memcpy(x, ((model *)c)->x, n * sizeof *x);
    return n == STATES ? 0 : 3;
}
API int F(GetEventIndicators)(void *c, double *z, size_t n);
API int F(GetEventIndicators)(void *c, double *z, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        z[i] = ((model *)c)->x[0];
    }
    return n == INDICATORS ? 0 : 3;
}

#if FMI == 2
typedef struct event2 {
    int again, ended, nominals, values, next_defined;
    double next;
} event2;
API void *fmi2Instantiate(const char *name, int type, const char *token, const char *place, const void *calls,
                          int a, int b);
API void *fmi2Instantiate(const char *name, int type, const char *token, const char *place, const void *calls,
                          int a, int b)
{
    (void)type, (void)place, (void)calls, (void)a, (void)b;
    return make(token, name);
}
API int fmi2SetupExperiment(void *c, int a, double b, double t, int d, double e);
API int fmi2SetupExperiment(void *c, int a, double b, double t, int d, double e)
{
    (void)a, (void)b, (void)d, (void)e;
    ((model *)c)->t = t;
    return 0;
}
NOTHING(EnterInitializationMode)
API int fmi2SetReal(void *c, const uint32_t *vr, size_t n, const double *v);
API int fmi2SetReal(void *c, const uint32_t *vr, size_t n, const double *v)
{
    return set(c, vr, n, v);
}
API int fmi2GetReal(void *c, const uint32_t *vr, size_t n, double *v);
API int fmi2GetReal(void *c, const uint32_t *vr, size_t n, double *v)
{
    return get(c, vr, n, v);
}
API int fmi2GetDerivatives(void *c, double *dx, size_t n);
API int fmi2GetDerivatives(void *c, double *dx, size_t n)
{
    slopes(c, ((model *)c)->x, dx);
    return n == STATES ? 0 : 3;
}
API int fmi2GetDirectionalDerivative(void *c, const uint32_t *u, size_t m, const uint32_t *k, size_t n,
                                     const double *s, double *out);
API int fmi2GetDirectionalDerivative(void *c, const uint32_t *u, size_t m, const uint32_t *k, size_t n,
                                     const double *s, double *out)
{
    return products(c, u, m, k, n, s, out, 0);
}
API int fmi2NewDiscreteStates(void *c, event2 *e);
API int fmi2NewDiscreteStates(void *c, event2 *e)
{
    bounce(c);
    *e = (event2){.values = 1};
    return 0;
}
API int fmi2CompletedIntegratorStep(void *c, int a, int *event, int *ended);
API int fmi2CompletedIntegratorStep(void *c, int a, int *event, int *ended)
{
    (void)c, (void)a;
    *event = *ended = 0;
    return 0;
}
API int fmi2DoStep(void *c, double t, double h, int a);
API int fmi2DoStep(void *c, double t, double h, int a)
{
    (void)t, (void)a;
    return do_step(c, h);
}
#else
API void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *place, bool a, bool b,
                                       void *env, void *log);
API void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *place, bool a, bool b,
                                       void *env, void *log)
{
    (void)place, (void)a, (void)b, (void)env, (void)log;
    return make(token, name);
}
API void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *place, bool a, bool b,
                                      bool d, bool e, const uint32_t *vr, size_t n, void *env, void *log,
                                      void *update);
API void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *place, bool a, bool b,
                                      bool d, bool e, const uint32_t *vr, size_t n, void *env, void *log,
                                      void *update)
{
    (void)place, (void)a, (void)b, (void)d, (void)e, (void)vr, (void)n, (void)env, (void)log, (void)update;
    return make(token, name);
}
API int fmi3EnterInitializationMode(void *c, bool a, double b, double t, bool d, double e);
API int fmi3EnterInitializationMode(void *c, bool a, double b, double t, bool d, double e)
{
    (void)a, (void)b, (void)d, (void)e;
    ((model *)c)->t = t;
    return 0;
}
/* Value references of which each has one value: an array becomes its elements. */
typedef struct each {
    uint32_t vr[64];
    size_t n;
} each;

static each elements(const uint32_t *vr, size_t n)
{
    each e = {.n = 0};
    for (size_t i = 0; i < n && e.n < 60; i++) {
        size_t count = 1;
#if defined(ARRAYS)
        count = vr[i] == 0 || vr[i] == DERIVATIVE ? STATES : vr[i] == PARAMETER ? PARAMETERS : 1;
#endif
        for (size_t k = 0; k < count; k++) {
            e.vr[e.n++] = vr[i] + (uint32_t)k;
        }
    }
    return e;
}

API int fmi3GetInt32(void *c, const uint32_t *vr, size_t n, int32_t *v, size_t m);
API int fmi3GetInt32(void *c, const uint32_t *vr, size_t n, int32_t *v, size_t m)
{
    v[0] = ((model *)c)->x[0] > 0 ? 7 : -7;
    return n == 1 && m == 1 && vr[0] == 50 ? 0 : 3;
}
API int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *v, size_t m);
API int fmi3SetFloat64(void *c, const uint32_t *vr, size_t n, const double *v, size_t m)
{
    const each e = elements(vr, n);
    return e.n == m ? set(c, e.vr, e.n, v) : 3;
}
API int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *v, size_t m);
API int fmi3GetFloat64(void *c, const uint32_t *vr, size_t n, double *v, size_t m)
{
    const each e = elements(vr, n);
    return e.n == m ? get(c, e.vr, e.n, v) : 3;
}
API int fmi3GetContinuousStateDerivatives(void *c, double *dx, size_t n);
API int fmi3GetContinuousStateDerivatives(void *c, double *dx, size_t n)
{
    slopes(c, ((model *)c)->x, dx);
    return n == STATES ? 0 : 3;
}
API int fmi3GetDirectionalDerivative(void *c, const uint32_t *u, size_t m, const uint32_t *k, size_t n,
                                     const double *s, size_t a, double *out, size_t b);
API int fmi3GetDirectionalDerivative(void *c, const uint32_t *u, size_t m, const uint32_t *k, size_t n,
                                     const double *s, size_t a, double *out, size_t b)
{
    const each rows = elements(u, m), columns = elements(k, n);
    return a == columns.n && b == rows.n ? products(c, rows.vr, b, columns.vr, a, s, out, 0) : 3;
}
API int fmi3GetAdjointDerivative(void *c, const uint32_t *u, size_t m, const uint32_t *k, size_t n,
                                 const double *s, size_t a, double *out, size_t b);
API int fmi3GetAdjointDerivative(void *c, const uint32_t *u, size_t m, const uint32_t *k, size_t n,
                                 const double *s, size_t a, double *out, size_t b)
{
    const each rows = elements(u, m), columns = elements(k, n);
    return a == rows.n && b == columns.n ? products(c, rows.vr, a, columns.vr, b, s, out, 1) : 3;
}
API int fmi3UpdateDiscreteStates(void *c, bool *again, bool *ended, bool *nominals, bool *values,
                                 bool *defined, double *next);
API int fmi3UpdateDiscreteStates(void *c, bool *again, bool *ended, bool *nominals, bool *values,
                                 bool *defined, double *next)
{
    bounce(c);
    *again = *ended = *nominals = *defined = false;
    *values = true;
    *next = 0;
    return 0;
}
API int fmi3CompletedIntegratorStep(void *c, bool a, bool *event, bool *ended);
API int fmi3CompletedIntegratorStep(void *c, bool a, bool *event, bool *ended)
{
    (void)c, (void)a;
    *event = *ended = false;
    return 0;
}
API int fmi3DoStep(void *c, double t, double h, bool a, bool *event, bool *ended, bool *early, double *last);
API int fmi3DoStep(void *c, double t, double h, bool a, bool *event, bool *ended, bool *early, double *last)
{
    (void)a;
    const int rc = do_step(c, h);
    *event = *early = false;
    *ended = faulty("END at 2 s") && t + h > 2 - 1e-9;
    *last = t + h;
    return rc;
}
#endif
