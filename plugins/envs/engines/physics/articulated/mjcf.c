/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf.c - robots in MuJoCo's XML format (robot.h): settings and bodies. A body with several joints becomes a
 * chain of links without mass; the frame of a link is at its joint, with the axes of the body. */
#include "engines/physics/articulated/mjcf_parts.h"

#include "engines/kit/algebra/mat3.h"

#include <string.h>

static const double degree = 3.14159265358979323846 / 180;

/* ---- bodies ---- */

static void read_inertial(mjcf *f, const robot_node *n, int link, const double joint[3])
{
    robot_mass m = {0};
    double R[9], d[6], I[9] = {0}, T[9];
    mjcf_frame(f, n, m.centre, R);
    vec3_add_scaled(m.centre, -1, joint);
    if (!mjcf_numbers(f, n, "mass", 1, 1, &m.mass)) {
        robot_fail(f->in, n, "the attribute mass is missing");
    }
    if (mjcf_numbers(f, n, "fullinertia", 6, 6, d)) {
        const double full[9] = {d[0], d[3], d[4], d[3], d[1], d[5], d[4], d[5], d[2]};
        memcpy(I, full, sizeof I);
    } else if (mjcf_numbers(f, n, "diaginertia", 3, 3, d)) {
        I[0] = d[0];
        I[4] = d[1];
        I[8] = d[2];
    } else {
        robot_fail(f->in, n, "diaginertia or fullinertia is missing");
    }
    mat3_mul(R, I, T);
    mat3_mult(T, R, m.inertia);
    robot_set_mass(f->in, n, link, &m);
}

