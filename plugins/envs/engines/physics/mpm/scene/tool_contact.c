/* SPDX-License-Identifier: Apache-2.0 */
/* Rigid-to-grid coupling (PlasticineLab, Huang et al. 2021, section 3.3): inside a soft layer around a tool,
 * a node takes on the tool's velocity along the normal and feels friction along the surface. */
#include "tool.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

static const double influence_cut = 0.1; /* weaker influences count as none */
static const double speed_eps = 1e-8;    /* regularises the tangential speed */

typedef struct contact_state {
    double distance, influence;
    double normal[3];
    double local[3];        /* the node in the tool's frame */
    double surface[3];      /* velocity of the tool at the node */
    double relative[3];     /* node velocity minus that */
    double approach;        /* its normal part; negative = closing in */
    double tangent[3];      /* relative velocity without its closing part */
    double speed;           /* regularised |tangent| */
    double friction_factor; /* what friction leaves of it */
    bool rubbing;           /* the friction branch was taken */
    double result[3];       /* tangent after friction */
} contact_state;

/* Velocity of the point x of a tool that goes from pose `now` to `next` in dt; local: x in its frame. */
static void surface_velocity(const mpm_contact *contact, const double x[3], const double local[3],
                             double out[3])
{
    double moved[3];
    quat_rotate(contact->next->rotation, local, moved);
    for (int k = 0; k < 3; k++) {
        out[k] = (moved[k] + contact->next->position[k] - x[k]) / contact->dt;
    }
}

/* x in the frame of a tool that turns, whatever its shape. */
static void turned_local(const mpm_pose *pose, const double x[3], double local[3])
{
    double inverse[4], offset[3];
    for (int k = 0; k < 3; k++) {
        offset[k] = x[k] - pose->position[k];
    }
    quat_inverse(pose->rotation, inverse);
    quat_rotate(inverse, offset, local);
}

/* Everything up to the new velocity; false where the tool does not reach the node. */
static bool contact_evaluate(const mpm_contact *contact, const double x[3], const double u[3],
                             contact_state *s)
{
    double k = contact->softness;
    mpm_tool_local(contact->tool, contact->now, x, s->local);
    s->distance = mpm_tool_local_distance(contact->tool, contact->now, s->local);
    if (s->distance > 0.0) {
        /* exp(-3) is below the cut: no need to evaluate it for the many nodes far away */
        if (!(k > 0.0) || s->distance * k > 3.0) {
            return false;
        }
    }
    double e = exp(-s->distance * k);
    s->influence = e < 1.0 ? e : 1.0;
    if (s->distance > 0.0 && s->influence <= influence_cut) {
        return false;
    }
    mpm_tool_local_normal(contact->tool, contact->now, s->local, s->normal);
    if (contact->tool->shape == MPM_SPHERE) {
        turned_local(contact->now, x, s->local);
    }
    surface_velocity(contact, x, s->local, s->surface);
    for (int i = 0; i < 3; i++) {
        s->relative[i] = u[i] - s->surface[i];
    }
    s->approach = vec3_dot(s->relative, s->normal);
    double closing = s->approach < 0.0 ? s->approach : 0.0;
    for (int i = 0; i < 3; i++) {
        s->tangent[i] = s->relative[i] - closing * s->normal[i];
    }
    double sq = vec3_dot(s->tangent, s->tangent);
    s->speed = sqrt(sq + speed_eps);
    s->rubbing = s->approach < 0.0 && sqrt(sq) > 1e-30;
    s->friction_factor = 1.0;
    if (s->rubbing) {
        double left = s->speed + s->approach * contact->tool->friction;
        s->friction_factor = left > 0.0 ? left : 0.0;
        for (int i = 0; i < 3; i++) {
            s->result[i] = s->tangent[i] / s->speed * s->friction_factor;
        }
    } else {
        memcpy(s->result, s->tangent, sizeof s->result);
    }
    return true;
}

bool mpm_contact_apply(const mpm_contact *contact, const double x[3], double u[3])
{
    contact_state s;
    if (!contact_evaluate(contact, x, u, &s)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        u[i] = s.surface[i] + (1.0 - s.influence) * s.relative[i] + s.influence * s.result[i];
    }
    return true;
}

