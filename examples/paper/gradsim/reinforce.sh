#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Figures 4 and 11b of gradSim: what REINFORCE minimizes. Along the mass m of a pushed cube (truth: 1 kg) it draws the loss of
# images, and on it, for policies N(m0, 0.5 kg) with three means, the advantage of a mass (minus its loss, less the mean under
# the policy) times the negative logarithm of its likelihood; each curve fills the height of the figure. Prints where each
# curve is least; the numbers are in FOLDER/curves.csv.
#
#     examples/paper/gradsim/reinforce.sh                results/gradsim_reinforce; ten seconds of processor time
#     examples/paper/gradsim/reinforce.sh FOLDER --grid 41
#
# The same command again goes on. DSHOST: the program (../dshost.sh).
here=$(dirname "$0")
default=results/gradsim_reinforce
. "$here/../dshost.sh"
. "$here/../slice.sh"

# mass NAME FLAGS: the loss from 0.1 to 5 kg
mass() {
    name=$1
    shift
    landscape "$out/$name" --env rigid_mass --axes mass --samples 0 --jumps 0 --grid 121 --range -1:0.69897 \
        --set env.obs=rgba --set env.antialias=true --set env.parity=true "$@" > /dev/null
}
mass loss "$@"
awk -F, 'NR > 1 { n++; u[n] = $2; m[n] = exp(log(10) * $2); loss[n] = $3 }
    END {
        sigma = 0.5
        least = 1
        for (i = 2; i <= n; i++) if (loss[i] < loss[least]) least = i
        printf "loss of images: least at %.3g kg\n", m[least]
        for (k = 1; k <= split("0.5 2 4", mean, " "); k++) {
            sum = weight = 0
            for (i = 1; i <= n; i++) {
                d = i == 1 ? m[2] - m[1] : i == n ? m[n] - m[n - 1] : (m[i + 1] - m[i - 1]) / 2
                p = d * exp(-(m[i] - mean[k]) ^ 2 / (2 * sigma ^ 2))
                sum += p * loss[i]
                weight += p
            }
            low = 1e300; high = -1e300
            for (i = 1; i <= n; i++) {
                f[i] = (sum / weight - loss[i]) * ((m[i] - mean[k]) ^ 2 / (2 * sigma ^ 2) + log(sigma * sqrt(2 * 3.14159265358979)))
                if (f[i] < low) { low = f[i]; at = i }
                if (f[i] > high) high = f[i]
            }
            printf "mean %s kg: least at %.3g kg\n", mean[k], m[at]
            for (i = 1; i <= n; i += 2) printf "mean %s kg,%.6f,%.4f%%\n", mean[k], u[i], 100 * (f[i] - low) / (high - low) > file
        }
    }' file="$out/curves.csv" "$out/loss/grid.csv"
mass figure --marks "$out/curves.csv" "$@"
