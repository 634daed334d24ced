# SPDX-License-Identifier: Apache-2.0
"""Prints the seconds of processor time of a piece of work in a peer, for benchmarks to compare with their
own: peers.py WORK.
Exit status 3 where the peer is not installed. One thread, as in the benchmarks."""
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"


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


WORK = {"sac-256": lambda: sac(256), "sac-64": lambda: sac(64), "ppo": ppo}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in WORK:
        sys.exit("usage: peers.py " + " | ".join(WORK))
    try:
        seconds = WORK[sys.argv[1]]()
    except ImportError as e:
        print(f"peers.py: {e}", file=sys.stderr)
        sys.exit(3)
    print(f"{seconds:.9g}")
