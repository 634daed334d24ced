# SPDX-License-Identifier: Apache-2.0
# The simple and the double pendulum with unknown constants; ordinary differential equations by Runge and Kutta. The
# compound one has all its derivatives with it, in vectors.
noinst_LTLIBRARIES += %D%/libpendulum.la %D%/libcompound.la
%C%_libpendulum_la_SOURCES = %D%/pendulum.c %D%/pendulum.h %D%/rk4.c %D%/rk4.h
%C%_libcompound_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
%C%_libcompound_la_SOURCES = %D%/compound.c %D%/compound.h
