/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - see instance.h. The types are those of fmi2FunctionTypes.h and fmi3FunctionTypes.h, written
 * from the standard (FMI 2.0.4, 3.0.2). Terminate is never called: FreeInstance is allowed in every state,
 * and an FMU that hangs in Terminate then costs nothing. */
#include "adapters/fmi/instance.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARNING = 1, DISCARD = 2, ERROR = 3, FATAL = 4, EVENT_ROUNDS = 1000 };
enum { TERMINATED = 3 }; /* of fmi2StatusKind */

typedef struct callbacks2 {
    void (*logger)(void *env, const char *name, int status, const char *category, const char *message, ...);
    void *(*allocate)(size_t count, size_t size);
    void (*release)(void *memory);
    void (*finished)(void *env, int status);
    void *env;
} callbacks2;

typedef struct event2 {
    int again, ended, nominals, values, next_defined;
    double next;
} event2;

typedef void (*log3)(void *env, int status, const char *category, const char *message);

/* The functions of one version; those of the other stay NULL. */
struct fmi_functions {
    callbacks2 callbacks;
    void (*release)(void *);
    int (*reset)(void *), (*enter_init)(void *), (*exit_init)(void *), (*enter_event)(void *),
        (*enter_continuous)(void *);
    int (*set_time)(void *, double), (*set_states)(void *, const double *, size_t),
        (*get_states)(void *, double *, size_t), (*get_derivatives)(void *, double *, size_t),
        (*get_indicators)(void *, double *, size_t);
    /* FMI 2 */
    void *(*instantiate2)(const char *, int, const char *, const char *, const callbacks2 *, int, int);
    int (*setup2)(void *, int, double, double, int, double);
    int (*set2[FMI_OTHER])(void *, const uint32_t *, size_t, const void *);
    int (*get2[FMI_OTHER])(void *, const uint32_t *, size_t, void *);
    int (*step2)(void *, double, double, int), (*truth2)(void *, int, int *), (*discrete2)(void *, event2 *),
        (*completed2)(void *, int, int *, int *);
    int (*directional2)(void *, const uint32_t *, size_t, const uint32_t *, size_t, const double *, double *);
    /* FMI 3 */
    void *(*me3)(const char *, const char *, const char *, bool, bool, void *, log3);
    void *(*cs3)(const char *, const char *, const char *, bool, bool, bool, bool, const uint32_t *, size_t,
                 void *, log3, void *);
    int (*enter3)(void *, bool, double, double, bool, double);
    int (*set3[FMI_OTHER])(void *, const uint32_t *, size_t, const void *, size_t);
    int (*get3[FMI_OTHER])(void *, const uint32_t *, size_t, void *, size_t);
    int (*step3)(void *, double, double, bool, bool *, bool *, bool *, double *);
    int (*discrete3)(void *, bool *, bool *, bool *, bool *, bool *, double *),
        (*completed3)(void *, bool, bool *, bool *);
    int (*directional3)(void *, const uint32_t *, size_t, const uint32_t *, size_t, const double *, size_t,
                        double *, size_t);
    int (*adjoint3)(void *, const uint32_t *, size_t, const uint32_t *, size_t, const double *, size_t,
                    double *, size_t);
};

/* ---- messages ---- */

static void keep(fmi_instance *i, int status, const char *text)
{
    if (status > WARNING || i->last[0] == '\0') {
        snprintf(i->last, sizeof i->last, "%s", text);
    }
}

__attribute__((format(printf, 5, 6))) static void log_2(void *env, const char *name, int status,
                                                        const char *category, const char *message, ...)
{
    char text[256];
    va_list more;
    (void)name, (void)category;
    va_start(more, message);
    vsnprintf(text, sizeof text, message, more);
    va_end(more);
    keep(env, status, text);
}

static void log_3(void *env, int status, const char *category, const char *message)
{
    (void)category;
    keep(env, status, message);
}

