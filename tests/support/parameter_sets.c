/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_sets.c - random parameters for the environments (see parameter_sets.h). */
#include "config.h"

#include "parameter_sets.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/npy.h"
#include "results/npy_write.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT = 8192, MOST_NUMBERS = 80, MOST_PARAMS = 64 };
enum { SMALL_NODES = 32 }; /* of the plasticine grid, along an axis */

/* ---- numbers ---- */

static bool chance(ds_random *r, double p)
{
    return ds_random_uniform(r) < p;
}

static double between(ds_random *r, double low, double high)
{
    return low + (high - low) * ds_random_uniform(r);
}

/* Any magnitude, sometimes an extreme one. */
static double any_number(ds_random *r)
{
    static const double odd[] = {5e-324,  1e-310, 2.2250738585072014e-308, 1e-200, 1e-30, 1e30, 1e154, 1e200,
                                 1.7e308, 0};
    double v = pow(10, between(r, -8, 8));
    if (chance(r, 0.15)) {
        v = odd[ds_random_below(r, sizeof odd / sizeof odd[0])];
    }
    return chance(r, 0.5) ? v : -v;
}

/* How unusual the values of a set are. */
typedef struct mood {
    double change; /* share of parameters that are set */
    double wild;   /* share of those that take any value in their range */
} mood;

static double value_of_range(ds_random *r, const mood *m, const ds_param *p, double usual)
{
    double v = chance(r, 0.5)                                ? usual * exp(ds_random_normal(r))
               : isfinite(p->max - p->min) && chance(r, 0.5) ? between(r, fmax(p->min, -10), fmin(p->max, 10))
                                                             : usual + ds_random_normal(r);
    if (chance(r, m->wild)) {
        double u = ds_random_uniform(r);
        v = u < 0.2    ? p->min
            : u < 0.4  ? p->max
            : u < 0.55 ? 0
            : u < 0.9  ? any_number(r)
                       : fmod(any_number(r), 3);
    }
    v = fmin(p->max, fmax(p->min, v));
    return p->type == DS_PARAM_REAL || p->type == DS_PARAM_LIST ? v : round(v);
}

/* ---- files ---- */

/* A density on the grid of the small preset: a few nodes, or an invalid file. */
static void write_density(ds_random *r, const char *path, int number)
{
    size_t side = number % 8 == 7 ? 16 : SMALL_NODES, nodes = side * side * side;
    uint64_t shape[3] = {side, side, side};
    double *mass = calloc(nodes, sizeof *mass), scale = pow(10, between(r, -6, 4));
    FUZZ_REQUIRE(mass != NULL);
    for (uint64_t i = number % 8 == 6 ? 0 : 1 + ds_random_below(r, 200); i > 0; i--) {
        mass[ds_random_below(r, nodes)] = scale * between(r, -0.2, 0.8);
    }
    if (number % 8 == 5) {
        mass[ds_random_below(r, nodes)] = number == 5 ? (double)NAN : number == 13 ? (double)INFINITY : 1e308;
    }
    ds_error e = {0};
    FUZZ_REQUIRE(ds_npy_write(path, DS_NPY_F8, 3, shape, mass, &e) == 0);
    free(mass);
}

/* A recorded lift of a few samples: usual sizes, or absurd ones; missing corners. */
static void write_lift(ds_random *r, const char *path, int number)
{
    FILE *f = fopen(path, "w");
    FUZZ_REQUIRE(f != NULL);
    bool wild = number % 2 == 1;
    double scale = wild ? pow(10, between(r, -5, 5)) : 0.1, t = number % 16 == 5 ? between(r, 0, 0.1) : 0;
    uint64_t rows = (number % 16 == 7 ? 1 : 2) + ds_random_below(r, 5);
    fprintf(f,
            "format = ds-cloth-1\nname = any\nrate_hz = 30\nn = %d\nnominal_width = %.17g\nnominal_length = "
            "%.17g\n",
            (int)rows, wild ? pow(10, between(r, -6, 5)) : between(r, 0.1, 0.4),
            wild ? between(r, 1e-3, 1) : 0.2);
    fprintf(f, "frame = y-up\nunits = m\ndata\n");
    for (uint64_t k = 0; k < rows; k++) {
        fprintf(f, "%.17g", t);
        for (int c = 0; c < 5; c++) {
            bool seen = c == 0 || k == 0 || chance(r, 0.8);
            for (int d = 0; d < 3; d++) {
                seen ? fprintf(f, " %.9g", scale * between(r, -1, 1)) : fprintf(f, " nan");
            }
        }
        fputc('\n', f);
        t += between(r, 1e-3, 0.03);
    }
    FUZZ_REQUIRE(fclose(f) == 0);
}

