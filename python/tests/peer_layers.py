# SPDX-License-Identifier: Apache-2.0
"""Gradients through SciPy, PyTorch and JAX equal the environments'; second derivatives are refused."""

import concurrent.futures
import logging
import os
import warnings
import unittest

import numpy as np

import diffsim
from support import Case


def peer(name):
    """The module, or None where it is not there."""
    try:
        return __import__(name)
    except ImportError:
        return None


scipy, torch, jax = peer("scipy"), peer("torch"), peer("jax")

# Points where differences are valid: away from the jumps of contact, at a fraction of the way from the start
# to a random point.
PLACES = {
    "torus": ({"preset": "small"}, 0.2),
    "pinball": ({}, 0.1),
    "cartpole": ({}, 0.3),
    "swing": ({"duration": 0.15, "hold": 0.1}, 0.3),
    "bounce": ({}, 0.2),
}
WIDTH = 1e-6


def places():
    """(environment, point, tolerance): differences of WIDTH are right to some 1e-8 of the gradient, forward ones to 2e-6."""
    for name, (settings, share) in PLACES.items():
        with diffsim.make(name, jobs=2, **settings) as env:
            x = env.x0 + share * (env.random(seed=3) - env.x0)
            yield env, x, 1e-6 * np.abs(env.grad(x)).max()


@unittest.skipIf(scipy is None, "there is no SciPy")
class SciPy(Case):
    def test_check_grad(self):
        """scipy.optimize.check_grad passes"""
        from scipy.optimize import check_grad

        for env, x, tolerance in places():
            self.assertLess(check_grad(env.loss, env.grad, x, epsilon=WIDTH), 2 * tolerance * np.sqrt(env.n), env.name)

    def test_minimize(self):
        """optimizers as methods of scipy.optimize.minimize"""
        from scipy.optimize import Bounds, NonlinearConstraint, OptimizeWarning, minimize, rosen, rosen_der

        found = minimize(rosen, [0.5] * 3, jac=rosen_der, bounds=[(-2, 2)] * 3, method=diffsim.scipy("lbfgsb", 200))
        self.assertTrue(found.success and found.fun < 1e-9 and found.nfev == 200)
        same = minimize(
            lambda x, a: (a * rosen(x), a * rosen_der(x)),
            [0.5] * 3,
            args=(1.0,),
            jac=True,
            bounds=Bounds([-2] * 3, [2] * 3),
            method=diffsim.scipy("lbfgsb"),
            options={"budget": 200},
        )
        self.same(same.x, found.x)
        seen = []
        minimize(rosen, [0.5] * 3, bounds=[(-2, 2)] * 3, method=diffsim.scipy("bo", 30, seed=2), callback=seen.append)
        self.same(seen[-1], diffsim.minimize(rosen, "bo", 30, seed=2, bounds=([-2] * 3, [2] * 3), x0=[0.5] * 3).best_x)
        given = {"bounds": [(-2, 2)] * 3, "method": diffsim.scipy("cmaes", 30)}
        plain = minimize(rosen, [0.5] * 3, **given)
        with self.assertWarnsRegex(OptimizeWarning, "Unknown solver options: maxiter, tol; .* knows budget"):
            told = minimize(rosen, [0.5] * 3, options={"maxiter": 5}, tol=1e-3, **given)
        self.same(told.x, plain.x)
        rule = {"type": "ineq", "fun": lambda x: x[0]}
        for constraints in (rule, [rule], NonlinearConstraint(rosen, 0, 1)):
            self.raises(
                diffsim.UnsupportedError,
                r"constraints \(\w+\): cmaes searches in a box",
                lambda c: minimize(rosen, [0.5] * 3, constraints=c, **given),
                constraints,
            )
        self.raises(diffsim.UsageError, "bounds are missing", minimize, rosen, [0.5] * 3, method=diffsim.scipy("cmaes"))


    def test_wrong(self):
        """never worse than x0, which comes first; fixed bounds; wrong points, results and options"""
        from scipy.optimize import Bounds, OptimizeWarning, minimize

        def bowl(x):
            return float(((x - 0.3) ** 2).sum())

        for name in ("rand", "cmaes", "bo", "racer", "turbo", "cem", "nlopt"):
            seen = []
            found = minimize(
                lambda x: seen.append(x.copy()) or bowl(x), [0.3] * 3, bounds=[(-1, 1)] * 3, method=diffsim.scipy(name, 4)
            )
            self.same(seen[0], [0.3] * 3, name)
            self.assertEqual((found.fun, found.success, len(seen)), (0.0, True, 4), name)
        with open(self.path("own.py"), "w", encoding="utf-8") as f:  # an optimizer that knows no start
            f.write("class Own:\n    def run(self, objective):\n        objective.evaluate([objective.lower, objective.upper])\n")
        found = minimize(bowl, [0.3] * 3, bounds=[(-1, 1)] * 3, method=diffsim.scipy(self.path("own.py"), 9))
        self.assertEqual((found.fun, found.nfev), (0.0, 3))
        for bounds in ([(-1, 1), (0.5, 0.5), (-1, 1)], Bounds([-1, 0.5, -1], [1, 0.5, 1])):
            with self.assertWarnsRegex(OptimizeWarning, "x0 is outside of the bounds"):
                found = minimize(bowl, [0.0, 9.0, 0.0], bounds=bounds, method=diffsim.scipy("cmaes", 200))
            self.assertEqual(found.x[1], 0.5)
            self.assertLess(abs(found.fun - 0.04), 1e-6)
        given = {"x0": np.zeros(3), "bounds": [(-1, 1)] * 3, "method": diffsim.scipy("cmaes", 20)}
        for kind, words, fun, more in (
            (TypeError, "not complex", lambda x: np.complex128(1), {}),
            (TypeError, "not None", lambda x: None, {}),
            (diffsim.UsageError, "budget is 0", bowl, {"options": {"budget": 0}}),
            (TypeError, "maxfun is 1.5", bowl, {"options": {"maxfun": 1.5}}),
            (diffsim.UsageError, "x0 has shape .2,.", bowl, {"x0": np.zeros(2)}),
        ):
            self.raises(kind, words, minimize, fun, **{**given, **more})
        wrong = {**given, "method": diffsim.scipy("lbfgsb", 20)}
        self.raises(diffsim.UsageError, "the gradient of jac has 2 numbers: expected 3", minimize, bowl, jac=lambda x: x[:2], **wrong)
        self.raises(diffsim.PluginError, "needs gradients", minimize, bowl, jac="2-point", **wrong)


