# SPDX-License-Identifier: Apache-2.0
"""Prints the seconds of processor time of a piece of work in a peer, for benchmarks to compare with their
own, and the number that the work computes, if any: peers.py WORK.
Exit status 3 where the peer is not installed. One thread, as in the benchmarks."""
import math
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if os.environ.get("DS_ISA", "") in ("avx2", "avx512"):  # as ours
    os.environ["XLA_FLAGS"] += " --xla_cpu_max_isa=" + os.environ["DS_ISA"].upper()


def best(repeats, work):
    """The least processor time of several calls."""
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def stable_baselines3():
    """The library, and the pendulum of Gymnasium without its limit of time."""
    import gymnasium
    import stable_baselines3
    import torch
    torch.set_num_threads(1)
    return stable_baselines3, gymnasium.make("Pendulum-v1")


def sac(width):
    """A gradient step of soft actor-critic, two hidden layers, batch 256."""
    sb3, env = stable_baselines3()
    model = sb3.SAC("MlpPolicy", env, policy_kwargs={"net_arch": [width, width]}, batch_size=256, learning_starts=300,
                    device="cpu", seed=1)
    model.learn(301)
    return best(5, lambda: model.train(20, 256)) / 20


def ppo():
    """1000 steps of ppo, the environment included: 4 environments x 1024 steps, batch 64, 10 epochs."""
    sb3, _ = stable_baselines3()
    from stable_baselines3.common.env_util import make_vec_env
    model = sb3.PPO("MlpPolicy", make_vec_env("Pendulum-v1", n_envs=4, seed=1), n_steps=1024, batch_size=64, n_epochs=10,
                    gamma=0.9, device="cpu", seed=1)
    return best(2, lambda: model.learn(4096)) / 4.096


# Episodes of our environments with their default settings, in JAX: 512 points at once (vmap), single precision.

POINTS = 512
CALLS = 30


def points(lower, upper):
    """The points of bench_peers.c."""
    import numpy
    count = POINTS * len(lower)
    share = numpy.modf(0.5 + 0.61803398874989484820 * numpy.arange(1, count + 1))[0]
    return lower + share.reshape(POINTS, -1) * (numpy.array(upper) - lower)


def cartpole(x):
    """One link, the velocity of the cart is given; the tip should be at (1, 0.8)."""
    import jax.numpy as jnp
    from jax import lax
    h, g, com, inertia = 0.02, 9.81, 0.5, 1.0

    def step(state, u):
        theta, omega, at, v = state
        a = (2 * u[0] - v) / h
        alpha = (5 * u[1] + com * (g * jnp.sin(theta) + jnp.cos(theta) * a)) / (com * com + inertia)
        return (theta + h * omega, omega + h * alpha, at + h * v, v + h * a), None

    (theta, _, at, _), _ = lax.scan(step, (jnp.float32(math.pi), 0.0, 0.0, 0.0), x.reshape(-1, 2))
    return jnp.sqrt((at - jnp.sin(theta) - 1) ** 2 + (jnp.cos(theta) - 0.8) ** 2)


def pendulum(x):
    """Swing-up of a rod by 60 torques."""
    import jax.numpy as jnp
    from jax import lax
    h = 0.05

    def step(state, u):
        theta, omega = state
        omega = omega + h * (15 * jnp.sin(theta) + 3 * u)
        return (theta + h * omega, omega), None

    (theta, omega), _ = lax.scan(step, (jnp.float32(math.pi), 0.0), x)
    return 1 - jnp.cos(theta) + 0.1 * omega ** 2 + 0.02 * jnp.mean(x ** 2)


def bounce(x):
    """A ball between ground and wall, contact by penalty."""
    import jax.numpy as jnp
    from jax import lax
    h, stiffness, damping = 0.0020833333333333333, 1e4, 10.0

    def step(state, _):
        p, v = state
        ground, wall = p[1] - 0.1, 1.75 - p[0] - 0.1
        up = jnp.where(ground < 0, -stiffness * ground - damping * jnp.minimum(v[1], 0), 0)
        left = jnp.where(wall <= 0, -stiffness * wall - damping * jnp.minimum(-v[0], 0), 0)
        v = v + h * jnp.array([-left, up - 9.8, 0.0])
        return (p + h * v, v), None

    (p, _), _ = lax.scan(step, (jnp.array([-0.5, 1.0, 0.0]), x), length=288)
    return jnp.sum((p - jnp.array([-2.0, 1.5, 0.0])) ** 2)


