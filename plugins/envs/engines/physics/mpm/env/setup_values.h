/* SPDX-License-Identifier: Apache-2.0 */
/* setup_values.h - what reads the values of a scene file. The readers report the first mistake to the
 * file and return defaults after it. */
#ifndef MPM_SETUP_VALUES_H
#define MPM_SETUP_VALUES_H

#include "engines/data/scene_params.h"
#include "engines/data/surface.h"
#include "engines/physics/mpm/env/env.h"

/* Owns what the task refers to. */
typedef struct mpm_setup {
    mpm_task task;
    mpm_choices choices;
    scene_file *file;
    mpm_scene shapes;           /* that fill the target */
    mpm_domain domain;          /* of a section [grid] */
    scene_params cameras;       /* mpm_image_params, of sections [camera] and [loss] */
    ds_scene_kit_camera camera; /* the first of [camera] */
    ds_memory memory;
} mpm_setup;

enum { MPM_MOST_PARTICLES = 1000000, MPM_MOST_MATERIALS = 16 };
#define MPM_MOST_SIZE 10.0   /* m */
#define MPM_LEAST_SCALE 1e-9 /* of files */
#define MPM_MOST_SCALE 1e9

typedef struct mpm_setup_material {
    const char *name;
    mpm_matter matter;
} mpm_setup_material;

typedef struct mpm_setup_reader {
    mpm_setup *setup;
    scene_file *f;
    const ds_host *host;
    mpm_setup_material materials[MPM_MOST_MATERIALS];
    uint32_t n_materials;
    double size[3]; /* of the grid */
} mpm_setup_reader;

/* What a key is if it becomes a variable. */
typedef struct mpm_setup_meaning {
    uint32_t kind, of, part; /* of mpm_variable; part: the first one */
    double factor;
    const char *unit;
} mpm_setup_meaning;

/* A number or a variable; returns the number, of a variable the start. */
double mpm_setup_quantity(mpm_setup_reader *r, const scene_section *s, const char *key,
                          const mpm_setup_meaning *as, double low, double high, double otherwise);
/* n numbers, any of them variables; `spread`: one can stand for all. `out` keeps its values where the key is
 * missing. */
bool mpm_setup_quantities(mpm_setup_reader *r, const scene_section *s, const char *key, size_t n, bool spread,
                          const mpm_setup_meaning *as, double low, double high, double *out);
/* as: NULL where it cannot be a variable. */
void mpm_setup_rotation(mpm_setup_reader *r, const scene_section *s, const mpm_setup_meaning *as, double q[4],
                        bool *turned);
/* A length that must be there. as: NULL where it cannot be a variable. */
double mpm_setup_size(mpm_setup_reader *r, const scene_section *s, const char *key,
                      const mpm_setup_meaning *as);

/* ---- files ---- */

/* Copies n numbers, times scale, to memory of the setup; NULL where it is short. */
double *mpm_setup_keep(mpm_setup_reader *r, const double *from, size_t n, double scale);
/* as: NULL where it cannot be a variable; else its factor becomes that of a size which is 1 at the start. */
double mpm_setup_scale(mpm_setup_reader *r, const scene_section *s, const mpm_setup_meaning *as);
/* Opens the closed surface of key `file`; returns false after a failure. */
bool mpm_setup_surface(mpm_setup_reader *r, const scene_section *s, double scale, surface *out);
bool mpm_setup_ends_with(const char *text, const char *ending);
/* The numbers of an .npy file with so many dimensions; NULL after a failure. */
double *mpm_setup_array(mpm_setup_reader *r, const scene_section *s, const char *path, uint32_t ndim,
                        uint64_t *shape);

#endif