static int result(fmi_instance *i, int status, const char *what)
{
    if (status <= WARNING) {
        return 0;
    }
    if (i->last[0] == '\0') {
        snprintf(i->last, sizeof i->last, "%s returned %s", what,
                 status == FATAL   ? "fatal"
                 : status == ERROR ? "error"
                                   : "discard");
    }
    if (status >= FATAL) {
        i->component = NULL; /* nothing may be called any more, not even to release it */
    } else if (status == ERROR && i->component != NULL) {
        i->f->release(i->component);
        i->component = NULL;
    }
    return status;
}

/* ---- the library ---- */

typedef struct wanted {
    const char *name;
    size_t at;
    int needed;
} wanted;

#define AT(field) offsetof(fmi_functions, field)

static const wanted BOTH[] = {{"FreeInstance", AT(release), 1},
                              {"Reset", AT(reset), 1},
                              {"ExitInitializationMode", AT(exit_init), 1},
                              {NULL, 0, 0}};
static const wanted ME[] = {{"EnterEventMode", AT(enter_event), 1},
                            {"EnterContinuousTimeMode", AT(enter_continuous), 1},
                            {"SetTime", AT(set_time), 1},
                            {"SetContinuousStates", AT(set_states), 1},
                            {"GetContinuousStates", AT(get_states), 1},
                            {"GetEventIndicators", AT(get_indicators), 1},
                            {NULL, 0, 0}};
static const wanted TWO[] = {{"Instantiate", AT(instantiate2), 1},
                             {"SetupExperiment", AT(setup2), 1},
                             {"EnterInitializationMode", AT(enter_init), 1},
                             {"SetReal", AT(set2[FMI_REAL]), 1},
                             {"GetReal", AT(get2[FMI_REAL]), 1},
                             {"SetInteger", AT(set2[FMI_INT32]), 0},
                             {"GetInteger", AT(get2[FMI_INT32]), 0},
                             {"SetBoolean", AT(set2[FMI_BOOLEAN]), 0},
                             {"GetBoolean", AT(get2[FMI_BOOLEAN]), 0},
                             {"GetDirectionalDerivative", AT(directional2), 0},
                             {NULL, 0, 0}};
static const wanted TWO_ME[] = {{"NewDiscreteStates", AT(discrete2), 1},
                                {"CompletedIntegratorStep", AT(completed2), 1},
                                {"GetDerivatives", AT(get_derivatives), 1},
                                {NULL, 0, 0}};
static const wanted TWO_CS[] = {{"DoStep", AT(step2), 1}, {"GetBooleanStatus", AT(truth2), 0}, {NULL, 0, 0}};
static const wanted THREE[] = {
    {"EnterInitializationMode", AT(enter3), 1},
    {"SetFloat64", AT(set3[FMI_REAL]), 1},
    {"GetFloat64", AT(get3[FMI_REAL]), 1},
#define OTHER(name, type) {"Set" #name, AT(set3[type]), 0}, {"Get" #name, AT(get3[type]), 0},
    OTHER(Float32, FMI_FLOAT32) OTHER(Int8, FMI_INT8) OTHER(UInt8, FMI_UINT8) OTHER(Int16, FMI_INT16)
        OTHER(UInt16, FMI_UINT16) OTHER(Int32, FMI_INT32) OTHER(UInt32, FMI_UINT32) OTHER(Int64, FMI_INT64)
            OTHER(UInt64, FMI_UINT64)
                OTHER(Boolean, FMI_BOOLEAN){"GetDirectionalDerivative", AT(directional3), 0},
    {"GetAdjointDerivative", AT(adjoint3), 0},
    {NULL, 0, 0}};
static const wanted THREE_ME[] = {{"InstantiateModelExchange", AT(me3), 1},
                                  {"UpdateDiscreteStates", AT(discrete3), 1},
                                  {"CompletedIntegratorStep", AT(completed3), 1},
                                  {"GetContinuousStateDerivatives", AT(get_derivatives), 1},
                                  {NULL, 0, 0}};
static const wanted THREE_CS[] = {
    {"InstantiateCoSimulation", AT(cs3), 1}, {"DoStep", AT(step3), 1}, {NULL, 0, 0}};

