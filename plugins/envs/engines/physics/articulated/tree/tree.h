/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a tree of rigid bodies with joints: forward and inverse dynamics, mass matrix, points,
 * contact, with exact derivatives.
 *
 * Spatial vectors and algorithms of R. Featherstone, Rigid Body Dynamics Algorithms (Springer, 2008). A
 * spatial vector holds the angular part, then the linear one. All of them have the axes of the world and
 * refer to one point, the origin of the first link if that moves freely, so that no vector is transformed
 * along the tree. Links are numbered so that a parent comes first; z is up; SI units.
 *
 * Coordinates. A joint has these positions and velocities:
 *     revolute, prismatic  angle or displacement (1), its rate (1)
 *     spherical            unit quaternion w x y z (4), angular velocity in the axes of the link (3)
 *     free                 position in the world and quaternion (7), velocity in the axes of the world and
 *                          angular velocity in the axes of the link (6)
 * Derivatives by a position are taken in the space of the velocities: a change d of a quaternion is the
 * rotation d in the axes of the link, so that every derivative has nv numbers and no constraint.
 *
 * Derivatives. With w = M^-1 a_bar, the adjoint of the accelerations a is the derivative of -w ID(q, v, a)
 * at constant a, where ID is inverse dynamics; by virtual power w ID is the sum over the links of the force
 * on the link times its velocity under the rates w. So the adjoint needs one sweep to the leaves and one
 * back. A vector fixed in link i changes with every joint between it and the root: its derivatives are added
 * up as a spatial force on the link, the derivative by the link's pose. */
#ifndef DS_ENGINES_ARTICULATED_TREE_H
#define DS_ENGINES_ARTICULATED_TREE_H

#include "engines/physics/articulated/tree/real.h"
#include "engines/physics/smoothing/softness.h"

#include <diffsim/helper/memory.h>

#include <stdint.h>

enum { TREE_NAME = 64 }; /* bytes of a name */

typedef enum tree_joint { TREE_FIXED, TREE_REVOLUTE, TREE_PRISMATIC, TREE_SPHERICAL, TREE_FREE } tree_joint;

/* A body and the joint to its parent. */
typedef struct tree_link {
    char name[TREE_NAME], joint[TREE_NAME];
    int parent; /* -1: the world */
    tree_joint kind;
    double rotation[9], offset[3]; /* of the joint in the frame of the parent; unused for a free joint */
    double axis[3], zero;          /* revolute and prismatic: unit vector in the frame of the joint; position
                                    * at which the link is at `rotation` and `offset` */
    double mass, centre[3];        /* kg; centre of mass in the frame of the link */
    double inertia[9];             /* kg m^2, about the centre of mass, axes of the link; symmetric */
    int q, v, nq, nv; /* first position and velocity, and their numbers: set by tree_add_link() */
} tree_link;

typedef enum tree_form {
    TREE_SPHERE,
    TREE_CAPSULE,
    TREE_BOX,
    TREE_CYLINDER,
    TREE_PLANE,
    TREE_MESH,
    TREE_TERRAIN
} tree_form;

enum { TREE_CORNERS = 64 }; /* of the convex hull of a mesh */

/* A surface of triangles, counter-clockwise seen from outside. */
typedef struct tree_mesh {
    int points, triangles;
    const double *point;      /* [points][3] */
    const uint32_t *triangle; /* [triangles][3] */
} tree_mesh;

/* Heights over a grid in the plane x y with its middle at 0; x grows with the column, y with the row.
 * Cells are split into triangles along the diagonal from the first corner to the last one. */
typedef struct tree_terrain {
    int columns, rows;
    double cell[2];       /* m */
    const double *height; /* [rows][columns], m */
} tree_terrain;

static inline void tree_terrain_point(const tree_terrain *f, int column, int row, double x[3])
{
    x[0] = (column - 0.5 * (f->columns - 1)) * f->cell[0];
    x[1] = (row - 0.5 * (f->rows - 1)) * f->cell[1];
    x[2] = f->height[row * f->columns + column];
}

/* A solid fixed to a link. `size`: radius; radius and half length along z; half sizes; radius and half
 * height; of a mesh the distance of its farthest corner. A plane and terrain are fixed to the world and have
 * their normal along z. */