/* Adds a link for joint n; `at` and R place the body in its parent, `before` is the joint before it. */
static int read_joint(mjcf *f, const robot_node *n, int parent, const double at[3], const double R[9],
                      const double *before, double anchor[3])
{
    static const char *const springs[] = {"stiffness", NULL};
    static const char *const types[] = {"hinge", "slide", "ball", "free"};
    static const tree_joint kinds[] = {TREE_REVOLUTE, TREE_PRISMATIC, TREE_SPHERICAL, TREE_FREE};
    tree *t = f->in->out->tree;
    const char *type = strcmp(n->name, "freejoint") == 0 ? "free" : mjcf_value(f, n, "type");
    double axis[3] = {0, 0, 1}, range[2], number[TREE_JOINT_NUMBERS] = {0}, zero = 0;
    int k = 0;
    while (type && k < 4 && strcmp(types[k], type) != 0) {
        k++;
    }
    if (k == 4) {
        robot_fail(f->in, n, "joint type \"%.40s\": use hinge, slide, ball or free", type);
        return -1;
    }
    memset(anchor, 0, 3 * sizeof *anchor);
    if (kinds[k] == TREE_FREE && mjcf_choice(f, n, "align", 0)) {
        robot_fail(f->in, n, "align=\"true\" is not supported: positions are of the frame of the body");
        return -1;
    }
    if (kinds[k] == TREE_FREE && (parent >= 0 || before)) {
        robot_fail(f->in, n, "a free joint belongs to a body of the world and is its only joint");
        return -1;
    }
    int link = tree_add_link(t, parent, kinds[k]);
    tree_link *l = &t->link[link];
    mjcf_name(f, n, l->joint);
    if (l->joint[0] && tree_find_joint(t, l->joint) != link) {
        robot_fail(f->in, n, "another joint has this name");
    }
    if (kinds[k] == TREE_FREE) {
        double q[4];
        memcpy(t->start + l->q, at, 3 * sizeof *at);
        /* The quaternion of R, from its largest component. */
        const double four[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                                1 - R[0] - R[4] + R[8]};
        int big = 0;
        for (int j = 1; j < 4; j++) {
            big = four[j] > four[big] ? j : big;
        }
        const double S[16] = {four[0],     R[7] - R[5], R[2] - R[6], R[3] - R[1], R[7] - R[5], four[1],
                              R[1] + R[3], R[2] + R[6], R[2] - R[6], R[1] + R[3], four[2],     R[5] + R[7],
                              R[3] - R[1], R[2] + R[6], R[5] + R[7], four[3]};
        for (int j = 0; j < 4; j++) {
            q[j] = S[4 * big + j] / (2 * sqrt(four[big]));
        }
        memcpy(t->start + l->q + 3, q, sizeof q);
    } else {
        double unused[9];
        mjcf_numbers(f, n, "pos", 3, 3, anchor);
        mat3_identity(unused);
        mjcf_leave_frames(f, n, anchor, unused);
        if (before) {
            for (int j = 0; j < 3; j++) {
                l->offset[j] = anchor[j] - before[j];
            }
        } else {
            mat3_apply(R, anchor, l->offset);
            vec3_add_scaled(l->offset, 1, at);
            memcpy(l->rotation, R, sizeof l->rotation);
        }
    }
    mjcf_numbers(f, n, "damping", 1, 1, &number[TREE_DAMPING]);
    mjcf_numbers(f, n, "frictionloss", 1, 1, &number[TREE_DRY]);
    mjcf_numbers(f, n, "armature", 1, 1, &number[TREE_ARMATURE]);
    if (l->nv == 3) {
        mjcf_refuse(f, n, springs, 0);
        if (mjcf_choice(f, n, "limited", f->auto_limits && mjcf_value(f, n, "range"))) {
            robot_fail(f->in, n, "limits of ball joints are not supported");
        }
    }
    if (l->nv == 1) {
        double unit = kinds[k] == TREE_REVOLUTE ? f->angle : 1;
        mjcf_numbers(f, n, "axis", 3, 3, axis);
        if (!robot_normalise(axis)) {
            robot_fail(f->in, n, "the axis has no length");
        }
        double unused[3] = {0}, Q[9];
        mat3_identity(Q);
        mjcf_leave_frames(f, n, unused, Q);
        mat3_apply(Q, axis, l->axis);
        mjcf_numbers(f, n, "ref", 1, 1, &zero);
        mjcf_numbers(f, n, "stiffness", 1, 1, &number[TREE_SPRING]);
        mjcf_numbers(f, n, "springref", 1, 1, &number[TREE_REST]);
        number[TREE_REST] *= unit;
        l->zero = t->start[l->q] = zero * unit;
        int given = mjcf_numbers(f, n, "range", 2, 2, range);
        if (mjcf_choice(f, n, "limited", f->auto_limits && given)) {
            if (!given || !(range[0] < range[1])) {
                robot_fail(f->in, n, "a limited joint needs a range from a lower to a higher value");
                return link;
            }
            t->lower[l->v] = range[0] * unit;
            t->upper[l->v] = range[1] * unit;
        }
    }
    for (int j = 0; j < TREE_JOINT_NUMBERS; j++) {
        if (j != TREE_REST && number[j] < 0) {
            robot_fail(f->in, n, "damping, stiffness, armature and frictionloss are not negative");
        }
        for (int i = 0; i < l->nv; i++) {
            f->in->joint[j][l->v + i] = number[j];
        }
    }
    return link;
}

static void read_site(mjcf *f, const robot_node *n, int link, const double joint[3])
{
    tree_site *s = &f->in->out->tree->site[tree_add_site(f->in->out->tree, link)];
    mjcf_name(f, n, s->name);
    mjcf_frame(f, n, s->at, s->rotation);
    vec3_add_scaled(s->at, -1, joint);
}

static int is_joint(const robot_node *n)
{
    return strcmp(n->name, "joint") == 0 || strcmp(n->name, "freejoint") == 0;
}

