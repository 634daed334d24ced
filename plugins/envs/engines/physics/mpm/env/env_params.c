/* SPDX-License-Identifier: Apache-2.0 */
/* env_params.c - parameters of the plasticine environments: from the host's values to an episode. */
#include "engines/physics/mpm/env/env.h"

#include "engines/kit/algebra/quaternion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const preset_choices[] = {"full", "small", NULL};
static const char *const loss_choices[] = {"segment_sum", "step_sum", "final", "image", NULL};
enum { LOSS_IMAGE = MPM_LOSS_FRAMES }; /* the choice after those of the modes */
static const char *const scene_loss_choices[] = {"scene", "segment_sum", "step_sum", "final", "image", NULL};
static const char *const scene_contact_choices[] = {"scene", "soft", "hard", NULL};
static const char *const contact_choices[] = {"soft", "hard", NULL};
static const char *const gradient_choices[] = {"exact", "reference", NULL};
static const char *const engine_choices[] = {"fast", "scalar", NULL};
static const char *const precision_choices[] = {"f64", "f32", NULL};
static const char *const memory_choices[] = {"checkpoint", "store", NULL};

#define ENUM_PARAM(name_, default_, flags_, choices_, doc_)                                                  \
    {                                                                                                        \
        .struct_size = sizeof(ds_param), .type = DS_PARAM_ENUM, .flags = (flags_), .name = (name_),          \
        .default_text = (default_), .unit = "", .doc = (doc_), .choices = (choices_),                        \
    }

const ds_param mpm_engine_param =
    ENUM_PARAM("engine", "fast", DS_PARAM_ADVANCED, engine_choices,
               "fast: vectors and threads. scalar: the reference implementation, which svd_grad=reference "
               "always uses. precision and memory apply to fast.");

const ds_param mpm_precision_param =
    ENUM_PARAM("precision", "f64", 0, precision_choices,
               "Floating-point type of the simulation. f32 takes a little more than half of the time; losses "
               "then agree to about 1e-6 and gradients to about 1e-3.");

const ds_param mpm_memory_param = ENUM_PARAM(
    "memory", "checkpoint", DS_PARAM_ADVANCED, memory_choices,
    "Data stored for the gradient. checkpoint: a checkpoint every 38 substeps, and as much of the grid and "
    "then the particles in between as fits into 235 MB, or 17.5 kB per particle if that is more (all of the "
    "small preset), and after eight gradients as much as fits into this thread's share of a quarter of the "
    "free memory; the rest is simulated again. store: all substeps from the first gradient on (1.2 GB for "
    "10000 particles). Results are bit-identical.");

#define GRID_PARAMS                                                                                          \
    DS_ARRAY("target", "",                                                                                   \
             "Target density: masses of the grid nodes, 64x64x64 (preset small: 32x32x32), as in "           \
             "PlasticineLab's .npy files. Empty: the built-in target of the variant."),                      \
        DS_ENUM(                                                                                             \
            "preset", "full", preset_choices,                                                                \
            "full: grid 64^3, 19 substeps of 1e-4 s, the task's particles, 50 steps. small: grid 32^3, 9 "   \
            "substeps of 2e-4 s, an eighth of the particles, 10 steps.")

#define IMAGE_PARAMS IMAGE_LOSS_PARAMS(MPM_CAMERAS), IMAGE_LOSS_DISC_PARAMS("half the spacing of the grid.")