typedef struct tree_shape {
    char name[TREE_NAME];
    int link; /* -1: the world */
    tree_form form;
    double at[3], rotation[9], size[3];
    const tree_mesh *hull;  /* of a mesh: its convex hull, at most TREE_CORNERS points */
    const tree_mesh *drawn; /* picture of a mesh or terrain */
    const tree_terrain *terrain;
    double friction; /* factor of TREE_FRICTION; the larger one of two shapes counts */
    int visible, collides;
    unsigned mask[2]; /* shapes a and b meet if a.mask[0] & b.mask[1] or b.mask[0] & a.mask[1] */
} tree_shape;

/* A named frame fixed to a link. */
typedef struct tree_site {
    char name[TREE_NAME];
    int link; /* -1: the world */
    double at[3], rotation[9];
} tree_site;

/* How two solids can meet. */
typedef enum tree_meeting {
    TREE_BALL,  /* a ball of the first one, of radius 0 for a corner, and the second one */
    TREE_RIM,   /* the lowest point of a rim of a cylinder, and a plane */
    TREE_EDGES, /* edges of boxes and axes of capsules and cylinders, one of both not of a box */
    TREE_BOXES, /* corners and edges of two boxes */
    TREE_PEAKS  /* points of terrain, the second one, inside the first one */
} tree_meeting;

/* A revolute or prismatic joint that follows another one: its position is ratio times that of the joint of
 * `leader` plus offset; leader -1: it stays at offset. */
typedef struct tree_coupling {
    int follower, leader; /* links */
    double ratio, offset;
} tree_coupling;

typedef struct tree_contact {
    tree_meeting kind;
    int first, second; /* shapes */
    double at[3];      /* ball or middle of a rim in the link of the first one */
    double radius;     /* of the ball */
    double axis[3];    /* of a rim, outwards, in the link */
    double friction;
    int most;  /* number of points of contact at once */
    int group; /* of the first contact of two shapes: the number of theirs */
} tree_contact;

/* Numbers of the model that have derivatives, in one array: these, then for every link a factor of its mass
 * and inertia and a factor of its lengths (offsets of its joints, its centre of mass), then for every
 * velocity the other ones. */
enum {
    TREE_GRAVITY = 0,     /* m/s^2, 3 numbers */
    TREE_STIFFNESS = 3,   /* of contact, N/m^1.5 */
    TREE_DISSIPATION,     /* of contact, s/m */
    TREE_FRICTION,        /* coefficient */
    TREE_RESTITUTION,     /* of impulses: speed after a bounce / speed before it */
    TREE_MIXING,          /* of impulses: velocity / impulse that a contact gives way, 1/kg */
    TREE_CORRECTION,      /* of impulses: part of the depth that a step removes */
    TREE_LIMIT_STIFFNESS, /* of joint limits, N m/rad or N/m */
    TREE_LIMIT_DAMPING,   /* N m s/rad or N s/m, while a limit is exceeded */
    TREE_GLOBALS
};
enum tree_link_number { TREE_MASS, TREE_LENGTH, TREE_LINK_NUMBERS };
enum tree_joint_number {
    TREE_DAMPING,  /* N m s/rad or N s/m */
    TREE_SPRING,   /* N m/rad or N/m; revolute and prismatic joints */
    TREE_REST,     /* position at which the spring is at rest */
    TREE_ARMATURE, /* kg m^2 or kg, inertia of the rotor */
    TREE_DRY,      /* N m or N: the force f v / sqrt(v^2 + joint_slip^2) of dry friction; as a damper on v */
    TREE_GAIN,     /* of the position controller, N m/rad or N/m */
    TREE_RATE_GAIN,
    TREE_JOINT_NUMBERS
};

/* Friction against a slip of speed s in the compliant law, in terms of mu N and r = s / slip:
 * r / sqrt(1 + r^2), or tanh r. */
typedef enum tree_friction { TREE_ROOT, TREE_TANH } tree_friction;

