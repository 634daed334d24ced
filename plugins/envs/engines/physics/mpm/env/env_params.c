/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the plasticine environments: from the host's values to an episode. */
#include "env_params.h"

#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/mpm/loss/distance.h"
#include "engines/physics/mpm/loss/shape.h"
#include "evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const preset_choices[] = {"full", "small", NULL};
static const char *const loss_choices[] = {"segment_sum", "step_sum", "final", "image", NULL};
enum { LOSS_IMAGE = MPM_LOSS_FRAMES }; /* the choice after those of the modes */
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

const ds_param mpm_engine_param = ENUM_PARAM(
    "engine", "fast", DS_PARAM_ADVANCED, engine_choices,
    "The vectorised engine, or the plain one it is tested against, which svd_grad=reference always "
    "takes. precision and memory are for the fast one.");

const ds_param mpm_precision_param = ENUM_PARAM(
    "precision", "f64", 0, precision_choices,
    "Floats of the simulation. f32 takes about two thirds of the time; losses then agree to about 1e-6 "
    "and gradients to about 1e-3.");

const ds_param mpm_memory_param = ENUM_PARAM(
    "memory", "checkpoint", DS_PARAM_ADVANCED, memory_choices,
    "What is kept for the gradient: a checkpoint every 38 substeps, and of the grid and then the particles "
    "in between as much as fits into 235 MB, or 17.5 kB for each particle where that is more (all of the "
    "small preset), and after eight gradients as much as fits into this thread's part of a quarter of the "
    "free memory; the rest is simulated again. Or all substeps from the first gradient on (1.2 GB for 10000 "
    "particles). The results are the same bits.");

const ds_param *const mpm_env_params[] = {
    DS_INT("variant", "1", 1, MPM_TARGET_VARIANTS, "", "Which of the task's five targets."),
    DS_ARRAY(
        "target", "",
        "Target density: masses of the grid nodes, 64x64x64 (preset small: 32x32x32), as in PlasticineLab's "
        ".npy files. Empty: the built-in target of the variant."),
    DS_ENUM("preset", "full", preset_choices,
            "full: grid 64^3, 19 substeps of 1e-4 s, the task's particles, 50 steps. small: grid 32^3, 9 "
            "substeps of 2e-4 s, an eighth of the particles, 10 steps."),
    DS_INT("steps", "0", 0, 1000, "", "Output steps of an episode; 0 = 50 (preset small: 10)."),
    DS_INT("segments", "5", 1, 1000, "",
           "Pieces of constant action, of equal length. With segments = steps the variables are "
           "PlasticineLab's own action sequence.",
           .flags = DS_PARAM_SHAPE),
    DS_ENUM("loss", "segment_sum", loss_choices,
            "Which states the loss sums: those at segment ends, after every step, or the last. image: what "
            "cameras see of the material, compared with the shape of the target."),
    DS_REAL("softness", "666", 0, 1e6, "",
            "Tools act on nodes where exp(-softness distance) > 0.1; 0 = only inside."),
    DS_ENUM("contact", "soft", contact_choices,
            "Contact loss: weighted mean distance of the particles to a tool, or that of the nearest one."),
    DS_REAL("weight_density", "10", 0, 1e6, "", "Weight of the density loss."),
    DS_REAL("weight_sdf", "10", 0, 1e6, "", "Weight of the distance field loss."),
    DS_REAL("weight_contact", "40", 0, 1e6, "", "Weight of the contact loss."),
    DS_INT("particles", "0", 0, 1000000, "", "Number of particles; 0 = the task's own."),
    DS_LIST(
        "tool_start", "", -10, 10, 8 * MPM_MAX_TOOLS, "",
        "Start poses of the tools: for each x y z, quaternion w x y z, and the gap where it has one. Empty: "
        "the task's own."),
    &(const ds_param)ENUM_PARAM(
        "contact_grad", "exact", DS_PARAM_ADVANCED, gradient_choices,
        "Gradient of the hard contact loss: exact, or handed to every particle as in the reference code."),
    &(const ds_param)ENUM_PARAM(
        "svd_grad", "exact", DS_PARAM_ADVANCED, gradient_choices,
        "Gradient of the singular value decomposition: exact, or clamped as in the reference code."),
    &mpm_engine_param,
    &mpm_precision_param,
    &mpm_memory_param,
    DS_INT(
        "observed", "200", 0, 80000, "",
        "Stepwise control: so many particles at least are observed, every k-th one, or all where there are "
        "fewer; 0 = none. 200 is PlasticineLab's number; with fewer a learner is faster and its record "
        "smaller."),
    SIGHT_PARAMS(MPM_CAMERAS),
    SIGHT_DISC_PARAMS("half the spacing of the grid."),
    DS_HYBRID_PARAMS,
    NULL,
};

