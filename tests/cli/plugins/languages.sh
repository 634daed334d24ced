#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# languages.sh - the example plugins in C++, Rust and with Python inside match the same plugins in C: they compile with one
# line, pass `dshost check`, give the same losses and request the same points; their exceptions, panics and errors
# become one line of the host.
. "$(dirname "$0")/../lib.sh"
PKG_CONFIG_PATH=$DS_TOP_BUILD${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
cd "$tmp" || exit 99
if ! command -v pkg-config > /dev/null; then
	echo "1..0 # SKIP pkg-config is missing"
	exit 0
fi
if [ -n "$DS_SANITIZE" ]; then
	echo "1..0 # SKIP other languages are built without sanitizers"
	exit 0
fi
cp "$DS_TOP_SRC"/examples/*.c "$DS_TOP_SRC"/examples/*.cpp "$DS_TOP_SRC"/examples/*.rs "$DS_TOP_SRC/examples/plugin.map" .
cxx=${CXX:-c++}
# shellcheck disable=SC2046
in_c() { # in_c FILE MORE...: a plugin from FILE.c
	f=$1
	shift
	${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror -O2 -fPIC -shared -fvisibility=hidden $(pkg-config --cflags diffsim) \
		-o "$f.so" "$f.c" -lm "$@"
}
# shellcheck disable=SC2046
in_cpp() {
	"$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror -O2 -fPIC -shared -fvisibility=hidden \
		-Wl,--version-script=plugin.map $(pkg-config --cflags diffsim) -o "$1.so" "$1.cpp"
}
in_rust() {
	rustc --edition 2021 -O -D warnings -C strip=symbols --crate-type cdylib -o "$1.so" "$1.rs"
}
loss() { # loss PLUGIN: the loss and the gradient at some point
	"$dshost" eval --env "./$1.so" --x random:3 --gradient --json 2>> err |
		sed -n 's/.*"loss": *\([^,]*\),.*"gradient": *\(\[[^]]*\]\).*/\1 \2/p'
}
points() { # points PLUGIN: what it asks for in a run
	"$dshost" run --env ./hill.so --opt "./$1.so" --budget 300 --seed 4 --pictures false --out "run_$1" > out 2> err
	table "run_$1"
}

run in_c hill && run in_c walk
result $? "the twins in C compile"

# Libraries as CMake and Cargo call them, found by path and by name.
# A table of things: shapes, roles, lines, orientations; balls of one radius as before.
cat >things.c <<'END'
#include <diffsim/helper/scene.h>
static const ds_thing things[] = {
	DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.1),
	DS_THING("hand", DS_BODY_BOX, DS_ROLE_TOOL, 0.1, 0.3, 0.1),
	DS_THING("goal", DS_BODY_TORUS, DS_ROLE_TARGET, 0.2, 0.05),
	{.name = "beads", .shape = DS_BODY_POINTS, .variety = 1, .count = 3, .size = {0.02}},
	DS_LINK("string", DS_ROLE_MATERIAL, 1, BROKEN, 0.01),
	{.name = "chain", .shape = DS_BODY_LINES, .count = 2, .from = 3, .to = 4, .size = {0.01}}};
static double loss(const double *param, const double *x, double *grad)
{
	(void)param, (void)grad;
	for (uint64_t k = 0; k <= 10; k++) {
		ds_see(k, 0, x[0] + 0.1 * (double)k, 1, 0);
		ds_see_angle(k, 1, x[1], 0, 0.1 * (double)k);
		for (uint64_t i = 0; i < 3; i++) {
			ds_see(k, 3 + i, 0.1 * (double)i, 0.5, 0);
		}
	}
	ds_see(0, 2, 1, 1, 0);
	return x[0] * x[0] + x[1] * x[1];
}
DS_SIMPLE_THINGS("things", "Things.", NULL, 0, 2, -1, 1, 0.5, 10, 0.1, things, loss)
END
${DS_CC:-cc} -std=c11 -Wall -Wextra -Werror -DBROKEN=0 -O1 -fPIC -shared -I "$DS_TOP_SRC/include" things.c -o things.so -lm &&
	"$dshost" eval --env ./things.so --trajectory things.npz --picture things.png >out 2>err && [ -s things.png ] &&
	for body in ball hand goal beads string chain; do grep -aq "$body" things.npz || exit 1; done &&
	"$dshost" check ./things.so >out 2>err
result $? "a table of things has a body for each row"
${DS_CC:-cc} -std=c11 -DBROKEN=6 -O1 -fPIC -shared -I "$DS_TOP_SRC/include" things.c -o things.so -lm &&
	! "$dshost" eval --env ./things.so >out 2>err && grep -q 'row 4 of the table of things (string): its lines join things that there are not' err