static int find(fmi_instance *i, const wanted *list, const char *file, char *why, size_t room)
{
    for (; list->name != NULL; list++) {
        char name[64];
        snprintf(name, sizeof name, "fmi%d%s", i->d->version, list->name);
        void *at = dlsym(i->library, name);
        if (at == NULL && list->needed) {
            snprintf(why, room, "%s: it lacks the function %s", file, name);
            return -1;
        }
        memcpy((char *)i->f + list->at, &at, sizeof at);
    }
    return 0;
}

void fmi_library(const fmi_description *d, int me, char folder[64], char *name, size_t room)
{
#if defined(__aarch64__)
    const char *const platform = "aarch64-linux";
#else
    const char *const platform = d->version == 2 ? "linux64" : "x86_64-linux";
#endif
    snprintf(folder, 64, "binaries/%s/", platform);
    snprintf(name, room, "%s%s.so", folder, me ? d->me.id : d->cs.id);
}

/* The values and value references of one side of a product of derivatives. */
static size_t work_of(const fmi_description *d)
{
    return d->states + FMI_KNOWNS + d->array_values;
}

int fmi_load(fmi_instance *i, const fmi_description *d, int me, const char *folder, const char *file,
             char *why, size_t room)
{
    char platform[64], name[1024];
    const char *id = me ? d->me.id : d->cs.id;
    *i = (fmi_instance){.d = d, .me = me, .f = calloc(1, sizeof *i->f)};
    i->array = calloc(d->array_values + 1, sizeof *i->array);
    i->work = calloc(2 * work_of(d) + 2, sizeof(double) + sizeof(uint32_t) + sizeof(size_t));
    snprintf(i->folder, sizeof i->folder, "%s", folder);
    i->library =
        i->f != NULL && i->array != NULL && i->work != NULL ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (i->library == NULL) {
        const char *reason = dlerror();
        const size_t path = strlen(file);
        fmi_library(d, me, platform, name, sizeof name);
        snprintf(why, room, "%s: %s", name,
                 reason == NULL ? "out of memory"
                 : strncmp(reason, file, path) == 0 && strncmp(reason + path, ": ", 2) == 0
                     ? reason + path + 2
                     : reason);
        return -1;
    }
    i->f->callbacks = (callbacks2){.logger = log_2, .allocate = calloc, .release = free, .env = i};
    const int two = d->version == 2;
    return find(i, BOTH, id, why, room) != 0 || find(i, two ? TWO : THREE, id, why, room) != 0 ||
                   (me && find(i, ME, id, why, room) != 0) ||
                   find(i, me ? (two ? TWO_ME : THREE_ME) : (two ? TWO_CS : THREE_CS), id, why, room) != 0
               ? -1
               : 0;
}

void fmi_unload(fmi_instance *i)
{
    if (i->component != NULL) {
        i->f->release(i->component);
        i->component = NULL;
    }
    if (i->library != NULL) {
        dlclose(i->library);
        i->library = NULL;
    }
    free(i->f);
    free(i->array);
    free(i->work);
    i->f = NULL;
    i->array = NULL;
    i->work = NULL;
}

/* ---- an episode ---- */

static void *instantiate(fmi_instance *i)
{
    const fmi_description *d = i->d;
    char place[600];
    if (d->version == 2) {
        snprintf(place, sizeof place, "file://%s/resources", i->folder);
        return i->f->instantiate2(d->model, i->me ? 0 : 1, d->token, place, &i->f->callbacks, 0, 0);
    }
    snprintf(place, sizeof place, "%s/resources/", i->folder);
    return i->me ? i->f->me3(d->model, d->token, place, false, false, i, log_3)
                 : i->f->cs3(d->model, d->token, place, false, false, false, false, NULL, 0, i, log_3, NULL);
}

static int enter_init(fmi_instance *i, double start, double stop)
{
    if (i->d->version == 3) {
        return result(i, i->f->enter3(i->component, false, 0, start, true, stop), "EnterInitializationMode");
    }
    const int rc = result(i, i->f->setup2(i->component, 0, 0, start, 1, stop), "SetupExperiment");
    return rc != 0 ? rc : result(i, i->f->enter_init(i->component), "EnterInitializationMode");
}