typedef struct tree {
    int links, shapes, sites, nq, nv, contacts, numbers, couplings;
    int touches; /* points of contact at once */
    int room;    /* for links, shapes and sites each */
    tree_link *link;
    tree_shape *shape;
    tree_site *site;
    tree_contact *contact;
    tree_coupling *coupling;        /* room of them; leaders come first: see tree_order_couplings() */
    double *number;                 /* numbers of them */
    double *start;                  /* nq: positions of the model's file */
    double *lower, *upper;          /* nv: limits; -INFINITY, INFINITY: none */
    int exclusions, (*excluded)[2]; /* pairs of links that do not meet; room of them */
    double slip;                    /* m/s, below which friction is proportional to the slip */
    tree_friction sliding;
    double joint_slip; /* rad/s or m/s, the same for the dry friction of joints */
    double bounce;     /* m/s, above which restitution acts: see tree_impulse.h */
    softness soft;     /* of the depth in the compliant law; at_distance: see tree_distant_bar() */
    double pull;       /* N/m, of the force that only derivatives feel */
    double margin;     /* m between solids up to which contacts are found; 0 without softness */
    ds_memory *memory;
} tree;

/* Makes an empty model with room for `room` links, shapes and sites each. NULL without memory. */
tree *tree_create(ds_memory *m, int room);
/* Adds a link, shape or site with the values that are not zero; returns its number. The caller checks room.
 */
int tree_add_link(tree *t, int parent, tree_joint kind);
int tree_add_shape(tree *t, int link, tree_form form);
int tree_add_site(tree *t, int link);
/* Adds terrain to the world, with room for the heights of columns x rows points, which the caller sets and
 * then calls tree_draw_terrain() for the picture of it, which is coarser. The numbers are at least 2. NULL
 * without memory. */
double *tree_add_terrain(tree *t, int columns, int rows, double cell_x, double cell_y);
int tree_draw_terrain(tree *t, tree_shape *s);
/* Makes the list of contacts of solids of different links of which none is the parent of the other one:
 *     a sphere meets every solid;
 *     ends of capsules, corners of boxes and hulls, and eight points of each rim of a cylinder meet boxes,
 *     capsules, cylinders, hulls, planes and terrain; capsules meet terrain along their axis too;
 *     edges of boxes and axes of capsules and cylinders meet each other; a cylinder lies on a plane;
 *     points of terrain meet boxes, cylinders and hulls.
 * At most TREE_MOST_TOUCHES points touch at once, of which the deepest TREE_MOST_PRESSED have impulses.
 * Returns 0 without memory. */
int tree_contacts(tree *t);
/* Radius of a ball about the middle of a solid that holds it; HUGE_VAL for a plane and terrain. */
double tree_reach(const tree_shape *s);

static inline int tree_link_number(const tree *t, enum tree_link_number what, int link)
{
    return TREE_GLOBALS + (int)what * t->links + link;
}

static inline int tree_joint_number(const tree *t, enum tree_joint_number what, int velocity)
{
    return TREE_GLOBALS + TREE_LINK_NUMBERS * t->links + (int)what * t->nv + velocity;
}

/* The coupling by which the joint of a link follows another one, or -1. */
int tree_follows(const tree *t, int link);
/* Sorts the couplings so that a leader is placed before its followers. Returns a link that would follow
 * itself, or twice, or -1. */
int tree_order_couplings(tree *t);
/* Moves the followers to where their leaders want them; its tangent and its adjoint, in the space of the
 * velocities. Steps keep the couplings. */
void tree_couple(const tree *t, double *q, double *v);
void tree_couple_dot(const tree *t, double *q_dot, double *v_dot);
void tree_couple_bar(const tree *t, double *q_bar, double *v_bar);

/* Finds a link, joint or site by name; -1: there is none. */
int tree_find_link(const tree *t, const char *name);
int tree_find_joint(const tree *t, const char *name);
int tree_find_site(const tree *t, const char *name);

typedef struct tree_work tree_work;

/* Room for the evaluations below; NULL without memory. */
tree_work *tree_work_create(ds_memory *m, const tree *t);

/* How bodies in contact act on each other: not at all, by forces that grow with the depth
 * (tree_compliant.h), or by impulses that solve a complementarity problem (tree_impulse.h; for steps of
 * length `implicit`). */