BOUNDS = {"cartpole": (cartpole, [-1.0] * 200, [1.0] * 200), "pendulum": (pendulum, [-2.0] * 60, [2.0] * 60),
          "bounce": (bounce, [-10.0] * 3, [10.0] * 3)}


def episodes(name, gradient):
    """Seconds per point, and the mean loss."""
    import jax
    import numpy
    function, lower, upper = BOUNDS[name]
    x = jax.numpy.array(points(lower, upper), dtype=jax.numpy.float32)
    run = jax.jit(jax.vmap(jax.value_and_grad(function) if gradient else function))
    loss = run(x)[0] if gradient else run(x)

    def calls():
        for _ in range(CALLS):  # of which one may end in the time of the next
            jax.block_until_ready(run(x))

    seconds = best(7, calls) / CALLS / POINTS
    return seconds, float(numpy.mean(numpy.asarray(loss, dtype=float)))


def bounce_warp(gradient):
    """bounce in Warp, 512 points side by side on the processor. The loss alone is one kernel; for the gradient, which
    Warp has of steps but not of a loop over them, there is a launch per step and the states of all steps are kept."""
    import numpy
    import warp as wp
    wp.init()
    h, stiffness, damping, steps = 0.0020833333333333333, 1e4, 10.0, 288

    @wp.func
    def velocity_after(p: wp.vec3, v: wp.vec3):
        ground = p[1] - 0.1
        wall = 1.75 - p[0] - 0.1
        up = float(0.0)
        left = float(0.0)
        if ground < 0.0:
            up = -stiffness * ground - damping * wp.min(v[1], 0.0)
        if wall <= 0.0:
            left = -stiffness * wall - damping * wp.min(-v[0], 0.0)
        return v + h * wp.vec3(-left, up - 9.8, 0.0)

    @wp.func
    def distance(p: wp.vec3):
        miss = p - wp.vec3(-2.0, 1.5, 0.0)
        return wp.dot(miss, miss)

    @wp.kernel
    def episode(start_p: wp.array(dtype=wp.vec3), start_v: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
        i = wp.tid()
        p = start_p[i]
        v = start_v[i]
        for _ in range(steps):
            v = velocity_after(p, v)
            p = p + h * v
        loss[i] = distance(p)

    @wp.kernel
    def step(p: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), next_p: wp.array(dtype=wp.vec3),
             next_v: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        moved = velocity_after(p[i], v[i])
        next_v[i] = moved
        next_p[i] = p[i] + h * moved

    @wp.kernel
    def final(p: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
        i = wp.tid()
        loss[i] = distance(p[i])

    kept = {"dtype": wp.vec3, "device": "cpu", "requires_grad": gradient}
    p = [wp.array(numpy.tile([-0.5, 1.0, 0.0], (POINTS, 1)), **kept)] + [wp.zeros(POINTS, **kept) for _ in range(steps)]
    v = [wp.array(points([-10.0] * 3, [10.0] * 3), **kept)] + [wp.zeros(POINTS, **kept) for _ in range(steps)]
    loss = wp.zeros(POINTS, dtype=float, device="cpu", requires_grad=gradient)
    ones = wp.array(numpy.ones(POINTS), dtype=float, device="cpu")

    def alone():
        wp.launch(episode, dim=POINTS, inputs=[p[0], v[0]], outputs=[loss], device="cpu")

    def forward():
        for k in range(steps):
            wp.launch(step, dim=POINTS, inputs=[p[k], v[k]], outputs=[p[k + 1], v[k + 1]], device="cpu")
        wp.launch(final, dim=POINTS, inputs=[p[steps]], outputs=[loss], device="cpu")

    tape = wp.Tape()
    if gradient:
        with tape:
            forward()

    def both():
        forward()
        tape.zero()
        tape.backward(grads={loss: ones})

    run = both if gradient else alone
    run()
    return best(7, run) / POINTS, float(loss.numpy().astype(float).mean())


def drop():
    """Loss and gradient of bench/drop.ini in Taichi, single precision: states of all substeps are kept, the grid of
    each is made again for its adjoint, and only the part of the grid that the block reaches is swept."""
    import numpy
    import taichi as ti
    ti.init(arch=ti.cpu, cpu_max_num_threads=1, default_fp=ti.f32, log_level=ti.ERROR)
    n, dt, mu, side, spacing, substeps, gravity = 64, 1e-4, 1000.0, 24, 0.0078125, 95, 30.0
    count, volume = side ** 3, spacing ** 3
    reach = ((20, 46), (0, 22), (20, 46))
    x, v = (ti.Vector.field(3, ti.f32, shape=(substeps + 1, count), needs_grad=True) for _ in range(2))
    C, F = (ti.Matrix.field(3, 3, ti.f32, shape=(substeps + 1, count), needs_grad=True) for _ in range(2))
    momentum, velocity = (ti.Vector.field(3, ti.f32, shape=(n, n, n), needs_grad=True) for _ in range(2))
    mass = ti.field(ti.f32, shape=(n, n, n), needs_grad=True)

    @ti.kernel
    def clear():
        for i, j, k in ti.ndrange(*reach):
            momentum[i, j, k] = momentum.grad[i, j, k] = velocity.grad[i, j, k] = ti.Vector.zero(ti.f32, 3)
            mass[i, j, k] = mass.grad[i, j, k] = 0.0

    @ti.kernel
    def to_grid(s: ti.i32):
        for p in range(count):
            base = ti.cast(x[s, p] * n - 0.5, ti.i32)
            at = x[s, p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - at) ** 2, 0.75 - (at - 1) ** 2, 0.5 * (at - 0.5) ** 2]
            stretched = (ti.Matrix.identity(ti.f32, 3) + dt * C[s, p]) @ F[s, p]
            F[s + 1, p] = stretched
            stress = mu * stretched @ stretched.transpose() + ti.Matrix.identity(ti.f32, 3) * (
                mu * ti.log(ti.max(stretched.determinant(), 0.05)) - mu)
            affine = -dt * volume * 4 * n * n * stress + volume * C[s, p]
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                weight = w[i][0] * w[j][1] * w[k][2]
                momentum[base + offset] += weight * (volume * v[s, p] + affine @ ((offset - at) / n))
                mass[base + offset] += weight * volume

    @ti.kernel
    def on_grid():
        for i, j, k in ti.ndrange(*reach):
            if mass[i, j, k] > 1e-12:
                u = momentum[i, j, k] / mass[i, j, k]
                u[1] -= dt * gravity
                if j <= 2 and u[1] < 0:
                    u = ti.Vector.zero(ti.f32, 3)
                velocity[i, j, k] = u

    @ti.kernel
    def to_particles(s: ti.i32):
        for p in range(count):
            base = ti.cast(x[s, p] * n - 0.5, ti.i32)
            at = x[s, p] * n - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - at) ** 2, 0.75 - (at - 1) ** 2, 0.5 * (at - 0.5) ** 2]
            new_v = ti.Vector.zero(ti.f32, 3)
            new_c = ti.Matrix.zero(ti.f32, 3, 3)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                u = velocity[base + offset]
                weight = w[i][0] * w[j][1] * w[k][2]
                new_v += weight * u
                new_c += 4 * n * weight * u.outer_product(offset - at)
            v[s + 1, p], C[s + 1, p] = new_v, new_c
            x[s + 1, p] = x[s, p] + dt * new_v

    @ti.kernel
    def begin_back(gx: ti.f32, gy: ti.f32, gz: ti.f32):
        for s, p in x:
            x.grad[s, p] = v.grad[s, p] = ti.Vector.zero(ti.f32, 3)
            C.grad[s, p] = F.grad[s, p] = ti.Matrix.zero(ti.f32, 3, 3)
        for p in range(count):
            x.grad[substeps, p] = ti.Vector([gx, gy, gz]) / count

    @ti.kernel
    def centre() -> ti.types.vector(3, ti.f64):
        total = ti.Vector.zero(ti.f64, 3)
        for p in range(count):
            total += ti.cast(x[substeps, p], ti.f64)
        return total / count

    corner = numpy.array([0.5, 0.16, 0.5]) - 0.5 * side * spacing
    start = corner + (numpy.stack(numpy.meshgrid(*[numpy.arange(side)] * 3, indexing="ij"), -1) + 0.5) * spacing

    @ti.kernel
    def place(points: ti.types.ndarray()):
        for p in range(count):
            x[0, p] = ti.Vector([points[p, 0], points[p, 1], points[p, 2]])
            v[0, p] = ti.Vector([1.0, -3.0, 0.5])
            C[0, p] = ti.Matrix.zero(ti.f32, 3, 3)
            F[0, p] = ti.Matrix.identity(ti.f32, 3)

    place(start.reshape(count, 3).astype(numpy.float32))
    loss = 0.0

    def episode():
        nonlocal loss
        for s in range(substeps):
            clear()
            to_grid(s)
            on_grid()
            to_particles(s)
        miss = numpy.array(centre()) - [0.6, 0.2, 0.5]
        loss = float(numpy.linalg.norm(miss))
        begin_back(*(miss / loss))
        for s in reversed(range(substeps)):
            clear()
            to_grid(s)
            on_grid()
            to_particles.grad(s)
            on_grid.grad()
            to_grid.grad(s)

    episode()
    return best(3, episode), loss