/* Discrete states until they do not change any more, then continuous time. */
static int settle(fmi_instance *i, double *next_event, int *ended)
{
    *next_event = INFINITY;
    for (int again = 1, round = 0; again;) {
        bool more = false, end = false, nominals, values, defined = false;
        double next = INFINITY;
        event2 e = {.again = 0, .ended = 0};
        const int rc = i->d->version == 2
                           ? i->f->discrete2(i->component, &e)
                           : i->f->discrete3(i->component, &more, &end, &nominals, &values, &defined, &next);
        if (result(i, rc, "the update of discrete states") != 0) {
            return rc;
        }
        *ended = i->ended = *ended || end || e.ended;
        *next_event = defined ? next : e.next_defined ? e.next : (double)INFINITY;
        again = more || e.again;
        if (++round > EVENT_ROUNDS) {
            snprintf(i->last, sizeof i->last, "the discrete states are not stable after %d rounds",
                     EVENT_ROUNDS);
            return ERROR;
        }
    }
    return result(i, i->f->enter_continuous(i->component), "EnterContinuousTimeMode");
}

int fmi_begin(fmi_instance *i, double start, double stop, size_t count, const fmi_variable *const *v,
              const double *value, double *next_event)
{
    int ended = 0;
    i->last[0] = '\0';
    *next_event = INFINITY;
    if (i->component != NULL && (i->ended || i->f->reset(i->component) > WARNING)) {
        i->f->release(i->component);
        i->component = NULL;
    }
    i->ended = 0;
    if (i->component == NULL) {
        i->component = instantiate(i);
    }
    if (i->component == NULL) {
        if (i->last[0] == '\0') {
            snprintf(i->last, sizeof i->last, "it cannot be instantiated");
        }
        return ERROR;
    }
    if (i->d->array_values > 0) {
        memcpy(i->array, i->d->values, i->d->array_values * sizeof *i->array);
    }
    int rc = fmi_set(i, count, v, value);
    rc = rc != 0 ? rc : enter_init(i, start, stop);
    rc = rc != 0 ? rc : result(i, i->f->exit_init(i->component), "ExitInitializationMode");
    rc = rc != 0 || !i->me ? rc : settle(i, next_event, &ended);
    return rc;
}

/* ---- values ---- */

/* One number of each type, as the FMU has it. */
#define EACH_TYPE(X)                                                                                         \
    X(FMI_REAL, double)                                                                                      \
    X(FMI_FLOAT32, float)                                                                                    \
    X(FMI_INT8, int8_t)                                                                                      \
    X(FMI_UINT8, uint8_t)                                                                                    \
    X(FMI_INT16, int16_t)                                                                                    \
    X(FMI_UINT16, uint16_t)                                                                                  \
    X(FMI_INT32, int32_t)                                                                                    \
    X(FMI_UINT32, uint32_t) X(FMI_INT64, int64_t) X(FMI_UINT64, uint64_t)

static void to_fmu(const fmi_instance *i, enum fmi_type type, size_t n, const double *in, void *out)
{
    switch (type) {
#define WRITE(which, c_type)                                                                                 \
    case which:                                                                                              \
        for (size_t k = 0; k < n; k++) {                                                                     \
            ((c_type *)out)[k] = (c_type)in[k];                                                              \
        }                                                                                                    \
        break;
        EACH_TYPE(WRITE)
    default: /* Boolean, an int in FMI 2 */
        for (size_t k = 0; k < n; k++) {
            if (i->d->version == 2) {
                ((int *)out)[k] = in[k] != 0;
            } else {
                ((bool *)out)[k] = in[k] != 0;
            }
        }
    }
}

static void from_fmu(const fmi_instance *i, enum fmi_type type, size_t n, const void *in, double *out)
{
    switch (type) {
#define READ(which, c_type)                                                                                  \
    case which:                                                                                              \
        for (size_t k = 0; k < n; k++) {                                                                     \
            out[k] = (double)((const c_type *)in)[k];                                                        \
        }                                                                                                    \
        break;
        EACH_TYPE(READ)
    default:
        for (size_t k = 0; k < n; k++) {
            out[k] = i->d->version == 2 ? ((const int *)in)[k] : ((const bool *)in)[k];
        }
    }
}