typedef enum tree_law { TREE_NO_CONTACT, TREE_COMPLIANT, TREE_COMPLEMENTARITY } tree_law;

/* What acts on the joints. */
typedef struct tree_input {
    const real *tau;    /* nv: forces */
    const real *target; /* nv: positions for the controllers with gain TREE_GAIN */
    double implicit;    /* s: dampers act on the velocity after a step of this length; 0 = the present one */
    tree_law contact;
} tree_input;

/* Where derivatives are added to. Any pointer except v may be NULL. */
typedef struct tree_bar {
    real *q, *v, *tau, *target; /* nv each */
    real *number;               /* t->numbers */
} tree_bar;

/* a[nv] = forward dynamics (ABA). Keeps what the functions below need. */
void tree_forward(const tree *t, tree_work *w, const real *q, const real *v, const tree_input *in, real *a);
/* An evaluation without impulses and couplings can be kept and recalled, for tree_adjoint(): the count of its
 * numbers, or 0 where it cannot. tree_recall() has the arguments of tree_forward(). */
size_t tree_kept(const tree *t, tree_law contact);
void tree_keep(const tree *t, const tree_work *w, real *kept);
void tree_recall(const tree *t, tree_work *w, const real *q, const real *v, const tree_input *in,
                 const real *kept);
/* Adds the derivatives of a_bar a to `bar`, for the arguments of the last tree_forward(). */
void tree_adjoint(const tree *t, tree_work *w, const real *a_bar, const tree_bar *bar);
/* a_dot[nv] along the direction `dot` (its pointers may be NULL, for 0). */
void tree_tangent(const tree *t, tree_work *w, const tree_bar *dot, double *a_dot);

/* Poses and velocities of the links alone, for tree_point() and its adjoint, energy and momentum. v may be
 * NULL, for 0. */
void tree_place(const tree *t, tree_work *w, const real *q, const real *v);

/* tau[nv] = inverse dynamics (RNEA): the joint forces for accelerations a, with gravity, without springs,
 * dampers, limits and contact. */
void tree_inverse(const tree *t, tree_work *w, const double *q, const double *v, const double *a,
                  double *tau);
/* M[nv x nv], with armature (CRBA). */
void tree_mass_matrix(const tree *t, tree_work *w, const double *q, double *M);

/* Of the last placement: position and velocity in the world of a point of a link, its Jacobian J[3 x nv]. */
void tree_point(const tree *t, const tree_work *w, int link, const double at[3], double x[3], double v[3]);
void tree_jacobian(const tree *t, const tree_work *w, int link, const double at[3], double *J);
/* The rotation of a link, row-major, from its axes to the axes of the world. */
const double *tree_rotation(const tree_work *w, int link);
/* The angular velocity of a link, axes of the world. */
void tree_spin(const tree_work *w, int link, double omega[3]);
/* Mass, centre of mass, its velocity, angular momentum about it. */
double tree_centre(const tree *t, const tree_work *w, double x[3], double v[3], double L[3]);
/* Kinetic and potential energy, with springs. */
double tree_energy(const tree *t, const tree_work *w, const double *q, const double *v);

/* Derivatives of a loss by what the last placement gave: tree_bar_open() sets them to 0, the next functions
 * add to them, tree_bar_close() adds the derivatives by q, v and the numbers to `bar`. turn_bar and omega_bar
 * are those by a small rotation of the link and by its angular velocity, in the axes of the world. */
void tree_bar_open(const tree *t, tree_work *w, const tree_bar *bar);
void tree_point_bar(const tree *t, tree_work *w, int link, const double at[3], const double x_bar[3],
                    const double v_bar[3]);
void tree_turn_bar(tree_work *w, int link, const double turn_bar[3], const double omega_bar[3]);
void tree_centre_bar(const tree *t, tree_work *w, const double x_bar[3], const double v_bar[3]);
void tree_bar_close(const tree *t, tree_work *w);

/* Sum of the normal forces of contacts of the last tree_forward(), and their number. */
int tree_touching(const tree_work *w, double *force);
/* The first link whose joint moves no inertia in the last tree_forward(), or -1. */
int tree_singular(const tree *t, const tree_work *w);

#endif
