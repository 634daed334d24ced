# SPDX-License-Identifier: Apache-2.0
# Adapters: plugins of files in other languages (diffsim/adapter.h). One file each; the ending is its name.
adapter_LTLIBRARIES += %D%/fmu.la %D%/py.la
adapter_link = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined $(DS_ZDEFS) -Wl,-z,now -Wl,-z,relro
%C%_py_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(JANSSON_CFLAGS)
%C%_py_la_LDFLAGS = $(adapter_link) -export-symbols-regex '^(ds_adapter_query|ds_python_await|ds_python_pass)$$'
%C%_py_la_LIBADD = $(JANSSON_LIBS)
%C%_py_la_SOURCES = \
	%D%/py.c \
	%D%/opening.h \
	%D%/python/adapted.c \
	%D%/python/adapted.h \
	%D%/python/child.c \
	%D%/python/child.h \
	%D%/python/env.c \
	%D%/python/optimizer.c \
	%D%/python/picture.c \
	%D%/python/picture.h \
	%D%/python/talk.c \
	%D%/python/talk.h
%C%_fmu_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(EXPAT_CFLAGS) $(ZLIB_CFLAGS)
%C%_fmu_la_LDFLAGS = $(adapter_link) -export-symbols-regex '^ds_adapter_query$$'
%C%_fmu_la_LIBADD = $(EXPAT_LIBS) $(ZLIB_LIBS) -lm
%C%_fmu_la_SOURCES = \
	%D%/fmu.c \
	%D%/fmi/archive.c \
	%D%/fmi/archive.h \
	%D%/fmi/description.c \
	%D%/fmi/description.h \
	%D%/fmi/episode.c \
	%D%/fmi/instance.c \
	%D%/fmi/instance.h \
	%D%/fmi/model.h \
	%D%/fmi/task.c \
	%D%/opening.h