#define COMMON_PARAMS                                                                                        \
    DS_INT("particles", "0", 0, 1000000, "", "Number of particles; 0 = the task's own."),                    \
        DS_LIST("tool_start", "", -10, 10, 8 * MPM_MAX_TOOLS, "",                                            \
                "Start poses of the tools: x y z, quaternion w x y z, and the gap if it has one, for each "  \
                "tool. "                                                                                     \
                "Empty: the task's own."),                                                                   \
        &(const ds_param)ENUM_PARAM("contact_grad", "exact", DS_PARAM_ADVANCED, gradient_choices,            \
                                    "Gradient of the hard contact loss: exact, or given to every particle "  \
                                    "as in the reference code."),                                            \
        &(const ds_param)ENUM_PARAM(                                                                         \
            "svd_grad", "exact", DS_PARAM_ADVANCED, gradient_choices,                                        \
            "Gradient of the singular value decomposition: exact, or clamped as in the reference code."),    \
        &mpm_engine_param, &mpm_precision_param, &mpm_memory_param,                                          \
        DS_INT("observed", "200", 0, 80000, "",                                                              \
               "Stepwise control: smallest number of observed particles; every k-th one is observed, or "    \
               "all if "                                                                                     \
               "there are fewer; 0 = none. 200 is PlasticineLab's number; with fewer a learner is faster "   \
               "and its "                                                                                    \
               "record smaller."),                                                                           \
        IMAGE_PARAMS, DS_HYBRID_PARAMS

const ds_param *const mpm_image_params[] = {IMAGE_PARAMS, NULL};

const ds_param *const mpm_env_params[] = {
    DS_INT("variant", "1", 1, MPM_TARGET_VARIANTS, "", "Which of the task's five targets."),
    GRID_PARAMS,
    DS_INT("steps", "0", 0, 1000, "", "Output steps of an episode; 0 = 50 (preset small: 10)."),
    DS_INT("segments", "5", 1, 1000, "",
           "Intervals of constant action, of equal length. With segments = steps the variables are "
           "PlasticineLab's own action sequence.",
           .flags = DS_PARAM_SHAPE),
    DS_ENUM("loss", "segment_sum", loss_choices,
            "Which states the loss sums: at segment ends, after every step, or the last one. image: compares "
            "what cameras see of the material with the shape of the target."),
    DS_REAL("softness", "666", 0, 1e6, "",
            "Tools act on nodes where exp(-softness distance) > 0.1; 0 = only inside."),
    DS_ENUM("contact", "soft", contact_choices,
            "Contact loss: weighted mean distance of the particles to a tool, or the distance of the nearest "
            "particle."),
    DS_REAL("weight_density", "10", 0, 1e6, "", "Weight of the density loss."),
    DS_REAL("weight_sdf", "10", 0, 1e6, "", "Weight of the distance field loss."),
    DS_REAL("weight_contact", "40", 0, 1e6, "", "Weight of the contact loss."),
    COMMON_PARAMS,
    NULL,
};

const ds_param *const mpm_scene_params[] = {
    DS_PATH("scene", "", "The scene file (.ini): bodies, tools, materials, target, loss."),
    DS_INT("variant", "0", 0, MPM_TARGET_VARIANTS, "", "Which target of a file of targets; 0 = the scene's."),
    GRID_PARAMS,
    DS_INT("steps", "0", 0, 1000, "",
           "Output steps of an episode; 0 = the scene's, else 50 (preset small: 10)."),
    DS_INT("segments", "0", 0, 1000, "", "Intervals of constant action, of equal length; 0 = the scene's.",
           .flags = DS_PARAM_SHAPE),
    DS_ENUM("loss", "scene", scene_loss_choices,
            "Which states the loss sums: the scene's choice, or as in the plasticine tasks."),
    DS_REAL("softness", "-1", -1, 1e6, "",
            "Tools act on nodes where exp(-softness distance) > 0.1; 0 = only inside; -1 = the scene's."),
    DS_ENUM("contact", "scene", scene_contact_choices,
            "Contact loss: the scene's choice, or weighted mean distance of the particles to a tool, or the "
            "distance of the nearest particle."),
    DS_REAL("weight_density", "-1", -1, 1e6, "", "Weight of the density loss; -1 = the scene's."),
    DS_REAL("weight_sdf", "-1", -1, 1e6, "", "Weight of the distance field loss; -1 = the scene's."),
    DS_REAL("weight_contact", "-1", -1, 1e6, "", "Weight of the contact loss; -1 = the scene's."),
    DS_PATH("fill", "",
            "In place of a scene, a body alone: the points of a .ply file, or points inside a closed mesh; "
            "`dshost "
            "target` uses it.",
            .flags = DS_PARAM_ADVANCED),
    DS_REAL("fill_scale", "1", 1e-9, 1e9, "", "Factor of the lengths of the file `fill`.",
            .flags = DS_PARAM_ADVANCED),
    DS_LIST("fill_center", "0.5,0,0.5", -10, 10, 3, "m", "Where the origin of the file `fill` is placed.",
            .flags = DS_PARAM_ADVANCED),
    DS_BOOL("outline", "false", "The scene of an episode also shows the bounds of the tools, as lines.",
            .flags = DS_PARAM_ADVANCED),
    COMMON_PARAMS,
    NULL,
};

