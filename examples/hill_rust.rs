// SPDX-License-Identifier: Apache-2.0
//! hill_rust - an environment in Rust: a ball is pushed over hilly ground h(q) = cos(3 q) and should be at
//! `target` at the end. x = start position [m] and start velocity [m/s]; gradient in forward mode.
//!
//!     rustc --edition 2021 -O -C strip=symbols --crate-type cdylib -o hill_rust.so hill_rust.rs

use std::ffi::{c_void, CString};
use std::mem::size_of;
use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::ptr::null;
use std::sync::Once;

// ---- the simulation ----

const STEPS: u64 = 200;
const DT: f64 = 0.01; // seconds

struct Hill {
    host: *const Host,
    friction: f64,
    target: f64,
}

impl Hill {
    fn new(host: *const Host) -> Result<Hill, Failure> {
        Ok(Hill { host, friction: real(host, "friction")?, target: real(host, "target")? })
    }

    /// Loss and gradient at x.
    fn simulate(&self, x: &[f64]) -> (f64, [f64; 2]) {
        let (mut q, mut v) = (x[0], x[1]); // state: position and velocity
        let (mut dq, mut dv) = ([1.0, 0.0], [0.0, 1.0]); // its derivative with respect to x
        for _ in 0..STEPS {
            // symplectic Euler
            let (slope, curvature) = (-3.0 * (3.0 * q).sin(), -9.0 * (3.0 * q).cos());
            for i in 0..2 {
                dv[i] += DT * (-9.81 * curvature * dq[i] - self.friction * dv[i]);
                dq[i] += DT * dv[i];
            }
            v += DT * (-9.81 * slope - self.friction * v);
            q += DT * v;
        }
        let miss = q - self.target;
        (miss * miss, [2.0 * miss * dq[0], 2.0 * miss * dq[1]])
    }
}

// ---- the functions of the interface ----

extern "C" fn create(host: *const Host, out: *mut *mut c_void) -> Status {
    silence();
    guarded(host, || {
        let hill = Box::new(Hill::new(host)?);
        unsafe { *out = Box::into_raw(hill) as *mut c_void };
        Ok(())
    })
}

extern "C" fn destroy(this: *mut c_void) {
    if !this.is_null() {
        drop(unsafe { Box::from_raw(this as *mut Hill) });
    }
}

extern "C" fn info(_this: *mut c_void, out: *mut EnvInfo) -> Status {
    let out = unsafe { &mut *out };
    out.n = 2;
    out.steps = STEPS;
    out.dt = DT;
    out.loss_floor = 0.0;
    DS_OK
}

extern "C" fn bounds(_this: *mut c_void, n: u64, lower: *mut f64, upper: *mut f64, x0: *mut f64) -> Status {
    for i in 0..n as usize {
        unsafe {
            *lower.add(i) = -4.0;
            *upper.add(i) = 4.0;
            if !x0.is_null() {
                *x0.add(i) = 0.5;
            }
        }
    }
    DS_OK
}

/// A table has one row, because max_rows of info() is 0. The host has preset all results.
extern "C" fn evaluate(this: *mut c_void, rows: *const Rows, results: *const Results) -> Status {
    let hill = unsafe { &*(this as *const Hill) };
    guarded(hill.host, || unsafe {
        let (rows, results) = (&*rows, &*results);
        let (loss, grad) = hill.simulate(std::slice::from_raw_parts(rows.x, rows.n as usize));
        let finite = loss.is_finite();
        *results.outcome = if finite { DS_EVAL_OK } else { DS_EVAL_DIVERGED };
        *results.loss = if finite { loss } else { f64::INFINITY };
        *results.cost_steps = STEPS;
        if rows.want & DS_WANT_GRAD != 0 {
            std::slice::from_raw_parts_mut(results.grad, rows.n as usize).copy_from_slice(&grad);
            *results.grad_kind = DS_GRAD_FORWARD;
        }
        Ok(())
    })
}

// ---- descriptor ----

/// A text of C.
macro_rules! c {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const c_char
    };
}

static FRICTION: Constant<Param> = Constant(Param {
    struct_size: size_of::<Param>() as u32,
    kind: DS_PARAM_REAL,
    flags: 0,
    max_count: 0,
    min: 0.0,
    max: 10.0,
    name: c!("friction"),
    default_text: c!("0.5"),
    unit: c!("1/s"),
    doc: c!("Damping of the velocity."),
    choices: null(),
});
static TARGET: Constant<Param> = Constant(Param {
    struct_size: size_of::<Param>() as u32,
    kind: DS_PARAM_REAL,
    flags: 0,
    max_count: 0,
    min: -5.0,
    max: 5.0,
    name: c!("target"),
    default_text: c!("1"),
    unit: c!("m"),
    doc: c!("Where the ball should end."),
    choices: null(),
});
static PARAMS: Constant<[*const Param; 3]> = Constant([&FRICTION.0, &TARGET.0, null()]);
static DESC: Constant<Desc> = Constant(Desc {
    struct_size: size_of::<Desc>() as u32,
    kind: DS_KIND_ENV,
    flags: DS_ENV_GRADIENT,
    id: c!("hill_rust"),
    version: c!("1"),
    license: c!("Apache-2.0"),
    summary: c!("A ball pushed over hilly ground."),
    description: c!(""),
    citation: c!(""),
    params: PARAMS.0.as_ptr(),
    extensions: null(),
    needs: null(),
    uses: null(),
});
static VTABLE: EnvVtable = EnvVtable {
    struct_size: size_of::<EnvVtable>() as u32,
    reserved: 0,
    create,
    destroy,
    info,
    bounds,
    evaluate,
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
    env: &VTABLE,
    optimizer: null(),
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

// ---- the interface: the structs of diffsim/base.h, host.h, plugin.h, env.h, field by field ----

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
    env: *const EnvVtable,
    optimizer: *const c_void,
}
const DS_MAGIC: u32 = 0x31505344;
const DS_ABI_MAJOR: u32 = 0;
const DS_ABI_MINOR: u32 = 3;
const DS_LAYOUT: u32 = (if cfg!(target_endian = "big") { 2 } else { 1 } << 24)
    | ((size_of::<*const c_void>() as u32) << 16)
    | ((size_of::<f64>() as u32) << 8)
    | size_of::<c_int>() as u32;
const DS_KIND_ENV: u32 = 1;
const DS_ENV_GRADIENT: u64 = 1;

#[repr(C)]
struct EnvInfo {
    struct_size: u32,
    flags: u32,
    n: u64,
    steps: u64,
    dt: f64,
    loss_floor: f64,
    tolerance: f64,
    max_rows: u64,
    good_rows: u64,
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
const DS_WANT_GRAD: u32 = 1;
const DS_EVAL_OK: u32 = 0;
const DS_EVAL_DIVERGED: u32 = 2;
const DS_GRAD_FORWARD: u32 = 2;

#[repr(C)]
struct EnvVtable {
    struct_size: u32,
    reserved: u32,
    create: extern "C" fn(*const Host, *mut *mut c_void) -> Status,
    destroy: extern "C" fn(*mut c_void),
    info: extern "C" fn(*mut c_void, *mut EnvInfo) -> Status,
    bounds: extern "C" fn(*mut c_void, u64, *mut f64, *mut f64, *mut f64) -> Status,
    evaluate: extern "C" fn(*mut c_void, *const Rows, *const Results) -> Status,
    get_extension: Option<extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}
