# SPDX-License-Identifier: Apache-2.0
# Quasi-dynamic steps: contact as a convex program, hard or with a barrier, and a planar hand.
noinst_LTLIBRARIES += %D%/libquasidynamic.la
%C%_libquasidynamic_la_SOURCES = \
	%D%/hand.c \
	%D%/hand.h
