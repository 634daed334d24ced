/* SPDX-License-Identifier: Apache-2.0 */
/* replay_buffer.c - see replay_buffer.h. A transition is one row: s, a, s', r, end. */
#include "methods/rl/replay_buffer.h"

#include <stdlib.h>
#include <string.h>

int replay_buffer_init(replay_buffer *b, size_t obs, size_t act, size_t capacity)
{
    memset(b, 0, sizeof *b);
    b->obs = obs;
    b->act = act;
    b->capacity = capacity;
    b->stride = 2 * obs + act + 2;
    b->rows = malloc(capacity * b->stride * sizeof(float)); /* pages are taken as the ring fills */
    return b->rows != NULL;
}

void replay_buffer_free(replay_buffer *b)
{
    free(b->rows);
    b->rows = NULL;
}

void replay_buffer_add(replay_buffer *b, const float *obs, const float *action, double reward,
                       const float *next, int end)
{
    float *row = b->rows + b->next * b->stride;
    memcpy(row, obs, b->obs * sizeof(float));
    memcpy(row + b->obs, action, b->act * sizeof(float));
    memcpy(row + b->obs + b->act, next, b->obs * sizeof(float));
    row[b->stride - 2] = (float)reward;
    row[b->stride - 1] = end ? 1.0f : 0.0f;
    b->next = (b->next + 1) % b->capacity;
    b->count += b->count < b->capacity;
}

void replay_buffer_draw(const replay_buffer *b, size_t rows, double scale, ds_random *random, float *obs,
                        float *action, float *reward, float *next, float *end)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = b->rows + (size_t)ds_random_below(random, b->count) * b->stride;
        memcpy(obs + i * b->obs, row, b->obs * sizeof(float));
        memcpy(action + i * b->act, row + b->obs, b->act * sizeof(float));
        memcpy(next + i * b->obs, row + b->obs + b->act, b->obs * sizeof(float));
        reward[i] = (float)(scale * (double)row[b->stride - 2]);
        end[i] = row[b->stride - 1];
    }
}