/* Sets or gets the whole of a variable, which may be an array. */
static int transfer(fmi_instance *i, const fmi_variable *v, double *value, int set)
{
    fmi_functions *f = i->f;
    const int two = i->d->version == 2, t = (int)v->type;
    const size_t n = v->elements;
    double one;
    void *const raw = n > 1 ? i->work : &one;
    if (t == FMI_OTHER || (two ? (set ? f->set2[t] == NULL : f->get2[t] == NULL)
                               : (set ? f->set3[t] == NULL : f->get3[t] == NULL))) {
        snprintf(i->last, sizeof i->last, "no function for the type of '%.100s'", v->name);
        return result(i, ERROR, "");
    }
    int status;
    if (set) {
        to_fmu(i, v->type, n, value, raw);
        status = two ? f->set2[t](i->component, &v->vr, 1, raw) : f->set3[t](i->component, &v->vr, 1, raw, n);
    } else {
        status = two ? f->get2[t](i->component, &v->vr, 1, raw) : f->get3[t](i->component, &v->vr, 1, raw, n);
    }
    if (status > WARNING) {
        char what[160];
        snprintf(what, sizeof what, "%s '%.60s', value reference %u,", set ? "setting" : "getting", v->name,
                 (unsigned)v->vr);
        return result(i, status, what);
    }
    if (!set) {
        from_fmu(i, v->type, n, raw, value);
    }
    return 0;
}

int fmi_set(fmi_instance *i, size_t count, const fmi_variable *const *v, const double *value)
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < count; k++) {
        const size_t n = v[k]->elements;
        double one = value[k], *all = n > 1 ? i->array + v[k]->first : &one;
        all[v[k]->element] = value[k];
        const int more = k + 1 < count && n > 1 && v[k + 1]->vr == v[k]->vr;
        rc = more ? 0 : transfer(i, v[k], all, 1);
    }
    return rc;
}

int fmi_get(fmi_instance *i, size_t count, const fmi_variable *const *v, double *value)
{
    double *all = (double *)i->work + work_of(i->d) + 1;
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < count; k++) {
        if (k == 0 || v[k]->elements == 1 || v[k]->vr != v[k - 1]->vr) {
            rc = transfer(i, v[k], v[k]->elements > 1 ? all : &value[k], 0);
        }
        if (rc == 0 && v[k]->elements > 1) {
            value[k] = all[v[k]->element];
        }
    }
    return rc;
}

int fmi_do_step(fmi_instance *i, double t, double h, int *ended)
{
    bool event = false, end = false, early = false;
    double last = t + h;
    if (i->d->version == 2) {
        const int status = i->f->step2(i->component, t, h, 1);
        int done = 0;
        if (status == DISCARD && i->f->truth2 != NULL &&
            i->f->truth2(i->component, TERMINATED, &done) <= WARNING && done) {
            *ended = i->ended = 1;
            return 0;
        }
        return result(i, status, "DoStep");
    }
    const int rc = result(i, i->f->step3(i->component, t, h, true, &event, &end, &early, &last), "DoStep");
    *ended = i->ended = *ended || end;
    return rc;
}

int fmi_set_time(fmi_instance *i, double t)
{
    return result(i, i->f->set_time(i->component, t), "SetTime");
}

int fmi_set_states(fmi_instance *i, const double *x)
{
    return i->d->states > 0
               ? result(i, i->f->set_states(i->component, x, i->d->states), "SetContinuousStates")
               : 0;
}

int fmi_get_states(fmi_instance *i, double *x)
{
    return i->d->states > 0
               ? result(i, i->f->get_states(i->component, x, i->d->states), "GetContinuousStates")
               : 0;
}

int fmi_get_derivatives(fmi_instance *i, double *dx)
{
    return i->d->states > 0
               ? result(i, i->f->get_derivatives(i->component, dx, i->d->states), "the derivatives")
               : 0;
}

