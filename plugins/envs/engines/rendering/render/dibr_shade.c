/* SPDX-License-Identifier: Apache-2.0 */
/* dibr_shade.c - colours of pixels from interpolated attributes: vertex colours, texture, Phong light,
 * spherical harmonics, and their derivatives. */
#include "engines/rendering/render/dibr_internal.h"

#include "engines/rendering/render/vec3.h"

#include <math.h>

/* ---- texture ---- */

/* The four texels around u v, and the position between them. */
typedef struct texels {
    size_t at[2][2];        /* index of the first number of each, [row][column] */
    double x, y;            /* in [0, 1] */
    int inside_x, inside_y; /* not clamped to the edge */
} texels;

static double between(double v, double high, int *inside)
{
    *inside = v > 0 && v < high;
    return v > 0 ? fmin(v, high) : 0; /* 0 for NaN */
}

static texels texels_of(const dibr_options *o, const double uv[2])
{
    const uint32_t w = o->texture_width, h = o->texture_height;
    texels t;
    const double x = between(uv[0] * w - 0.5, w - 1.0, &t.inside_x);
    const double y = between((1 - uv[1]) * h - 0.5, h - 1.0, &t.inside_y);
    const size_t column = (size_t)x, row = (size_t)y;
    const size_t right = column + 1 < w ? column + 1 : column, below = row + 1 < h ? row + 1 : row;
    t.x = x - (double)column;
    t.y = y - (double)row;
    t.at[0][0] = 3 * (row * w + column);
    t.at[0][1] = 3 * (row * w + right);
    t.at[1][0] = 3 * (below * w + column);
    t.at[1][1] = 3 * (below * w + right);
    return t;
}

static void paint(const dibr_options *o, const dibr_surface *s, const dibr_attributes *a, double out[3])
{
    if (o->texture_width == 0) {
        for (int k = 0; k < 3; k++) {
            out[k] = a->color[k];
        }
        return;
    }
    const texels t = texels_of(o, a->uv);
    for (size_t k = 0; k < 3; k++) {
        const double *c = s->texture + k;
        out[k] = (1 - t.y) * ((1 - t.x) * c[t.at[0][0]] + t.x * c[t.at[0][1]]) +
                 t.y * ((1 - t.x) * c[t.at[1][0]] + t.x * c[t.at[1][1]]);
    }
}

static void paint_adjoint(const dibr_options *o, const dibr_surface *s, const dibr_attributes *a,
                          const double g[3], dibr_attributes *a_bar, const dibr_surface *bar)
{
    if (o->texture_width == 0) {
        vec3_add(a_bar->color, 1, g);
        return;
    }
    const texels t = texels_of(o, a->uv);
    double x_bar = 0, y_bar = 0;
    for (size_t k = 0; k < 3; k++) {
        const double *c = s->texture + k;
        x_bar += g[k] * ((1 - t.y) * (c[t.at[0][1]] - c[t.at[0][0]]) + t.y * (c[t.at[1][1]] - c[t.at[1][0]]));
        y_bar += g[k] * ((1 - t.x) * (c[t.at[1][0]] - c[t.at[0][0]]) + t.x * (c[t.at[1][1]] - c[t.at[0][1]]));
        if (bar->texture) {
            bar->texture[t.at[0][0] + k] += g[k] * (1 - t.y) * (1 - t.x);
            bar->texture[t.at[0][1] + k] += g[k] * (1 - t.y) * t.x;
            bar->texture[t.at[1][0] + k] += g[k] * t.y * (1 - t.x);
            bar->texture[t.at[1][1] + k] += g[k] * t.y * t.x;
        }
    }
    a_bar->uv[0] += t.inside_x ? x_bar * o->texture_width : 0;
    a_bar->uv[1] -= t.inside_y ? y_bar * o->texture_height : 0;
}

/* ---- light ---- */

/* Integrals of the light over the hemisphere, R. Ramamoorthi, P. Hanrahan, SIGGRAPH 2001, equation 12,
 * divided by pi. */
void dibr_bands(const double n[3], double band[DIBR_HARMONIC_BANDS])
{
    const double x = n[0], y = n[1], z = n[2];
    band[0] = 0.2820948;
    band[1] = -0.325735 * y;
    band[2] = 0.325735 * z;
    band[3] = -0.325735 * x;
    band[4] = 0.2731371 * x * y;
    band[5] = -0.2731371 * y * z;
    band[6] = 0.2365437 * z * z - 0.0788479;
    band[7] = -0.2731371 * x * z;
    band[8] = 0.1365686 * (x * x - y * y);
}