/* A surface of a few triangles: usual sizes, or absurd ones; missing corners, no area. */
static void write_mesh(ds_random *r, const char *path, int number)
{
    FILE *f = fopen(path, "w");
    FUZZ_REQUIRE(f != NULL);
    bool wild = number % 4 == 3;
    double scale = wild ? pow(10, between(r, -200, 200)) : 1;
    uint64_t points = number % 16 == 5 ? 700 : 4 + ds_random_below(r, 30);
    for (uint64_t i = 0; i < points; i++) {
        fprintf(f, "v");
        for (int d = 0; d < 3; d++) {
            fprintf(f, " %.17g", wild && chance(r, 0.3) ? 0 : scale * between(r, -1, 1));
        }
        fputc('\n', f);
    }
    for (uint64_t i = 0; i + 3 < points; i++) {
        uint64_t last = wild && chance(r, 0.1) ? ds_random_below(r, points + 2) : i + 2;
        fprintf(f, "f %d %d %d\n", (int)i + 1, (int)i + 2, (int)last + 1);
    }
    FUZZ_REQUIRE(fclose(f) == 0);
}

/* Tips of a double pendulum, roughly. */
static void write_recording(ds_random *r, const char *path, int number)
{
    FILE *f = fopen(path, "w");
    FUZZ_REQUIRE(f != NULL);
    const double size = number % 4 == 3 ? pow(10, between(r, -5, 13)) : 2;
    for (int i = 0; i < 100; i++) {
        const double x = size * cos(0.06 * i), y = size * sin(0.06 * i);
        fprintf(f, "0,0,%.17g,%.17g,%.17g,", x, y, x + size * cos(0.05 * i));
        if (number % 8 == 5 && chance(r, 0.1)) {
            fputc('\n', f);
        } else {
            fprintf(f, "%.17g\n", y + size * sin(0.05 * i));
        }
    }
    FUZZ_REQUIRE(fclose(f) == 0);
}

static void file_path(char *out, size_t size, const scene *s, const char *folder, int number)
{
    const char *end = strcmp(s->file, "target") == 0      ? ".npy"
                      : strcmp(s->file, "mesh_file") == 0 ? ".obj"
                                                          : "";
    snprintf(out, size, "%s/%s-%d%s", folder, s->id, number, end);
}

void write_scene_files(const scene *s, const char *folder)
{
    ds_random r = ds_random_open(7, s->id, 0);
    char path[4096];
    for (int i = 0; s->write_file != NULL && i < SCENE_FILES; i++) {
        file_path(path, sizeof path, s, folder, i);
        s->write_file(&r, path, i);
    }
}

/* ---- the environments ---- */

#define PLASTICINE(id_, numbers_)                                                                            \
    {                                                                                                        \
        .id = id_, .hints = {{"steps", 1, 2, NULL}, {"segments", 1, 3, NULL}, {"particles", 1, 60, NULL}},   \
        .file = "target", .file_share = 0.05, .write_file = write_density, .pose_numbers = numbers_,         \
        .heavy = 1                                                                                           \
    }

/* Deformable bodies of gradSim: few steps and small images. */
#define SOFT(id_, longest_, words_, ...)                                                                     \
    {                                                                                                        \
        .id = id_, .hints = {{"image_size", 8, 16, NULL},                                                    \
                             {"image_threads", 1, 2, NULL},                                                  \
                             {"duration", 2e-3, longest_, NULL},                                             \
                             {"substeps", 1, 16, NULL},                                                      \
                             {"frames", 1, 3, NULL},                                                         \
                             __VA_ARGS__},                                                                   \
        .heavy = 1, .words = words_                                                                          \
    }