result $? "a line to a thing that is not there is refused"
mkdir named && cp hill.so named/libhill.so && cp walk.so named/libwalk.so
good "a file lib.so by its path" eval --env named/libhill.so
DS_PLUGIN_PATH=$tmp/named run "$dshost" run --env hill --opt walk --budget 30 --pictures false --out named/run
[ "$status" -eq 0 ] && [ "$(field named/run/summary.json best_loss)" != "" ]
result $? "by the id of its plugin"
DS_PLUGIN_PATH=$tmp/named run "$dshost" resume named/run --budget 40
[ "$status" -eq 0 ] && [ "$(rows named/run)" -eq 40 ]
result $? "and the run is resumed"
few "$tmp/few" envs/analytic
DS_PLUGIN_PATH=$tmp/named run "$few" list
grep -q '^  hill ' "$tmp/out" && ! grep -q libhill "$tmp/out"
result $? "and it is listed by its id"
good "and it passes its check" check named/libhill.so
mv named/libhill.so named/libhall.so
bad 4 "the plugin calls itself 'hill' but the file is 'libhall.so'" eval --env named/libhall.so
loss hill > hill.loss
points walk > walk.points
[ "$(wc -l < walk.points)" -eq 301 ] && [ -s hill.loss ]
result $? "and are evaluated and run"

# both LANGUAGE COMPILE EXTENSION: the two plugins of a language, and one that gives up in the middle.
both() {
	for f in "hill_$2" "walk_$2"; do
		status 0 "$f compiles with one line" "in_$2" "$f"
		# make check-slow runs the whole kit, which adds little here.
		status 0 "dshost check passes $f" "$dshost" check "./$f.so" \
			--only "load,desc,inst,env,eval,search.stop,search.repeat,search.quiet$(all ,pure,grad,ext,scene,search)"
	done
	loss "hill_$2" | cmp -s - hill.loss
	result $? "hill_$2 has the loss and the gradient of hill, bit for bit"
	points "walk_$2" | cmp -s - walk.points
	result $? "walk_$2 asks for the points of walk, bit for bit"
}

# gives_up FILE LINE PATTERN: an environment made from FILE with LINE in evaluate() fails with a line of the
# host.
gives_up() {
	f=${1%.*}
	mkdir -p broken && cp plugin.map broken
	awk -v line="$2" '{ print } /evaluate\(.*\)( ->|$)/ { seen = 1 } seen && /guarded|^ *\{$/ && !done { print line; done = 1 }' \
		"$1" > "broken/$1"
	cd broken || exit 99
	status 0 "$f that gives up compiles" "in_${f#hill_}" "$f"
	cd ..
	run "$dshost" eval --env "./broken/$f.so" --isolation none
	[ "$status" -eq 5 ] && grep -q "^dshost: error: $f: .*$3" err && ! grep -qi 'crash\|signal\|panicked' err
	result $? "it fails with one line, and the host lives"
}

if command -v "$cxx" > /dev/null; then
	both C++ cpp
	gives_up hill_cpp.cpp '        if (io.x[0] < 9) { throw std::runtime_error("on purpose"); }' 'on purpose'
	# Channels, lists, choices, files next to the plugin, and batches.
	cat > line_cpp.cpp << 'END'
#include <diffsim/helper/plugin.hpp>
#include <algorithm>

class line {
  public:
	explicit line(diffsim::reader &in) : in_(in), size_(static_cast<uint64_t>(in.integer("size"))), error_(size_)
	{
		const auto weights = in.list("weights");
		weight_.assign(weights.begin(), weights.end());
		weight_.resize(size_, in.text("rest") == std::string("one") ? 1.0 : 0.5);
		if (in.boolean("strict") && in.array("table").size == 0) {
			throw diffsim::failure(DS_E_PARAM, "strict needs a table; beside the plugin is " + in.resource("walk.c"));
		}
	}
	void info(ds_env_info &out) { out.n = 2; }
	void bounds(uint64_t n, double *lower, double *upper, double *x0)
	{
		std::fill_n(lower, n, -1.0);
		std::fill_n(upper, n, 1.0);
		std::fill_n(x0, n, 0.5);
	}
	std::vector<ds_channel> channels()
	{
		return {diffsim::channel("error", DS_CHANNEL_RESIDUAL, DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV),
								 {size_}, "m", "Of a line through points."),
				diffsim::constraint("slope", DS_CAN(DS_QUERY_VALUE), {1}, 0, 0.5, "", "Of the line.")};
	}
	void evaluate(ds_eval &io)
	{
		io.loss = 0;
		double grad[2] = {0, 0};
		for (uint64_t i = 0; i < size_; i++) {
			error_[i] = weight_[i] * (io.x[0] + at(i) * io.x[1] - 0.25);
			io.loss += error_[i] * error_[i];
			grad[0] += 2 * error_[i] * weight_[i];
			grad[1] += 2 * error_[i] * weight_[i] * at(i);
		}
		if (io.want & DS_WANT_GRAD) {
			std::copy_n(grad, 2, io.grad);
			io.grad_kind = DS_GRAD_ADJOINT;
		}
		diffsim::for_each_query(io, [&](ds_eval_query &ask) { answer(io, ask); });
	}

  private:
	double at(uint64_t i) const { return static_cast<double>(i) / static_cast<double>(size_); }
	void answer(const ds_eval &io, ds_eval_query &ask)
	{
		double *out = static_cast<double *>(ask.out);
		ask.kind = ask.op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_ADJOINT;
		if (ask.channel == 1) {
			out[0] = io.x[1];
			return;
		}
		std::fill_n(out, ask.op == DS_QUERY_JTV ? 2 : size_, 0.0);
		for (uint64_t i = 0; i < size_; i++) {
			if (ask.op == DS_QUERY_VALUE) {
				out[i] = error_[i];
			} else if (ask.op == DS_QUERY_JV) {
				out[i] = weight_[i] * (ask.v[0] + at(i) * ask.v[1]);
			} else {
				out[0] += weight_[i] * ask.v[i];
				out[1] += weight_[i] * at(i) * ask.v[i];
			}
		}
	}
	diffsim::reader in_;
	uint64_t size_;
	std::vector<double> error_, weight_;
};

