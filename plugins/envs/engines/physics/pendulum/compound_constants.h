/* SPDX-License-Identifier: Apache-2.0 */
/* compound_constants.h - the constants of the compound double pendulum, by number; what they are
 * says compound.h. */
#ifndef DS_ENGINES_COMPOUND_CONSTANTS_H
#define DS_ENGINES_COMPOUND_CONSTANTS_H

enum {
    COMPOUND_A,
    COMPOUND_B,
    COMPOUND_C,
    COMPOUND_G1,
    COMPOUND_G2,
    COMPOUND_D1,
    COMPOUND_D2,
    COMPOUND_CONSTANTS
};

#endif