/* Motions in the plane. */
#define PLANE(id_, words_)                                                                                   \
    {                                                                                                        \
        .id = id_,                                                                                           \
        .hints = {{"image_size", 8, 16, NULL},                                                               \
                  {"image_threads", 1, 2, NULL},                                                             \
                  {"frames", 2, 20, NULL},                                                                   \
                  {"compare_every", 1, 10, NULL},                                                            \
                  {"substeps", 1, 10, NULL}},                                                                \
        .heavy = 1, .words = words_                                                                          \
    }

/* Small systems. */
#define STEPS(id_)                                                                                           \
    {                                                                                                        \
        .id = id_, .hints = { {"steps", 1, 60, NULL} }                                                       \
    }

const scene scenes[] = {
    {.id = "cartpole", .hints = {{"links", 1, 4, NULL}, {"steps", 1, 30, NULL}, {"hold", 1, 3, NULL}}},
    {.id = "pinball",
     .hints = {{"nh", 0, 3, NULL}, {"nw", 0, 3, NULL}, {"steps", 1, 120, NULL}, {"h", 0.002, 0.1, NULL}}},
    {.id = "smoke",
     .hints =
         {{"size", 8, 40, NULL}, {"steps", 1, 20, NULL}, {"waves", 1, 2, NULL}, {"sweeps", 1, 20, NULL}}},
    {.id = "bounce", .hints = {{"steps", 1, 200, NULL}, {"h", 1e-3, 2e-2, NULL}}},
    {.id = "swing",
     .hints = {{"patches", 1, 2, NULL},
               {"cells", 2, 5, NULL},
               {"h", 1e-4, 1e-2, NULL},
               {"duration", 1, 20, "h"},
               {"hold", 0, 10, "h"}}},
    {.id = "flip", .hints = {{"segments", 1, 2, NULL}, {"h", 1e-4, 5e-3, NULL}, {"duration", 2, 4, "h"}}},
    {.id = "realtosim",
     .hints = {{"h", 5e-3, 5e-2, NULL}},
     .file = "data",
     .file_share = 1,
     .write_file = write_lift},
    PLASTICINE("torus", 7),
    PLASTICINE("assembly", 14),
    PLASTICINE("chopsticks", 8),
    PLASTICINE("move", 14),
    PLASTICINE("pinch", 7),
    PLASTICINE("rollingpin", 7),
    PLASTICINE("rope", 21),
    PLASTICINE("table", 7),
    PLASTICINE("triplemove", 42),
    PLASTICINE("writer", 7),
    {.id = "fluid", .hints = {{"segments", 1, 2, NULL}, {"steps", 1, 2, NULL}}, .heavy = 1},
    SOFT("beam", 0.1, "mu lambda damping density masses gravity position turn velocity"),
    SOFT("soft_ball", 0.1,
         "mu lambda damping density masses velocity position turn gravity contact_ke contact_kd contact_kf "
         "contact_mu"),
    SOFT("cloth_velocity", 0.1,
         "velocities velocity position turn mass masses stretch area damping bend rest_area rest_areas "
         "rest_angle "
         "rest_angles gravity"),
    SOFT("cloth_throw", 0.1,
         "velocity velocities position turn mass masses stretch area damping bend lift drag gravity",
         {"cells", 2, 5, NULL}),
    SOFT("walker", 0.1, "weights mass stretch area gravity contact_mu"),
    SOFT("jellyfish", 0.05, "weights mass stretch area damping bend lift drag rest_area velocity gravity"),
    SOFT("gear", 0.02, "weights density mu lambda velocity gravity contact_mu"),
    SOFT("spring_cage", 0.5, "rest stiff damp mass velocity gravity"),
    {.id = "rigid_contact",
     .hints = {{"image_size", 8, 16, NULL},
               {"image_threads", 1, 2, NULL},
               {"duration", 1e-2, 2, NULL},
               {"substeps", 1, 20, NULL},
               {"frames", 1, 3, NULL}},
     .heavy = 1,
     .words = "density ke kd kf mu gravity position velocity turn spin force"},
    {.id = "rigid_mass",
     .hints = {{"image_size", 8, 16, NULL},
               {"image_threads", 1, 2, NULL},
               {"steps", 4, 10, NULL},
               {"frames", 0, 3, NULL}},
     .file = "mesh_file",
     .file_share = 0.15,
     .write_file = write_mesh,
     .heavy = 1,
     .words = "mass masses force vertices"},
    PLANE("pendulum_id", "length gravity damping force angle rate"),
    {.id = "double_pendulum",
     .hints = {{"image_size", 8, 16, NULL},
               {"image_threads", 1, 2, NULL},
               {"frames", 2, 20, NULL},
               {"compare_every", 1, 10, NULL},
               {"substeps", 1, 10, NULL},
               {"n_samples", 2, 60, NULL},
               {"held_out", 0, 20, NULL},
               {"steps_per_sample", 1, 4, NULL}},
     .file = "file",
     .file_share = 0.3,
     .write_file = write_recording,
     .heavy = 1,
     .words = "length mass gravity force angle rate"},
    PLANE("ball2d", "speed gravity position"),
    {.id = "heaviside", .hints = {{"dim", 1, 20, NULL}}},
    {.id = "soft_heaviside", .hints = {{"dim", 1, 20, NULL}}},
    {.id = "sine_quadratic", .hints = {{"dim", 1, 20, NULL}}},
    {.id = "lp_norm", .hints = {{"dim", 1, 20, NULL}}},
    {.id = "momentum"},
    {.id = "ball_wall"},
    {.id = "pusher1d"},
    {.id = "hydro2d"},
    {.id = "planar_hand", .hints = {{"steps", 1, 60, NULL}, {"draws", 1, 4, NULL}}},
    STEPS("push"),
    STEPS("push_far"),
    STEPS("friction"),
    STEPS("spring_wall"),
    STEPS("roomba"),
    STEPS("pivot"),
    STEPS("ball_wall_soft"),
    STEPS("tennis"),
    {.id = "lqr", .hints = {{"states", 1, 8, NULL}, {"steps", 1, 20, NULL}}},
    {.id = "cube_throw",
     .hints = {{"n_samples", 2, 200, NULL}, {"held_out", 0, 200, NULL}, {"h", 1e-3, 2e-2, NULL}},
     .heavy = 1,
     .words = "stiffness damping mu mu_static slip network"},
    {.id = "billiards", .hints = {{"steps", 1, 100, NULL}, {"sweeps", 1, 60, NULL}}, .heavy = 1},
};
const int scene_count = sizeof scenes / sizeof scenes[0];

