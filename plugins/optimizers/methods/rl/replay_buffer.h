/* SPDX-License-Identifier: Apache-2.0 */
/* replay_buffer.h - the last transitions (s, a, r, s', end) of a run, in a ring; minibatches are
 * drawn uniformly, with repetition. */
#ifndef DS_METHODS_REPLAY_BUFFER_H
#define DS_METHODS_REPLAY_BUFFER_H

#include <diffsim/helper/random.h>
#include <stddef.h>

typedef struct replay_buffer {
    size_t obs, act, capacity;
    size_t count; /* transitions held */
    size_t next;  /* where the next one goes */
    size_t stride;
    float *rows;
} replay_buffer;

/* 0 without memory. */
int replay_buffer_init(replay_buffer *b, size_t obs, size_t act, size_t capacity);
void replay_buffer_free(replay_buffer *b);

/* Adds a transition; the oldest one goes where the ring is full. */
void replay_buffer_add(replay_buffer *b, const float *obs, const float *action, double reward,
                       const float *next, int end);

/* Draws `rows` transitions; rewards are multiplied by `scale`. */
void replay_buffer_draw(const replay_buffer *b, size_t rows, double scale, ds_random *random, float *obs,
                        float *action, float *reward, float *next, float *end);

#endif