static constexpr const char *rests[] = {"one", "half", nullptr};
static constexpr const char *offers[] = {DS_EXT_CHANNELS, nullptr};
static constexpr diffsim::schema params{
	diffsim::integer("size", "5", 1, 100, "", "Number of points."),
	diffsim::list("weights", "1 0.5", 0, 9, 100, "", "Of the first points."),
	diffsim::choice("rest", "half", rests, "Weight of the others."),
	diffsim::boolean("strict", "false", "Is a table needed?"), diffsim::array("table", "", "Is there one?")};
static constexpr auto about = diffsim::environment("line_cpp", "1", "Apache-2.0", "A line through points.")
								  .params(params).flags(DS_ENV_GRADIENT).extensions(offers).texts("Two numbers.", "");
DS_DEFINE_ENV(about.desc, line)
END
	cat > grid_cpp.cpp << 'END'
#include <diffsim/helper/plugin.hpp>
#include <algorithm>

class grid {
  public:
	grid(diffsim::reader &, const ds_problem &problem) : problem_(problem) {}
	void run(diffsim::objective &objective)
	{
		const uint64_t n = problem_.n;
		diffsim::batch rows(3, n, problem_.has_gradient != 0);
		rows.label().tag = "grid";
		std::vector<double> middle(problem_.x0, problem_.x0 + n);
		std::vector<double> width(n, 0.4);
		for (uint64_t c = 0;; c = (c + 1) % n) { // one variable after the other, the steepest first
			const double *slope = problem_.has_gradient != 0 ? rows.grad(1) : nullptr;
			if (slope != nullptr && rows.outcome(1) == DS_EVAL_OK && c == 0) {
				c = static_cast<uint64_t>(std::max_element(slope, slope + n) - slope);
			}
			for (uint64_t k = 0; k < rows.count(); k++) {
				std::copy(middle.begin(), middle.end(), rows.x(k));
				const double step = (static_cast<double>(k) - 1) * width[c] * (problem_.upper[c] - problem_.lower[c]);
				rows.x(k)[c] = std::clamp(middle[c] + step, problem_.lower[c], problem_.upper[c]);
			}
			objective.evaluate(rows);
			const uint64_t best = rows.loss(0) < rows.loss(1) ? 0 : rows.loss(2) < rows.loss(1) ? 2 : 1;
			middle.assign(rows.x(best), rows.x(best) + n);
			width[c] *= best == 1 ? 0.5 : 1;
		}
	}

  private:
	const ds_problem &problem_;
};

