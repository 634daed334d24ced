/* SPDX-License-Identifier: Apache-2.0 */
/* soft.h - environments of deformable bodies: an episode of the FEM engine is compared with a target, by
 * pictures or states. An environment says what its bodies are and what its variables mean; the rest is here.
 *
 * The instance begins with a `soft`. Its read() calls soft_read(), builds the model, and sets what is named
 * below; its ds_env_table has the entries of SOFT_TABLE. */
#ifndef DS_ENGINES_SOFT_SOFT_H
#define DS_ENGINES_SOFT_SOFT_H

#include "engines/physics/fem/episode.h"
#include "engines/rendering/film/watcher.h"
#include "engines/physics/soft/quantity.h"

typedef struct soft soft;

/* What is special to an environment. */
typedef struct soft_task {
    const quantity *offered; /* quantities that can be variables; ends with a NULL name */
    /* The points of the target, [particles][3], in all states; NULL: what an episode with the truth shows. */
    void (*target)(const soft *s, double *q);
    watch_kind state; /* what observe = state compares */
    const char *cure; /* parameters that make the step stable, for messages */
} soft_task;

/* What the controller drives. */
typedef enum soft_driven { SOFT_TETS, SOFT_TRIANGLES } soft_driven;

struct soft {
    watcher watcher; /* first */
    const soft_task *task;

    /* Set by read(), with density, control ... of `unknown`. */
    fem_model model;
    quantity_set unknown;
    double dt;            /* s */
    uint64_t steps;       /* of an episode */
    uint64_t first, each; /* compared are the states first, first + each, ...: */
    uint64_t compared;    /* so many, */
    int last;             /* and the last state after them */
    uint64_t shown_each;  /* steps between frames of the scene */
    fem_mesh mesh;        /* its triangles are drawn; points are the particles of the model */
    double color[3];      /* colour of all triangles */
    double radius;        /* m; where there are no triangles: discs that are seen of all particles */
    soft_driven driven;   /* what unknown.control drives, where there is one */

    /* Set by soft_read() from the parameters. */
    int observe;       /* 0 = image, 1 = state */
    const char *image; /* target_image */
    look look;

    /* Made by soft_allocate(). */
    fem_episode *episode;
    fem_variation bar, dot;
    identified error; /* of the last episode */
    fem_driver driver;
    uint64_t *state;     /* those of the scene and those that are compared, ascending */
    double *shown;       /* points of the frames of the scene */
    double *goal;        /* points of the target in the last compared state */
    const double *r_bar; /* of a J' w in hand */
    double *r_dot;       /* where a J v goes */
    ds_status failed;    /* of a picture in hand */
};

/* First in read(): reads SOFT_PARAMS, sets what they say, and makes an empty model. */
void soft_read(soft *s, ds_param_reader *in, const soft_task *task);
/* Last in read(), when the model has been built: picks the variables, sets sizes and times of the kit. */
void soft_ready(soft *s, ds_param_reader *in);
#define SOFT_PARAMS(variables_, words_, observe_, state_, size_, camera_, mode_)                             \
    DS_TEXT("variables", variables_, "What is unknown, one or several of: " words_ ".",                      \
            .flags = DS_PARAM_SHAPE),                                                                        \
        DS_INT("seed", "0", 0, 1000000000, "", "Of what is random where the variables start."),              \
        WATCHER_PARAMS(observe_, state_), LOOK_PARAMS(size_, camera_, mode_)
#define SOFT_TIME_PARAMS(duration_, substeps_, frames_)                                                      \
    DS_REAL("duration", duration_, 1e-3, 1000, "s", "Length of an episode."),                                \
        DS_INT("substeps", substeps_, 1, 10000, "", "Time steps in 1/60 s."),                                \
        DS_INT("frames", frames_, 1, 10000, "",                                                              \
               "States that are compared, at equal distances in time; 1 = the last one.")

/* Building the model, between the two. A solid body of density kg/m^3 from s->mesh, which a function of
 * fem/mesh.h has made with this status; its surface is what is drawn. */
void soft_body(soft *s, ds_status made, const double position[3], const double velocity[3], double density,
               fem_solid law);
/* Which object the target is, from WATCHER_OBJECT_PARAM; without it the one with the true parameters. */
void soft_object(soft *s, ds_param_reader *in);
/* The ground y = 0 from SOFT_GROUND_PARAMS. */
void soft_ground(soft *s, ds_param_reader *in);
#define SOFT_GROUND_PARAMS(contact_)                                                                         \
    DS_LIST(                                                                                                 \
        "contact", contact_, 0, 1e9, 4, "N/m, N s/m, N s/m, 1",                                              \
        "The ground: stiffness k_e, damping k_d, viscous friction k_f, and its bound mu, where they are "    \
        "no variables, and of the target."),                                                                 \
        DS_ENUM("friction", "box", soft_frictions,                                                           \
                "box: along x and z apart, as gradSim. isotropic: along the sliding.",                       \
                .flags = DS_PARAM_ADVANCED)
extern const char *const soft_frictions[];
/* A controller of all tetrahedra or triangles, with phases of the gear or the walker. Parameter controller: 0
 * = the elements of a group share their weights, group[elements] (control.h); 1 = each has its own, of
 * SOFT_FULL_PHASES phases. */
enum { SOFT_FULL_PHASES = 8 };
typedef struct soft_controller {
    soft_driven driven;
    size_t groups, phases;
    const uint32_t *group;
    double (*phase_of)(size_t phases, double *phase);
} soft_controller;
void soft_control(soft *s, ds_param_reader *in, const soft_controller *c);
#define SOFT_CONTROL_PARAMS(first_, names_, words_, scale_)                                                  \
    DS_ENUM("controller", first_, names_, words_, .flags = DS_PARAM_SHAPE),                                  \
        DS_REAL("scale", scale_, 0, 1, "", "Largest activation.")

/* Entries of an ds_env_table. */
ds_status soft_allocate(void *self);
void soft_release(void *self);
ds_status soft_simulate(void *self, ds_eval *io);
ds_status soft_adjoint(void *self, ds_eval *io);
void soft_bodies(void *self, ds_scene_kit *s);
void soft_place(const void *self, uint64_t k, uint64_t b, double *out);
void soft_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void soft_variable(const void *self, uint64_t i, ds_env_variable *out);
#define SOFT_TABLE                                                                                           \
    .allocate = soft_allocate, .release = soft_release, .simulate = soft_simulate, .adjoint = soft_adjoint,  \
    .passes = 2, .channels = watcher_channels, .channel = watcher_channel, .answer = watcher_answer,         \
    .bodies = soft_bodies, .place = soft_place, .range = soft_range, .variable = soft_variable

/* Points of frame k of the scene, [particles][3]. */
const double *soft_frame(const soft *s, uint64_t k);
/* Of frame k, which the visible box then holds: the centre of mass. Returns how far it is from that of the
 * target, m. */
double soft_measure(soft *s, uint64_t k, double centre[3]);
/* Two tables of metrics with their function: x, y, z and distance of the centre of mass; its x, y and
 * distance with the error of the variables and those of the quantities. */
extern const ds_scene_kit_label soft_goal_metrics[], soft_fit_metrics[];
void soft_measure_goal(void *self, uint64_t k, double *out);
void soft_measure_fit(void *self, uint64_t k, double *out);

#endif
