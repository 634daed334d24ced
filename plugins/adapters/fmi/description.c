/* SPDX-License-Identifier: Apache-2.0 */
/* description.c - see description.h. FMI 2.0.4 and 3.0.2, sections 2.2 and 2.4: elements that we do not
 * need are passed over, so that later minor versions are read, too. */
#include "adapters/fmi/description.h"

#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    fmi_description *d;
    XML_Parser parser;
    int depth, in_types, in_variables, in_structure;
    uint32_t *known; /* of ModelStructure: FMI 2 indices, FMI 3 value references of derivatives */
    size_t derivatives;
    char *why;
    size_t room;
    int failed;
} reader;

static void fail(reader *r, const char *what, const char *value)
{
    if (!r->failed) {
        snprintf(r->why, r->room, "modelDescription.xml:%lu: %s%.100s",
                 (unsigned long)XML_GetCurrentLineNumber(r->parser), what, value);
        r->failed = 1;
        XML_StopParser(r->parser, XML_FALSE);
    }
}

static const char *attribute(const char **pairs, const char *name)
{
    while (pairs[0] != NULL && strcmp(pairs[0], name) != 0) {
        pairs += 2;
    }
    return pairs[0] != NULL ? pairs[1] : NULL;
}

static int is_true(const char **pairs, const char *name)
{
    const char *v = attribute(pairs, name);
    return v != NULL && (strcmp(v, "true") == 0 || strcmp(v, "1") == 0);
}

static double number(const char **pairs, const char *name)
{
    const char *v = attribute(pairs, name);
    char *end;
    const double x = v != NULL ? strtod(v, &end) : (double)NAN;
    return v != NULL && end != v ? x : (double)NAN;
}

/* A whole number of 32 bits; fails where it is missing or is none. */
static uint32_t whole(reader *r, const char **pairs, const char *name)
{
    const char *v = attribute(pairs, name);
    char *end = NULL;
    const unsigned long x = v != NULL ? strtoul(v, &end, 10) : 0;
    if (v == NULL || end == v || *end != '\0' || x > UINT32_MAX) {
        fail(r, v == NULL ? "an attribute is missing: " : "not a whole number: ", v == NULL ? name : v);
    }
    return (uint32_t)x;
}

static char *copy(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

static void put(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text != NULL ? text : "");
}

/* Room for one more element of a list, which doubles at powers of two. */
static void *grown(reader *r, void *list, size_t count, size_t each)
{
    if ((count & (count - 1)) != 0) {
        return list;
    }
    void *more = realloc(list, (count == 0 ? 1 : 2 * count) * each);
    if (more == NULL) {
        fail(r, "out of memory", "");
    }
    return more;
}

static fmi_variable *add(reader *r, fmi_variable **list, size_t *count)
{
    fmi_variable *more = grown(r, *list, *count, sizeof **list);
    if (more == NULL) {
        return NULL;
    }
    *list = more;
    more[*count] = (fmi_variable){.start = NAN, .min = NAN, .max = NAN, .nominal = NAN, .type = FMI_OTHER};
    return &more[(*count)++];
}

static enum fmi_causality causality_of(const char *text)
{
    static const struct {
        const char *text;
        enum fmi_causality is;
    } known[] = {{"parameter", FMI_PARAMETER},
                 {"calculatedParameter", FMI_CALCULATED},
                 {"input", FMI_INPUT},
                 {"output", FMI_OUTPUT},
                 {"independent", FMI_INDEPENDENT},
                 {"structuralParameter", FMI_CALCULATED}};
    for (size_t i = 0; text != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(text, known[i].text) == 0) {
            return known[i].is;
        }
    }
    return FMI_LOCAL;
}

/* Attributes that both versions put on the variable. */
static void read_variable(reader *r, const char **pairs)
{
    fmi_variable *v = add(r, &r->d->variable, &r->d->count);
    if (v == NULL) {
        return;
    }
    v->name = copy(attribute(pairs, "name"));
    v->vr = whole(r, pairs, "valueReference");
    v->causality = causality_of(attribute(pairs, "causality"));
    const char *variability = attribute(pairs, "variability"), *initial = attribute(pairs, "initial");
    v->constant = variability != NULL && strcmp(variability, "constant") == 0;
    v->exact = initial != NULL && strcmp(initial, "exact") == 0;
    if (v->name == NULL) {
        fail(r, "a variable has no name", "");
    }
}

