/* SPDX-License-Identifier: Apache-2.0 */
/* scene.h - a task: soft bodies, rigid tools and physical constants. A task file fills one mpm_scene; the
 * rest of the engine works from it. y is up. */
#ifndef MPM_SCENE_H
#define MPM_SCENE_H

#include "engines/data/distance_grid.h"

#include <stdbool.h>
#include <stdint.h>

enum { MPM_MAX_BODIES = 8, MPM_MAX_TOOLS = 8, MPM_MAX_ACTION = 7 };

/* Material of a body, see material.h. */
enum { MPM_PLASTICINE = 0, MPM_ELASTIC = 1, MPM_SYRUP = 2, MPM_SAND = 3, MPM_LAWS = 4 };
typedef struct mpm_matter {
    /* plasticine uses the constants of the scene and the density of the domain, except where it is `own`; the
     * others: */
    uint32_t law;
    double density;   /* kg/m^3; own plasticine: a factor of the domain's */
    double modulus;   /* elastic: shear modulus; syrup: bulk modulus; Pa */
    double viscosity; /* syrup; Pa s */
    bool own;         /* plasticine: the following constants replace those of the scene; Pa */
    double youngs_modulus, poisson_ratio, yield_stress; /* sand uses the first two */
    double friction_angle;                              /* sand; degrees */
    uint32_t number; /* a material with constants that are variables: 1 + its number; else 0 */
} mpm_matter;

/* Where the particles of a body are in the target: nowhere else, moved by `by`, moved so that the body's
 * centre is `by`, or bent around the vertical axis of a tool: x becomes the angle, z the radius. */
enum { MPM_AIM_STAY = 0, MPM_AIM_SHIFT = 1, MPM_AIM_CENTER = 2, MPM_AIM_RING = 3 };
typedef struct mpm_aim {
    uint32_t kind;
    double by[3];
    uint32_t tool; /* ring: its number, and the mean radius */
    double radius;
} mpm_aim;

/* A soft body filled with uniformly distributed particles, or with particles on a cubic lattice, or with
 * given ones. */
enum {
    MPM_BODY_BOX = 0,
    MPM_BODY_SPHERE = 1,
    MPM_BODY_LATTICE = 2,
    MPM_BODY_CYLINDER = 3,
    MPM_BODY_CAPSULE = 4,
    MPM_BODY_TORUS = 5,
    MPM_BODY_POINTS = 6
};
typedef struct mpm_body {
    uint32_t shape;
    uint32_t count; /* particles at full size; a lattice has its own number */
    double center[3];
    /* box, lattice: edge lengths; sphere: radius; cylinder: radius, height; capsule: radius, distance of the
     * end centres; torus: major and minor radius. Axes are along y. */
    double size[3];
    double volume;   /* shared by the particles, m^3; 0: each has that of its lattice or of the domain */
    double spacing;  /* lattice: distance of neighbours; each particle has the volume spacing^3 */
    double jitter;   /* lattice: each coordinate is off by up to this */
    uint32_t carved; /* lattice: 1 + the number of a body whose box stays free of this one; 0 = none */
    mpm_matter matter;
    mpm_aim aim;
    bool turned; /* about the centre, by this quaternion (w x y z) */
    double rotation[4];
    double velocity[3];   /* at the start */
    uint32_t seed;        /* of a random stream of its own; 0: the stream that all bodies share */
    const double *points; /* points: [count][3], relative to the centre; of the owner of the scene */
} mpm_body;

/* Shape and motion of a tool; size[] in brackets. The axis is the tool's own y axis. */
enum {
    MPM_SPHERE = 0,      /* [radius] */
    MPM_CAPSULE = 1,     /* [radius, distance of the end centres] */
    MPM_CYLINDER = 2,    /* [radius, half height] */
    MPM_TORUS = 3,       /* [major radius, minor radius] */
    MPM_BOX = 4,         /* [half extents] */
    MPM_ROLLING_PIN = 5, /* a capsule that rolls, yaws and is lifted */
    MPM_CHOPSTICKS = 6,  /* two capsules hanging down from the origin, `gap` apart */
    MPM_LADLE = 7,       /* [radius, half thickness] of a half spherical shell, open to the top */
    MPM_MESH = 8         /* [how many times larger it is than `mesh`], and `mesh` */
};

/* A closed surface about the tool's origin, of the owner of the scene. */
typedef struct mpm_tool_mesh {
    distance_grid distance;
    uint32_t points, indices; /* to draw: points of triangles, three indices each */
    const double *point;
    const uint32_t *index;
} mpm_tool_mesh;

typedef struct mpm_pose {
    double position[3];
    double rotation[4]; /* quaternion w x y z, body to world */
    double gap;         /* chopsticks: distance of the two axes; else unused */
    /* Only of the adjoint of a pose: that of the tool's constants, which all poses share. The floor's is in
     * the first pose, also of a scene without tools. */
    struct {
        double size[3], friction, softness, ground_friction;
    } constants;
} mpm_pose;

/* Adjoints of the poses of a scene: one at least. */
static inline uint32_t mpm_pose_bars(uint32_t n_tools)
{
    return n_tools > 0 ? n_tools : 1;
}