static uint32_t get_u32(ds_param_reader *in, const char *name)
{
    return (uint32_t)ds_param_int(in, name);
}

uint64_t mpm_env_pose_size(const mpm_tool *tool)
{
    return tool->shape == MPM_CHOPSTICKS ? 8 : 7;
}

uint32_t mpm_env_stride(const mpm_env *env)
{
    uint32_t n = env->episode.sim.n_particles, wanted = env->observed_asked;
    return n < wanted || wanted == 0 ? 1 : n / wanted;
}

uint32_t mpm_env_observed(const mpm_env *env)
{
    uint32_t n = env->episode.sim.n_particles, stride = mpm_env_stride(env);
    return env->observed_asked == 0 ? 0 : (n + stride - 1) / stride;
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
                            "tool_start has %llu numbers, the %u tool(s) of this task need %llu",
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
                "tool_start: the quaternion of tool %u is zero; give w x y z, for example 1 0 0 0", t + 1);
        }
        quat_normalise(poses[t].rotation);
        if (tool->shape == MPM_CHOPSTICKS) {
            poses[t].gap = list[7];
        }
        list += mpm_env_pose_size(tool);
    }
    return DS_OK;
}

/* The user's density, checked. */
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
        return ds_host_fail(env->kit.host, DS_E_DATA, "target has shape %s, this preset needs %llux%llux%llu",
                            given, (unsigned long long)n, (unsigned long long)n, (unsigned long long)n);
    }
    bool dense = false;
    for (uint64_t i = 0; i < n * n * n; i++) {
        if (!isfinite(data[i])) {
            return ds_host_fail(env->kit.host, DS_E_DATA,
                                "target has a value that is not finite, at node (%llu, %llu, %llu)",
                                (unsigned long long)(i / (n * n)), (unsigned long long)(i / n % n),
                                (unsigned long long)(i % n));
        }
        dense |= data[i] > MPM_TARGET_CELL;
    }
    if (!dense) {
        return ds_host_fail(
            env->kit.host, DS_E_DATA,
            "target has no node with a mass above %g; it must hold masses, not a 0..1 density",
            MPM_TARGET_CELL);
    }
    mpm_result result = mpm_objective_init(&env->episode.objective, (int)n, data);
    return result == MPM_OK ? DS_OK : ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory for the target");
}