/* ---- sets ---- */

typedef struct drawing {
    ds_random *r;
    const scene *scene;
    const ds_param *const *schema;
    const char *folder;
    mood mood;
    int kind;
    double value[MOST_PARAMS]; /* of INT and REAL, so far */
    char text[TEXT];
} drawing;

static const hint *hint_of(const scene *s, const char *name)
{
    for (const hint *h = s->hints; h < s->hints + HINTS && h->name != NULL; h++) {
        if (strcmp(h->name, name) == 0) {
            return h;
        }
    }
    return NULL;
}

/* The value of a parameter of the set that was drawn before. */
static double value_so_far(const drawing *d, const char *name, double otherwise)
{
    for (int i = 0; d->schema[i] != NULL; i++) {
        if (strcmp(d->schema[i]->name, name) == 0) {
            return d->value[i];
        }
    }
    return otherwise;
}

/* Is this a time step? Small ones make an episode long. */
static bool is_step(const hint *h)
{
    return strcmp(h->name, "h") == 0;
}

static double hinted(drawing *d, const ds_param *p, const hint *h)
{
    ds_random *r = d->r;
    double v = h->low + (double)ds_random_below(r, (uint64_t)(h->high - h->low) + 1);
    if (d->kind == SET_LONG) {
        v = is_step(h) ? p->min : p->max;
    } else if (h->times != NULL) {
        double unit = value_so_far(d, h->times, 1);
        v *= chance(r, 0.05) ? unit * between(r, 0.5, 1.5) : unit;
    } else if (p->type == DS_PARAM_REAL) {
        v = h->low * pow(h->high / h->low, ds_random_uniform(r));
    } else if (p->min < h->low && chance(r, 0.02)) { /* 0 = follows from another parameter */
        v = p->min;
    }
    return fmin(p->max, fmax(p->min, v));
}