static uint32_t get_u32(ds_param_reader *in, const char *name)
{
    return (uint32_t)ds_param_int(in, name);
}

static ds_status read_tool_start(const mpm_env *env, ds_param_reader *in, mpm_pose *poses, bool *given)
{
    const ds_host *host = in->host;
    uint64_t count, wanted = 0;
    const double *list = ds_param_list(in, "tool_start", &count);
    *given = count > 0;
    if (!*given) {
        return in->status;
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        wanted += mpm_env_pose_size(&env->scene.tools[t]);
    }
    if (count != wanted) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter tool_start has %llu numbers, the %u tool(s) of this task need %llu",
                            (unsigned long long)count, env->scene.n_tools, (unsigned long long)wanted);
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        const mpm_tool *tool = &env->scene.tools[t];
        const double *q = list + 3;
        poses[t] = tool->start;
        memcpy(poses[t].position, list, sizeof poses[t].position);
        memcpy(poses[t].rotation, q, sizeof poses[t].rotation);
        if (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < 1e-12) {
            return ds_host_fail(
                host, DS_E_PARAM,
                "parameter tool_start: the quaternion of tool %u is zero; give w x y z, for example 1 0 0 0",
                t + 1);
        }
        quat_normalise(poses[t].rotation);
        if (tool->shape == MPM_CHOPSTICKS) {
            poses[t].gap = list[7];
        }
        list += mpm_env_pose_size(tool);
    }
    return DS_OK;
}

/* Reads and checks the user's target density. */
static ds_status use_given_target(mpm_env *env, const double *data, uint64_t ndim, const uint64_t shape[8])
{
    uint64_t n = (uint64_t)env->episode.sim.domain.n;
    if (ndim != 3 || shape[0] != n || shape[1] != n || shape[2] != n) {
        char given[128] = "";
        size_t used = 0;
        for (uint64_t d = 0; d < ndim && d < 8 && used < sizeof given; d++) {
            int wrote = snprintf(given + used, sizeof given - used, d ? "x%llu" : "%llu",
                                 (unsigned long long)shape[d]);
            used += wrote > 0 ? (size_t)wrote : 0;
        }
        return ds_host_fail(env->kit.host, DS_E_DATA,
                            "parameter target has shape %s, this preset needs %llux%llux%llu", given,
                            (unsigned long long)n, (unsigned long long)n, (unsigned long long)n);
    }
    bool dense = false;
    for (uint64_t i = 0; i < n * n * n; i++) {
        if (!isfinite(data[i])) {
            return ds_host_fail(env->kit.host, DS_E_DATA,
                                "parameter target has a value that is not finite, at node (%llu, %llu, %llu)",
                                (unsigned long long)(i / (n * n)), (unsigned long long)(i / n % n),
                                (unsigned long long)(i % n));
        }
        dense |= data[i] > MPM_TARGET_CELL;
    }
    if (!dense) {
        return ds_host_fail(
            env->kit.host, DS_E_DATA,
            "parameter target has no node with a mass above %g; it must hold masses, not a density of 0..1",
            MPM_TARGET_CELL);
    }
    mpm_result result = mpm_objective_init(&env->episode.objective, (int)n, data);
    return result == MPM_OK ? DS_OK : ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory for the target");
}