/* to += scale * from, of adjoints */
void mpm_pose_add(mpm_pose *to, double scale, const mpm_pose *from);

typedef struct mpm_tool {
    uint32_t shape;
    /* 0: fixed. 2: moves in x and y. 3: moves. 6: moves and turns. 7: also opens and closes (chopsticks) */
    uint32_t action_dim;
    double size[3];
    double friction;
    double lower[3], upper[3];    /* bounds of the position */
    double min_gap;               /* chopsticks: smallest gap */
    double scale[MPM_MAX_ACTION]; /* displacement or angle per output step at action 1 */
    double limit[MPM_MAX_ACTION]; /* actions are clipped to [-limit, limit]; 0: the limit of the episode */
    mpm_pose start;
    const mpm_tool_mesh *mesh;
} mpm_tool;

/* Shorthand for scene descriptions. */
#define MPM_ANYWHERE .lower = {0.0, 0.0, 0.0}, .upper = {1.0, 1.0, 1.0}
#define MPM_UPRIGHT                                                                                          \
    {                                                                                                        \
        1.0, 0.0, 0.0, 0.0                                                                                   \
    }
/* A sphere that the action moves by up to `scale` per step along each axis. */
#define MPM_MOVED_BALL(radius_, scale_, x_, y_, z_)                                                          \
    {                                                                                                        \
        .shape = MPM_SPHERE, .size = {radius_}, .friction = 0.9, MPM_ANYWHERE, .action_dim = 3,              \
        .scale = {scale_, scale_, scale_}, .start = {                                                        \
            .position = {x_, y_, z_},                                                                        \
            .rotation = MPM_UPRIGHT                                                                          \
        }                                                                                                    \
    }

typedef struct mpm_scene {
    uint32_t n_bodies, n_tools;
    mpm_body bodies[MPM_MAX_BODIES];
    mpm_tool tools[MPM_MAX_TOOLS];
    double youngs_modulus, poisson_ratio, yield_stress;
    double gravity[3];
    double ground_friction; /* 0 slip; below 10 Coulomb coefficient; 10 and more: sticks */
} mpm_scene;

/* Space and time discretisation. */
typedef struct mpm_domain {
    int n;                   /* grid nodes per axis */
    int offset;              /* node i is at (i - offset) dx */
    int wall_low[3];         /* nodes up to this one belong to the lower wall along an axis (y: the floor), */
    int wall_high[3];        /* nodes from this one on to the upper one */
    double low[3], high[3];  /* positions at which particles stop */
    double gravity_factor;   /* on the scene's gravity */
    int substeps;            /* of an output step */
    uint32_t steps;          /* output steps of an episode, unless the user chooses */
    uint32_t particle_share; /* a scene's particle numbers are divided by it */
    double dx, inv_dx;       /* node spacing and its inverse */
    double dt;               /* seconds per substep */
    double particle_volume;
    double particle_mass;
} mpm_domain;

enum { MPM_PRESET_FULL = 0, MPM_PRESET_SMALL = 1 };
mpm_domain mpm_domain_make(uint32_t preset);

/* A tank with walls at 0 and `size`, a multiple of dx; particles stop `margin` before them. */
mpm_domain mpm_domain_tank(double dx, const double size[3], double margin, double dt, int substeps,
                           uint32_t steps);

/* The state of one particle: position, velocity, affine velocity matrix (APIC) and deformation gradient.
 * Syrup uses its relative volume J only and stores diag(J, 1, 1). */
typedef struct mpm_particle {
    double x[3];
    double v[3];
    double c[9];
    double f[9];
} mpm_particle;

/* Particles of body b if the scene has `total` of them (0: the scene's own number / particle_share). */
uint32_t mpm_body_count(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, uint32_t b);
uint32_t mpm_particle_count(const mpm_scene *scene, const mpm_domain *domain, uint32_t total);

/* Fills the bodies, at rest and undeformed, from the random stream of `seed` (0: PlasticineLab's particles).
 * `out` holds mpm_particle_count() particles. */
void mpm_particles_make(const mpm_scene *scene, const mpm_domain *domain, uint32_t total, uint32_t seed,
                        mpm_particle *out);

/* Half the edges of the box around a body of a shape other than points, before it is turned. */
void mpm_body_half(const mpm_body *body, double half[3]);

/* Moves a particle of body b from its position at the start of an episode to that in the target. */
void mpm_aim_place(const mpm_scene *scene, uint32_t b, double x[3]);

uint32_t mpm_action_dim(const mpm_scene *scene);

/* ---- random numbers ----
 *
 * The Mersenne Twister stream of numpy.random.RandomState (numpy's frozen "legacy" generator),
 * from which PlasticineLab draws its particles: same seed, same doubles. */

typedef struct mpm_rng {
    uint32_t key[624];
    int index;      /* next word of key; 624: refill first */
    bool has_gauss; /* the polar method makes two normals; the second one is stored here */
    double gauss;
} mpm_rng;

void mpm_rng_seed(mpm_rng *rng, uint32_t seed);
double mpm_rng_uniform(mpm_rng *rng); /* [0, 1) with 53 bits */
double mpm_rng_gauss(mpm_rng *rng);   /* standard normal */

#endif