/* As many numbers as the list needs, or nearly so. */
static uint64_t list_count(drawing *d, const ds_param *p)
{
    uint64_t most = p->max_count != 0 && p->max_count < MOST_NUMBERS ? p->max_count : MOST_NUMBERS;
    double links = value_so_far(d, "links", 1);
    if (chance(d->r, 0.06)) {
        return ds_random_below(d->r, most + 2);
    }
    if (strcmp(p->name, "tool_start") == 0) {
        return d->scene->pose_numbers;
    }
    if (strcmp(p->name, "scale") == 0) {
        return (uint64_t)links + 1;
    }
    if (strcmp(p->name, "camera") == 0) {
        return 3 + 3 * ds_random_below(d->r, 2);
    }
    return chance(d->r, 0.5) ? 1 : most <= 3 ? most : (uint64_t)links;
}

static void list_text(drawing *d, const ds_param *p)
{
    uint64_t n = list_count(d, p);
    size_t used = 0;
    const hint *h = hint_of(d->scene, p->name);
    const char *at = p->default_text;
    double usual = 0.5;
    d->text[0] = '\0';
    for (uint64_t i = 0; i < n && used + 40 < TEXT; i++) {
        if (*at != '\0') { /* number i of the default, or its last one */
            char *end;
            usual = strtod(at, &end);
            at = end + strspn(end, ", ");
        }
        double v = h != NULL ? hinted(d, p, h) : value_of_range(d->r, &d->mood, p, usual);
        if (strcmp(p->name, "tool_start") == 0 && chance(d->r, 1 - d->mood.wild)) {
            v = between(d->r, i % 7 < 3 ? 0 : -1, 1);
        }
        used += (size_t)snprintf(d->text + used, TEXT - used, "%s%.17g", i > 0 ? "," : "", v);
    }
}

/* Some of the words. */
static void words_text(drawing *d, const char *words)
{
    size_t used = 0;
    d->text[0] = '\0';
    for (words += strspn(words, " "); *words != '\0'; words += strspn(words, " ")) {
        const size_t length = strcspn(words, " ");
        if (chance(d->r, 0.4)) {
            used += (size_t)snprintf(d->text + used, TEXT - used, "%s%.*s", used > 0 ? " " : "", (int)length,
                                     words);
        }
        words += length;
    }
}

/* An image for renderers with textures. */
static bool texture_text(drawing *d)
{
    static const char *const picture[] = {"rgb8.png", "grey1.png", "palette2.png"};
    const char *top = getenv("DS_TOP_SRC");
    snprintf(d->text, TEXT, "%s/tests/fuzz/corpus/png/%s", top != NULL ? top : ".",
             picture[ds_random_below(d->r, sizeof picture / sizeof *picture)]);
    return chance(d->r, 0.15);
}