static ds_status read_stored_target(mpm_env *env, const mpm_task *task, uint32_t variant, double *density)
{
    const ds_host *host = env->kit.host;
    char found[4096];
    const char *path = task->target_path ? task->target_path : found;
    ds_status status =
        task->target_path ? DS_OK : host->resource(host, task->target_file, found, sizeof found, NULL);
    if (status != DS_OK) {
        return ds_host_fail(
            host, DS_E_IO,
            "the built-in targets, %s, are missing next to the plugin; reinstall, or set target=FILE.npy",
            task->target_file);
    }
    int n = mpm_domain_make(MPM_PRESET_FULL).n;
    double *stored = malloc((size_t)n * (size_t)n * (size_t)n * sizeof(double));
    if (!stored) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the target");
    }
    const char *wrong = mpm_target_read(path, n, variant, stored);
    if (wrong) {
        status = ds_host_fail(host, DS_E_DATA, "%s %s; reinstall, or set target=FILE.npy", path, wrong);
    } else {
        mpm_target_fit(stored, n, &env->episode.sim.domain, env->episode.sim.n_particles, density);
    }
    free(stored);
    return status;
}

/* Positions up to this one are valid. */
static double highest_of(const mpm_domain *domain)
{
    return (domain->n - 3.0 - domain->offset) * domain->dx;
}

/* Refuses bodies that the grid of this preset cannot hold. */
static ds_status check_start(const mpm_env *env, ds_param_reader *in)
{
    const mpm_domain *domain = &env->episode.sim.domain;
    const double highest = highest_of(domain), lowest = -domain->offset * domain->dx;
    uint32_t b = 0, end = mpm_body_count(&env->scene, domain, env->particles_asked, 0);
    for (uint32_t p = 0; p < env->episode.sim.n_particles; p++) {
        for (; p >= end && b + 1 < env->scene.n_bodies; b++) {
            end += mpm_body_count(&env->scene, domain, env->particles_asked, b + 1);
        }
        for (int d = 0; d < 3; d++) {
            const double x = env->episode.start[p].x[d];
            if (!(x >= lowest && x <= highest)) {
                return ds_host_fail(in->host, DS_E_DATA,
                                    "body %.47s has a particle at %c = %.4g, but the grid holds material "
                                    "from %.4g to %.4g: move "
                                    "it or make it smaller",
                                    env->task->body_names[b] ? env->task->body_names[b] : "", "xyz"[d], x,
                                    lowest, highest);
            }
        }
    }
    return DS_OK;
}

/* Particles of the bodies of a scene. The mass is that of the episode's particles. */
static ds_status arrange_target(const mpm_env *env, const mpm_scene *shapes, double *density)
{
    const mpm_domain *domain = &env->episode.sim.domain;
    const size_t cells = (size_t)domain->n * (size_t)domain->n * (size_t)domain->n;
    const uint32_t all = env->episode.sim.n_particles;
    const int result = mpm_target_arrange(shapes, domain, env->particles_asked, density);
    if (result == MPM_DIVERGED) {
        return ds_host_fail(
            env->kit.host, DS_E_DATA,
            "the target reaches out of the grid, which holds material from 0 to %.4g: move it or "
            "make it smaller",
            highest_of(domain));
    }
    if (result != MPM_OK) {
        return DS_E_NOMEM;
    }
    const uint32_t given = mpm_particle_count(shapes, domain, env->particles_asked);
    for (size_t i = 0; given != all && given > 0 && i < cells; i++) {
        density[i] *= (double)all / given;
    }
    return DS_OK;
}

static ds_status use_own_target(mpm_env *env, const mpm_task *task, uint32_t variant)
{
    const mpm_domain *domain = &env->episode.sim.domain;
    size_t n = (size_t)domain->n;
    double *density = malloc(n * n * n * sizeof(double));
    ds_status status = DS_OK;
    if (!density) {
        status = DS_E_NOMEM;
    } else if (task->target_file || task->target_path) {
        status = read_stored_target(env, task, variant, density);
    } else if (task->density) {
        mpm_target_fit(task->density, task->n, domain, env->episode.sim.n_particles, density);
    } else {
        status = arrange_target(env, task->shapes ? task->shapes : &env->scene, density);
    }
    if (status == DS_OK && mpm_objective_init(&env->episode.objective, domain->n, density) != MPM_OK) {
        status = DS_E_NOMEM;
    }
    free(density);
    return status == DS_E_NOMEM ? ds_host_fail(env->kit.host, status, "no memory for the target") : status;
}

