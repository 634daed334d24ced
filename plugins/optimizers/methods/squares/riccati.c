/* SPDX-License-Identifier: Apache-2.0 */
/* riccati.c - see riccati.h. V + s'dx + dx'S dx/2 is the cost to go; the Q of a step is its cost plus that of
 * the state after it. */
#include "methods/squares/riccati.h"

#include <math.h>
#include <string.h>

typedef struct pass {
    size_t n, m;
    double *s, *S;                       /* n, n x n */
    double *Qx, *Qu, *Qxx, *Qux, *Quu;   /* n, m, n x n, m x n, m x m */
    double *SA, *SB, *factor, *d, *side; /* n x n, n x m, m x m, m, m */
    double *held;                        /* m: 1 = the control stays at a bound, else 0 */
} pass;

size_t riccati_room(size_t n, size_t m)
{
    return 2 * n + 3 * n * n + 4 * m + 2 * m * m + 2 * n * m;
}

static pass lay_out(size_t n, size_t m, double *room)
{
    pass p = {.n = n, .m = m};
    double **const arrays[] = {&p.s,  &p.S,  &p.Qx,     &p.Qu, &p.Qxx,  &p.Qux, &p.Quu,
                               &p.SA, &p.SB, &p.factor, &p.d,  &p.side, &p.held};
    const size_t sizes[] = {n, n * n, n, m, n * n, m * n, m * m, n * n, n * m, m * m, m, m, m};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *arrays[i] = room;
        room += sizes[i];
    }
    return p;
}

/* Second derivative of the cost of step t by numbers i and j of state and control. */
static double curvature(const riccati_model *o, size_t t, size_t i, size_t j)
{
    const size_t all = o->n + o->m;
    return o->full ? o->H[(t * all + i) * all + j] : i == j ? o->H[t * all + i] : 0.0;
}

/* Q of step t. */
static void expand(pass *p, const riccati_model *o, size_t t)
{
    const size_t n = p->n, m = p->m;
    const double *A = o->A + t * n * n, *B = o->B + t * n * m, *c = o->c + t * (n + m);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n + m; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < n; l++) {
                sum += p->S[i * n + l] * (j < n ? A[l * n + j] : B[l * m + j - n]);
            }
            *(j < n ? p->SA + i * n + j : p->SB + i * m + j - n) = sum;
        }
    }
    for (size_t j = 0; j < n + m; j++) {
        double sum = c[j];
        for (size_t l = 0; l < n; l++) {
            sum += (j < n ? A[l * n + j] : B[l * m + j - n]) * p->s[l];
        }
        *(j < n ? p->Qx + j : p->Qu + j - n) = sum;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = curvature(o, t, i, j);
            for (size_t l = 0; l < n; l++) {
                sum += A[l * n + i] * p->SA[l * n + j];
            }
            p->Qxx[i * n + j] = sum;
        }
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n + m; j++) {
            double sum = curvature(o, t, n + i, j);
            for (size_t l = 0; l < n; l++) {
                sum += B[l * m + i] * (j < n ? p->SA[l * n + j] : p->SB[l * m + j - n]);
            }
            *(j < n ? p->Qux + i * n + j : p->Quu + i * m + j - n) = sum;
        }
    }
}

/* Cholesky factor of Quu + add I over the controls that are free; unit rows for the others. Returns 0 where
 * it is not positive. */
static int factorise(pass *p, double add)
{
    const size_t m = p->m;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j <= i; j++) {
            const int held = p->held[i] > 0.0 || p->held[j] > 0.0;
            double sum = i == j ? (held ? 1.0 : p->Quu[i * m + i] + add) : held ? 0.0 : p->Quu[i * m + j];
            for (size_t l = 0; l < j; l++) {
                sum -= p->factor[i * m + l] * p->factor[j * m + l];
            }
            if (i == j && !(sum > 0.0 && isfinite(sum))) {
                return 0;
            }
            p->factor[i * m + j] = i == j ? sqrt(sum) : sum / p->factor[j * m + j];
        }
    }
    return 1;
}

/* x = -(factor factor')^-1 x over the free controls, 0 for the others. */
static void respond(const pass *p, double *x)
{
    const size_t m = p->m;
    for (size_t i = 0; i < m; i++) {
        double sum = p->held[i] > 0.0 ? 0.0 : -x[i];
        for (size_t l = 0; l < i; l++) {
            sum -= p->factor[i * m + l] * x[l];
        }
        x[i] = sum / p->factor[i * m + i];
    }
    for (size_t i = m; i-- > 0;) {
        for (size_t l = i + 1; l < m; l++) {
            x[i] -= p->factor[l * m + i] * x[l];
        }
        x[i] /= p->factor[i * m + i];
    }
}

/* Releases the held control that the slope pulls inside most. Returns 0 where there is none. */
static int release(pass *p, double add)
{
    const size_t m = p->m;
    size_t best = m;
    double most = 0.0;
    for (size_t i = 0; i < m; i++) {
        double bar = p->Qu[i] + add * p->d[i];
        for (size_t j = 0; j < m; j++) {
            bar += p->Quu[i * m + j] * p->d[j];
        }
        const double inside = p->side[i] > 0.0 ? bar : -bar; /* side: the bound, 1 or -1 */
        if (p->held[i] > 0.0 && inside > most) {
            most = inside;
            best = i;
        }
    }
    if (best < m) {
        p->held[best] = 0.0;
    }
    return best < m;
}

/* The step d within the bounds: holds what would leave them, and what the slope presses against them, and
 * releases what was held too early. */