int fmi_get_indicators(fmi_instance *i, double *z)
{
    return i->d->indicators > 0
               ? result(i, i->f->get_indicators(i->component, z, i->d->indicators), "GetEventIndicators")
               : 0;
}

int fmi_completed(fmi_instance *i, int *event, int *ended)
{
    bool enter = false, end = false;
    int enter2 = 0, end2 = 0;
    const int rc = i->d->version == 2 ? i->f->completed2(i->component, 1, &enter2, &end2)
                                      : i->f->completed3(i->component, true, &enter, &end);
    *event = enter || enter2;
    *ended = i->ended = *ended || end || end2;
    return result(i, rc, "CompletedIntegratorStep");
}

int fmi_event(fmi_instance *i, double *next_event, int *ended)
{
    const int rc = result(i, i->f->enter_event(i->component), "EnterEventMode");
    return rc != 0 ? rc : settle(i, next_event, ended);
}

/* ---- derivatives ---- */

/* One side of a product: value references, each array once, and where each variable stands in its vector. */
typedef struct side {
    double *value;
    uint32_t *vr;
    size_t *at, count, values;
} side;

static side side_of(fmi_instance *i, int second, size_t n, const fmi_variable *const *v)
{
    const size_t room = work_of(i->d) + 1;
    side s = {.value = (double *)i->work + (second ? room : 0)};
    s.at = (size_t *)((double *)i->work + 2 * room) + (second ? room : 0);
    s.vr = (uint32_t *)((size_t *)((double *)i->work + 2 * room) + 2 * room) + (second ? room : 0);
    for (size_t k = 0; k < n; k++) {
        size_t same = 0;
        while (v[k]->elements > 1 && same < k && v[same]->vr != v[k]->vr) {
            same++;
        }
        if (v[k]->elements > 1 && same < k) {
            s.at[k] = s.at[same] - v[same]->element + v[k]->element;
            continue;
        }
        s.vr[s.count++] = v[k]->vr;
        s.at[k] = s.values + v[k]->element;
        s.values += v[k]->elements;
    }
    return s;
}

static int product(fmi_instance *i, int transposed, size_t m, const fmi_variable *const *unknown, size_t n,
                   const fmi_variable *const *known, const double *seed, double *out)
{
    const fmi_functions *f = i->f;
    const int two = i->d->version == 2;
    const side rows = side_of(i, 0, m, unknown), columns = side_of(i, 1, n, known);
    const side *from = transposed ? &rows : &columns, *to = transposed ? &columns : &rows;
    memset(from->value, 0, from->values * sizeof *from->value);
    memset(to->value, 0, to->values * sizeof *to->value);
    for (size_t k = 0; k < (transposed ? m : n); k++) {
        from->value[from->at[k]] += seed[k];
    }
    int rc = ERROR;
    if (two && !transposed && f->directional2 != NULL) {
        rc = f->directional2(i->component, rows.vr, rows.count, columns.vr, columns.count, from->value,
                             to->value);
    } else if (!two && (transposed ? f->adjoint3 : f->directional3) != NULL) {
        rc = (transposed ? f->adjoint3 : f->directional3)(i->component, rows.vr, rows.count, columns.vr,
                                                          columns.count, from->value, from->values, to->value,
                                                          to->values);
    }
    for (size_t k = 0; k < (transposed ? n : m); k++) {
        out[k] = to->value[to->at[k]];
    }
    return result(i, rc, transposed ? "GetAdjointDerivative" : "GetDirectionalDerivative");
}

int fmi_directional(fmi_instance *i, size_t m, const fmi_variable *const *unknown, size_t n,
                    const fmi_variable *const *known, const double *seed, double *out)
{
    return product(i, 0, m, unknown, n, known, seed, out);
}

int fmi_adjoint(fmi_instance *i, size_t m, const fmi_variable *const *unknown, size_t n,
                const fmi_variable *const *known, const double *seed, double *out)
{
    return product(i, 1, m, unknown, n, known, seed, out);
}
