# SPDX-License-Identifier: Apache-2.0
"""Losses of environments as differentiable functions of PyTorch: diffsim.torch.loss(env)."""

from __future__ import annotations

import numpy as np
import torch

from ._environment import Environment, environment
from ._errors import UnsupportedError, UsageError
from ._settings import undo_rounding

try:  # is a transform of torch.func active? Its tensors do not show that they need gradients
    from torch._C._functorch import peek_interpreter_stack as _transform
except ImportError:

    def _transform():  # type: ignore[misc]
        return None


def _check(env, x):
    """Refuses what is not a tensor (..., n) of single or double precision on a device with memory."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x is {type(x).__name__}: expected a torch.Tensor, as by torch.as_tensor(x)")
    if x.dtype not in (torch.float64, torch.float32):
        raise TypeError(f"x is {x.dtype}: expected torch.float64 or torch.float32, as by x.double()")
    if x.layout != torch.strided or x.device.type == "meta":
        raise TypeError(f"x is a tensor of layout {x.layout} on {x.device}: expected a dense one with values, as by x.to_dense()")
    if x.ndim < 1 or x.shape[-1] != env.n or 0 in x.shape:
        raise UsageError(f"x has shape {tuple(x.shape)}: {env.name} takes ({env.n},), or (..., {env.n}) for many points")


def _points(env, x):
    """x as NumPy's doubles. Single precision may have rounded a bound outwards; that is undone."""
    a = x.detach().cpu().numpy()
    return undo_rounding(a, a.astype(np.float64), env.lower, env.upper)


def _no_forward(env):
    return UnsupportedError(
        f"forward-mode and second derivatives of the loss of {env.name} by PyTorch: there are none; backward() has the gradient, "
        'env.hvp() products with second derivatives where the environment has them (channels with "hv")'
    )


class _Loss(torch.autograd.Function):
    """(losses, gradients) of points (..., n); the gradients come with them, so that backward() simulates nothing."""

    generate_vmap_rule = False

    @staticmethod
    def forward(x, env, noise_key, with_grad):
        rows = _points(env, x.reshape(-1, env.n))
        if with_grad:
            loss, grad = env.loss_and_grad(rows, noise_key)
        else:
            loss, grad = env.loss(rows, noise_key), np.zeros_like(rows)
        like = {"dtype": x.dtype, "device": x.device}
        return torch.as_tensor(loss, **like).reshape(x.shape[:-1]), torch.as_tensor(grad, **like).reshape(x.shape)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, env, _, with_grad = inputs
        ctx.env, ctx.with_grad = env, with_grad
        ctx.save_for_backward(x, output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, weight, _):
        if not ctx.with_grad:  # the zeros of forward() are not a gradient
            raise UnsupportedError(f"{ctx.env.name} has no gradient")
        x, grad = ctx.saved_tensors
        return _Product.apply(x, weight, grad, ctx.env), None, None, None

    @staticmethod
    def jvp(ctx, *tangents):
        raise _no_forward(ctx.env)

    @staticmethod
    def vmap(info, in_dims, x, env, noise_key, with_grad):
        return _Loss.apply(x.movedim(in_dims[0], 0), env, noise_key, with_grad), (0, 0)


class _Product(torch.autograd.Function):
    """weight * d loss / d x: linear in the weight; its derivative by x would be the second one of the loss."""

    @staticmethod
    def forward(x, weight, grad, env):
        return weight.unsqueeze(-1) * grad

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, grad, env = inputs
        ctx.env, ctx.by_x = env, x.requires_grad
        ctx.save_for_backward(grad)

    @staticmethod
    def backward(ctx, outer):
        if ctx.needs_input_grad[0]:
            raise UnsupportedError(
                f"second derivatives of the loss of {ctx.env.name} by PyTorch: there are none; env.hvp() has products "
                'with them where the environment does (channels with "hv")'
            )
        (grad,) = ctx.saved_tensors
        return None, (outer * grad).sum(-1), None, None

    @staticmethod
    def jvp(ctx, *tangents):
        raise _no_forward(ctx.env)

    @staticmethod
    def vmap(info, in_dims, x, weight, grad, env):
        x, weight, grad = (t if d is None else t.movedim(d, 0) for t, d in zip((x, weight, grad), in_dims))
        return _Product.apply(x, weight, grad, env), 0


def loss(env: Environment, noise_key=None):
    """A function of a tensor x (n,) or (..., n) that returns the losses, () or (...), of its precision and device.

        f = diffsim.torch.loss(env)
        x = torch.tensor(env.x0, requires_grad=True)
        f(x).backward()                    # x.grad is the exact gradient

    The simulation computes in double precision on the processor; a batch is evaluated by the workers of ``env`` in parallel.
    Tensors of other types than float64 and float32 are refused. Threads take turns, as with ``env`` itself; a process that was
    forked makes an environment of its own. ``noise_key`` as in :meth:`Environment.loss`. Failed simulations raise EvaluationError, or with
    ``make(..., on_failure="inf")`` have the loss inf and the gradient NaN. Second derivatives raise UnsupportedError,
    and so does backward() where ``env`` has no gradient.
    """

    return Function(env, noise_key)


class Function:
    """What :func:`loss` returns. It can be pickled: the environment is opened again where it is unpickled."""

    def __init__(self, env: Environment, noise_key=None):
        self.env, self.noise_key = environment(env, "diffsim.torch.loss()"), noise_key
        self.__name__ = f"loss_of_{env.name}"

    def __call__(self, x):
        _check(self.env, x)
        with_grad = self.env.has_gradient and (x.requires_grad or _transform() is not None)
        return _Loss.apply(x, self.env, self.noise_key, with_grad)[0]


class Loss(torch.nn.Module):
    """The same as a module without parameters."""

    def __init__(self, env: Environment, noise_key=None):
        super().__init__()
        self.function = loss(env, noise_key)

    def forward(self, x):
        return self.function(x)
