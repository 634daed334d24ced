/* SPDX-License-Identifier: Apache-2.0 */
/* double_pendulum.c - find unknown quantities of a double pendulum: from images (gradSim, Jatavallabhula et
 * al., ICLR 2021), or from its motion, simulated or recorded (NeuralSim, Heiden et al., ICRA 2021; Suh et
 * al., ICML 2022). */
#include "engines/kit/bundled.h"
#include "engines/rendering/observation/observed.h"
#include "model.h"

static const char *const variants[] = {"camera",    "lengths", "damping", "recording",
                                       "synthetic", "initial", NULL};
static const char *const integrators[] = {"variant", "rk4", "semi_implicit", NULL};
static const char *const rollouts[] = {"full", "onestep", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variant", "camera", variants,
            "camera: two bobs in images. The others compare angles: lengths: of both arms, damping: of both "
            "joints, from a simulated motion; recording: seven constants of a real pendulum, from parameter "
            "file; synthetic: the same from a made recording; initial: the start, such that the pendulum "
            "ends upright.",
            .flags = DS_PARAM_SHAPE),
    DS_LIST("length", "", 0.01, 100, 2, "m",
            "Lengths of the rods: of the target, and if they are not variables. Empty: 1 (camera, initial), "
            "3 and 4 (lengths), 0.5 (damping); recording, synthetic: 0.091 and 0.070, only for drawing."),
    DS_REAL("mass", "1", 1e-3, 1e3, "kg", "The same for the mass of the second bob; the first has 1 kg.",
            .flags = DS_PARAM_LOG),
    DS_LIST("gravity", "", -100, 100, 1, "m/s^2",
            "The same for gravity, downward. Empty: 10 (camera), 9.81 (others). Not used by recording and "
            "synthetic."),
    DS_LIST("angle", "", -100, 100, 2, "rad",
            "The same for the angles from the downward vertical at the start; empty: 3 pi / 7 and 3 pi / 4 "
            "(camera), pi / 2 (lengths, damping), 1.951 and -0.082 (synthetic)."),
    DS_LIST("rate", "0", -100, 100, 2, "rad/s", "The same for their rates."),
    DS_REAL("force", "0", -1e3, 1e3, "N",
            "camera: the same for a constant horizontal force on the second bob."),
    OBSERVED_PARAMS(
        "length",
        "camera: length (of both rods), mass (of the second bob), gravity, force (horizontal, on the second "
        "bob), angle, rate (at the start)",
        "image", "64", "8, 0, 0", "alpha"),
    OBSERVED_FRAMES_PARAMS("50", "1/30 s", "4", "10"),
    DS_LIST("damping", "", -10, 10, COMPOUND_VARIABLES, "N m s/rad",
            "damping: of both joints of the target; empty: 0.2 and 0.1."),
    RECORDED_PARAMS(
        "1 2 3 4 5 6",
        "Names or numbers (from 1) of two columns: both angles from the downward vertical; or of six: pivot, "
        "first and second tip as points, each with the downward coordinate first.",
        "0", "Samples per second; 0: 60 (lengths), 500 (damping, recording, synthetic), 1000 (initial).", "0",
        "Number of compared samples, with the start; 0: 51 (lengths), 2501 (damping), 200 (recording, "
        "synthetic), 1001 (initial)."),
    DS_REAL("per_length", "107.8", 1e-3, 1e6, "1/s^2",
            "recording, synthetic: gravity / length of the first arm."),
    DS_REAL("noise", "0.0024", 0, 1, "rad",
            "synthetic: standard deviation of the noise in the angles; drawn with seed."),
    DS_LIST("time_weight", "0, 1", 0, 1e6, 2, "",
            "a, b: the squared error at time t has the weight 1 / (a t)^b; a = 0: all weights are 1."),
    DS_BOOL("wrap", "true",
            "All variants except camera and initial: true: angles are compared on the circle. false: turns "
            "count, and those of a recording are followed from sample to sample; least squares then succeed "
            "far more often from a distant start, but a single turn lost in a gap spoils the fit."),
    DS_ENUM("rollout", "full", rollouts,
            "full: the motion from the start; onestep: each sample from the recorded sample before, with "
            "rates by differences."),
    DS_ENUM("integrator", "variant", integrators,
            "Integration method; variant: semi_implicit (lengths, damping, initial), rk4 (recording, "
            "synthetic)."),
    DS_LIST("start", "", -1e3, 1e3, COMPOUND_VARIABLES, "",
            "All variants except camera: start of a search, one value per variable; empty: as in the table "
            "of the documentation, rates by differences."),
    DS_INT("steps_per_sample", "1", 1, 1000, "", "Steps from one sample to the next."),
    DS_HYBRID_PARAMS,
    NULL};