static void dibr_bands_adjoint(const double n[3], const double b[DIBR_HARMONIC_BANDS], double n_bar[3])
{
    const double x = n[0], y = n[1], z = n[2];
    n_bar[0] += -0.325735 * b[3] + 0.2731371 * (y * b[4] - z * b[7] + x * b[8]);
    n_bar[1] += -0.325735 * b[1] + 0.2731371 * (x * b[4] - z * b[5] - y * b[8]);
    n_bar[2] += 0.325735 * b[2] - 0.2731371 * (y * b[5] + x * b[7]) + 2 * 0.2365437 * z * b[6];
}

/* The directions at a pixel: normal, to the eye, reflection of the light. */
typedef struct directions {
    double n[3], e[3], r[3];
    double n_length, e_length;
    double towards, shine; /* n . l, r . e */
} directions;

static directions directions_of(const dibr_options *o, const double eye[3], const dibr_attributes *a)
{
    directions d;
    for (int i = 0; i < 3; i++) {
        d.n[i] = a->normal[i];
        d.e[i] = eye[i] - a->position[i];
    }
    d.n_length = vec3_unit(d.n);
    d.e_length = vec3_unit(d.e);
    d.towards = vec3_dot(d.n, o->light);
    for (int i = 0; i < 3; i++) {
        d.r[i] = 2 * d.towards * d.n[i] - o->light[i];
    }
    d.shine = vec3_dot(d.r, d.e);
    return d;
}

static double specular(const dibr_options *o, const directions *d)
{
    return o->specular * pow(fmax(d->shine, 1e-5), o->shine);
}

static double diffuse(const dibr_options *o, const directions *d)
{
    return o->ambient + o->diffuse * fmax(d->towards, 0);
}

static double harmonics(const dibr_surface *s, const directions *d)
{
    double band[DIBR_HARMONIC_BANDS], sum = 0;
    dibr_bands(d->n, band);
    for (int i = 0; i < DIBR_HARMONIC_BANDS; i++) {
        sum += s->harmonics[i] * band[i];
    }
    return sum;
}

void dibr_shade(const dibr_options *o, const dibr_surface *s, const double eye[3], const dibr_attributes *a,
                double rgb[3])
{
    paint(o, s, a, rgb);
    if (o->mode == DIBR_PHONG) {
        const directions d = directions_of(o, eye, a);
        for (int k = 0; k < 3; k++) {
            rgb[k] = fmin(fmax(diffuse(o, &d) * rgb[k] + specular(o, &d), 0), 1);
        }
    } else if (o->mode == DIBR_HARMONICS) {
        const directions d = directions_of(o, eye, a);
        const double lighting = harmonics(s, &d);
        for (int k = 0; k < 3; k++) {
            rgb[k] *= lighting;
        }
    }
}

/* Derivatives by the shares of the light and the exponent of the shine. */
static void add_shares(const dibr_options *o, const directions *d, double diffuse_bar, double specular_bar,
                       dibr_lighting *bar)
{
    const double shine = fmax(d->shine, 1e-5), gloss = pow(shine, o->shine);
    bar->ambient += diffuse_bar;
    bar->diffuse += diffuse_bar * fmax(d->towards, 0);
    bar->specular += specular_bar * gloss;
    bar->shine += specular_bar * o->specular * gloss * log(shine);
}

