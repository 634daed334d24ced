// SPDX-License-Identifier: Apache-2.0
//! walk_rust - an optimizer in Rust: the (1+1) evolution strategy with the one-fifth success rule (Rechenberg
//! 1973, in the form of Kern et al. 2004).
//!
//!     rustc --edition 2021 -O -C strip=symbols --crate-type cdylib -o walk_rust.so walk_rust.rs

use std::ffi::{c_void, CString};
use std::mem::size_of;
use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::slice::from_raw_parts;
use std::sync::Once;

// ---- the search ----

struct Walk {
    host: *const Host,
    problem: *const Problem,
    sigma: f64,
    random: Random,
}

impl Walk {
    fn new(host: *const Host, problem: *const Problem) -> Result<Walk, Failure> {
        let random = Random::open(unsafe { (*host).seed }, "walk", 0);
        Ok(Walk { host, problem, sigma: real(host, "sigma")?, random })
    }

    /// Ends with the failure that ask() returns when the run is over.
    fn search(&mut self, objective: *const Objective) -> Result<(), Failure> {
        let p = unsafe { &*self.problem };
        let n = p.n as usize;
        let (lower, upper) = unsafe { (from_raw_parts(p.lower, n), from_raw_parts(p.upper, n)) };
        let mut x = unsafe { from_raw_parts(p.x0, n) }.to_vec();
        let mut best = x.clone();
        let mut f_best = f64::INFINITY;
        let mut f = ask(objective, &x)?;
        loop {
            if f <= f_best {
                best.copy_from_slice(&x);
                f_best = f;
                self.sigma = (self.sigma * 0.8_f64.exp()).min(1.0);
            } else {
                self.sigma = (self.sigma * (-0.2_f64).exp()).max(1e-15);
            }
            for i in 0..n {
                let step = self.sigma * (upper[i] - lower[i]) * self.random.normal();
                x[i] = (best[i] + step).max(lower[i]).min(upper[i]);
            }
            f = ask(objective, &x)?;
        }
    }
}

/// The loss at x, or the failure that run() returns at once.
fn ask(objective: *const Objective, x: &[f64]) -> Result<f64, Failure> {
    let (mut loss, mut done) = (0.0, 0);
    let rows = Rows {
        struct_size: size_of::<Rows>() as u32,
        want: 0,
        count: 1,
        n: x.len() as u64,
        stride: x.len() as u64,
        x: x.as_ptr(),
        noise_key: null(),
        queries: 0,
        query: null(),
        memory: 0,
        device: 0,
    };
    let results = Results {
        struct_size: size_of::<Results>() as u32,
        reserved: 0,
        stride: 0,
        loss: &mut loss,
        grad: null_mut(),
        outcome: null_mut(),
        grad_kind: null_mut(),
        bad_step: null_mut(),
        cost_steps: null_mut(),
        reply: null(),
    };
    match unsafe { ((*objective).evaluate)(objective, &rows, null(), &results, &mut done) } {
        DS_OK => Ok(loss),
        status => Err(Failure(status, None)),
    }
}

/// The streams of diffsim/helper/random.h, number for number: Philox4x32-10 of J. Salmon et al., SC 2011,
/// keyed by seed and name.
struct Random {
    key: u64,
    counter: u64,
    word: [u32; 4],
    left: usize,
    second: Option<f64>, // of the last normal pair
}

impl Random {
    fn mix(z: u64) -> u64 {
        let z = z.wrapping_add(0x9e3779b97f4a7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }

    fn open(seed: u64, name: &str, index: u64) -> Random {
        let fnv = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x100000001b3);
        let hash = name.bytes().fold(0xcbf29ce484222325, fnv);
        let key = Random::mix(Random::mix(Random::mix(seed) ^ hash) ^ index);
        Random { key, counter: 0, word: [0; 4], left: 0, second: None }
    }

    fn block(counter: u64, key: u64) -> [u32; 4] {
        let mut c = [counter as u32, (counter >> 32) as u32, 0, 0];
        let mut k = [key as u32, (key >> 32) as u32];
        for _ in 0..10 {
            let a = 0xd2511f53_u64 * u64::from(c[0]);
            let b = 0xcd9e8d57_u64 * u64::from(c[2]);
            c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
            k = [k[0].wrapping_add(0x9e3779b9), k[1].wrapping_add(0xbb67ae85)];
        }
        c
    }