/* Attributes of a real variable or type. */
static void read_real(reader *r, fmi_variable *v, const char **pairs, enum fmi_type type)
{
    v->type = type;
    v->start = number(pairs, "start");
    v->min = number(pairs, "min");
    v->max = number(pairs, "max");
    v->nominal = number(pairs, "nominal");
    v->unit = copy(attribute(pairs, "unit"));
    v->declared = copy(attribute(pairs, "declaredType"));
    if (attribute(pairs, "derivative") != NULL) {
        v->derivative_of = whole(r, pairs, "derivative");
        v->is_derivative = 1;
    }
}

static void read_interface(fmi_interface *f, const char **pairs, int version)
{
    put(f->id, sizeof f->id, attribute(pairs, "modelIdentifier"));
    f->directional =
        is_true(pairs, version == 2 ? "providesDirectionalDerivative" : "providesDirectionalDerivatives");
    f->adjoint = version == 3 && is_true(pairs, "providesAdjointDerivatives");
    f->fixed_step = !is_true(pairs, "canHandleVariableCommunicationStepSize");
    f->needs_tool = is_true(pairs, "needsExecutionTool");
}

static void read_root(reader *r, const char **pairs)
{
    fmi_description *d = r->d;
    const char *version = attribute(pairs, "fmiVersion"), *token = attribute(pairs, "guid");
    d->version = version != NULL && strncmp(version, "2.", 2) == 0   ? 2
                 : version != NULL && strncmp(version, "3.", 2) == 0 ? 3
                                                                     : 0;
    if (d->version == 0) {
        fail(r, "fmiVersion is not 2.0 or 3.0: ", version != NULL ? version : "none");
    }
    put(d->model, sizeof d->model, attribute(pairs, "modelName"));
    put(d->token, sizeof d->token, token != NULL ? token : attribute(pairs, "instantiationToken"));
    put(d->text, sizeof d->text, attribute(pairs, "description"));
    const double indicators = number(pairs, "numberOfEventIndicators");
    d->indicators = indicators > 0 ? (size_t)indicators : 0;
}

static void add_derivative(reader *r, uint32_t which)
{
    uint32_t *more = grown(r, r->known, r->derivatives, sizeof *more);
    if (more != NULL) {
        r->known = more;
        more[r->derivatives++] = which;
    }
}

static void begin_variable(reader *r, const char *name, const char **pairs)
{
    fmi_description *d = r->d;
    if (d->version == 2 && r->depth == 2) {
        read_variable(r, pairs);
    } else if (d->version == 2 && r->depth == 3 && d->count > 0 && strcmp(name, "Real") == 0) {
        read_real(r, &d->variable[d->count - 1], pairs, FMI_REAL);
    } else if (d->version == 3 && r->depth == 2) {
        read_variable(r, pairs);
        if (!r->failed && (strcmp(name, "Float64") == 0 || strcmp(name, "Float32") == 0)) {
            read_real(r, &d->variable[d->count - 1], pairs, name[5] == '6' ? FMI_REAL : FMI_FLOAT32);
        }
    } else if (d->version == 3 && r->depth == 3 && d->count > 0 && strcmp(name, "Dimension") == 0) {
        d->variable[d->count - 1].is_array = 1;
    }
}

static void begin_type(reader *r, const char *name, const char **pairs)
{
    fmi_description *d = r->d;
    if (r->depth == 2) {
        fmi_variable *t = add(r, &d->type, &d->types);
        if (t != NULL) {
            t->name = copy(attribute(pairs, "name"));
        }
    }
    if (d->types > 0 && ((d->version == 2 && r->depth == 3 && strcmp(name, "Real") == 0) ||
                         (d->version == 3 && r->depth == 2 && strncmp(name, "Float", 5) == 0))) {
        read_real(r, &d->type[d->types - 1], pairs, FMI_REAL);
    }
}

static void XMLCALL begin(void *data, const char *name, const char **pairs)
{
    reader *r = data;
    fmi_description *d = r->d;
    if (r->depth == 0) {
        if (strcmp(name, "fmiModelDescription") != 0) {
            fail(r, "this is not the description of an FMU: it begins with ", name);
        } else {
            read_root(r, pairs);
        }
    } else if (r->depth == 1) {
        r->in_types = strcmp(name, "TypeDefinitions") == 0;
        r->in_variables = strcmp(name, "ModelVariables") == 0;
        r->in_structure = strcmp(name, "ModelStructure") == 0;
        if (strcmp(name, "CoSimulation") == 0) {
            read_interface(&d->cs, pairs, d->version);
        } else if (strcmp(name, "ModelExchange") == 0) {
            read_interface(&d->me, pairs, d->version);
        } else if (strcmp(name, "DefaultExperiment") == 0) {
            d->start_time = number(pairs, "startTime");
            d->stop_time = number(pairs, "stopTime");
            d->step = number(pairs, "stepSize");
        }
    } else if (r->in_variables) {
        begin_variable(r, name, pairs);
    } else if (r->in_types) {
        begin_type(r, name, pairs);
    } else if (r->in_structure && d->version == 3 && r->depth == 2) {
        if (strcmp(name, "ContinuousStateDerivative") == 0) {
            add_derivative(r, whole(r, pairs, "valueReference"));
        } else if (strcmp(name, "EventIndicator") == 0) {
            d->indicators++;
        }
    } else if (r->in_structure && d->version == 2) {
        if (r->depth == 2) {
            r->in_structure = strcmp(name, "Derivatives") == 0 ? 2 : 1;
        } else if (r->in_structure == 2 && r->depth == 3 && strcmp(name, "Unknown") == 0) {
            add_derivative(r, whole(r, pairs, "index"));
        }
    }
    r->depth++;
}