@unittest.skipIf(torch is None, "there is no PyTorch")
class PyTorch(Case):
    def test_inputs(self):
        """types, shapes, layouts, threads and forks: the loss in floating numbers, or a line"""
        with diffsim.make("bounce", jobs=1) as env:
            f, x = diffsim.torch.loss(env), torch.tensor(env.clip(np.array([1.0, 2.0, 3.0])))
            want = env.loss(x.numpy())
            for good in (x, x.repeat_interleave(2)[::2], x.repeat(4, 1).T.contiguous().T, torch.nn.Parameter(x), x.float()):
                loss = f(good)
                self.assertEqual(loss.dtype, good.dtype)
                np.testing.assert_allclose(loss.detach().numpy(), want, rtol=1e-5)
            for dtype in ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "complex128"):
                self.raises(TypeError, f"x is torch.{dtype}: torch.float64 or torch.float32", f, x.to(getattr(torch, dtype)))
            for wrong in (x.numpy(), x.tolist(), None, 1.0):
                self.raises(TypeError, "expected a torch.Tensor", f, wrong)
            for wrong in (x.to_sparse(), x.to("meta")):
                self.raises(TypeError, "expected a dense one with values", f, wrong)
            for wrong in (x[0], x[:, None], x[:2], x.repeat(2), x.repeat(3, 2), torch.empty(0, 3, dtype=x.dtype)):
                self.raises(diffsim.UsageError, "x has shape .*bounce takes .3,., or", f, wrong)
            self.raises(diffsim.UsageError, "variable 0 is nan", f, x * float("nan"))
            self.raises(diffsim.UsageError, "variable 1 is 52", f, x + 50 * torch.tensor([0.0, 1, 0]))
            self.raises(TypeError, "requires a gradient: detach", env.loss, x.requires_grad_())
            self.raises(TypeError, "BFloat16", env.loss, x.detach().bfloat16())
            self.raises(diffsim.UnsupportedError, "forward-mode", torch.func.jvp, f, (x.detach(),), (x.detach(),))
            self.raises(TypeError, "'torus' is not an environment", diffsim.torch.loss, "torus")
            many = env.random(32, seed=1)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                self.same(list(pool.map(lambda p: f(torch.tensor(p)).item(), many)), env.loss(many))
            with warnings.catch_warnings():  # JAX and Python warn of forks
                warnings.simplefilter("ignore")
                pid = os.fork()
            if pid == 0:
                try:
                    f(x)
                except diffsim.ClosedError:
                    os._exit(7)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        self.raises(diffsim.ClosedError, "bounce was closed", f, x)

    def test_gradcheck(self):
        """torch.autograd.gradcheck passes, single and batched"""
        for env, x, tolerance in places():
            f = diffsim.torch.loss(env)
            at = torch.tensor(x, requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(f, (at,), eps=WIDTH, atol=tolerance, rtol=1e-6), env.name)
            both = torch.tensor(np.stack([x, env.clip(x + 1e-3)]), requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(f, (both,), eps=WIDTH, atol=tolerance, rtol=1e-6), env.name)

    def test_bits(self):
        """losses and gradients keep their bits; single precision, shapes, modules, torch.func"""
        with diffsim.make("bounce", jobs=2) as env:
            f, x = diffsim.torch.loss(env), env.random(6, seed=1)
            at = torch.tensor(x, requires_grad=True)
            f(at).sum().backward()
            self.same(at.grad.numpy(), env.grad(x))
            self.same(f(at.reshape(2, 3, 3)).detach().numpy(), env.loss(x).reshape(2, 3))
            self.same(torch.func.vmap(torch.func.grad(f))(at.detach()).numpy(), env.grad(x))
            self.same(diffsim.torch.Loss(env)(at).detach().numpy(), env.loss(x))
            single = torch.tensor(np.stack([env.lower, env.upper]), dtype=torch.float32, requires_grad=True)
            loss = f(single)
            loss.sum().backward()
            self.assertEqual((loss.dtype, single.grad.dtype), (torch.float32, torch.float32))
            np.testing.assert_allclose(loss.detach().numpy(), env.loss(np.stack([env.lower, env.upper])), rtol=1e-6)
            with torch.no_grad():
                self.assertFalse(f(at).requires_grad)
            weight = torch.tensor(2.0, requires_grad=True, dtype=torch.float64)
            (weight * f(at[0])).backward()
            self.assertEqual(weight.grad.item(), env.loss(x[0]))

    def test_second(self):
        """second derivatives and wrong tensors are refused in clear words"""
        with diffsim.make("bounce", jobs=1) as env:
            f, x = diffsim.torch.loss(env), torch.tensor(np.array(env.x0), requires_grad=True)
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            self.raises(diffsim.UnsupportedError, "second derivatives of the loss of bounce", g.sum().backward)
            self.raises(TypeError, "expected a torch.Tensor", f, env.x0)
            with self.assertRaisesRegex((diffsim.UsageError, RuntimeError), "shape"):
                f(torch.zeros(4, dtype=torch.float64))

    def test_no_gradient(self):
        """an environment without gradients has losses; a gradient of them is refused, not zero"""
        with diffsim.make("cartpole_gym", jobs=1) as env:
            f, x = diffsim.torch.loss(env), torch.tensor(np.array(env.x0), requires_grad=True)
            loss = f(x)
            self.assertEqual(loss.item(), env.loss(env.x0))
            self.raises(diffsim.UnsupportedError, "cartpole_gym has no gradient", loss.backward)
            self.assertIsNone(x.grad)
            with self.assertRaisesRegex(diffsim.UnsupportedError, "cartpole_gym has no gradient"):
                torch.func.grad(f)(x.detach())