def cma():
    """CMA-ES of the package cma per evaluation: a sphere of 200 variables, 64 samples."""
    import cma as peer
    import numpy

    def search():
        es = peer.CMAEvolutionStrategy(200 * [1.0], 0.5, {"popsize": 64, "verbose": -9, "seed": 1})
        for _ in range(16):
            x = es.ask()
            es.tell(x, [float(numpy.dot(v, v)) for v in x])

    return best(3, search) / (16 * 64)


CART = """<mujoco><option timestep="0.02" gravity="0 0 -9.81"/><worldbody><body><joint type="slide" axis="1 0 0"/>
<geom type="box" size="0.1 0.1 0.1" mass="1" contype="0" conaffinity="0"/><body><joint name="pole" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02" mass="1" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><motor joint="pole"/></actuator></mujoco>"""


def mujoco():
    """A step of a cart with one link, in MuJoCo: 64 rollouts of 100 steps by one thread."""
    import mujoco as peer
    import numpy
    from mujoco import rollout
    model = peer.MjModel.from_xml_string(CART)
    states = numpy.zeros((64, peer.mj_stateSize(model, peer.mjtState.mjSTATE_FULLPHYSICS)))
    torque = numpy.random.default_rng(1).uniform(-1, 1, (64, 100, 1))
    data = peer.MjData(model)
    return best(5, lambda: rollout.rollout(model, data, states, torque)) / (64 * 100)