/* Adds the adjoint of surface_velocity() to those of the next pose and of `local`. */
static void surface_velocity_adjoint(const mpm_contact *contact, const double local[3],
                                     const double out_bar[3], mpm_pose *next_bar, double local_bar[3])
{
    double moved_bar[3];
    for (int k = 0; k < 3; k++) {
        moved_bar[k] = out_bar[k] / contact->dt;
        next_bar->position[k] += moved_bar[k];
    }
    quat_rotate_adjoint(contact->next->rotation, local, moved_bar, next_bar->rotation, local_bar);
}

static void turned_local_adjoint(const mpm_pose *pose, const double x[3], const double local_bar[3],
                                 mpm_pose *pose_bar)
{
    double offset[3], offset_bar[3] = {0.0}, inverse[4], inverse_bar[4] = {0.0};
    for (int k = 0; k < 3; k++) {
        offset[k] = x[k] - pose->position[k];
    }
    quat_inverse(pose->rotation, inverse);
    quat_rotate_adjoint(inverse, offset, local_bar, inverse_bar, offset_bar);
    quat_inverse_adjoint(pose->rotation, inverse_bar, pose_bar->rotation);
    vec3_add_scaled(pose_bar->position, -1.0, offset_bar);
}

void mpm_contact_adjoint(const mpm_contact *contact, const double x[3], const double u[3], double u_bar[3],
                         mpm_pose *now_bar, mpm_pose *next_bar)
{
    contact_state s;
    if (!contact_evaluate(contact, x, u, &s)) {
        return;
    }
    double surface_bar[3], relative_bar[3], result_bar[3], tangent_bar[3], normal_bar[3] = {0.0};
    double influence_bar = 0.0, approach_bar = 0.0;
    for (int i = 0; i < 3; i++) {
        surface_bar[i] = u_bar[i];
        relative_bar[i] = (1.0 - s.influence) * u_bar[i];
        result_bar[i] = s.influence * u_bar[i];
        influence_bar += u_bar[i] * (s.result[i] - s.relative[i]);
    }
    if (s.rubbing) {
        double scale = s.friction_factor / s.speed;
        double along = vec3_dot(result_bar, s.tangent);
        double speed_bar = -along * scale / s.speed;
        if (s.friction_factor > 0.0) {
            speed_bar += along / s.speed;
            approach_bar += contact->tool->friction * along / s.speed;
        }
        for (int i = 0; i < 3; i++) {
            tangent_bar[i] = scale * result_bar[i] + s.tangent[i] * speed_bar / s.speed;
        }
    } else {
        memcpy(tangent_bar, result_bar, sizeof tangent_bar);
    }
    vec3_add_scaled(relative_bar, 1.0, tangent_bar);
    if (s.approach < 0.0) {
        vec3_add_scaled(normal_bar, -s.approach, tangent_bar);
        approach_bar -= vec3_dot(tangent_bar, s.normal);
    }
    vec3_add_scaled(relative_bar, approach_bar, s.normal);
    vec3_add_scaled(normal_bar, approach_bar, s.relative);
    vec3_add_scaled(surface_bar, -1.0, relative_bar);
    memcpy(u_bar, relative_bar, 3 * sizeof(double));

    /* everything depends on the pose through the node's place in the tool's frame: its adjoint
     * is summed first */
    double local_bar[3] = {0.0};
    surface_velocity_adjoint(contact, s.local, surface_bar, next_bar, local_bar);
    if (contact->tool->shape == MPM_SPHERE) {
        turned_local_adjoint(contact->now, x, local_bar, now_bar);
        memset(local_bar, 0, sizeof local_bar);
        mpm_tool_local(contact->tool, contact->now, x, s.local);
    }
    mpm_tool_local_normal_adjoint(contact->tool, contact->now, s.local, normal_bar, now_bar, local_bar);
    if (s.influence < 1.0) {
        double d_bar = -contact->softness * s.influence * influence_bar;
        mpm_tool_local_distance_adjoint(contact->tool, contact->now, s.local, d_bar, now_bar, local_bar);
    }
    mpm_tool_local_adjoint(contact->tool, contact->now, x, local_bar, now_bar, NULL);
}