    fn u32(&mut self) -> u32 {
        if self.left == 0 {
            self.word = Random::block(self.counter, self.key);
            self.counter += 1;
            self.left = 4;
        }
        self.left -= 1;
        self.word[3 - self.left]
    }

    /// In the open interval (0, 1).
    fn uniform(&mut self) -> f64 {
        let high = u64::from(self.u32());
        let low = u64::from(self.u32());
        (((high << 20) | (low >> 12)) as f64 + 0.5) * (0.5_f64).powi(52)
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        let a = (-2.0 * self.uniform().ln()).sqrt();
        let b = std::f64::consts::TAU * self.uniform();
        self.second = Some(a * b.sin());
        a * b.cos()
    }
}

// ---- the functions of the interface ----

extern "C" fn create(host: *const Host, problem: *const Problem, out: *mut *mut c_void) -> Status {
    silence();
    guarded(host, || {
        let walk = Box::new(Walk::new(host, problem)?);
        unsafe { *out = Box::into_raw(walk) as *mut c_void };
        Ok(())
    })
}

extern "C" fn destroy(this: *mut c_void) {
    if !this.is_null() {
        drop(unsafe { Box::from_raw(this as *mut Walk) });
    }
}

extern "C" fn run(this: *mut c_void, objective: *const Objective) -> Status {
    let walk = unsafe { &mut *(this as *mut Walk) };
    guarded(walk.host, || walk.search(objective))
}

// ---- descriptor ----

/// A text of C.
macro_rules! c {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const c_char
    };
}

static SIGMA: Constant<Param> = Constant(Param {
    struct_size: size_of::<Param>() as u32,
    kind: DS_PARAM_REAL,
    flags: 0,
    max_count: 0,
    min: 1e-9,
    max: 1.0,
    name: c!("sigma"),
    default_text: c!("0.3"),
    unit: c!(""),
    doc: c!("Standard deviation of the first step, as a share of the box."),
    choices: null(),
});
static PARAMS: Constant<[*const Param; 2]> = Constant([&SIGMA.0, null()]);
static DESC: Constant<Desc> = Constant(Desc {
    struct_size: size_of::<Desc>() as u32,
    kind: DS_KIND_OPTIMIZER,
    flags: 0,
    id: c!("walk_rust"),
    version: c!("1"),
    license: c!("Apache-2.0"),
    summary: c!("(1+1) evolution strategy with the one-fifth success rule."),
    description: c!(""),
    citation: c!(""),
    params: PARAMS.0.as_ptr(),
    extensions: null(),
    needs: null(),
    uses: null(),
});
static VTABLE: OptimizerVtable = OptimizerVtable {
    struct_size: size_of::<OptimizerVtable>() as u32,
    reserved: 0,
    create,
    destroy,
    run,
    get_extension: None,
};
static PLUGIN: Constant<Plugin> = Constant(Plugin {
    magic: DS_MAGIC,
    struct_size: size_of::<Plugin>() as u32,
    abi_major: DS_ABI_MAJOR,
    abi_minor: DS_ABI_MINOR,
    layout: DS_LAYOUT,
    reserved: 0,
    build: c!("rustc"),
    desc: &DESC.0,
    env: null(),
    optimizer: &VTABLE,
});

#[no_mangle]
pub extern "C" fn ds_plugin_query(_host_major: u32, _host_minor: u32) -> *const Plugin {
    &PLUGIN.0
}

// ---- for every plugin in Rust ----

/// A constant with pointers, through which nobody writes.
#[repr(transparent)]
struct Constant<T>(T);
unsafe impl<T> Sync for Constant<T> {}

/// Why a call fails: a status, and a line for the host, or None where the host has the reason.
struct Failure(Status, Option<String>);

/// Calls `f` and reports its failure or its panic to the host: neither may cross the interface.
fn guarded(host: *const Host, f: impl FnOnce() -> Result<(), Failure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => return DS_OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure(DS_E_GENERIC, Some("panic: a mistake in the plugin".into())),
    };
    if let Some(line) = failure.1 {
        let line = CString::new(line.replace(char::from(0), " ")).unwrap_or_default();
        unsafe { ((*host).error)(host, failure.0, line.as_ptr()) };
    }
    failure.0
}

/// Drops the text of a panic: a plugin prints nothing. The hook belongs to the Rust library inside this file.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_hook(Box::new(|_| {})));
}