def robot(name):
    """The path of a model of examples/robots."""
    return os.path.join(os.environ.get("DS_TOP_SRC", "."), "examples", "robots", name)


def quadruped():
    """A step of the quadruped without contact, in MuJoCo: 500 steps of one thread."""
    import mujoco as peer
    model = peer.MjModel.from_xml_path(robot("quadruped.xml"))
    model.opt.timestep = 0.002
    model.opt.disableflags |= peer.mjtDisableBit.mjDSBL_CONTACT
    data = peer.MjData(model)

    def fall():
        peer.mj_resetDataKeyframe(model, data, 0)
        peer.mj_step(model, data, 500)

    return best(20, fall) / 500


def arm():
    """A step of the arm and its gradient by all torques, in Nimble. Needs NumPy below 2."""
    import tempfile
    import nimblephysics as nimble
    import torch
    torch.set_num_threads(1)
    world = nimble.simulation.World()
    world.setGravity([0, 0, -9.81])
    world.setTimeStep(0.0025)
    with open(robot("arm.urdf")) as source, tempfile.NamedTemporaryFile("w", suffix=".urdf") as model:
        held = '<link name="world"/><joint name="hold" type="fixed"><parent link="world"/><child link="base"/></joint></robot>'
        model.write(source.read().replace("</robot>", held))
        model.flush()
        world.loadSkeleton(model.name)
    n = world.getNumDofs()

    def episode():
        torque = torch.zeros((100, n), dtype=torch.float64, requires_grad=True)
        state = torch.full((2 * n,), 0.1, dtype=torch.float64)
        for k in range(100):
            state = nimble.timestep(world, state, torque[k])
        state.pow(2).sum().backward()

    return best(5, episode) / 100


WORK = {"drop": drop, "bounce-warp": lambda: bounce_warp(False), "bounce-warp-gradient": lambda: bounce_warp(True),
        "quadruped": quadruped, "arm": arm, "sac-256": lambda: sac(256), "sac-64": lambda: sac(64), "ppo": ppo, "cma": cma, "mujoco": mujoco}
for env in BOUNDS:
    WORK[env] = lambda env=env: episodes(env, False)
    WORK[env + "-gradient"] = lambda env=env: episodes(env, True)

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in WORK:
        sys.exit("usage: peers.py " + " | ".join(WORK))
    result = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peers themselves print
    try:
        answer = WORK[sys.argv[1]]()
    except ImportError as e:
        print(f"peers.py: {e}", file=sys.stderr)
        sys.exit(3)
    numbers = answer if isinstance(answer, tuple) else (answer,)
    print(*(f"{number:.9g}" for number in numbers), file=result, flush=True)
