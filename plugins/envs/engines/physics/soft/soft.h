/* SPDX-License-Identifier: Apache-2.0 */
/* soft.h - environments of deformable bodies: an episode of the FEM engine is compared with a target, by
 * images or states. An environment defines its bodies and its variables; everything else is here.
 *
 * The instance starts with a struct soft. Its read() calls soft_read(), builds the model, and sets the
 * members marked below; its ds_env_table has the entries of SOFT_TABLE. */
#ifndef DS_ENGINES_SOFT_SOFT_H
#define DS_ENGINES_SOFT_SOFT_H

#include "engines/physics/fem/episode.h"
#include "engines/rendering/observation/comparison.h"
#include "engines/physics/soft/body_variables.h"
#include "engines/physics/soft/node_net.h"

typedef struct soft soft;

/* What an environment defines. */
typedef struct soft_task {
    const body_variable *offered; /* quantities that can be variables; a NULL name ends the list */
    /* The points of the target, [particles][3], in all states; NULL: an episode with the true values gives
     * them. */
    void (*target)(const soft *s, double *q);
    comparison_kind state; /* what observe = state compares */
    const char *cure;      /* parameters that make the step stable, for messages */
} soft_task;

/* Elements that the controller drives. */
typedef enum soft_driven { SOFT_TETS, SOFT_TRIANGLES, SOFT_EDGES } soft_driven;

struct soft {
    comparison_env env; /* must be first */
    const soft_task *task;

    /* Set by read(), together with density, control ... of `unknown`. */
    fem_model model;
    body_variables unknown;
    double dt;              /* s */
    uint64_t steps;         /* steps of an episode */
    uint64_t first, each;   /* compared states: first, first + each, ..., */
    uint64_t compared;      /* this many of them, */
    int last;               /* and, if set, the last state */
    uint64_t shown_each;    /* steps between frames of the scene */
    fem_mesh mesh;          /* drawn triangles; points are the particles of the model */
    double color[3];        /* colour of all triangles */
    const char *name;       /* of the body in drawings; NULL: "body" */
    double radius;          /* m; without triangles, particles are drawn as discs of this radius */
    soft_driven driven;     /* what unknown.control drives, if it is not NULL */
    body_loads drive, push; /* velocities of fixed particles, forces */
    /* Not NULL: instead of that of the task, the points of the target in compared state k */
    void (*target_at)(const soft *s, uint64_t k, double *q);
    const uint8_t *counted; /* [particles], not 0: belongs to the compared centre; NULL: all free ones */
    const uint32_t *chosen; /* [choices] particles whose positions are compared; NULL: all */
    size_t choices;

    /* Set by soft_read() from the parameters. */
    int observe;       /* 0 = image, 1 = state */
    const char *image; /* target_image */
    cameras cameras;

    /* Made by soft_allocate(). */
    fem_episode *episode;
    fem_variation bar, dot;
    identified error; /* last episode */
    fem_driver driver;
    node_net net;        /* forces of networks */
    uint64_t *state;     /* numbers of the states that are shown or compared, ascending */
    double *shown;       /* points of the frames of the scene */
    double *goal;        /* points of the target in the last compared state */
    const double *r_bar; /* weights of a J' w in progress */
    double *r_dot;       /* result of a J v in progress */
    ds_status failed;    /* failure of an image in progress */
};

/* Call first in read(): reads SOFT_PARAMS, applies them, and opens an empty model. */
void soft_read(soft *s, ds_param_reader *in, const soft_task *task);
/* Call last in read(), after building the model: picks the variables, sets sizes and times of the kit. */
void soft_ready(soft *s, ds_param_reader *in);
/* The same for an environment that has added its variables itself. */
void soft_end(soft *s);
#define SOFT_PARAMS(variables_, words_, observe_, state_, size_, camera_, mode_)                             \
    DS_TEXT("variables", variables_, "The unknown quantities, one or several of: " words_ ".",               \
            .flags = DS_PARAM_SHAPE),                                                                        \
        DS_INT("seed", "0", 0, 1000000000, "", "Seed of the random values at the start of the variables."),  \
        COMPARISON_PARAMS(observe_, state_), CAMERAS_PARAMS(size_, camera_, mode_)
