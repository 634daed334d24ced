/* SPDX-License-Identifier: Apache-2.0 */
/* nlopt.c - every algorithm of S. Johnson's NLopt library 2.7 (https://nlopt.readthedocs.io):
 *
 *     repeat
 *         start = random point of [-1, 1]^n
 *         run the algorithm from there until it ends by itself
 *
 * A local algorithm thus becomes a multi-start method; most global ones run until the budget is spent, and an
 * algorithm without random numbers is not repeated. NLopt needs finite values: a failed simulation gets the
 * worst loss of the search so far, with a zero gradient, and a local search whose start fails is given up for
 * the next start.
 *
 * The library has absolute constants. It sees (loss - zero) / unit: zero is the floor of the loss, or its
 * first value in the search; unit the length of the first gradient, or without gradients the first difference
 * from zero. */
#include "methods/base/own.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

#define LARGE 1e100 /* losses are cut at this size: NLopt squares them */
#define COBYLA_BITS 36
#define MEMORY 20            /* gradients kept by the quasi-Newton methods; NLopt's own choice fills 10 MB */
#define UNKNOWN_FAILURE 1e10 /* loss of a failed simulation before the first success */

/* Name, NLopt's constant, and whether random numbers or the start change the search. */
#define ALGORITHMS(X)                                                                                        \
    X("gn_direct", NLOPT_GN_DIRECT, 0)                                                                       \
    X("gn_direct_l", NLOPT_GN_DIRECT_L, 0)                                                                   \
    X("gn_direct_l_rand", NLOPT_GN_DIRECT_L_RAND, 1)                                                         \
    X("gn_direct_noscal", NLOPT_GN_DIRECT_NOSCAL, 0)                                                         \
    X("gn_direct_l_noscal", NLOPT_GN_DIRECT_L_NOSCAL, 0)                                                     \
    X("gn_direct_l_rand_noscal", NLOPT_GN_DIRECT_L_RAND_NOSCAL, 1)                                           \
    X("gn_orig_direct", NLOPT_GN_ORIG_DIRECT, 0)                                                             \
    X("gn_orig_direct_l", NLOPT_GN_ORIG_DIRECT_L, 0)                                                         \
    X("gd_stogo", NLOPT_GD_STOGO, 0)                                                                         \
    X("gd_stogo_rand", NLOPT_GD_STOGO_RAND, 1)                                                               \
    X("ld_lbfgs", NLOPT_LD_LBFGS, 1)                                                                         \
    X("ln_praxis", NLOPT_LN_PRAXIS, 1)                                                                       \
    X("ld_var1", NLOPT_LD_VAR1, 1)                                                                           \
    X("ld_var2", NLOPT_LD_VAR2, 1)                                                                           \
    X("ld_tnewton", NLOPT_LD_TNEWTON, 1)                                                                     \
    X("ld_tnewton_restart", NLOPT_LD_TNEWTON_RESTART, 1)                                                     \
    X("ld_tnewton_precond", NLOPT_LD_TNEWTON_PRECOND, 1)                                                     \
    X("ld_tnewton_precond_restart", NLOPT_LD_TNEWTON_PRECOND_RESTART, 1)                                     \
    X("gn_crs2_lm", NLOPT_GN_CRS2_LM, 1)                                                                     \
    X("gn_mlsl", NLOPT_GN_MLSL, 1)                                                                           \
    X("gd_mlsl", NLOPT_GD_MLSL, 1)                                                                           \
    X("gn_mlsl_lds", NLOPT_GN_MLSL_LDS, 1)                                                                   \
    X("gd_mlsl_lds", NLOPT_GD_MLSL_LDS, 1)                                                                   \
    X("ld_mma", NLOPT_LD_MMA, 1)                                                                             \
    X("ln_cobyla", NLOPT_LN_COBYLA, 1)                                                                       \
    X("ln_newuoa", NLOPT_LN_NEWUOA, 1)                                                                       \
    X("ln_newuoa_bound", NLOPT_LN_NEWUOA_BOUND, 1)                                                           \
    X("ln_neldermead", NLOPT_LN_NELDERMEAD, 1)                                                               \
    X("ln_sbplx", NLOPT_LN_SBPLX, 1)                                                                         \
    X("ln_auglag", NLOPT_LN_AUGLAG, 1)                                                                       \
    X("ld_auglag", NLOPT_LD_AUGLAG, 1)                                                                       \
    X("ln_auglag_eq", NLOPT_LN_AUGLAG_EQ, 1)                                                                 \
    X("ld_auglag_eq", NLOPT_LD_AUGLAG_EQ, 1)                                                                 \
    X("ln_bobyqa", NLOPT_LN_BOBYQA, 1)                                                                       \
    X("gn_isres", NLOPT_GN_ISRES, 1)                                                                         \
    X("auglag", NLOPT_AUGLAG, 1)                                                                             \
    X("auglag_eq", NLOPT_AUGLAG_EQ, 1)                                                                       \
    X("g_mlsl", NLOPT_G_MLSL, 1)                                                                             \
    X("g_mlsl_lds", NLOPT_G_MLSL_LDS, 1)                                                                     \
    X("ld_slsqp", NLOPT_LD_SLSQP, 1)                                                                         \
    X("ld_ccsaq", NLOPT_LD_CCSAQ, 1)                                                                         \
    X("gn_esch", NLOPT_GN_ESCH, 1)                                                                           \
    X("gn_ags", NLOPT_GN_AGS, 0)

