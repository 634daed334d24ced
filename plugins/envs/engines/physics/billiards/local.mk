# SPDX-License-Identifier: Apache-2.0
# Balls that push each other.
env_engine_libs += %D%/libbilliards.la
%C%_libbilliards_la_SOURCES = %D%/billiards.c %D%/billiards.h