#define SOFT_TIME_PARAMS(duration_, substeps_, frames_)                                                      \
    DS_REAL("duration", duration_, 1e-3, 1000, "s", "Length of an episode."),                                \
        DS_INT("substeps", substeps_, 1, 10000, "", "Time steps in 1/60 s."),                                \
        DS_INT("frames", frames_, 1, 10000, "",                                                              \
               "Number of compared states, equally spaced in time; 1 = the last one."),                      \
        DS_HYBRID_PARAMS

/* Building the model. Adds a solid body of density kg/m^3 from s->mesh; `status` is the result of the
 * function that made the mesh. Its surface is drawn. */
void soft_body(soft *s, ds_status made, const double position[3], const double velocity[3], double density,
               fem_solid law);
/* Index of the target object from COMPARISON_OBJECT_PARAM; without it the object with the true parameters. */
void soft_object(soft *s, ds_param_reader *in);
/* Sets the ground y = 0 from SOFT_GROUND_PARAMS. */
void soft_ground(soft *s, ds_param_reader *in);
#define SOFT_GROUND_PARAMS(contact_)                                                                         \
    DS_LIST("contact", contact_, 0, 1e9, 4, "N/m, N s/m, N s/m, 1",                                          \
            "The ground: stiffness k_e, damping k_d, viscous friction k_f, and its bound mu: of the "        \
            "target, and "                                                                                   \
            "of all that are not variables."),                                                               \
        DS_ENUM("friction", "box", soft_frictions,                                                           \
                "box: along x and z separately, as in gradSim. isotropic: along the sliding.",               \
                .flags = DS_PARAM_ADVANCED)
extern const char *const soft_frictions[];
/* Adds a controller of all tetrahedra, triangles or edges with the phases of the scene. Parameter
 * controller: 0 = elements of a group share their weights, group[elements] (control.h); 1 = each element has
 * its own, with SOFT_FULL_PHASES phases. */
enum { SOFT_FULL_PHASES = 8 };
typedef struct soft_controller {
    soft_driven driven;
    size_t groups, phases;
    const uint32_t *group;
    double (*phase_of)(size_t phases, double *phase);
} soft_controller;
void soft_control(soft *s, ds_param_reader *in, const soft_controller *c);
/* The same with all settings of the controller; sets elements, dt and steps. Returns DS_OK or DS_E_NOMEM. */
ds_status soft_control_as(soft *s, soft_driven driven, control_options options);
#define SOFT_CONTROL_PARAMS(first_, names_, words_, scale_)                                                  \
    DS_ENUM("controller", first_, names_, words_, .flags = DS_PARAM_SHAPE),                                  \
        DS_REAL("scale", scale_, 0, 1, "", "Largest activation.")

/* Entries of the ds_env_table. */
uint64_t soft_hooks(const void *self, ds_hook *out);
ds_status soft_allocate(void *self);
void soft_release(void *self);
ds_status soft_simulate(void *self, ds_eval *io);
ds_status soft_adjoint(void *self, ds_eval *io);
void soft_bodies(void *self, ds_scene_kit *s);
void soft_place(const void *self, uint64_t k, uint64_t b, double *out);
void soft_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void soft_variable(const void *self, uint64_t i, ds_env_variable *out);
#define SOFT_TABLE_OF(release_)                                                                              \
    .allocate = soft_allocate, .release = release_, .simulate = soft_simulate, .adjoint = soft_adjoint,      \
    .passes = 2, .channels = comparison_env_channels, .channel = comparison_env_channel,                     \
    .answer = comparison_env_answer, .bodies = soft_bodies, .place = soft_place, .range = soft_range,        \
    .variable = soft_variable
#define SOFT_TABLE SOFT_TABLE_OF(soft_release), .hook_points = soft_hooks

/* Points of frame k of the scene, [particles][3]. */
const double *soft_frame(const soft *s, uint64_t k);
/* Sets the centre of mass of frame k and extends the visible box by its points. Returns the distance from
 * that of the target, m. */
double soft_measure(soft *s, uint64_t k, double centre[3]);
/* Two tables of metrics and their functions: x, y, z and distance of the centre of mass; its x, y and
 * distance with the error of the variables and of the quantities. */
extern const ds_scene_kit_label soft_goal_metrics[], soft_fit_metrics[];
void soft_measure_goal(void *self, uint64_t k, double *out);
void soft_measure_fit(void *self, uint64_t k, double *out);

#endif