static ds_status read_stored_target(mpm_env *env, const mpm_task *task, uint32_t variant, double *density)
{
    const ds_host *host = env->kit.host;
    char path[4096];
    ds_status status = host->resource(host, task->target_file, path, sizeof path, NULL);
    if (status != DS_OK) {
        return ds_host_fail(host, DS_E_IO,
                            "the built-in targets, %s, are not beside the plugin; reinstall, or set "
                            "target=FILE.npy",
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

static ds_status use_own_target(mpm_env *env, const mpm_task *task, uint32_t variant)
{
    const mpm_domain *domain = &env->episode.sim.domain;
    size_t n = (size_t)domain->n;
    double *density = malloc(n * n * n * sizeof(double));
    ds_status status = DS_OK;
    if (!density) {
        status = DS_E_NOMEM;
    } else if (task->target_file) {
        status = read_stored_target(env, task, variant, density);
    } else if (mpm_target_arrange(&env->scene, domain, env->particles_asked, task->place, variant, density) !=
               0) {
        status = DS_E_NOMEM;
    }
    if (status == DS_OK && mpm_objective_init(&env->episode.objective, domain->n, density) != MPM_OK) {
        status = DS_E_NOMEM;
    }
    free(density);
    return status == DS_E_NOMEM ? ds_host_fail(env->kit.host, status, "no memory for the target") : status;
}

static ds_status configure_objective(mpm_env *env, const mpm_task *task, ds_param_reader *in,
                                     uint32_t variant)
{
    mpm_objective *o = &env->episode.objective;
    o->weight_density = ds_param_real(in, "weight_density");
    o->weight_sdf = ds_param_real(in, "weight_sdf");
    o->weight_contact = ds_param_real(in, "weight_contact");
    o->soft_contact = ds_param_int(in, "contact") == 0;
    o->contact_all_particles = ds_param_int(in, "contact_grad") == 1;
    const double *data = NULL;
    uint64_t ndim = 0, shape[8] = {0};
    if (in->status == DS_OK) {
        in->status = in->host->get_array(in->host, "target", &data, &ndim, shape);
    }
    if (in->status != DS_OK) {
        return in->status;
    }
    return ndim > 0 ? use_given_target(env, data, ndim, shape) : use_own_target(env, task, variant);
}

void mpm_env_read_engine(ds_param_reader *in, mpm_episode_spec *spec)
{
    spec->engine = ds_param_int(in, "engine") == 1 ? MPM_ENGINE_SCALAR : MPM_ENGINE_FAST;
    spec->fast.bits = ds_param_int(in, "precision") == 1 ? 32 : 64;
    spec->fast.store = ds_param_int(in, "memory") == 1;
    spec->fast.threads = in->host->threads;
}

/* What cameras see of all particles, and of the target. */
static ds_status open_image(mpm_env *env)
{
    const mpm_episode *e = &env->episode;
    ds_memory room = {0};
    sight_points target;
    target.p = mpm_shape_points(&e->sim.domain, e->objective.target, &room, &target.points);
    const ds_status status =
        target.p ? mpm_image_open(&env->image, e, 0, e->sim.n_particles, target, env->kit.host)
                 : ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory for the shape of the target");
    ds_memory_free(&room);
    return status;
}

/* What the kit is told of the episode. */
static void describe(mpm_env *env)
{
    const mpm_episode *e = &env->episode;
    env->kit.n = mpm_episode_dim(e);
    env->kit.steps = e->steps;
    env->kit.dt = e->sim.domain.substeps * e->sim.domain.dt;
    env->kit.horizon = e->segments;
    env->kit.control_dt = env->kit.dt * e->steps / e->segments;
    env->kit.n_obs = 6 * (uint64_t)mpm_env_observed(env);
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        env->kit.n_obs += mpm_env_pose_size(&env->scene.tools[t]);
    }
}

void mpm_env_configure(mpm_env *env, const mpm_task *task, ds_param_reader *in)
{
    mpm_episode_spec spec = {0};
    uint32_t variant = get_u32(in, "variant"), preset = get_u32(in, "preset");
    spec.steps = get_u32(in, "steps");
    spec.segments = get_u32(in, "segments");
    spec.loss_mode = get_u32(in, "loss");
    spec.particles = get_u32(in, "particles");
    spec.clamped_svd = ds_param_int(in, "svd_grad") == 1;
    spec.softness = ds_param_real(in, "softness");
    env->observed_asked = get_u32(in, "observed");
    mpm_env_read_engine(in, &spec);
    if (in->status != DS_OK) {
        return;
    }
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
    spec.domain = mpm_domain_make(preset);
    spec.steps = spec.steps ? spec.steps : spec.domain.steps;
    sight_read(&env->image.sight, in, spec.loss_mode == LOSS_IMAGE, spec.steps, 0);
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
    env->episode.should_stop = mpm_env_should_stop;
    env->episode.stop_context = in->host;
    describe(env);
    in->status = configure_objective(env, task, in, variant);
    if (in->status == DS_OK && env->image.sight.wanted) {
        in->status = open_image(env);
    }
}