static ds_status configure_objective(mpm_env *env, const mpm_task *task, const mpm_choices *choices,
                                     ds_param_reader *in)
{
    mpm_objective *o = &env->episode.objective;
    o->weight_density = choices->weight_density;
    o->weight_sdf = choices->weight_sdf;
    o->weight_contact = choices->weight_contact;
    o->soft_contact = choices->soft_contact;
    o->contact_all_particles = ds_param_int(in, "contact_grad") == 1;
    const double *data = NULL;
    uint64_t ndim = 0, shape[8] = {0};
    if (in->status == DS_OK) {
        in->status = in->host->get_array(in->host, "target", &data, &ndim, shape);
    }
    if (in->status != DS_OK) {
        return in->status;
    }
    if (ndim == 0 && task->no_target) {
        return env->image.image_loss.wanted
                   ? ds_host_fail(in->host, DS_E_PARAM, "loss = image needs a target: add a section [target]")
                   : DS_OK;
    }
    if (task->domain) {
        return ds_host_fail(
            in->host, DS_E_PARAM,
            "a target is a density of the unit cube, and this scene has a section [grid]: use "
            "terms of the loss instead");
    }
    return ndim > 0 ? use_given_target(env, data, ndim, shape) : use_own_target(env, task, choices->variant);
}

void mpm_env_read_engine(ds_param_reader *in, mpm_episode_spec *spec)
{
    spec->engine = ds_param_int(in, "engine") == 1 ? MPM_ENGINE_SCALAR : MPM_ENGINE_FAST;
    spec->fast.bits = ds_param_int(in, "precision") == 1 ? 32 : 64;
    spec->fast.store = ds_param_int(in, "memory") == 1;
    spec->fast.threads = in->host->threads;
}

/* Sets up the cameras' view of all particles and of the target. */
static ds_status open_image(mpm_env *env)
{
    const mpm_episode *e = &env->episode;
    ds_memory room = {0};
    image_loss_points target;
    target.p = mpm_shape_points(&e->sim.domain, e->objective.target, &room, &target.points);
    const ds_status status =
        target.p ? mpm_image_open(&env->image, e, 0, e->sim.n_particles, target, env->kit.host)
                 : ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory for the shape of the target");
    ds_memory_free(&room);
    return status;
}

/* Describes the episode to the kit. */
static void describe(mpm_env *env)
{
    const mpm_episode *e = &env->episode;
    env->kit.n = mpm_episode_dim(e) + (uint64_t)env->task->n_variables;
    env->kit.steps = e->steps;
    env->kit.dt = e->sim.domain.substeps * e->sim.domain.dt;
    const bool pieces = env->task->n_variables == 0 && env->task->motion == MPM_MOTION_PIECES;
    env->kit.horizon = pieces ? e->segments : 0; /* 0: no stepwise control */
    env->kit.control_dt = env->kit.dt * e->steps / e->segments;
    env->kit.n_obs = 6 * (uint64_t)mpm_env_observed(env);
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        env->kit.n_obs += mpm_env_pose_size(&env->scene.tools[t]);
    }
}

void mpm_env_configure(mpm_env *env, const mpm_task *task, ds_param_reader *in)
{
    const mpm_choices choices = {.variant = get_u32(in, "variant"),
                                 .steps = get_u32(in, "steps"),
                                 .segments = get_u32(in, "segments"),
                                 .loss = get_u32(in, "loss"),
                                 .softness = ds_param_real(in, "softness"),
                                 .weight_density = ds_param_real(in, "weight_density"),
                                 .weight_sdf = ds_param_real(in, "weight_sdf"),
                                 .weight_contact = ds_param_real(in, "weight_contact"),
                                 .soft_contact = ds_param_int(in, "contact") == 0};
    mpm_env_configure_as(env, task, &choices, in);
}

/* Actions that are velocities: the displacement per step at 1 m/s, and the limits. */
static void set_velocities(mpm_env *env, const mpm_domain *domain)
{
    for (uint32_t t = 0; env->task->velocity && t < env->scene.n_tools; t++) {
        mpm_tool *tool = &env->scene.tools[t];
        for (uint32_t c = 0; c < tool->action_dim; c++) {
            tool->limit[c] = tool->scale[c];
            tool->scale[c] = domain->substeps * domain->dt;
        }
    }
}

