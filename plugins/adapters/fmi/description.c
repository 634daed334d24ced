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
    int depth, in_types, in_variables, in_structure, scheduled;
    uint32_t *known; /* of ModelStructure: FMI 2 indices, FMI 3 value references of derivatives */
    uint32_t *event; /* FMI 3: value references of event indicators */
    size_t derivatives, events;
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

enum { INDICATORS = 1000000 };

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
    more[*count] = (fmi_variable){
        .start = NAN, .min = NAN, .max = NAN, .nominal = NAN, .type = FMI_OTHER, .elements = 1};
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
                 {"structuralParameter", FMI_STRUCTURAL}};
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

/* The type of an element's name; FMI_OTHER where it is not a number. */
static enum fmi_type type_of(const char *name, int version)
{
    static const char *const two[] = {"Real", "", "", "", "", "", "Integer", "", "", "", "Boolean"};
    static const char *const three[] = {"Float64", "Float32", "Int8",  "UInt8",  "Int16",  "UInt16",
                                        "Int32",   "UInt32",  "Int64", "UInt64", "Boolean"};
    if (strcmp(name, "Enumeration") == 0) {
        return version == 2 ? FMI_INT32 : FMI_INT64;
    }
    int type = 0;
    while (type < FMI_OTHER && strcmp((version == 2 ? two : three)[type], name) != 0) {
        type++;
    }
    return (enum fmi_type)type;
}

/* Attributes of a variable or type that is a number. */
static void read_number(reader *r, fmi_variable *v, const char **pairs, enum fmi_type type)
{
    v->type = type;
    v->start = type == FMI_BOOLEAN ? is_true(pairs, "start") : number(pairs, "start");
    v->starts = copy(attribute(pairs, "start"));
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
    const char *indicators = attribute(pairs, "numberOfEventIndicators");
    d->indicators = indicators != NULL ? whole(r, pairs, "numberOfEventIndicators") : 0;
    if (d->indicators > INDICATORS) {
        fail(r, "more than a million event indicators: ", indicators);
    }
}

static void add_number(reader *r, uint32_t **list, size_t *count, uint32_t which)
{
    uint32_t *more = grown(r, *list, *count, sizeof *more);
    if (more != NULL) {
        *list = more;
        more[(*count)++] = which;
    }
}

static void read_dimension(reader *r, fmi_variable *v, const char **pairs)
{
    if (v->dimensions == FMI_DIMENSIONS) {
        fail(r, "an array has more than 8 dimensions: ", v->name);
        return;
    }
    const int fixed = attribute(pairs, "start") != NULL;
    v->dimension[v->dimensions].size = whole(r, pairs, fixed ? "start" : "valueReference");
    v->dimension[v->dimensions++].is_reference = !fixed;
}

