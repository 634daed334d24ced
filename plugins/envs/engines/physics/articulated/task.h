/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - what a robot has to do: a model, its start, controls, losses and decision variables, from an INI
 * file. All names are those of the model. */
#ifndef DS_ENGINES_ARTICULATED_TASK_H
#define DS_ENGINES_ARTICULATED_TASK_H

#include "engines/physics/articulated/motion.h"
#include "engines/physics/articulated/robot.h"

enum { TASK_MOST = 256 }; /* controls, terms and variables each */

/* The controls between two of their times: constant, or interpolated from neighbouring ones (B-spline: the
 * curve need not pass through them). */
typedef enum task_shape { TASK_CONSTANT, TASK_LINEAR, TASK_SPLINE } task_shape;

/* A force or a target position on a joint; lower and upper belong to the variables -1 and 1. */
typedef struct task_control {
    char name[TREE_NAME];
    int link, position; /* position: 1 = a target position */
    double lower, upper, gear, start;
} task_control;

typedef enum task_quantity {
    TASK_POSITION, /* of a site or link, 3 numbers */
    TASK_VELOCITY, /* 3 */
    TASK_TURN,     /* 3 minus the trace of target' R: 0 at the target, 4 opposite to it */
    TASK_SPIN,     /* angular velocity of a link, axes of the world, 3 */
    TASK_JOINT,    /* position of a joint, 1 */
    TASK_RATE,     /* its velocity, 1 */
    TASK_COM,      /* centre of mass of the robot, 3 */
    TASK_COM_RATE, /* its velocity, 3 */
    TASK_EFFORT,   /* sum of squares of the control variables */
    TASK_RECORDING /* positions of joints against a recording, one number for each joint */
} task_quantity;

typedef enum task_norm { TASK_SQUARE, TASK_DISTANCE, TASK_SUM } task_norm;

/* A term of the loss: weight times the sum of squares, the length or the sum of (quantity - target). */
typedef struct task_term {
    char name[TREE_NAME];
    task_quantity what;
    task_norm norm;
    int link, joint; /* joint: link whose joint is meant */
    double at[3], target[9], weight;
    double axis[3];       /* factors of the three numbers */
    double when;          /* s; -1: mean over the control steps */
    int columns, *column; /* recording: links */
    int rows;
    const double *table; /* rows x (1 + columns): seconds, positions */
} task_term;

/* A number of the model or of the start as a decision variable. */
typedef struct task_variable {
    char name[TREE_NAME];
    int number, q, v;           /* index of tree.number, of q or of v; -1 otherwise */
    int log;                    /* the variable is log10 of the number */
    double lower, upper, start; /* of the variable */
} task_variable;

typedef struct task {
    robot robot;
    motion_rule rule;
    task_shape shape;
    tree_law contact;
    int pieces, substeps; /* simulation steps of a control step */
    double step;          /* s */
    double *q, *v;        /* start */
    /* Standard deviations of the noise in positions and velocities at the start, controls, observations. */
    double noise_start, noise_rate, noise_control, noise_observe;
    task_control control[TASK_MOST];
    task_term term[TASK_MOST];
    task_variable variable[TASK_MOST];
    int controls, terms, variables;
    double *known; /* pieces x controls, in units of the variables: from a file; NULL = they are variables */
} task;

/* Reads a task (path "": a pole on a cart swings up), and the model that it names or the file `model` if that
 * is not empty. Returns 0, or with a line in `error`: 1 = a file is bad, 2 = no memory. */
int task_read(ds_memory *m, const char *path, const char *model, task *out, char error[ROBOT_ERROR]);

#endif