fn real(host: *const Host, name: &str) -> Result<f64, Failure> {
    let mut value = 0.0;
    let text = CString::new(name).unwrap_or_default();
    match unsafe { ((*host).get_real)(host, text.as_ptr(), &mut value) } {
        DS_OK => Ok(value),
        status => Err(Failure(status, Some(format!("parameter {name} cannot be read")))),
    }
}

// ---- the interface: the structs of diffsim/base.h, host.h, plugin.h, optimizer.h, field by field ----

type Status = i32;
const DS_OK: Status = 0;
const DS_E_GENERIC: Status = -1;

#[repr(C)]
struct Host {
    struct_size: u32,
    abi_minor: u32,
    ctx: *mut c_void,
    seed: u64,
    threads: u32,
    worker: u32,
    workers: u32,
    reserved: u32,
    log: extern "C" fn(*const Host, u32, *const c_char),
    error: extern "C" fn(*const Host, Status, *const c_char),
    should_stop: extern "C" fn(*const Host) -> u32,
    get_int: extern "C" fn(*const Host, *const c_char, *mut i64) -> Status,
    get_real: extern "C" fn(*const Host, *const c_char, *mut f64) -> Status,
    // ... get_text and the fields after it: not used here, and the struct is only used behind a pointer
}

#[repr(C)]
struct Param {
    struct_size: u32,
    kind: u32, // `type` in C
    flags: u32,
    max_count: u32,
    min: f64,
    max: f64,
    name: *const c_char,
    default_text: *const c_char,
    unit: *const c_char,
    doc: *const c_char,
    choices: *const *const c_char,
}
const DS_PARAM_REAL: u32 = 3;

#[repr(C)]
struct Desc {
    struct_size: u32,
    kind: u32,
    flags: u64,
    id: *const c_char,
    version: *const c_char,
    license: *const c_char,
    summary: *const c_char,
    description: *const c_char,
    citation: *const c_char,
    params: *const *const Param,
    extensions: *const *const c_char,
    needs: *const *const c_char,
    uses: *const *const c_char,
}

#[repr(C)]
pub struct Plugin {
    magic: u32,
    struct_size: u32,
    abi_major: u32,
    abi_minor: u32,
    layout: u32,
    reserved: u32,
    build: *const c_char,
    desc: *const Desc,
    env: *const c_void,
    optimizer: *const OptimizerVtable,
}
const DS_MAGIC: u32 = 0x31505344;
const DS_ABI_MAJOR: u32 = 0;
const DS_ABI_MINOR: u32 = 3;
const DS_LAYOUT: u32 = (if cfg!(target_endian = "big") { 2 } else { 1 } << 24)
    | ((size_of::<*const c_void>() as u32) << 16)
    | ((size_of::<f64>() as u32) << 8)
    | size_of::<c_int>() as u32;
const DS_KIND_OPTIMIZER: u32 = 2;

#[repr(C)]
struct Problem {
    struct_size: u32,
    has_gradient: u32,
    n: u64,
    lower: *const f64,
    upper: *const f64,
    x0: *const f64,
    budget: u64,
    target: f64,
    loss_floor: f64,
    stochastic: u32,
    reserved: u32,
}

#[repr(C)]
struct Rows {
    struct_size: u32,
    want: u32,
    count: u64,
    n: u64,
    stride: u64,
    x: *const f64,
    noise_key: *const u64,
    queries: u64,
    query: *const *const c_void,
    memory: u32,
    device: u32,
}

#[repr(C)]
struct Label {
    struct_size: u32,
    reserved: u32,
    tag: *const c_char,
    group: u64,
    noise: *const u64,
}

#[repr(C)]
struct Results {
    struct_size: u32,
    reserved: u32,
    stride: u64,
    loss: *mut f64,
    grad: *mut f64,
    outcome: *mut u32,
    grad_kind: *mut u32,
    bad_step: *mut i64,
    cost_steps: *mut u64,
    reply: *const *const c_void,
}

#[repr(C)]
struct Objective {
    struct_size: u32,
    reserved: u32,
    ctx: *mut c_void,
    evaluate: extern "C" fn(*const Objective, *const Rows, *const Label, *const Results, *mut u64) -> Status,
    get_extension: extern "C" fn(*const Objective, *const c_char) -> *const c_void,
}

#[repr(C)]
struct OptimizerVtable {
    struct_size: u32,
    reserved: u32,
    create: extern "C" fn(*const Host, *const Problem, *mut *mut c_void) -> Status,
    destroy: extern "C" fn(*mut c_void),
    run: extern "C" fn(*mut c_void, *const Objective) -> Status,
    get_extension: Option<extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}
