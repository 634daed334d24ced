#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How many numbers there are on standard input, one a line, their mean with its 95 % interval, their median and the largest one:
# a line "count,mean,low95,high95,median,most". The interval is that of the bootstrap, by percentiles. Used by contact.sh, soft.sh.
set -eu
values=$(sort -g)
means=$(echo "$values" | awk '{ v[NR] = $1 }
	END {
		srand(1)
		for (b = 0; b < 2000; b++) {
			sum = 0
			for (k = 0; k < NR; k++)
				sum += v[1 + int(NR * rand())]
			printf "%.9g\n", sum / NR
		}
	}' | sort -g)
echo "$values" | awk -v low="$(echo "$means" | sed -n 50p)" -v high="$(echo "$means" | sed -n 1951p)" '
	{ v[NR] = $1; sum += $1 }
	END { printf "%d,%.6g,%.6g,%.6g,%.6g,%.6g\n", NR, sum / NR, low, high, v[int((NR + 1) / 2)], v[NR] }'