/* The text of parameter i; false where it keeps its default. */
static bool draw_value(drawing *d, int i)
{
    const ds_param *p = d->schema[i];
    const hint *h = hint_of(d->scene, p->name);
    uint64_t n = 0;
    if (strcmp(p->name, "preset") == 0) { /* of the particle scenes */
        snprintf(d->text, TEXT, "small");
        return true;
    }
    if (d->scene->file != NULL && strcmp(p->name, d->scene->file) == 0) {
        file_path(d->text, TEXT, d->scene, d->folder, (int)ds_random_below(d->r, SCENE_FILES));
        return chance(d->r, d->scene->file_share);
    }
    if (strcmp(p->name, "texture") == 0) {
        return texture_text(d);
    }
    if (d->scene->words != NULL && strcmp(p->name, "variables") == 0) {
        words_text(d, d->scene->words);
        return d->text[0] != '\0' && chance(d->r, 0.7);
    }
    if (h == NULL && !chance(d->r, d->mood.change)) {
        d->value[i] = strtod(p->default_text, NULL);
        return false;
    }
    switch (p->type) {
    case DS_PARAM_BOOL:
        snprintf(d->text, TEXT, "%s", chance(d->r, 0.5) ? "true" : "false");
        return true;
    case DS_PARAM_ENUM:
        while (p->choices[n] != NULL) {
            n++;
        }
        snprintf(d->text, TEXT, "%s", p->choices[ds_random_below(d->r, n)]);
        return true;
    case DS_PARAM_INT:
    case DS_PARAM_REAL:
        d->value[i] =
            h != NULL ? hinted(d, p, h) : value_of_range(d->r, &d->mood, p, strtod(p->default_text, NULL));
        snprintf(d->text, TEXT, "%.17g", d->value[i]);
        return true;
    case DS_PARAM_LIST:
        list_text(d, p);
        return true;
    default:
        return false;
    }
}

/* Draws something that is not a value of the parameter. */
static void break_value(drawing *d, const ds_param *p)
{
    static const char *const wrong[] = {"nan",   "inf",  "-inf", "1e999",    "1e-999", "-1e308",
                                        "0x1p4", "word", "",     "--",       "1,,2",   "1 2",
                                        "3.5",   "1e",   "+",    "\xc3\xa9", "1;2",    "9223372036854775808"};
    double u = ds_random_uniform(d->r);
    double size = fmax(1, fabs(any_number(d->r)));
    if (u < 0.5 || p->type == DS_PARAM_ENUM) {
        snprintf(d->text, TEXT, "%s", wrong[ds_random_below(d->r, sizeof wrong / sizeof wrong[0])]);
    } else {
        snprintf(d->text, TEXT, "%.17g", u < 0.75 ? p->min - size : p->max + size);
    }
}

static void add(ds_settings *out, const char *key, const char *value)
{
    char origin[100];
    ds_error e = {0};
    snprintf(origin, sizeof origin, "--set env.%s", key);
    FUZZ_REQUIRE(ds_settings_add(out, DS_SECTION_ENV, key, value, origin, NULL, DS_EXIT_CONFIG, DS_LAYER_SET,
                                 &e) == 0);
}

int draw_parameters(ds_random *r, const scene *s, const ds_param *const *schema, const char *folder,
                    ds_settings *out)
{
    static const mood moods[] = {{0.15, 0.1}, {0.3, 0.3}, {0.6, 0.7}};
    drawing d = {.r = r, .scene = s, .schema = schema, .folder = folder};
    int count = 0;
    while (schema[count] != NULL) {
        count++;
    }
    FUZZ_REQUIRE(count < MOST_PARAMS);
    double u = ds_random_uniform(r);
    d.mood = moods[u < 0.5 ? 0 : u < 0.85 ? 1 : 2];
    u = ds_random_uniform(r);
    d.kind = u < 0.04 ? SET_BROKEN : u < 0.0405 ? SET_LONG : SET_ORDINARY;
    int broken = d.kind == SET_BROKEN ? (int)ds_random_below(r, (uint64_t)count) : -1;
    for (int i = 0; i < count; i++) {
        bool set = draw_value(&d, i);
        if (i == broken) {
            break_value(&d, schema[i]);
            set = true;
        }
        if (set) {
            add(out, schema[i]->name, d.text);
        }
    }
    return d.kind;
}

void longest_parameters(const scene *s, const ds_param *const *schema, ds_settings *out)
{
    char text[40];
    for (int i = 0; schema[i] != NULL; i++) {
        const hint *h = hint_of(s, schema[i]->name);
        if (strcmp(schema[i]->name, "preset") == 0) {
            add(out, "preset", "small");
        } else if (h != NULL) {
            const hint *unit = h->times != NULL ? hint_of(s, h->times) : NULL;
            double v = is_step(h) ? h->low : h->high;
            snprintf(text, sizeof text, "%.17g", unit != NULL ? v * unit->low : v);
            add(out, schema[i]->name, text);
        }
    }
}
