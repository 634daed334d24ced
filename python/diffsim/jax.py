# SPDX-License-Identifier: Apache-2.0
"""Losses of environments as differentiable functions of JAX: diffsim.jax.loss(env)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ._environment import Environment
from ._errors import UnsupportedError


def loss(env: Environment, noise_key=None):
    """A function of an array x (n,) or (..., n) that returns the losses, () or (...), of its precision.

        f = diffsim.jax.loss(env)
        jax.value_and_grad(f)(env.x0)
        jax.jit(jax.vmap(jax.grad(f)))(points)       # one batch, in parallel by the workers of env

    The simulation computes in double precision on the processor; ``jax.config.update("jax_enable_x64", True)`` keeps that.
    ``noise_key`` as in :meth:`Environment.loss`. Failures raise as in PyTorch. Second derivatives raise UnsupportedError.
    """

    def points(x):
        a = np.asarray(x)
        wide = a.astype(np.float64).reshape(-1, env.n)
        if a.dtype != np.float64:  # single precision may have rounded a bound outwards
            near = env.clip(wide)
            wide = np.where(near.astype(a.dtype) == a.reshape(-1, env.n), near, wide)
        return wide

    def host_loss(x):
        return np.asarray(env.loss(points(x), noise_key), x.dtype).reshape(x.shape[:-1])

    def host_both(x):
        value, grad = env.loss_and_grad(points(x), noise_key)
        return np.asarray(value, x.dtype).reshape(x.shape[:-1]), np.asarray(grad, x.dtype).reshape(x.shape)

    def check(x):
        x = jnp.asarray(x)
        if x.ndim < 1 or x.shape[-1] != env.n or not jnp.issubdtype(x.dtype, jnp.floating):
            raise TypeError(
                f"x is {x.dtype}{list(x.shape)}: real numbers of shape ({env.n},) or (..., {env.n}) are wanted"
            )
        return x

    @jax.custom_vjp
    def f(x):
        x = check(x)
        return jax.pure_callback(host_loss, jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), x, vmap_method="broadcast_all")

    @jax.custom_jvp
    def both(x):
        shapes = jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(host_both, shapes, x, vmap_method="broadcast_all")

    @both.defjvp
    def no_second(primals, tangents):
        raise UnsupportedError(
            f"second derivatives of the loss of {env.name} by JAX: there are none; env.hvp() has products with them "
            'where the environment does (channels with "hv")'
        )

    def forward(x):
        value, grad = both(check(x))
        return value, grad

    def backward(grad, weight):
        return (weight[..., None] * grad,)

    f.defvjp(forward, backward)
    return f