static void replace_count(ds_param_reader *in, const char *name, uint32_t *value)
{
    uint32_t given = get_u32(in, name);
    *value = given > 0 ? given : *value;
}

static void replace_real(ds_param_reader *in, const char *name, double *value)
{
    double given = ds_param_real(in, name);
    *value = given >= 0.0 ? given : *value;
}

void mpm_scene_choices(ds_param_reader *in, mpm_choices *choices)
{
    uint32_t loss = get_u32(in, "loss"), contact = get_u32(in, "contact");
    replace_count(in, "variant", &choices->variant);
    replace_count(in, "steps", &choices->steps);
    replace_count(in, "segments", &choices->segments);
    replace_real(in, "softness", &choices->softness);
    replace_real(in, "weight_density", &choices->weight_density);
    replace_real(in, "weight_sdf", &choices->weight_sdf);
    replace_real(in, "weight_contact", &choices->weight_contact);
    choices->loss = loss > 0 ? loss - 1 : choices->loss;
    choices->soft_contact = contact > 0 ? contact == 1 : choices->soft_contact;
}

void mpm_env_configure_as(mpm_env *env, const mpm_task *task, const mpm_choices *choices, ds_param_reader *in)
{
    mpm_episode_spec spec = {.steps = choices->steps,
                             .segments = choices->segments,
                             .loss_mode = choices->loss,
                             .softness = choices->softness};
    uint32_t variant = choices->variant, preset = get_u32(in, "preset");
    spec.particles = get_u32(in, "particles");
    spec.clamped_svd = ds_param_int(in, "svd_grad") == 1;
    env->observed_asked = get_u32(in, "observed");
    mpm_env_read_engine(in, &spec);
    if (in->status != DS_OK) {
        return;
    }
    env->task = task;
    env->scene = task->scene;
    if (task->vary) {
        task->vary(&env->scene, variant);
    }
    mpm_pose start[MPM_MAX_TOOLS];
    mpm_goal goal;
    bool given = false;
    in->status = read_tool_start(env, in, start, &given);
    if (in->status != DS_OK) {
        return;
    }
    env->particles_asked = spec.particles;
    spec.scene = &env->scene;
    spec.domain = task->domain ? *task->domain : mpm_domain_make(preset);
    spec.motion = task->motion;
    set_velocities(env, &spec.domain);
    spec.steps = spec.steps ? spec.steps : spec.domain.steps;
    ds_param_reader seen = {choices->cameras ? choices->cameras : in->host, in->status};
    image_loss_read(&env->image.image_loss, &seen, spec.loss_mode == LOSS_IMAGE, spec.steps, 0);
    in->status = seen.status;
    if (task->terms.count > 0) {
        mpm_terms_goal(&env->terms, &task->terms, &env->episode, &env->scene, &spec.domain, spec.particles,
                       &goal);
        spec.goal = &goal;
    }
    mpm_image_goal(&env->image, &goal, &spec);
    spec.tool_start = given ? start : NULL;
    if (in->status != DS_OK) {
        return;
    }
    if (spec.segments > spec.steps) {
        ds_host_say(in->host, DS_LOG_WARNING,
                    "%u segments but only %u steps: the variables of %u segments have no effect",
                    spec.segments, spec.steps, spec.segments - spec.steps);
    }
    if (mpm_episode_init(&env->episode, &spec) != MPM_OK) {
        in->status = ds_host_fail(in->host, DS_E_NOMEM, "no memory for %u particles and %u steps",
                                  mpm_particle_count(&env->scene, &spec.domain, spec.particles), spec.steps);
        return;
    }
    in->status = check_start(env, in);
    if (in->status != DS_OK) {
        return;
    }
    env->episode.should_stop = mpm_env_should_stop;
    env->episode.stop_context = in->host;
    if (task->n_variables > 0 &&
        !mpm_variables_open(&env->variables, task->variables, task->n_variables, &env->scene, &env->episode,
                            spec.particles, &env->kit.memory)) {
        in->status = ds_host_fail(in->host, DS_E_NOMEM, "no memory for the variables");
        return;
    }
    describe(env);
    in->status = configure_objective(env, task, choices, in);
    if (in->status == DS_OK && env->image.image_loss.wanted) {
        in->status = open_image(env);
    }
}

