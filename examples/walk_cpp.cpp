// SPDX-License-Identifier: Apache-2.0
// walk_cpp - an optimizer in C++17: the (1+1) evolution strategy with the one-fifth success rule (Rechenberg
// 1973, in the form of Kern et al. 2004).
#include <diffsim/helper/plugin.hpp>
#include <diffsim/helper/random.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace
{

class strategy
{
  public:
    strategy(diffsim::reader &in, const ds_problem &problem)
        : problem_(problem), sigma_(in.real("sigma")), random_(ds_random_open(in.host->seed, "walk", 0))
    {
    }

    void run(diffsim::objective &objective)
    {
        const ds_problem &p = problem_;
        std::vector<double> best(p.x0, p.x0 + p.n), x = best;
        double f = objective.loss(x.data()), f_best = INFINITY;
        for (;;) { // the objective ends it when the run is over
            if (f <= f_best) {
                best = x;
                f_best = f;
                sigma_ = std::min(sigma_ * std::exp(0.8), 1.0);
            } else {
                sigma_ = std::max(sigma_ * std::exp(-0.2), 1e-15);
            }
            for (uint64_t i = 0; i < p.n; i++) {
                const double step = sigma_ * (p.upper[i] - p.lower[i]) * ds_random_normal(&random_);
                x[i] = std::min(std::max(best[i] + step, p.lower[i]), p.upper[i]);
            }
            f = objective.loss(x.data());
        }
    }

  private:
    const ds_problem &problem_;
    double sigma_;
    ds_random random_;
};

constexpr diffsim::schema params{diffsim::real(
    "sigma", "0.3", 1e-9, 1, "", "Standard deviation of the first step, as a share of the box.")};
constexpr auto about = diffsim::optimizer("walk_cpp", "1", "Apache-2.0",
                                          "(1+1) evolution strategy with the one-fifth success rule.")
                           .params(params);

} // namespace

DS_DEFINE_OPTIMIZER(about.desc, strategy)