static void XMLCALL end(void *data, const char *name)
{
    (void)name;
    ((reader *)data)->depth--;
}

/* A variable takes from its declared type what it does not say itself. */
static void inherit(fmi_description *d)
{
    for (size_t i = 0; i < d->count; i++) {
        fmi_variable *v = &d->variable[i];
        for (size_t k = 0; v->declared != NULL && k < d->types; k++) {
            const fmi_variable *t = &d->type[k];
            if (t->name != NULL && strcmp(t->name, v->declared) == 0) {
                v->min = isnan(v->min) ? t->min : v->min;
                v->max = isnan(v->max) ? t->max : v->max;
                v->nominal = isnan(v->nominal) ? t->nominal : v->nominal;
                v->unit = v->unit == NULL ? copy(t->unit) : v->unit;
            }
        }
    }
}

/* The states are what the derivatives of ModelStructure are derivatives of. */
static int find_states(reader *r)
{
    fmi_description *d = r->d;
    d->state = calloc(r->derivatives + 1, sizeof *d->state);
    d->derivative = calloc(r->derivatives + 1, sizeof *d->derivative);
    for (size_t i = 0; d->state != NULL && d->derivative != NULL && i < r->derivatives; i++) {
        const fmi_variable *of = NULL;
        for (size_t k = 0; d->version == 3 && k < d->count; k++) {
            of = d->variable[k].vr == r->known[i] ? &d->variable[k] : of;
        }
        if (d->version == 2 && r->known[i] >= 1 && r->known[i] <= d->count) {
            of = &d->variable[r->known[i] - 1];
        }
        if (of == NULL || !of->is_derivative || of->is_array ||
            (d->version == 2 && (of->derivative_of < 1 || of->derivative_of > d->count))) {
            snprintf(r->why, r->room,
                     "modelDescription.xml: derivative %u of ModelStructure is not the derivative of a "
                     "scalar variable",
                     r->known[i]);
            return -1;
        }
        d->derivative[i] = of->vr;
        d->state[i] = d->version == 2 ? d->variable[of->derivative_of - 1].vr : of->derivative_of;
        d->states++;
    }
    return 0;
}

int fmi_description_read(fmi_description *d, const char *xml, size_t size, char *why, size_t room)
{
    *d = (fmi_description){.start_time = NAN, .stop_time = NAN, .step = NAN};
    reader r = {.d = d, .parser = XML_ParserCreate(NULL), .why = why, .room = room};
    if (r.parser == NULL) {
        snprintf(why, room, "out of memory");
        return -1;
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, begin, end);
    if (XML_Parse(r.parser, xml, (int)size, 1) != XML_STATUS_OK && !r.failed) {
        fail(&r, "bad XML: ", XML_ErrorString(XML_GetErrorCode(r.parser)));
    }
    XML_ParserFree(r.parser);
    if (!r.failed && d->me.id[0] == '\0' && d->cs.id[0] == '\0') {
        snprintf(why, room, "modelDescription.xml: it offers neither model exchange nor co-simulation");
        r.failed = 1;
    }
    if (!r.failed) {
        inherit(d);
        r.failed = find_states(&r) != 0;
    }
    free(r.known);
    return r.failed ? -1 : 0;
}

static void free_list(fmi_variable *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].unit);
        free(list[i].declared);
    }
    free(list);
}

void fmi_description_free(fmi_description *d)
{
    free_list(d->variable, d->count);
    free_list(d->type, d->types);
    free(d->state);
    free(d->derivative);
    *d = (fmi_description){.version = 0};
}

const fmi_variable *fmi_description_find(const fmi_description *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->count; i++) {
        if (strlen(d->variable[i].name) == length && memcmp(d->variable[i].name, name, length) == 0) {
            return &d->variable[i];
        }
    }
    return NULL;
}