/* Reads a body, or the world (link -1), whose parent link is `parent`. */
static void read_body(mjcf *f, const robot_node *body, int parent, int world, const double up_joint[3])
{
    static const char *const refused[] = {"gravcomp", NULL};
    tree *t = f->in->out->tree;
    double at[3] = {0}, R[9], joint[3] = {0}, next[3];
    int link = parent, joints = 0, inertial = 0;
    robot_mass sum = {0};
    if (!world) {
        mjcf_frame(f, body, at, R);
        vec3_add_scaled(at, -1, up_joint);
        mjcf_refuse(f, body, refused, 0);
        for (const robot_node *n = mjcf_element_after(body, NULL); n && !f->in->failed;
             n = mjcf_element_after(body, n)) {
            if (is_joint(n)) {
                link = read_joint(f, n, link, at, R, joints ? joint : NULL, next);
                memcpy(joint, next, sizeof joint);
                if (!f->in->failed && joints++ && t->link[link].kind == TREE_FREE) {
                    robot_fail(f->in, n, "a free joint is the only joint of its body");
                }
            }
        }
        if (f->in->failed) {
            return;
        }
        if (joints == 0) {
            link = tree_add_link(t, parent, TREE_FIXED);
            memcpy(t->link[link].rotation, R, sizeof R);
            memcpy(t->link[link].offset, at, sizeof at);
        }
        mjcf_name(f, body, t->link[link].name);
        if (t->link[link].name[0] && tree_find_link(t, t->link[link].name) != link) {
            robot_fail(f->in, body, "another body has this name");
        }
    }
    for (const robot_node *n = mjcf_element_after(body, NULL); n; n = mjcf_element_after(body, n)) {
        inertial = inertial || strcmp(n->name, "inertial") == 0;
    }
    int use_geoms = !world && (f->from_geoms == 1 || (f->from_geoms == 2 && !inertial));
    for (const robot_node *n = mjcf_element_after(body, NULL); n && !f->in->failed;
         n = mjcf_element_after(body, n)) {
        f->need_mass = use_geoms;
        if (strcmp(n->name, "geom") == 0) {
            mjcf_geom(f, n, link, joint, &sum);
        } else if (strcmp(n->name, "site") == 0) {
            read_site(f, n, link, joint);
        } else if (strcmp(n->name, "inertial") == 0 && !world) {
            if (f->from_geoms != 1) {
                read_inertial(f, n, link, joint);
            }
        } else if (strcmp(n->name, "body") != 0 && strcmp(n->name, "camera") != 0 &&
                   strcmp(n->name, "light") != 0 && (world || !is_joint(n))) {
            robot_fail(f->in, n, "this element is not supported");
        }
    }
    if (use_geoms && !f->in->failed) {
        robot_set_mass(f->in, body, link, &sum);
    }
    for (const robot_node *n = mjcf_element_after(body, NULL); n && !f->in->failed;
         n = mjcf_element_after(body, n)) {
        if (strcmp(n->name, "body") == 0) {
            read_body(f, n, link, 0, joint);
        }
    }
}

/* ---- settings ---- */

static void read_compiler(mjcf *f, const robot_node *n)
{
    const char *text = robot_text(n, "angle");
    if (text) {
        f->angle = strcmp(text, "radian") == 0 ? 1 : degree;
        if (strcmp(text, "radian") != 0 && strcmp(text, "degree") != 0) {
            robot_fail(f->in, n, "angle=\"%.20s\": use degree or radian", text);
        }
    }
    text = robot_text(n, "eulerseq");
    if (text) {
        if (strlen(text) != 3 || strspn(text, "xyzXYZ") != 3) {
            robot_fail(f->in, n, "eulerseq=\"%.20s\": use three of x, y, z, X, Y, Z", text);
        } else {
            memcpy(f->sequence, text, 4);
        }
    }
    text = robot_text(n, "coordinate");
    if (text && strcmp(text, "local") != 0) {
        robot_fail(f->in, n, "coordinate=\"%.20s\": only local coordinates are supported", text);
    }
    f->auto_limits = mjcf_choice(f, n, "autolimits", f->auto_limits);
    f->from_geoms = mjcf_choice(f, n, "inertiafromgeom", f->from_geoms);
    f->exact_meshes = mjcf_choice(f, n, "exactmeshinertia", f->exact_meshes);
    if (mjcf_choice(f, n, "alignfree", 0)) {
        robot_fail(f->in, n, "alignfree=\"true\" is not supported: positions are of the frame of the body");
    }
    text = robot_text(n, "meshdir") ? robot_text(n, "meshdir") : robot_text(n, "assetdir");
    f->mesh_folder = text ? text : f->mesh_folder;
    robot_values(f->in, n, "settotalmass", 1, &f->total);
    robot_values(f->in, n, "inertiagrouprange", 2, f->groups);
    robot_values(f->in, n, "boundmass", 1, &f->least_mass);
    robot_values(f->in, n, "boundinertia", 1, &f->least_inertia);
    if (mjcf_choice(f, n, "balanceinertia", 0) || mjcf_choice(f, n, "fitaabb", 0)) {
        robot_fail(f->in, n, "balanceinertia and fitaabb are not supported");
    }
}