#define NAME(name, constant, varies) name,
#define ENTRY(name, constant, varies) {name, constant, varies},
static const char *const names[] = {"auto", ALGORITHMS(NAME) NULL};
static const struct algorithm {
    const char *name;
    nlopt_algorithm constant;
    int varies;
} algorithms[] = {ALGORITHMS(ENTRY)};

typedef struct library_search {
    ds_opt_kit kit;
    const struct algorithm *algorithm, *local; /* the local algorithm inside algorithms that need one */
    double ftol, xtol, initial_step;
    int64_t population;
    nlopt_opt opt;

    /* The current search. */
    double *start; /* n values, then the end of the search */
    double *v;
    uint64_t evaluations;
    double worst;      /* largest finite loss as the library sees it; -INFINITY = none yet */
    double zero, unit; /* of its losses; NAN, 0 = not known yet */
    ds_status status;  /* last result of the objective */
} library_search;

static int is_local(const struct algorithm *a)
{
    return a->name[0] == 'l' || strncmp(a->name, "auglag", 6) == 0;
}

static int takes_local(const struct algorithm *a)
{
    return strncmp(a->name, "auglag", 6) == 0 || strncmp(a->name, "g_mlsl", 6) == 0;
}

/* The choice of the user; number 0 is "auto". */
static const struct algorithm *choose(int64_t choice, const char *automatic)
{
    const struct algorithm *a = algorithms;
    if (choice > 0) {
        return &algorithms[choice - 1];
    }
    while (strcmp(a->name, automatic) != 0) {
        a++;
    }
    return a;
}

static int takes_gradient(const struct algorithm *a)
{
    return a->name[1] == 'd' && a->name[2] == '_';
}

/* Loss and gradient in the library's units. */
static double in_units(library_search *self, double loss, double *gradient)
{
    double norm = 0.0;
    if (!isfinite(loss)) {
        return loss;
    }
    for (size_t k = 0; gradient && k < self->kit.n; k++) {
        norm = hypot(norm, gradient[k]);
    }
    const double floor = self->kit.problem->loss_floor;
    self->zero = !isnan(self->zero) ? self->zero : isfinite(floor) ? floor : loss;
    if (!(self->unit > 0.0)) {
        self->unit = norm > 0.0 && isfinite(norm) ? norm : fabs(loss - self->zero);
    }
    const double unit = self->unit > 0.0 && isfinite(self->unit) ? self->unit : 1.0;
    for (size_t k = 0; gradient && k < self->kit.n; k++) {
        gradient[k] = ds_box_clamp(gradient[k] / unit, -LARGE, LARGE);
    }
    return (loss - self->zero) / unit;
}

/* COBYLA compares numbers that differ by rounding alone: it gets losses rounded to 36 bits, which are equal
 * in every unit. */
static double without_rounding(const library_search *self, double loss)
{
    int exponent;
    const double mantissa = frexp(loss, &exponent);
    return self->algorithm->constant == NLOPT_LN_COBYLA
               ? ldexp(rint(ldexp(mantissa, COBYLA_BITS)), exponent - COBYLA_BITS)
               : loss;
}

/* The loss as a finite number for NLopt. */
static double finite_loss(library_search *self, double loss)
{
    if (isfinite(loss)) {
        loss = without_rounding(self, ds_box_clamp(loss, -LARGE, LARGE));
        self->worst = fmax(self->worst, loss);
        return loss;
    }
    if (is_local(self->algorithm) && self->evaluations == 1) {
        nlopt_force_stop(self->opt); /* nothing to compare with: go to the next start */
    }
    return isfinite(self->worst) ? self->worst : UNKNOWN_FAILURE;
}

/* Local algorithms begin at their start; others may never request it. */
static int is_at_start(const library_search *self)
{
    return self->kit.start.evaluated && self->kit.round == 1 && self->evaluations == 0 &&
           memcmp(self->v, self->kit.start.v, self->kit.n * sizeof(double)) == 0;
}