@unittest.skipIf(jax is None, "there is no JAX")
class Jax(Case):
    def setUp(self):
        super().setUp()
        jax.config.update("jax_enable_x64", True)

    def test_inputs(self):
        """types, shapes, containers: the loss in the precision of x, or a line; failures are our exceptions outside of jit"""
        logging.disable(logging.CRITICAL)  # JAX prints exceptions of its callbacks
        self.addCleanup(logging.disable, logging.NOTSET)
        with diffsim.make("bounce", jobs=1) as env:
            f, p = diffsim.jax.loss(env), np.array([1.0, 2.0, 3.0])
            want = env.loss(p)
            for good in (p, p.astype(">f8"), p.astype("g"), p.tolist(), tuple(p), jax.numpy.array(p), np.repeat(p, 2)[::2], np.ma.array(p)):
                self.assertEqual(float(f(good)), want)
            self.assertEqual(f(p.astype("f4")).dtype, np.float32)
            for wrong in ("?", "i4", "i8", "u8", ">i4", "f2", jax.numpy.bfloat16):
                with self.assertRaisesRegex(TypeError, "expected float64 or float32|not dtype bfloat16"):
                    f(p.astype(wrong))
            for wrong in (p.astype(complex), p.astype(object), p.astype(str), None, {}, (v for v in p)):
                self.raises(TypeError, "expected real numbers, not", f, wrong)
            self.raises(diffsim.UsageError, "masked", f, np.ma.array(p, mask=[0, 1, 0]))
            for wrong in (p[:, None], p[:2], np.zeros(0), np.zeros((0, 3)), np.float64(1)):
                self.raises(TypeError, r"x is float64\[.*\]: expected real numbers of shape \(3,\)", f, wrong)
            self.raises(diffsim.UsageError, "variable 0 is 51", f, p + 50)
            self.raises(diffsim.UsageError, "variable 0 is 51", jax.grad(f), p + 50)
            self.raises(diffsim.UsageError, "variable 0 is 51", jax.vmap(jax.grad(f)), (p + 50)[None])
            with self.assertRaisesRegex(RuntimeError, "variable 0 is 51"):
                jax.block_until_ready(jax.jit(f)(p + 50))
            self.raises(TypeError, "JAX traces this array", jax.jit(env.loss), p)
            self.raises(TypeError, "'torus' is not an environment", diffsim.jax.loss, "torus")
        self.raises(diffsim.ClosedError, "bounce was closed", f, p)
        with diffsim.make("cartpole_gym", jobs=1) as env:
            self.raises(diffsim.UnsupportedError, "cartpole_gym has no gradient", jax.grad(diffsim.jax.loss(env)), np.array(env.x0))

    def test_check_grads(self):
        """jax.test_util.check_grads passes"""
        from jax.test_util import check_grads

        for env, x, tolerance in places():
            check_grads(
                diffsim.jax.loss(env),
                (jax.numpy.array(x),),
                order=1,
                modes=["rev"],
                eps=WIDTH,
                atol=tolerance,
                rtol=1e-6,
            )

    def test_bits(self):
        """losses and gradients keep their bits under jit and vmap; single precision"""
        with diffsim.make("bounce", jobs=2) as env:
            f, x = diffsim.jax.loss(env), env.random(6, seed=1)
            loss, grad = env.loss_and_grad(x)
            for g in (jax.vmap(jax.value_and_grad(f)), jax.jit(jax.vmap(jax.value_and_grad(f)))):
                got = g(jax.numpy.array(x))
                self.same(np.asarray(got[0]), loss)
                self.same(np.asarray(got[1]), grad)
            self.same(np.asarray(jax.jit(f)(x)), loss)
            self.same(np.asarray(jax.jit(jax.grad(lambda v: 3.0 * f(v)))(x[0])), 3.0 * grad[0])
            self.assertEqual(jax.grad(f)(jax.numpy.array(env.upper, dtype="float32")).dtype, np.float32)

    def test_second(self):
        """second derivatives and wrong shapes are refused in clear words"""
        with diffsim.make("bounce", jobs=1) as env:
            f = diffsim.jax.loss(env)
            with self.assertRaisesRegex(diffsim.UnsupportedError, "second derivatives of the loss of bounce"):
                jax.hessian(f)(env.x0)
            self.raises(TypeError, r"x is float64\[4\]: expected real numbers of shape \(3,\)", f, np.zeros(4))


class Leaks(Case):
    def test_million(self):
        """a million evaluations leak nothing"""
        import resource

        with diffsim.make("analytic", isolation="none") as env, diffsim.make("analytic", jobs=1) as other:
            x = np.array(env.x0)
            for e, count in ((env, 1000000), (other, 200000)):
                for _ in range(10000):
                    e.loss(x)
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                for _ in range(count):
                    e.loss(x)
                self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 256, "KiB")
