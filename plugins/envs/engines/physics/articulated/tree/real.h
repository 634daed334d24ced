/* SPDX-License-Identifier: Apache-2.0 */
/* real.h - the numbers of the kernels of trees of rigid bodies (tree_state.c, tree_dynamics.c,
 * tree_derivatives.c, motion.c): doubles, or with LANES_ISA vectors of VECTOR_LANES robots side by side,
 * whose functions get other names. A kernel does the same operations in the same order with both, so that a
 * lane has the bits of a single robot; a branch on such numbers becomes a choice. */
#ifndef DS_ENGINES_ARTICULATED_REAL_H
#define DS_ENGINES_ARTICULATED_REAL_H

#include <diffsim/helper/memory.h>

#ifdef LANES_ISA

#include "engines/kit/lanes.h"

#define MAT3_NUMBER vec
#include "engines/kit/algebra/quaternion_inline.h"

typedef vec real;
typedef vec_bits real_test;

#define REAL(a) vec_all(a)
#define REAL_TEST(condition) ((vec_bits)(condition))
#define real_not(test) (~(test))
#define real_any vec_any
#define real_choose vec_choose
#define real_only vec_only
#define real_sqrt vec_sqrt
#define real_sincos vec_sincos_same

#define REAL_NAME(name) ISA_VARIANT(name, LANES_ISA)
#define motion_adjoint REAL_NAME(motion_adjoint)
#define motion_create REAL_NAME(motion_create)
#define motion_keep REAL_NAME(motion_keep)
#define motion_kept REAL_NAME(motion_kept)
#define motion_move REAL_NAME(motion_move)
#define motion_step REAL_NAME(motion_step)
#define motion_work REAL_NAME(motion_work)
#define tree_adjoint REAL_NAME(tree_adjoint)
#define tree_articulate REAL_NAME(tree_articulate)
#define tree_bar_open REAL_NAME(tree_bar_open)
#define tree_coupling_factor REAL_NAME(tree_coupling_factor)
#define tree_coupling_project REAL_NAME(tree_coupling_project)
#define tree_forward REAL_NAME(tree_forward)
#define tree_keep REAL_NAME(tree_keep)
#define tree_kept REAL_NAME(tree_kept)
#define tree_lanes_create REAL_NAME(tree_lanes_create)
#define tree_lanes_contact REAL_NAME(tree_lanes_contact)
#define tree_lanes_contact_bar REAL_NAME(tree_lanes_contact_bar)
#define tree_length_bar REAL_NAME(tree_length_bar)
#define tree_middles REAL_NAME(tree_middles)
#define tree_near REAL_NAME(tree_near)
#define tree_pass_acceleration REAL_NAME(tree_pass_acceleration)
#define tree_pass_bias REAL_NAME(tree_pass_bias)
#define tree_place REAL_NAME(tree_place)
#define tree_point_of REAL_NAME(tree_point_of)
#define tree_rates REAL_NAME(tree_rates)
#define tree_recall REAL_NAME(tree_recall)
#define tree_refer REAL_NAME(tree_refer)
#define tree_respond REAL_NAME(tree_respond)
#define tree_respond_alone REAL_NAME(tree_respond_alone)
#define tree_rigid_matrix REAL_NAME(tree_rigid_matrix)
#define tree_solve REAL_NAME(tree_solve)
#define tree_work_create REAL_NAME(tree_work_create)

#else

#include "common/sincos.h"
#include "engines/kit/algebra/quaternion_inline.h"

typedef double real;
typedef int real_test;

#define REAL(a) ((double)(a))
#define REAL_TEST(condition) (condition)
#define real_not(test) (!(test))
#define real_any(test) (test)
#define real_choose(test, yes, no) ((test) ? (yes) : (no))
#define real_only(test, yes) ((test) ? (yes) : 0.0)
#define real_sqrt sqrt
#define real_sincos sincos_same

#endif

/* Zeros; of robots side by side aligned for their vectors. */
static inline real *real_memory(ds_memory *m, size_t count)
{
#ifdef LANES_ISA
    return (real *)lanes_memory(m, count, VECTOR_LANES);
#else
    return ds_memory_doubles(m, count);
#endif
}

static inline void real_memory_each(ds_memory *m, size_t count, real **const *list)
{
    for (; *list != NULL; list++) {
        **list = real_memory(m, count);
    }
}

#endif