static double objective(unsigned n, const double *v, double *gradient, void *self_)
{
    library_search *self = self_;
    double loss = INFINITY;
    size_t done = 0;
    for (unsigned k = 0; k < n; k++) {
        if (isnan(v[k])) { /* the algorithm produced NaN: end this search */
            nlopt_force_stop(self->opt);
            return isfinite(self->worst) ? self->worst : UNKNOWN_FAILURE;
        }
        self->v[k] = ds_box_clamp(v[k], -1.0, 1.0);
    }
    if (self->status == DS_OK && self->kit.host->should_stop(self->kit.host)) {
        self->status = DS_STOPPED;
    }
    if (self->status == DS_OK) {
        ds_evaluator_label label = {
            self->evaluations == 0 ? "init" : (is_local(self->algorithm) ? "descent" : "sample"),
            self->kit.round};
        if (is_at_start(self)) { /* the kit has evaluated the start */
            loss = self->kit.start.loss;
            for (unsigned k = 0; gradient && k < n; k++) {
                gradient[k] = self->kit.start.gradient[k];
            }
        } else {
            self->status =
                ds_evaluator_run(&self->kit.evaluator, label, 1, self->v, &loss, gradient, NULL, &done);
        }
        self->evaluations++;
    }
    if (self->status != DS_OK) {
        nlopt_force_stop(self->opt);
        return HUGE_VAL;
    }
    return finite_loss(self, in_units(self, loss, gradient));
}

static void draw_start(library_search *self)
{
    ds_opt_kit_start(&self->kit, self->kit.round, self->start);
    /* NLopt's generator is global in each thread; every search seeds it anew. */
    ds_random rng = ds_random_open(self->kit.host->seed, "nlopt", self->kit.round);
    nlopt_srand(ds_random_u32(&rng));
}

/* A search that never requested a loss: the library rejects this problem. */
static ds_status refused(const library_search *self, nlopt_result result)
{
    const char *why = nlopt_get_errmsg(self->opt);
    return ds_host_fail(
        self->kit.host, DS_E_UNSUPPORTED,
        "NLopt does not run algorithm = %s on this problem of %zu variables (%s%s%s): choose another one; "
        "the stogo algorithms and gn_ags are missing where NLopt was built without C++",
        self->algorithm->name, self->kit.n, nlopt_result_to_string(result), why ? ": " : "", why ? why : "");
}

static ds_status nlopt_search(void *self_)
{
    library_search *self = self_;
    double least;
    self->evaluations = 0;
    self->worst = -INFINITY;
    self->zero = NAN;
    self->unit = 0.0;
    draw_start(self);
    nlopt_set_force_stop(self->opt, 0);
    nlopt_result result = nlopt_optimize(self->opt, self->start, &least);
    if (self->status == DS_OK && result == NLOPT_OUT_OF_MEMORY) {
        return ds_host_fail(self->kit.host, DS_E_NOMEM, "out of memory in NLopt");
    }
    if (self->status == DS_OK && self->evaluations == 0) {
        return refused(self, result);
    }
    self->kit.finished = !self->algorithm->varies;
    return self->status;
}

static void nlopt_release(void *self_)
{
    library_search *self = self_;
    nlopt_destroy(self->opt);
}

/* Tolerances end local searches; a global search would end on a small improvement. mlsl passes them to its
 * local searches, and reads them even where they are not set. */
static void set_tolerances(const library_search *self, nlopt_opt opt)
{
    nlopt_set_ftol_rel(opt, self->ftol);
    nlopt_set_xtol_abs1(opt, self->xtol);
    if (self->initial_step > 0.0) {
        nlopt_set_initial_step1(opt, self->initial_step);
    }
}

static int allocate(void *self_)
{
    library_search *self = self_;
    unsigned n = (unsigned)self->kit.n;
    self->start = ds_memory_doubles(&self->kit.memory, n);
    self->v = ds_memory_doubles(&self->kit.memory, n);
    if (!ds_opt_kit_rows(&self->kit, 1)) {
        return 0;
    }
    if (self->kit.start.v && takes_gradient(takes_local(self->algorithm) ? self->local : self->algorithm)) {
        self->kit.start.gradient = ds_memory_doubles(&self->kit.memory, n);
    }
    self->opt = nlopt_create(self->algorithm->constant, n);
    if (!self->opt) {
        return 0;
    }
    nlopt_set_vector_storage(self->opt, MEMORY);
    int ok = nlopt_set_lower_bounds1(self->opt, -1.0) >= 0 && nlopt_set_upper_bounds1(self->opt, 1.0) >= 0 &&
             nlopt_set_min_objective(self->opt, objective, self) >= 0;
    if (is_local(self->algorithm) || strstr(self->algorithm->name, "mlsl")) {
        set_tolerances(self, self->opt);
    }
    if (self->population > 0) {
        nlopt_set_population(self->opt, (unsigned)self->population);
    }
    if (ok && takes_local(self->algorithm)) {
        nlopt_opt local = nlopt_create(self->local->constant, n);
        if (!local) {
            return 0;
        }
        nlopt_set_vector_storage(local, MEMORY);
        set_tolerances(self, local);
        ok = nlopt_set_local_optimizer(self->opt, local) >= 0; /* NLopt copies it */
        nlopt_destroy(local);
    }
    return ok;
}