static ds_status double_pendulum_create(const ds_host *host, void **out)
{
    ds_param_reader in = {host, DS_OK};
    const int64_t variant = ds_param_int(&in, "variant");
    if (in.status == DS_OK && variant == VARIANT_CAMERA && ds_param_text(&in, "residual")[0] != '\0') {
        in.status = ds_host_fail(host, DS_E_PARAM,
                                 "parameters variant = camera and residual: only the variants that compare "
                                 "angles have networks in their joints; choose one of them");
    }
    return in.status != DS_OK
               ? in.status
               : ds_env_kit_create(variant == VARIANT_CAMERA ? &camera_table : &motion_table, host, out);
}

static ds_status double_pendulum_evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    const ds_env_kit *kit = self;
    return ds_env_kit_evaluate_table(kit->env, self, rows, results);
}

static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),
                                     .create = double_pendulum_create,
                                     .destroy = ds_env_kit_destroy,
                                     .info = ds_env_kit_info,
                                     .bounds = ds_env_kit_bounds,
                                     .evaluate = double_pendulum_evaluate,
                                     .get_extension = ds_env_kit_extension};

static const char *const extensions[] = {DS_EXT_SCENE, DS_EXT_CHANNELS, DS_EXT_VARIABLES, DS_EXT_HOOKS, NULL};

static const ds_desc desc = {
    BUNDLED_DESC("double_pendulum", "4"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Identify a double pendulum from images, or from its recorded motion.",
    .description =
        "camera (gradSim): two pendula in a row, with bobs of radius 0.25 m, swing for 1.6 s without "
        "friction. The variables are the unknown quantities, by default the lengths of the rods. The target "
        "is an episode of the same pendula with the parameters length, mass, gravity, force, angle and rate; "
        "the "
        "same camera sees each bob in its own image, so the least loss is 0. Only the ratio of the masses "
        "matters. With observe = state the loss is the mean squared distance of the bobs, m^2.\nThe other "
        "variants compare angles; the loss is the sum of their squared errors, rad^2. lengths, damping "
        "(NeuralSim, Heiden et al.): from a simulated motion with known constants. recording: inertias, "
        "moment, damping and rates at the start of a real pendulum, from a file; synthetic: the same from a "
        "made recording. Networks can be added to the torques of the joints (parameter residual).\ninitial "
        "(Suh et al.): the variables are the state at the start, the loss is the distance from upright "
        "rest.\nChannels: residuals with J v and J' w; with observe = image also images and target. Metric "
        "error: mean error of the variables, relative if they are positive; the optimizer does not see it; "
        "distance: between the midpoints of the bobs; rmse: of the angles so far, over the held-out samples "
        "from their first on.",
    .citation = PAPER_GRADSIM " E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. S. Sukhatme: NeuralSim: "
                              "Augmenting differentiable simulators with neural networks. ICRA 2021, "
                              "arXiv:2011.04217. A. Asseman, T. Kornuta, A. Ozcan: Learning beyond "
                              "simulated physics. NeurIPS 2018 workshop. H. J. T. Suh, M. Simchowitz, K. "
                              "Zhang, R. Tedrake: Do differentiable simulators give better policy "
                              "gradients? ICML 2022, arXiv:2202.00817.",
    .extensions = extensions};

DS_DEFINE_ENV(desc, vtable)
