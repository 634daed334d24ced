// SPDX-License-Identifier: Apache-2.0
// hill_cpp - an environment in C++17: a ball is pushed over hilly ground h(q) = cos(3 q) and should be at
// `target` at the end. x = start position [m] and start velocity [m/s]; gradient in forward mode.
#include <diffsim/helper/plugin.hpp>

#include <algorithm>
#include <cmath>

namespace
{

class ball
{
  public:
    explicit ball(diffsim::reader &in) : friction_(in.real("friction")), target_(in.real("target"))
    {
    }

    void info(ds_env_info &out)
    {
        out.n = 2;
        out.steps = STEPS;
        out.dt = DT;
        out.loss_floor = 0;
    }

    void bounds(uint64_t n, double *lower, double *upper, double *x0)
    {
        std::fill_n(lower, n, -4.0);
        std::fill_n(upper, n, 4.0);
        std::fill_n(x0, n, 0.5);
    }

    void evaluate(ds_eval &io)
    {
        double q = io.x[0], v = io.x[1];       // state: position and velocity
        double dq[2] = {1, 0}, dv[2] = {0, 1}; // its derivative with respect to x
        for (int k = 0; k < STEPS; k++) {      // symplectic Euler
            const double slope = -3 * std::sin(3 * q), curvature = -9 * std::cos(3 * q);
            for (int i = 0; i < 2; i++) {
                dv[i] += DT * (-9.81 * curvature * dq[i] - friction_ * dv[i]);
                dq[i] += DT * dv[i];
            }
            v += DT * (-9.81 * slope - friction_ * v);
            q += DT * v;
        }
        io.loss = (q - target_) * (q - target_);
        io.cost_steps = STEPS;
        if (io.want & DS_WANT_GRAD) {
            io.grad[0] = 2 * (q - target_) * dq[0];
            io.grad[1] = 2 * (q - target_) * dq[1];
            io.grad_kind = DS_GRAD_FORWARD;
        }
    }

  private:
    static constexpr int STEPS = 200;
    static constexpr double DT = 0.01; // seconds
    double friction_, target_;
};

constexpr diffsim::schema params{diffsim::real("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                 diffsim::real("target", "1", -5, 5, "m", "Where the ball should end.")};
constexpr auto about = diffsim::environment("hill_cpp", "1", "Apache-2.0", "A ball pushed over hilly ground.")
                           .params(params)
                           .flags(DS_ENV_GRADIENT);

} // namespace

DS_DEFINE_ENV(about.desc, ball)