/* Algorithms whose memory grows linearly with the variables: no matrices, no populations. */
static int is_lean(const struct algorithm *a)
{
    return takes_gradient(a) && a->constant != NLOPT_LD_SLSQP && strncmp(a->name, "gd_stogo", 8) != 0;
}

static ds_status check_algorithm(const library_search *self)
{
    const struct algorithm *a = takes_local(self->algorithm) ? self->local : self->algorithm;
    if (takes_local(self->algorithm) && (a->name[0] != 'l' || strstr(a->name, "auglag"))) {
        return ds_host_fail(self->kit.host, DS_E_PARAM,
                            "local = %s is not a local algorithm: choose one that begins with ln_ or ld_",
                            a->name);
    }
    if (!is_lean(a)) {
        ds_status status =
            opt_check_size(self->kit.host, self->kit.n, "this algorithm keeps matrices or populations",
                           "ld_lbfgs, ld_mma or ld_ccsaq, or the optimizer cmaes");
        if (status != DS_OK) {
            return status;
        }
    }
    if (takes_gradient(a) && !self->kit.problem->has_gradient) {
        return ds_host_fail(self->kit.host, DS_E_UNSUPPORTED,
                            "algorithm %s needs gradients and this environment has none: choose one whose "
                            "name begins with ln_ or gn_",
                            a->name);
    }
    return DS_OK;
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    library_search *self = self_;
    self->algorithm = choose(ds_param_int(in, "algorithm"), "g_mlsl_lds");
    self->local = choose(ds_param_int(in, "local"), self->kit.has_gradient ? "ld_lbfgs" : "ln_sbplx");
    self->ftol = ds_param_real(in, "ftol");
    self->xtol = ds_param_real(in, "xtol");
    self->initial_step = ds_param_real(in, "initial_step");
    self->population = ds_param_int(in, "population");
    in->status = in->status != DS_OK ? in->status : check_algorithm(self);
}

static const ds_param *const params[] = {
    DS_ENUM(
        "algorithm", "auto", names,
        "NLopt's name of the algorithm: g = global, l = local (from random starts); n = without, d = with "
        "gradient. auto: g_mlsl_lds."),
    DS_ENUM("local", "auto", names,
            "Local algorithm inside auglag, auglag_eq, g_mlsl, g_mlsl_lds. auto: ld_lbfgs with, ln_sbplx "
            "without gradient."),
    DS_REAL("ftol", "1e-9", 0, 1, "",
            "A local search ends when the loss changes by less than this share of its height above its "
            "floor, or, without a floor, of its change since the start."),
    DS_REAL("xtol", "1e-8", 0, 2, "",
            "A local search ends when no variable changes by more than this, where the box is [-1, 1]."),
    DS_REAL("initial_step", "0.5", 0, 1, "",
            "First step of a local search without gradient, where the box is [-1, 1]; 0 = NLopt's choice, "
            "which is short where the start is near a bound."),
    DS_INT("population", "0", 0, 1e6, "",
           "Points of a generation of gn_crs2_lm, gn_isres, gn_esch and mlsl; 0 = NLopt's choice."),
    DS_OPT_START_PARAMS("false"),
    NULL};

static const ds_desc desc = {
    OPT_DESC("nlopt", "0.2.0"),
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "The algorithms of the NLopt library: DIRECT, CRS, MLSL, BOBYQA, COBYLA, SBPLX, MMA, SLSQP "
               "and others",
    .description =
        "Runs the algorithm in [-1, 1]^n from a random start; when a local algorithm or one with random "
        "numbers has converged, runs it again from another start, until the budget is spent.\nA failed "
        "simulation counts as the worst loss so far with a zero gradient. auglag without constraints is its "
        "local algorithm. Some algorithms need two variables or more (newuoa), gn_ags at most ten. "
        "ln_newuoa_bound can compute for minutes between two evaluations of a rugged loss: use ln_bobyqa "
        "there. The stogo algorithms and gn_ags are missing where NLopt was built without C++.",
    .citation =
        "S. Johnson: The NLopt nonlinear-optimization package, https://nlopt.readthedocs.io; the paper "
        "of each algorithm is named there",
};

static const ds_opt_table table = {
    .size = sizeof(library_search),
    .no_memory = "NLopt cannot be set up: out of memory",
    .read = read_parameters,
    .allocate = allocate,
    .release = nlopt_release,
    .round = nlopt_search,
};

DS_OPT_KIT_DEFINE(table, desc)