/* Lower bounds of masses and moments of inertia, and the total mass. */
static void bound_masses(mjcf *f)
{
    tree *t = f->in->out->tree;
    double sum = 0;
    for (int i = 0; i < t->links; i++) {
        tree_link *l = &t->link[i];
        int last = 1; /* of the links of a body, whose others have no mass */
        for (int j = i + 1; j < t->links && l->name[0] == '\0'; j++) {
            last = last && t->link[j].parent != i;
        }
        if (last) {
            l->mass = fmax(l->mass, f->least_mass);
            for (int k = 0; k < 9; k += 4) {
                l->inertia[k] = fmax(l->inertia[k], f->least_inertia);
            }
        }
        sum += l->mass;
    }
    for (int i = 0; i < t->links && f->total > 0 && sum > 0; i++) {
        t->link[i].mass *= f->total / sum;
        for (int k = 0; k < 9; k++) {
            t->link[i].inertia[k] *= f->total / sum;
        }
    }
}

static void read_option(mjcf *f, const robot_node *n)
{
    static const char *const refused[] = {"density", "viscosity", NULL};
    tree *t = f->in->out->tree;
    double wind[3] = {0};
    robot_values(f->in, n, "gravity", 3, t->number + TREE_GRAVITY);
    if (robot_values(f->in, n, "timestep", 1, &f->in->out->step) && !(f->in->out->step > 0)) {
        robot_fail(f->in, n, "timestep must be above 0");
    }
    robot_values(f->in, n, "wind", 3, wind);
    mjcf_refuse(f, n, refused, 0);
    for (const robot_node *c = robot_child(n, "flag"); c; c = robot_next(c, "flag")) {
        static const char *const flags[] = {"passive", "limit", "actuation", NULL};
        const char *gravity = robot_text(c, "gravity"), *contact = robot_text(c, "contact");
        for (int k = 0; flags[k]; k++) {
            const char *text = robot_text(c, flags[k]);
            if (text && strcmp(text, "enable") != 0) {
                robot_fail(f->in, c, "the flag %s=\"%.20s\" is not supported", flags[k], text);
            }
        }
        if (gravity && strcmp(gravity, "disable") == 0) {
            memset(t->number + TREE_GRAVITY, 0, 3 * sizeof *t->number);
        }
        f->no_contact = contact && strcmp(contact, "disable") == 0;
    }
}

/* Attributes of MuJoCo's elements that can change the motion, of all their places in a file. */
static const robot_spelling spelling[] = {
    {"compiler", " alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict "
                 "convexhull coordinate discardvisual eulerseq exactmeshinertia fitaabb fusestatic "
                 "inertiafromgeom inertiagrouprange meshdir passthrough savecanonical savecompiled "
                 "saveinertial settotalmass strippath texturedir usethread "},
    {"option", " actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone density gravity "
               "impratio integrator iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations "
               "mpr_tolerance noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref "
               "sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance viscosity wind "},
    {"body", " axisangle childclass euler gravcomp mocap name pos quat sleep user xyaxes zaxis "},
    {"frame", " axisangle childclass euler name pos quat xyaxes zaxis "},
    {"replicate", " childclass count euler offset sep "},
    {"inertial", " axisangle diaginertia euler fullinertia mass pos quat xyaxes zaxis "},
    {"joint", " active actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class coef "
              "damping frictionloss group joint joint1 joint2 limited margin name polycoef pos range ref "
              "solimp solimpfriction solimplimit solref solreffriction solreflimit springdamper springref "
              "springyield stiffness type user "},
    {"freejoint", " align group name "},
    {"geom", " adhesion axisangle castshadow class conaffinity condim contype density euler fitscale "
             "fluidcoef fluidshape friction fromto gap geom group hfield margin mass material mesh name "
             "pos priority quat rgba shellinertia sidesite size solimp solmix solref surfacevel type user "
             "xyaxes zaxis "},
    {"site", " axisangle class euler fromto group material mesh name pos quat rgba site size type user "
             "xyaxes zaxis "},
    {"general", " actdim actearly actlimited actrange armature biasprm biastype body class cranklength "
                "cranksite ctrllimited ctrlrange damping delay dynprm dyntype ffrange forcelimited "
                "forcerange gainprm gaintype gear group inheritrange input interp joint jointinparent "
                "lengthrange name nsample refsite site slidersite tendon user velrange "},
    {"motor", " armature class cranklength cranksite ctrllimited ctrlrange damping delay forcelimited "
              "forcerange gear group interp joint jointinparent lengthrange name nsample refsite site "
              "slidersite tendon user "},
    {"position", " armature class cranklength cranksite ctrllimited ctrlrange damping dampratio delay "
                 "forcelimited forcerange gear group inheritrange interp joint jointinparent kp kv "
                 "lengthrange name nsample refsite site slidersite tendon timeconst user "},
    {"velocity", " armature class cranklength cranksite ctrllimited ctrlrange damping delay forcelimited "
                 "forcerange gear group interp joint jointinparent kv lengthrange name nsample refsite site "
                 "slidersite tendon user "},
    {"intvelocity",
     " actlimited actrange armature class cranklength cranksite ctrllimited ctrlrange damping "
     "dampratio delay forcelimited forcerange gear group inheritrange interp joint jointinparent "
     "kp kv lengthrange name nsample refsite site slidersite tendon user "},
    {"damper", " armature class cranklength cranksite ctrlrange damping delay forcelimited forcerange gear "
               "group interp joint jointinparent kv lengthrange name nsample refsite site slidersite tendon "
               "user "},
    {"mesh", " builtin class content_type face file inertia material maxhullvert name normal params refpos "
             "refquat scale smoothnormal texcoord vertex "},
    {"hfield", " content_type elevation file name ncol nrow size "},
    {"exclude", " body1 body2 name "},
    {"connect", " active anchor body1 body2 class name site1 site2 solimp solref "},
    {"weld", " active anchor body1 body2 class name relpose site1 site2 solimp solref torquescale "},
    {"key", " act ctrl mpos mquat name plastic qpos qvel time "},
    {NULL, NULL}};

