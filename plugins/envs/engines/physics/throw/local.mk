# SPDX-License-Identifier: Apache-2.0
# A cube that is thrown onto a plane: compliant contact with derivatives, impulses.
env_engine_libs += %D%/libthrow.la
%C%_libthrow_la_SOURCES = \
	%D%/contact_law.c \
	%D%/contact_law.h \
	%D%/throw.c \
	%D%/throw.h