static int bounded_step(pass *p, const double *v, double add)
{
    const size_t m = p->m;
    for (size_t i = 0; i < m; i++) {
        p->held[i] = (v[i] <= -1.0 && p->Qu[i] > 0.0) || (v[i] >= 1.0 && p->Qu[i] < 0.0);
        p->d[i] = 0.0;
    }
    for (size_t round = 0; round <= 4 * m; round++) {
        if (!factorise(p, add)) {
            return 0;
        }
        for (size_t i = 0; i < m; i++) { /* held controls push the others */
            p->side[i] = p->Qu[i];
            for (size_t j = 0; j < m; j++) {
                p->side[i] += p->held[j] > 0.0 ? p->Quu[i * m + j] * p->d[j] : 0.0;
            }
        }
        respond(p, p->side);
        int changed = 0;
        for (size_t i = 0; i < m; i++) {
            if (p->held[i] > 0.0) {
                continue;
            }
            const double to = v[i] + p->side[i];
            p->d[i] = p->side[i];
            if (to < -1.0 || to > 1.0) {
                p->held[i] = 1.0;
                changed = 1;
                p->d[i] = (to < -1.0 ? -1.0 : 1.0) - v[i];
            }
        }
        for (size_t i = 0; i < m; i++) {
            p->side[i] = v[i] + p->d[i] > 0.0 ? 1.0 : -1.0;
        }
        if (!changed && !release(p, add)) {
            return 1;
        }
    }
    return 1;
}

/* Moves the cost to go to before the step: with the law d, K, which is not that of Quu alone. */
static void fold(pass *p, const double *d, const double *K)
{
    const size_t n = p->n, m = p->m;
    for (size_t i = 0; i < n; i++) {
        double sum = p->Qx[i];
        for (size_t a = 0; a < m; a++) {
            double bent = p->Qu[a];
            for (size_t b = 0; b < m; b++) {
                bent += p->Quu[a * m + b] * d[b];
            }
            sum += K[a * n + i] * bent + p->Qux[a * n + i] * d[a];
        }
        p->s[i] = sum;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = p->Qxx[i * n + j];
            for (size_t a = 0; a < m; a++) {
                sum += K[a * n + i] * p->Qux[a * n + j] + p->Qux[a * n + i] * K[a * n + j];
                for (size_t b = 0; b < m; b++) {
                    sum += K[a * n + i] * p->Quu[a * m + b] * K[b * n + j];
                }
            }
            p->S[i * n + j] = sum;
        }
    }
    for (size_t i = 0; i < n; i++) { /* rounding must not tilt it */
        for (size_t j = 0; j < i; j++) {
            p->S[i * n + j] = p->S[j * n + i] = 0.5 * (p->S[i * n + j] + p->S[j * n + i]);
        }
    }
}

/* The cost to go of the last state. */
static pass begin_pass(const riccati_model *o, double *room)
{
    const size_t n = o->n, m = o->m;
    pass p = lay_out(n, m, room);
    for (size_t i = 0; i < n; i++) {
        p.s[i] = o->c[o->T * (n + m) + i];
        for (size_t j = 0; j < n; j++) {
            p.S[i * n + j] = curvature(o, o->T, i, j);
        }
    }
    return p;
}

double riccati_scale(const riccati_model *o, double *room)
{
    const size_t n = o->n, m = o->m;
    int is_needed = 0;
    for (size_t i = 0; i < o->T * m; i++) {
        is_needed |= !(curvature(o, i / m, n + i % m, n + i % m) > 0.0);
    }
    if (!is_needed) {
        return 0.0;
    }
    pass p = begin_pass(o, room);
    double sum = 0.0;
    for (size_t t = o->T; t-- > 0;) {
        expand(&p, o, t);
        for (size_t i = 0; i < m; i++) {
            sum += fabs(p.Quu[i * m + i]) / (double)(o->T * m);
        }
        memcpy(p.S, p.Qxx, n * n * sizeof *p.S);
    }
    return isfinite(sum) ? sum : 0.0;
}

int riccati_back(const riccati_model *o, double mu, double scale, double *k, double *K, double *slope,
                 double *bend, double *room)
{
    const size_t n = o->n, m = o->m;
    pass p = begin_pass(o, room);
    *slope = *bend = 0.0;
    for (size_t t = o->T; t-- > 0;) {
        double size = 0.0;
        expand(&p, o, t);
        for (size_t i = 0; i < m; i++) {
            size += fabs(p.Quu[i * m + i]) / (double)m;
        }
        if (!bounded_step(&p, o->v + t * m, mu * (scale > 0.0 ? scale : size))) {
            return 0;
        }
        double *const gain = K + t * m * n, *const d = k + t * m;
        memcpy(d, p.d, m * sizeof *d);
        for (size_t i = 0; i < n; i++) {
            for (size_t a = 0; a < m; a++) {
                p.side[a] = p.Qux[a * n + i];
            }
            respond(&p, p.side);
            for (size_t a = 0; a < m; a++) {
                gain[a * n + i] = p.held[a] > 0.0 ? 0.0 : p.side[a];
            }
        }
        for (size_t a = 0; a < m; a++) {
            *slope -= d[a] * p.Qu[a];
            for (size_t b = 0; b < m; b++) {
                *bend += 0.5 * d[a] * p.Quu[a * m + b] * d[b];
            }
        }
        fold(&p, d, gain);
    }
    return isfinite(*slope) && isfinite(*bend);
}
