/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - faults of channels and their products: -DBAD_IS_NAME compiles plugin NAME (compile_bad of
 * tests/cli/lib.sh). */

/* asked_loss - the loss is rounded in another way where something is asked. */
#ifdef BAD_IS_asked_loss
#define BAD_ID "asked_loss"
#define BAD_ANSWER io->loss *= 1 + 0x1p-50;
#include "channel_base.h"

#include "env_base.h"
#endif

/* changing_channels - the residuals are more after the first evaluation. */
#ifdef BAD_IS_changing_channels
#define BAD_ID "changing_channels"
#define BAD_ELEMENTS (3 + evaluated)
#define BAD_EVALUATE evaluated = 1;
static int evaluated;
#include "channel_base.h"

#include "env_base.h"
#endif

/* half_squares - residuals for a loss of half the sum of squares. */
#ifdef BAD_IS_half_squares
#define BAD_ID "half_squares"
#define BAD_SCALE 1.4142135623730951
#include "channel_base.h"

#include "env_base.h"
#endif

/* one_of_many - the derivative of one constraint of many is a thousandth too large. */
#ifdef BAD_IS_one_of_many
#define BAD_ID "one_of_many"
#define BAD_JACOBIAN(k, i) ((k) == 137 ? 1.001 : 1)
#include "constraints_base.h"
#endif

/* past_answer - writes one number behind an answer. */
#ifdef BAD_IS_past_answer
#define BAD_ID "past_answer"
#define BAD_ANSWER ((double *)q->out)[q->bytes / 8] = 0;
#include "channel_base.h"

#include "env_base.h"
#endif

/* small_beside - the derivative of the smallest constraint of some is twice what it should be; in numbers
 * that is nothing beside the others. */
#ifdef BAD_IS_small_beside
#define BAD_ID "small_beside"
#define BAD_SIZE_OF(k) pow(10, -(k) / 20)
#define BAD_JACOBIAN(k, i) ((k) == 199 ? 2 : 1)
#include "constraints_base.h"
#endif

/* wrong_forward - J v takes the components of v in the wrong order, J' v does not. */
#ifdef BAD_IS_wrong_forward
#define BAD_ID "wrong_forward"
#define BAD_JV(v, i) ((v)[2 - (i)])
#include "channel_base.h"

#include "env_base.h"
#endif

/* wrong_hessian - a factor is missing in H v. */
#ifdef BAD_IS_wrong_hessian
#define BAD_ID "wrong_hessian"
#define BAD_HV(v, i) ((v)[i])
#include "channel_base.h"

#include "env_base.h"
#endif

/* wrong_part - the derivative of a constraint is wrong in half of the box. */
#ifdef BAD_IS_wrong_part
#define BAD_ID "wrong_part"
#define BAD_JACOBIAN(k, i) ((k) == 7 && (i) == 2 && e->x[4] > 0 ? 0.9 : 1)
#include "constraints_base.h"
#endif

/* wrong_product - the two products with the Jacobian belong to different matrices. */
#ifdef BAD_IS_wrong_product
#define BAD_ID "wrong_product"
#define BAD_JTV(w, i) (2 * (w)[i])
#include "channel_base.h"

#include "env_base.h"
#endif