static constexpr const char *uses[] = {DS_HAS_GRADIENT, nullptr};
static constexpr auto about = diffsim::optimizer("grid_cpp", "1", "Apache-2.0", "Three points at a time.").uses(uses);
DS_DEFINE_OPTIMIZER(about.desc, grid)
END
	for f in line_cpp grid_cpp; do
		status 0 "$f compiles" in_cpp $f
		status 0 "dshost check passes $f" "$dshost" check ./$f.so
	done
	status 0 "grid_cpp searches in line_cpp" "$dshost" run --env ./line_cpp.so --opt ./grid_cpp.so --budget 60 --out lines \
		--pictures false
	run "$dshost" eval --env ./line_cpp.so --set env.strict=true --isolation none
	[ "$status" -ne 0 ] && grep -q "strict needs a table; beside the plugin is $tmp/walk.c" err
	result $? "a failure in a constructor is told"
	# The two whole plugins in the comment of plugin.hpp.
	for f in spring corners; do
		sed -n 's/^ \* \{0,1\}//; /^    #include/,/^    DS_DEFINE_/p' "$DS_TOP_SRC/include/diffsim/helper/plugin.hpp" |
			awk -v id="\"$f\"" '{ text = text $0 "\n" } /DS_DEFINE_/ { if (index(text, id)) { printf "%s", text } text = "" }' \
				> $f.cpp
		status 0 "$f of the comment of plugin.hpp compiles" in_cpp $f
		status 0 "dshost check passes $f" "$dshost" check ./$f.so
	done
	# The commands of the guide, as they stand there.
	mkdir guide && cp hill_cpp.cpp guide
	sed -n '/^By hand/,/^The version/s/^    //p' "$DS_TOP_SRC/docs/plugin-cpp.md" > guide/commands
	(cd guide && PATH=$DS_TOP_BUILD:$PATH run sh -e ./commands)
	result $? "the commands of plugin-cpp.md"
	[ -s guide/hill_cpp.so ]
	result $? "make a plugin"
else
	skip "C++: no C++ compiler"
fi
if command -v rustc > /dev/null && rustc --version > /dev/null 2>&1; then
	both Rust rust
	gives_up hill_rust.rs '        if true { panic!("on purpose"); }' 'panic: a mistake in the plugin'
	mkdir guide_rust && cp hill_rust.rs guide_rust
	sed -n '/^By hand/,/^With cargo/s/^    //p' "$DS_TOP_SRC/docs/plugin-rust.md" > guide_rust/commands
	(cd guide_rust && PATH=$DS_TOP_BUILD:$PATH run sh -e ./commands)
	result $? "the commands of plugin-rust.md"
	[ -s guide_rust/hill_rust.so ]
	result $? "make a plugin"
	mkdir -p cargo/src && cp hill_rust.rs cargo/src/lib.rs && {
		printf '[package]\nname = "hill_rust"\nversion = "0.1.0"\nedition = "2021"\n\n'
		sed -n '/^With cargo/,/^Then/s/^    //p' "$DS_TOP_SRC/docs/plugin-rust.md"
	} > cargo/Cargo.toml
	if command -v cargo > /dev/null && (cd cargo && run cargo build --release --offline); then
		status 0 "what cargo builds passes dshost check as it is" "$dshost" check cargo/target/release/libhill_rust.so
		loss cargo/target/release/libhill_rust | cmp -s - hill.loss
		result $? "and gives the same loss"
	else
		skip "Rust: cargo is missing"
	fi
else
	skip "Rust: rustc is missing"
fi
# shellcheck disable=SC2046
if ! python_flags=$(pkg-config --cflags --libs python3-embed 2> /dev/null); then
	skip "Python inside: python3-embed is missing"
else
	# Not pedantic: Python's own headers are not.
	# shellcheck disable=SC2086
	status 0 "embedded_python compiles" ${DS_CC:-cc} -Wall -Wextra -Werror -O2 -fPIC -shared -fvisibility=hidden \
		$(pkg-config --cflags diffsim) -o embedded_python.so embedded_python.c $python_flags
	status 0 "dshost check passes it" "$dshost" check ./embedded_python.so \
		--only "load,desc,inst,env,eval$(all ,pure,grad,ext,scene)"
	loss embedded_python | cmp -s - hill.loss
	result $? "it has the loss and the gradient of hill, bit for bit"
	status 0 "it runs in two processes" "$dshost" run --env ./embedded_python.so --opt ./walk.so --budget 40 --jobs 2 \
		--seed 4 --pictures false --out run_python
	[ "$(rows run_python)" -eq 40 ]
	result $? "and every evaluation is recorded"
	sed 's/miss = q - self.target/miss = q - self.nothing/' embedded_python.c > broken.c
	mkdir -p broken && mv broken.c broken/embedded_python.c
	# shellcheck disable=SC2086
	status 0 "one with a mistake in Python compiles" ${DS_CC:-cc} -O2 -fPIC -shared -fvisibility=hidden \
		$(pkg-config --cflags diffsim) -o broken/embedded_python.so broken/embedded_python.c $python_flags
	run "$dshost" eval --env ./broken/embedded_python.so
	[ "$status" -ne 0 ] && grep -q "Python: AttributeError: .*nothing" err
	result $? "its exception is told"
	mkdir -p modules && sed 's/import math, os, threading, time/&, _ctypes/' embedded_python.c > modules/embedded_python.c
	# shellcheck disable=SC2086
	status 0 "one that imports a module in C compiles" ${DS_CC:-cc} -O2 -fPIC -shared -fvisibility=hidden \
		$(pkg-config --cflags diffsim) -o modules/embedded_python.so modules/embedded_python.c $python_flags
	status 0 "which finds the symbols of the interpreter" "$dshost" eval --env ./modules/embedded_python.so
fi
finish