/* ---- loss = image ---- */

/* Copies the particles of a state to the points to draw. */
static void gather(const mpm_image *image, const mpm_particle *particles)
{
    for (uint32_t p = 0; p < image->count; p++) {
        memcpy(image->image_loss.p + 3 * (size_t)p, particles[image->first + p].x, sizeof particles->x);
    }
}

/* Stepwise control requests losses of states that are not compared: they use the first target. */
static uint64_t frame_of(const mpm_image *image, uint32_t step)
{
    const int64_t k = image_loss_frame(&image->image_loss, step);
    return k < 0 ? 0 : (uint64_t)k;
}

/* Draws the gathered particles. */
static mpm_result show(mpm_image *image, uint32_t step, double *loss)
{
    image->shown = step;
    return image_loss_draw(&image->image_loss, frame_of(image, step), loss) == DS_OK ? MPM_OK : MPM_NO_MEMORY;
}

static mpm_result frame_loss(void *self, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                             double *loss)
{
    mpm_image *image = self;
    (void)poses;
    gather(image, particles);
    return show(image, step, loss);
}

static mpm_result frame_adjoint(void *self, uint32_t step, const mpm_particle *particles,
                                const mpm_pose *poses, mpm_particle *bar, mpm_pose *poses_bar)
{
    mpm_image *image = self;
    const double *p_bar = image->image_loss.p_bar;
    double unused;
    (void)poses;
    (void)poses_bar;
    gather(image, particles);
    /* The rewards of a sweep share the only frame: its image may show a later state. */
    if (image->image_loss.frames == 1 && image->shown != step && show(image, step, &unused) != MPM_OK) {
        return MPM_NO_MEMORY;
    }
    if (image_loss_adjoint(&image->image_loss, frame_of(image, step)) != DS_OK) {
        return MPM_NO_MEMORY;
    }
    for (uint32_t p = 0; p < image->count; p++, p_bar += 3) {
        for (int d = 0; d < 3; d++) {
            bar[image->first + p].x[d] += p_bar[d];
        }
    }
    return MPM_OK;
}

void mpm_image_goal(mpm_image *image, mpm_goal *goal, mpm_episode_spec *spec)
{
    if (!image->image_loss.wanted) {
        return;
    }
    image->image_loss.single = spec->fast.bits == 32;
    *goal = (mpm_goal){.self = image, .loss = frame_loss, .adjoint = frame_adjoint};
    spec->goal = goal;
    spec->frames = (uint32_t)image->image_loss.frames;
    spec->loss_mode = spec->frames > 1 ? MPM_LOSS_FRAMES : MPM_LOSS_FINAL;
}

ds_status mpm_image_open(mpm_image *image, const mpm_episode *e, uint32_t first, uint32_t count,
                         image_loss_points target, const ds_host *host)
{
    image_loss *s = &image->image_loss;
    ds_memory room = {0};
    double *start = ds_memory_doubles(&room, 3 * (size_t)count + 1);
    image->first = first;
    image->count = count;
    s->radius = s->radius > 0.0 ? s->radius : 0.5 * e->sim.domain.dx;
    for (uint32_t p = 0; start && p < count; p++) {
        memcpy(start + 3 * (size_t)p, e->start[first + p].x, sizeof e->start->x);
    }
    const frames_subject subject = {.particles = count, .radius = s->radius, .opacity = s->opacity};
    const image_loss_points seen[2] = {{count, start}, target};
    ds_status status =
        start ? image_loss_open(s, &subject, 2, seen, host)
              : ds_host_fail(host, DS_E_NOMEM, "no memory for the images: reduce parameter image_size");
    ds_memory_free(&room);
    status = status != DS_OK ? status : image_loss_target_cloud(s, target);
    return status != DS_OK ? status : image_loss_target_file(s);
}
