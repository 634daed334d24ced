# Builds, checks and tries @NAME@. What wrote this folder is used for it; `make DSHOST=dshost` takes another one.
DSHOST = @DSHOST@
DIFFSIM_CFLAGS := @CFLAGS@
CXX = c++
CXXFLAGS = -std=c++17 -O2 -Wall -Wextra

@NAME@.so: @NAME@.cpp plugin.map Makefile
	$(CXX) $(CXXFLAGS) $(DIFFSIM_CFLAGS) -fPIC -shared -fvisibility=hidden \
		-Wl,--version-script=plugin.map -o $@ @NAME@.cpp

check: @NAME@.so
	$(DSHOST) check ./@NAME@.so

run: @NAME@.so
	$(DSHOST) run --config @NAME@.ini

test: @NAME@.so
	DSHOST=$(DSHOST) sh test.sh

clean:
	rm -rf @NAME@.so results

.PHONY: check run test clean
