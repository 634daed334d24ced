/* SPDX-License-Identifier: Apache-2.0 */
/* setup_values.c - values of a scene file: numbers that may be variables, rotations, sizes, numbers and
 * surfaces of files. */
#include "engines/physics/mpm/env/setup_values.h"

#include "engines/kit/algebra/quaternion.h"

#include <diffsim/helper/npy_read.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

static void add_variable(mpm_setup_reader *r, const scene_section *s, const char *key,
                         const mpm_setup_meaning *as, uint32_t part, const char *component,
                         const scene_quantity *q)
{
    mpm_task *task = &r->setup->task;
    if (task->n_variables == MPM_MAX_VARIABLES) {
        scene_fail(r->f, s, key, "more than %d variables", MPM_MAX_VARIABLES);
    } else if (!isnan(q->truth) || q->random > 0.0) {
        scene_fail(r->f, s, key, "the target of this scene is a shape: remove '%s'",
                   isnan(q->truth) ? "random" : "truth");
    } else {
        task->variables[task->n_variables++] =
            (mpm_variable){.kind = as->kind,
                           .of = as->of,
                           .part = as->part + part,
                           .log = q->log,
                           .lower = q->lower,
                           .upper = q->upper,
                           .start = q->value,
                           .factor = as->factor,
                           .section = scene_name(s)[0] ? scene_name(s) : "scene",
                           .key = key,
                           .component = component,
                           .unit = as->unit};
    }
}

/* A number or a variable; returns the number, of a variable the start. */
double mpm_setup_quantity(mpm_setup_reader *r, const scene_section *s, const char *key,
                          const mpm_setup_meaning *as, double low, double high, double otherwise)
{
    const scene_quantity q = scene_quantity_of(r->f, s, key, low, high, otherwise);
    if (q.variable && !scene_failed(r->f)) {
        add_variable(r, s, key, as, 0, "", &q);
    }
    return q.value;
}

/* n numbers, any of them variables; `spread`: one can stand for all. `out` keeps its values where the key is
 * missing. */
bool mpm_setup_quantities(mpm_setup_reader *r, const scene_section *s, const char *key, size_t n, bool spread,
                          const mpm_setup_meaning *as, double low, double high, double *out)
{
    static const char *const axes[] = {"x", "y", "z"}, *const quaternion[] = {"w", "x", "y", "z"};
    scene_quantity q[4] = {{0}};
    if (!scene_varies(r->f, s, key)) {
        return scene_numbers(r->f, s, key, n, spread, low, high, out);
    }
    scene_components(r->f, s, key, n, low, high, q);
    for (uint32_t i = 0; i < n && !scene_failed(r->f); i++) {
        out[i] = q[i].value;
        if (q[i].variable) {
            add_variable(r, s, key, as, i, n == 4 ? quaternion[i] : axes[i], &q[i]);
        }
    }
    return true;
}

/* as: NULL where it cannot be a variable. */
void mpm_setup_rotation(mpm_setup_reader *r, const scene_section *s, const mpm_setup_meaning *as, double q[4],
                        bool *turned)
{
    const double identity[4] = {1.0, 0.0, 0.0, 0.0};
    memcpy(q, identity, sizeof identity);
    if ((as ? mpm_setup_quantities(r, s, "rotation", 4, false, as, -1.0, 1.0, q)
            : scene_numbers(r->f, s, "rotation", 4, false, -1.0, 1.0, q)) &&
        q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < 1e-6) {
        scene_fail(r->f, s, "rotation", "rotation is a quaternion w x y z; this one is zero");
    } else if (!as || !scene_varies(r->f, s, "rotation")) {
        quat_normalise(q); /* where it varies, after its variables */
    }
    *turned = memcmp(q, identity, sizeof identity) != 0;
}

double mpm_setup_size(mpm_setup_reader *r, const scene_section *s, const char *key,
                      const mpm_setup_meaning *as)
{
    if (!scene_needs(r->f, s, key)) {
        return 1.0;
    }
    return as ? mpm_setup_quantity(r, s, key, as, 1e-4, MPM_MOST_SIZE, 1.0)
              : scene_number(r->f, s, key, 1e-4, MPM_MOST_SIZE, 1.0);
}