static void begin_variable(reader *r, const char *name, const char **pairs)
{
    fmi_description *d = r->d;
    const enum fmi_type type = type_of(name, d->version);
    if (r->depth == 2) {
        read_variable(r, pairs);
    }
    if (!r->failed && d->count > 0 && r->depth == (d->version == 2 ? 3 : 2) && type != FMI_OTHER) {
        read_number(r, &d->variable[d->count - 1], pairs, type);
    } else if (d->version == 3 && r->depth == 3 && d->count > 0 && strcmp(name, "Dimension") == 0) {
        read_dimension(r, &d->variable[d->count - 1], pairs);
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
    const enum fmi_type type =
        type_of(d->version == 3 && strncmp(name, "Float", 5) == 0 ? "Float64" : name, d->version);
    if (d->types > 0 && r->depth == (d->version == 2 ? 3 : 2) && type == FMI_REAL) {
        read_number(r, &d->type[d->types - 1], pairs, type);
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
        r->scheduled = r->scheduled || strcmp(name, "ScheduledExecution") == 0;
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
            add_number(r, &r->known, &r->derivatives, whole(r, pairs, "valueReference"));
        } else if (strcmp(name, "EventIndicator") == 0) {
            add_number(r, &r->event, &r->events, whole(r, pairs, "valueReference"));
        }
    } else if (r->in_structure && d->version == 2) {
        if (r->depth == 2) {
            r->in_structure = strcmp(name, "Derivatives") == 0 ? 2 : 1;
        } else if (r->in_structure == 2 && r->depth == 3 && strcmp(name, "Unknown") == 0) {
            add_number(r, &r->known, &r->derivatives, whole(r, pairs, "index"));
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

static void free_list(fmi_variable *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].unit);
        free(list[i].declared);
        free(list[i].starts);
    }
    free(list);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names are unique in an FMU: of two variables of one name, a task could mean either. */
static void check_names(reader *r)
{
    const fmi_description *d = r->d;
    const char **name = calloc(d->count + 1, sizeof *name);
    for (size_t i = 0; name != NULL && i < d->count; i++) {
        name[i] = d->variable[i].name;
    }
    if (name == NULL) {
        snprintf(r->why, r->room, "out of memory");
        r->failed = 1;
        return;
    }
    qsort(name, d->count, sizeof *name, by_name);
    for (size_t i = 1; !r->failed && i < d->count; i++) {
        if (strcmp(name[i - 1], name[i]) == 0) {
            snprintf(r->why, r->room, "modelDescription.xml: two variables have the name '%.100s'", name[i]);
            r->failed = 1;
        }
    }
    free(name);
}

/* The first variable of a value reference; NULL where there is none. */
static const fmi_variable *of_reference(const fmi_description *d, uint32_t vr)
{
    for (size_t k = 0; k < d->count; k++) {
        if (d->variable[k].vr == vr) {
            return &d->variable[k];
        }
    }
    return NULL;
}

enum { ARRAY_VALUES = 100000 };

/* The sizes of an array, and the number of its elements, which is 1 for a scalar. */
static size_t sizes_of(reader *r, const fmi_variable *v, size_t size[FMI_DIMENSIONS])
{
    size_t all = 1;
    for (int i = 0; i < v->dimensions; i++) {
        const fmi_variable *of =
            v->dimension[i].is_reference ? of_reference(r->d, v->dimension[i].size) : NULL;
        const double given = of != NULL ? of->start : v->dimension[i].size;
        if ((v->dimension[i].is_reference && of == NULL) || !(given >= 0)) {
            snprintf(r->why, r->room, "modelDescription.xml: the size of array %.60s is not known", v->name);
            r->failed = 1;
            return 0;
        }
        size[i] = given > ARRAY_VALUES ? ARRAY_VALUES + 1 : (size_t)given;
        all = all > ARRAY_VALUES ? all : all * size[i];
    }
    return all;
}

/* Puts element k of an array into its place in the list: its name, NAME[i,j] from 1, and its start. */
static int put_element(fmi_variable *to, const fmi_variable *v, size_t k, const size_t *size,
                       const char **start)
{
    size_t index[FMI_DIMENSIONS], rest = k;
    char name[1024];
    for (int i = v->dimensions - 1; i >= 0; rest /= size[i], i--) {
        index[i] = rest % size[i];
    }
    int n = snprintf(name, sizeof name - 200, "%s", v->name);
    n = n < (int)sizeof name - 200 ? n : (int)sizeof name - 201;
    for (int i = 0; i < v->dimensions; i++) {
        n += snprintf(name + n, sizeof name - (size_t)n, "%c%zu", i == 0 ? '[' : ',', index[i] + 1);
    }
    snprintf(name + n, sizeof name - (size_t)n, "]");
    *to = *v;
    to->name = copy(name);
    to->unit = copy(v->unit);
    to->declared = copy(v->declared);
    to->starts = NULL;
    to->element = k;
    char *end;
    const double value = strtod(*start, &end);
    to->start = end != *start ? value : (double)NAN;
    *start = end;
    return to->name == NULL ? -1 : 0;
}

/* Puts the elements of each array into the list instead of the array. */
static void expand(reader *r)
{
    fmi_description *d = r->d;
    size_t all = 0, size[FMI_DIMENSIONS] = {0};
    int arrays = 0;
    for (size_t i = 0; !r->failed && i < d->count; i++) {
        fmi_variable *v = &d->variable[i];
        v->elements = sizes_of(r, v, size);
        v->first = d->array_values;
        d->array_values += v->dimensions > 0 ? v->elements : 0;
        all += v->elements;
        arrays = arrays || v->dimensions > 0;
        if (d->array_values > ARRAY_VALUES) {
            snprintf(r->why, r->room, "modelDescription.xml: arrays have more than %d elements in all",
                     ARRAY_VALUES);
            r->failed = 1;
        }
    }
    if (r->failed || !arrays) {
        return;
    }
    fmi_variable *list = calloc(all + 1, sizeof *list);
    d->values = calloc(d->array_values + 1, sizeof *d->values);
    r->failed = list == NULL || d->values == NULL;
    size_t count = 0;
    for (size_t i = 0; i < d->count && !r->failed; i++) {
        fmi_variable *v = &d->variable[i];
        if (v->dimensions == 0) {
            list[count++] = *v;
            continue;
        }
        const char *start = v->starts != NULL ? v->starts : "";
        sizes_of(r, v, size);
        for (size_t k = 0; k < v->elements; k++, count++) {
            r->failed = put_element(&list[count], v, k, size, &start) != 0 || r->failed;
            d->values[v->first + k] = isfinite(list[count].start) ? list[count].start : 0;
        }
    }
    if (r->failed) {
        snprintf(r->why, r->room, "out of memory");
    }
    for (size_t i = 0; count > 0 && i < d->count; i++) { /* texts that have moved */
        fmi_variable *v = &d->variable[i];
        *v = v->dimensions == 0 ? (fmi_variable){.elements = 0} : *v;
    }
    free_list(d->variable, d->count);
    d->variable = list;
    d->count = list != NULL ? count : 0;
}

/* The states are what the derivatives of ModelStructure are derivatives of. */
static int find_states(reader *r)
{
    fmi_description *d = r->d;
    d->state = calloc(r->derivatives + d->array_values + 1, sizeof *d->state);
    d->derivative = calloc(r->derivatives + d->array_values + 1, sizeof *d->derivative);
    for (size_t i = 0; d->state != NULL && d->derivative != NULL && i < r->derivatives; i++) {
        const fmi_variable *of = d->version == 3 ? of_reference(d, r->known[i]) : NULL, *state = NULL;
        if (d->version == 2 && r->known[i] >= 1 && r->known[i] <= d->count) {
            of = &d->variable[r->known[i] - 1];
        }
        if (of != NULL && of->is_derivative && d->version == 3) {
            state = of_reference(d, of->derivative_of);
        } else if (of != NULL && of->is_derivative && of->derivative_of >= 1 &&
                   of->derivative_of <= d->count) {
            state = &d->variable[of->derivative_of - 1];
        }
        if (state == NULL || state->elements != of->elements) {
            snprintf(r->why, r->room,
                     "modelDescription.xml: derivative %u of ModelStructure is not the derivative of a "
                     "variable of its size",
                     r->known[i]);
            return -1;
        }
        for (size_t k = 0; k < of->elements; k++) { /* the elements of an array follow each other */
            d->derivative[d->states] = of + k;
            d->state[d->states++] = state + k;
        }
    }
    for (size_t i = 0; i < r->events; i++) {
        const fmi_variable *of = of_reference(d, r->event[i]);
        d->indicators += of != NULL ? of->elements : 1;
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
        snprintf(why, room, "modelDescription.xml: it offers %s",
                 r.scheduled ? "scheduled execution alone: a model is run by model exchange or co-simulation"
                             : "neither model exchange nor co-simulation");
        r.failed = 1;
    }
    if (!r.failed) {
        inherit(d);
        check_names(&r);
        expand(&r);
    }
    r.failed = r.failed || find_states(&r) != 0;
    free(r.known);
    free(r.event);
    return r.failed ? -1 : 0;
}

void fmi_description_free(fmi_description *d)
{
    free_list(d->variable, d->count);
    free_list(d->type, d->types);
    free(d->state);
    free(d->derivative);
    free(d->values);
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
