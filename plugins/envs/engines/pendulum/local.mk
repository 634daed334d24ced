# SPDX-License-Identifier: Apache-2.0
# The simple and the double pendulum with unknown constants; ordinary differential equations by Runge and Kutta.
noinst_LTLIBRARIES += %D%/libpendulum.la
%C%_libpendulum_la_SOURCES = %D%/bob.c %D%/double.c %D%/pendulum.h %D%/rk4.c %D%/rk4.h %D%/simple.c