/* From the derivatives by diffuse and specular light to the derivatives by normal, position and eye. */
static void phong_adjoint(const dibr_options *o, const directions *d, double diffuse_bar, double specular_bar,
                          double n_bar[3], dibr_attributes *a_bar, double eye_bar[3],
                          dibr_lighting *lighting_bar)
{
    double towards_bar = d->towards > 0 ? diffuse_bar * o->diffuse : 0, shine_bar = 0, e_bar[3] = {0},
           v_bar[3];
    if (d->shine > 1e-5 && o->shine > 0) {
        shine_bar = specular_bar * o->specular * o->shine * pow(d->shine, o->shine - 1);
    }
    /* shine = r . e, r = 2 towards n - l */
    vec3_add(e_bar, shine_bar, d->r);
    vec3_add(n_bar, 2 * d->towards * shine_bar, d->e);
    towards_bar += 2 * shine_bar * vec3_dot(d->n, d->e);
    vec3_add(n_bar, towards_bar, o->light);
    if (lighting_bar) {
        vec3_add(lighting_bar->light, towards_bar, d->n);
        vec3_add(lighting_bar->light, -shine_bar, d->e); /* r = 2 towards n - l */
        add_shares(o, d, diffuse_bar, specular_bar, lighting_bar);
    }
    if (d->e_length > 0) {
        vec3_unit_adjoint(d->e, d->e_length, e_bar, v_bar);
        vec3_add(a_bar->position, -1, v_bar);
        if (eye_bar) {
            vec3_add(eye_bar, 1, v_bar);
        }
    }
}

static void add_normal(const directions *d, const double n_bar[3], dibr_attributes *a_bar)
{
    double N_bar[3];
    if (d->n_length > 0) {
        vec3_unit_adjoint(d->n, d->n_length, n_bar, N_bar);
        vec3_add(a_bar->normal, 1, N_bar);
    }
}

void dibr_shade_adjoint(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const double g[3], dibr_attributes *a_bar,
                        const dibr_surface *bar, double eye_bar[3])
{
    double t[3], t_bar[3] = {g[0], g[1], g[2]}, n_bar[3] = {0};
    paint(o, s, a, t);
    if (o->mode == DIBR_PHONG) {
        const directions d = directions_of(o, eye, a);
        const double lighting = diffuse(o, &d), gloss = specular(o, &d);
        double light_bar = 0, gloss_bar = 0;
        for (int k = 0; k < 3; k++) {
            const double c = lighting * t[k] + gloss, in = c > 0 && c < 1 ? g[k] : 0;
            light_bar += in * t[k];
            gloss_bar += in;
            t_bar[k] = in * lighting;
        }
        phong_adjoint(o, &d, light_bar, gloss_bar, n_bar, a_bar, eye_bar, bar->lighting);
        add_normal(&d, n_bar, a_bar);
    } else if (o->mode == DIBR_HARMONICS) {
        const directions d = directions_of(o, eye, a);
        const double lighting = harmonics(s, &d), light_bar = vec3_dot(g, t);
        double band[DIBR_HARMONIC_BANDS], band_bar[DIBR_HARMONIC_BANDS];
        dibr_bands(d.n, band);
        for (int i = 0; i < DIBR_HARMONIC_BANDS; i++) {
            band_bar[i] = light_bar * s->harmonics[i];
            if (bar->harmonics) {
                bar->harmonics[i] += light_bar * band[i];
            }
        }
        for (int k = 0; k < 3; k++) {
            t_bar[k] = g[k] * lighting;
        }
        dibr_bands_adjoint(d.n, band_bar, n_bar);
        add_normal(&d, n_bar, a_bar);
    }
    paint_adjoint(o, s, a, t_bar, a_bar, bar);
}

/* ---- along a direction ---- */

static void paint_tangent(const dibr_options *o, const dibr_surface *s, const dibr_attributes *a,
                          const dibr_attributes *a_dot, const dibr_dot *dot, double out[3])
{
    if (o->texture_width == 0) {
        for (int k = 0; k < 3; k++) {
            out[k] = a_dot->color[k];
        }
        return;
    }
    const texels t = texels_of(o, a->uv);
    const double x_dot = t.inside_x ? a_dot->uv[0] * o->texture_width : 0;
    const double y_dot = t.inside_y ? -a_dot->uv[1] * o->texture_height : 0;
    for (size_t k = 0; k < 3; k++) {
        const double *c = s->texture + k, *d = dot->texture ? dot->texture + k : NULL;
        out[k] =
            x_dot * ((1 - t.y) * (c[t.at[0][1]] - c[t.at[0][0]]) + t.y * (c[t.at[1][1]] - c[t.at[1][0]])) +
            y_dot * ((1 - t.x) * (c[t.at[1][0]] - c[t.at[0][0]]) + t.x * (c[t.at[1][1]] - c[t.at[0][1]]));
        out[k] += d ? (1 - t.y) * ((1 - t.x) * d[t.at[0][0]] + t.x * d[t.at[0][1]]) +
                          t.y * ((1 - t.x) * d[t.at[1][0]] + t.x * d[t.at[1][1]])
                    : 0;
    }
}

