# Builds, checks and tries @NAME@. What wrote this folder is used for it; `make DSHOST=dshost` takes another one.
DSHOST = @DSHOST@
RUSTC = rustc
RUSTFLAGS = --edition 2021 -O -C strip=symbols

@NAME@.so: @NAME@.rs Makefile
	$(RUSTC) $(RUSTFLAGS) --crate-type cdylib -o $@ @NAME@.rs

check: @NAME@.so
	$(DSHOST) check ./@NAME@.so

run: @NAME@.so
	$(DSHOST) run --config @NAME@.ini

test: @NAME@.so
	DSHOST=$(DSHOST) sh test.sh

clean:
	rm -rf @NAME@.so results

.PHONY: check run test clean
