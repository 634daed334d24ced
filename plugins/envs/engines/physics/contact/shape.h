/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h - contact of a disc with a turned box or a wall, its normal, and how normal and gap change with the
 * position of the disc and the angle of the box. */
#ifndef DS_ENGINES_SHAPE_H
#define DS_ENGINES_SHAPE_H

/* A box that turns about its centre; reach, extent, c and s are set from its angle. */
typedef struct shape_box {
    double centre[2]; /* m */
    double half[2];   /* m: half length, half thickness */
    double reach;     /* squared distance of the centres beyond which the bodies do not touch */
    double extent;    /* m, its root */
    double c, s;      /* of the angle */
} shape_box;

enum { SHAPE_FACE = 0, SHAPE_CORNER = 1 };

typedef struct shape_contact {
    double n[2];     /* unit normal, from the box to the disc */
    double depth;    /* m, penetration; negative: a gap */
    double distance; /* m, of the disc's centre from the corner */
    double arm[2];   /* m, from the centre of the box to the corner, or to the disc's centre for a face */
    int feature;     /* SHAPE_* */
    int body;        /* set by the caller */
} shape_contact;

void shape_box_place(shape_box *b, double radius, double angle);

/* Returns 1 and fills *out if the disc about q touches box b. */
int shape_disc_box(const shape_box *b, const double q[2], double radius, shape_contact *out);

/* The same for a disc that does not touch: fills *out for the nearest points. */
void shape_disc_near(const shape_box *b, const double q[2], double radius, shape_contact *out);

/* d gap / d angle (gap = -depth). */
double shape_gap_angle(const shape_contact *k);

/* Adds the derivatives by q and by the angle, from those by the normal. */
void shape_normal_adjoint(const shape_contact *k, const double n_bar[2], double q_bar[2], double *angle_bar);

#endif