/* The change of the normal along the change of the attributes. */
static void normal_tangent(const directions *d, const dibr_attributes *a_dot, double n_dot[3])
{
    n_dot[0] = n_dot[1] = n_dot[2] = 0;
    if (d->n_length > 0) {
        vec3_unit_adjoint(d->n, d->n_length, a_dot->normal, n_dot);
    }
}

/* The change of diffuse and specular light along a change of the lighting. */
static void lighting_tangent(const dibr_options *o, const directions *d, const dibr_lighting *dot,
                             double *diffuse_dot, double *specular_dot)
{
    for (int of = 0; of < 2; of++) { /* the rows of the adjoint */
        double n_bar[3] = {0}, sum = 0;
        dibr_attributes ignored = {.uv = {0}};
        dibr_lighting by = {.ambient = 0};
        phong_adjoint(o, d, of == 0, of == 1, n_bar, &ignored, NULL, &by);
        sum += vec3_dot(by.light, dot->light) + by.ambient * dot->ambient + by.diffuse * dot->diffuse +
               by.specular * dot->specular + by.shine * dot->shine;
        *(of == 0 ? diffuse_dot : specular_dot) += sum;
    }
}

/* The changes of diffuse and specular light. */
static void phong_tangent(const dibr_options *o, const directions *d, const dibr_attributes *a_dot,
                          const double eye_dot[3], double *diffuse_dot, double *specular_dot)
{
    double n_dot[3], v_dot[3], e_dot[3] = {0};
    normal_tangent(d, a_dot, n_dot);
    vec3_minus(eye_dot, a_dot->position, v_dot);
    if (d->e_length > 0) {
        vec3_unit_adjoint(d->e, d->e_length, v_dot, e_dot);
    }
    const double towards_dot = vec3_dot(n_dot, o->light);
    const double shine_dot = 2 * towards_dot * vec3_dot(d->n, d->e) + 2 * d->towards * vec3_dot(n_dot, d->e) +
                             vec3_dot(d->r, e_dot);
    *diffuse_dot = d->towards > 0 ? o->diffuse * towards_dot : 0;
    *specular_dot = d->shine > 1e-5 && o->shine > 0
                        ? o->specular * o->shine * pow(d->shine, o->shine - 1) * shine_dot
                        : 0;
}

static double harmonics_tangent(const dibr_surface *s, const directions *d, const dibr_attributes *a_dot,
                                const dibr_dot *dot)
{
    double band[DIBR_HARMONIC_BANDS], by_n[3] = {0}, n_dot[3], sum;
    normal_tangent(d, a_dot, n_dot);
    dibr_bands_adjoint(d->n, s->harmonics, by_n);
    sum = vec3_dot(by_n, n_dot);
    dibr_bands(d->n, band);
    for (int i = 0; i < DIBR_HARMONIC_BANDS && dot->harmonics; i++) {
        sum += dot->harmonics[i] * band[i];
    }
    return sum;
}

void dibr_shade_tangent(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const dibr_attributes *a_dot, const dibr_dot *dot,
                        const double eye_dot[3], double rgb_dot[3])
{
    double t[3];
    paint(o, s, a, t);
    paint_tangent(o, s, a, a_dot, dot, rgb_dot);
    if (o->mode == DIBR_PHONG) {
        const directions d = directions_of(o, eye, a);
        const double lighting = diffuse(o, &d), gloss = specular(o, &d);
        double light_dot, gloss_dot;
        phong_tangent(o, &d, a_dot, eye_dot, &light_dot, &gloss_dot);
        if (dot->lighting) {
            lighting_tangent(o, &d, dot->lighting, &light_dot, &gloss_dot);
        }
        for (int k = 0; k < 3; k++) {
            const double c = lighting * t[k] + gloss;
            rgb_dot[k] = c > 0 && c < 1 ? light_dot * t[k] + lighting * rgb_dot[k] + gloss_dot : 0;
        }
    } else if (o->mode == DIBR_HARMONICS) {
        const directions d = directions_of(o, eye, a);
        const double lighting = harmonics(s, &d), light_dot = harmonics_tangent(s, &d, a_dot, dot);
        for (int k = 0; k < 3; k++) {
            rgb_dot[k] = light_dot * t[k] + lighting * rgb_dot[k];
        }
    }
}