static int one_of(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0) {
        list++;
    }
    return *list != NULL;
}

void robot_from_mjcf(robot_reader *in, const robot_node *root)
{
    static const char *const known[] = {"compiler", "option", "size",     "visual",    "statistic",
                                        "default",  "asset",  "custom",   "worldbody", "extension",
                                        "actuator", "sensor", "keyframe", "contact",   "tendon",
                                        "equality", NULL};
    static const char *const passed[] = {"visual", "statistic", "custom", "extension", "sensor", NULL};
    mjcf f = {.in = in,
              .root = root,
              .angle = degree,
              .sequence = "xyz",
              .auto_limits = 1,
              .from_geoms = 2,
              .groups = {0, 5},
              .total = -1};
    const double origin[3] = {0};
    for (const robot_node *n = root->first; n && !in->failed; n = n->next) {
        if (!one_of(n->name, known)) {
            robot_fail(in, n, "this element is not supported");
        } else if (!one_of(n->name, passed)) {
            robot_check_spelling(in, n, spelling);
        }
        if (in->failed) {
            return;
        }
        if (strcmp(n->name, "compiler") == 0) {
            read_compiler(&f, n);
        } else if (strcmp(n->name, "option") == 0) {
            read_option(&f, n);
        }
    }
    for (const robot_node *n = robot_child(root, "worldbody"); n && !in->failed;
         n = robot_next(n, "worldbody")) {
        read_body(&f, n, -1, 1, origin);
    }
    if (!in->failed) {
        bound_masses(&f);
    }
    for (const robot_node *n = root->first; n && !in->failed; n = n->next) {
        for (const robot_node *c = n->first; c && !in->failed; c = c->next) {
            if (strcmp(n->name, "actuator") == 0) {
                mjcf_actuator(&f, c);
            } else if (strcmp(n->name, "tendon") == 0) {
                mjcf_tendon(&f, c);
            } else if (strcmp(n->name, "equality") == 0) {
                mjcf_equality(&f, c);
            } else if (strcmp(n->name, "contact") == 0 && strcmp(c->name, "exclude") == 0) {
                mjcf_exclusion(&f, c);
            } else if (strcmp(n->name, "contact") == 0) {
                robot_fail(in, c, "this element is not supported");
            }
        }
    }
    for (const robot_node *n = robot_child(root, "keyframe"); n && !in->failed;
         n = robot_next(n, "keyframe")) {
        for (const robot_node *c = robot_child(n, "key"); c && !in->failed; c = robot_next(c, "key")) {
            mjcf_key(&f, c);
        }
    }
}