/* ---- files ---- */

/* Copies n numbers, times scale, to memory of the setup; NULL where it is short. */
double *mpm_setup_keep(mpm_setup_reader *r, const double *from, size_t n, double scale)
{
    double *out = ds_memory_doubles(&r->setup->memory, n + 1);
    for (size_t i = 0; out && i < n; i++) {
        out[i] = from[i] * scale;
    }
    return out;
}

double mpm_setup_scale(mpm_setup_reader *r, const scene_section *s, const mpm_setup_meaning *as)
{
    if (!as) {
        return scene_number(r->f, s, "scale", MPM_LEAST_SCALE, MPM_MOST_SCALE, 1.0);
    }
    mpm_setup_meaning relative = *as;
    relative.factor = 1.0 / scene_quantity_of(r->f, s, "scale", MPM_LEAST_SCALE, MPM_MOST_SCALE, 1.0).value;
    return mpm_setup_quantity(r, s, "scale", &relative, MPM_LEAST_SCALE, MPM_MOST_SCALE, 1.0);
}

/* Opens the closed surface of key `file`; returns false after a failure. */
bool mpm_setup_surface(mpm_setup_reader *r, const scene_section *s, double scale, surface *out)
{
    char error[SURFACE_ERROR];
    const char *path = scene_needs(r->f, s, "file") ? scene_existing(r->f, s, "file") : "";
    if (scene_failed(r->f)) {
        return false;
    }
    if (surface_read(out, path, scale, error) != 0) {
        scene_fail(r->f, s, "file", "%s", error);
        return false;
    }
    return true;
}

bool mpm_setup_ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

/* The bytes of a file, to be freed; NULL after a failure. */
static unsigned char *read_bytes(mpm_setup_reader *r, const scene_section *s, const char *path, size_t *count)
{
    static const long most = 1L << 28;
    FILE *in = fopen(path, "rb");
    const long size = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    unsigned char *bytes = size >= 0 && size < most ? malloc((size_t)size + 1) : NULL;
    *count = 0;
    if (bytes && fseek(in, 0, SEEK_SET) == 0) {
        *count = fread(bytes, 1, (size_t)size, in);
    }
    if (!bytes) {
        scene_fail(r->f, s, "file", size < most ? "%.200s cannot be read" : "%.200s has more than 256 MB",
                   path);
    }
    if (in) {
        fclose(in);
    }
    return bytes;
}

/* The numbers of an .npy file with so many dimensions; NULL after a failure. */
double *mpm_setup_array(mpm_setup_reader *r, const scene_section *s, const char *path, uint32_t ndim,
                        uint64_t *shape)
{
    ds_npy a;
    char why[DS_NPY_WHY] = "";
    size_t bytes;
    unsigned char *file = read_bytes(r, s, path, &bytes);
    const uint64_t n =
        file && ds_npy_open(&a, file, bytes, why) ? ds_npy_numbers(&a, (uint64_t)1 << 25, why) : 0;
    double *out = n > 0 && a.ndim == ndim ? ds_memory_doubles(&r->setup->memory, (size_t)n) : NULL;
    for (uint64_t i = 0; out && i < n; i++) {
        out[i] = ds_npy_number(&a, i);
        if (!isfinite(out[i]) && !scene_failed(r->f)) {
            scene_fail(r->f, s, "file", "%.200s: number %llu is not finite", path, (unsigned long long)i);
        }
    }
    if (file && n == 0) {
        scene_fail(r->f, s, "file", "%.200s: %s", path, why);
    } else if (file && a.ndim != ndim) {
        scene_fail(r->f, s, "file", "%.200s: the array has %u dimensions instead of %u", path, a.ndim, ndim);
    } else if (out) {
        memcpy(shape, a.shape, ndim * sizeof *shape);
    }
    free(file);
    return scene_failed(r->f) ? NULL : out;
}
