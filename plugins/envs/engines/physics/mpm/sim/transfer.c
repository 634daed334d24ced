/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation weights and the loops over the 27 nodes of a particle. */
#include "transfer.h"

#include <string.h>

bool mpm_stencil_at(int n, const double x[3], mpm_stencil *out)
{
    const double scaled[3] = {x[0] * n, x[1] * n, x[2] * n};
    return mpm_stencil_scaled(n, scaled, out);
}

bool mpm_stencil_scaled(int n, const double scaled[3], mpm_stencil *out)
{
    double highest = n - 3.0;
    for (int d = 0; d < 3; d++) {
        if (!(scaled[d] >= 0.0 && scaled[d] <= highest)) {
            return false;
        }
    }
    for (int d = 0; d < 3; d++) {
        /* Truncated towards zero as in the original: below dx/2 the base stays 0 and w[1]
         * may become negative. */
        int base = (int)(scaled[d] - 0.5);
        double fx = scaled[d] - base;
        out->base[d] = base;
        out->fx[d] = fx;
        out->w[d][0] = 0.5 * (1.5 - fx) * (1.5 - fx);
        out->w[d][1] = 0.75 - (fx - 1.0) * (fx - 1.0);
        out->w[d][2] = 0.5 * (fx - 0.5) * (fx - 0.5);
        out->dw[d][0] = fx - 1.5;
        out->dw[d][1] = -2.0 * (fx - 1.0);
        out->dw[d][2] = fx - 0.5;
    }
    out->first = ((size_t)out->base[0] * (size_t)n + (size_t)out->base[1]) * (size_t)n + (size_t)out->base[2];
    return true;
}

/* The first node of row (a, b) of a stencil. */
static size_t row(int n, const mpm_stencil *s, int a, int b)
{
    return s->first + ((size_t)a * (size_t)n + (size_t)b) * (size_t)n;
}

void mpm_scatter(double *field, int n, const mpm_stencil *s, const mpm_affine *g)
{
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            double w = s->w[0][a] * s->w[1][b];
            double *node = field + 4 * row(n, s, a, b);
            double t[4];
            for (int c = 0; c < 4; c++) {
                t[c] = g->value[c] + a * g->slope[0][c] + b * g->slope[1][c];
            }
            for (int k = 0; k < 3; k++) {
                double wk = w * s->w[2][k];
                for (int c = 0; c < 4; c++) {
                    node[4 * k + c] += wk * (t[c] + k * g->slope[2][c]);
                }
            }
        }
    }
}

void mpm_gather(const double *field, int n, const mpm_stencil *s, mpm_affine *out)
{
    memset(out, 0, sizeof *out);
    for (int a = 0; a < 3; a++) {
        double sum[4] = {0.0}, moment[4] = {0.0};
        for (int b = 0; b < 3; b++) {
            const double *node = field + 4 * row(n, s, a, b);
            double w = s->w[0][a] * s->w[1][b];
            double w0 = w * s->w[2][0], w1 = w * s->w[2][1], w2 = w * s->w[2][2];
            for (int c = 0; c < 4; c++) {
                double one = w1 * node[4 + c], two = w2 * node[8 + c];
                double line = w0 * node[c] + one + two;
                sum[c] += line;
                moment[c] += b * line;
                out->slope[2][c] += one + 2.0 * two;
            }
        }
        for (int c = 0; c < 4; c++) {
            out->value[c] += sum[c];
            out->slope[0][c] += a * sum[c];
            out->slope[1][c] += moment[c];
        }
    }
}

void mpm_weight_adjoint(const double *field, int n, const mpm_stencil *s, const mpm_affine *g,
                        double fx_bar[3])
{
    double sum[3] = {0.0};
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            const double *node = field + 4 * row(n, s, a, b);
            double t[4], w_bar[3];
            for (int c = 0; c < 4; c++) {
                t[c] = g->value[c] + a * g->slope[0][c] + b * g->slope[1][c];
            }
            for (int k = 0; k < 3; k++) {
                double dot = 0.0;
                for (int c = 0; c < 4; c++) {
                    dot += node[4 * k + c] * (t[c] + k * g->slope[2][c]);
                }
                w_bar[k] = dot;
            }
            double line = w_bar[0] * s->w[2][0] + w_bar[1] * s->w[2][1] + w_bar[2] * s->w[2][2];
            double slant = w_bar[0] * s->dw[2][0] + w_bar[1] * s->dw[2][1] + w_bar[2] * s->dw[2][2];
            sum[0] += s->dw[0][a] * s->w[1][b] * line;
            sum[1] += s->w[0][a] * s->dw[1][b] * line;
            sum[2] += s->w[0][a] * s->w[1][b] * slant;
        }
    }
    for (int d = 0; d < 3; d++) {
        fx_bar[d] += sum[d];
    }
}

void mpm_splat(double *field, int n, const mpm_stencil *s, double amount)
{
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            double *node = field + row(n, s, a, b);
            double w = s->w[0][a] * s->w[1][b] * amount;
            for (int k = 0; k < 3; k++) {
                node[k] += w * s->w[2][k];
            }
        }
    }
}

void mpm_splat_adjoint(const double *field_bar, int n, const mpm_stencil *s, double amount, double fx_bar[3])
{
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            const double *node = field_bar + row(n, s, a, b);
            double line = 0.0, slant = 0.0;
            for (int k = 0; k < 3; k++) {
                line += node[k] * s->w[2][k];
                slant += node[k] * s->dw[2][k];
            }
            fx_bar[0] += amount * s->dw[0][a] * s->w[1][b] * line;
            fx_bar[1] += amount * s->w[0][a] * s->dw[1][b] * line;
            fx_bar[2] += amount * s->w[0][a] * s->w[1][b] * slant;
        }
    }
}
