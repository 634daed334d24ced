/* SPDX-License-Identifier: Apache-2.0 */
/* variables.h - numbers of a scene that are decision variables beside the motion of the tools: their names,
 * how they change an episode, and from the adjoint of the episode to the derivatives by them. */
#ifndef MPM_VARIABLES_H
#define MPM_VARIABLES_H

#include "engines/physics/mpm/env/episode.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

/* What a variable is. The first ones belong to a material, the next ones to a body, a tool, the scene. */
enum {
    MPM_YOUNGS_MODULUS = 0,
    MPM_POISSON_RATIO = 1,
    MPM_YIELD_STRESS = 2,
    MPM_FRICTION_ANGLE,
    MPM_SHEAR_MODULUS,
    MPM_BULK_MODULUS,
    MPM_VISCOSITY,
    MPM_DENSITY,
    MPM_BODY_CENTER,
    MPM_BODY_ROTATION, /* a quaternion of any length, as that of a tool */
    MPM_BODY_VELOCITY,
    MPM_BODY_SIZE, /* see sizes.h */
    MPM_TOOL_POSITION,
    MPM_TOOL_ROTATION,
    MPM_TOOL_GAP,
    MPM_TOOL_FRICTION,
    MPM_TOOL_SIZE,
    MPM_GRAVITY,
    MPM_GROUND_FRICTION,
    MPM_SOFTNESS
};

enum { MPM_MAX_VARIABLES = 64 };
typedef struct mpm_variable {
    uint32_t kind, of;          /* of: mpm_matter.number, body or tool */
    uint32_t part;              /* component of position, quaternion, velocity, size, gravity */
    bool log;                   /* the variable is the logarithm of the value to base 10 */
    double lower, upper, start; /* of the value */
    double factor;              /* sizes: the stored size for a value of 1 */
    const char *section, *key;  /* of the file */
    const char *component;      /* "x"; "" for a single number */
    const char *unit;
} mpm_variable;

void mpm_variable_name(const mpm_variable *v, ds_env_variable *out);
/* Of the variable: logarithms with `log`. */
void mpm_variable_range(const mpm_variable *v, double *lower, double *upper, double *start);

/* The variables of an episode. */
typedef struct mpm_variables {
    const mpm_variable *list;
    uint32_t count;
    mpm_scene *scene; /* of the episode */
    mpm_episode *episode;
    uint32_t first[MPM_MAX_BODIES + 1];       /* particles of the bodies */
    const mpm_matter *matter[MPM_MAX_BODIES]; /* of the phases */
    /* of a particle of a phase, at the sizes at the start; the mass at density 1 */
    double unit_mass[MPM_MAX_BODIES], unit_volume[MPM_MAX_BODIES];
    uint32_t body[MPM_MAX_BODIES];                       /* the first one of a phase */
    double growth[MPM_MAX_BODIES];                       /* of bodies: their volume over that at the start */
    bool moved[MPM_MAX_BODIES], resized[MPM_MAX_BODIES]; /* resized ones are moved, too */
    double *offset; /* [particles][3]: of particles of moved bodies, in the frame of the body */
    double *sample; /* [particles][3]: of particles of resized bodies, see sizes.h */
    double bar[MPM_MAX_BODIES][MPM_PARTS * MPM_CONSTANTS]; /* of the phases */
} mpm_variables;

/* For an episode that mpm_episode_init() has filled; scene, episode and list must stay where they are. total:
 * see mpm_body_count(). Returns false without memory. */
bool mpm_variables_open(mpm_variables *v, const mpm_variable *list, uint32_t count, mpm_scene *scene,
                        mpm_episode *episode, uint32_t total, ds_memory *memory);
/* Before an episode: sets the scene to x[count]. */
void mpm_variables_set(mpm_variables *v, const double *x);
/* After an episode with gradient: writes grad[count]. */
void mpm_variables_gradient(mpm_variables *v, const double *x, double *grad);

#endif
