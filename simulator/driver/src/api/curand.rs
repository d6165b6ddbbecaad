//! cuRAND: uniform and normal numbers. They are repeatable and well distributed, but differ from the real library's.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_HANDLE};
use crate::objects::driver::Driver;
use crate::objects::libraries::generator::Generator;
use crate::objects::libraries::philox::Philox;
use crate::objects::process::call;
use crate::objects::reports::trace;
use crate::objects::streams::per_thread::resolved;
use std::ffi::{c_uint, c_ulonglong};

const NOT_INITIALIZED: Code = 101;
const TYPE_ERROR: Code = 103;
const OUT_OF_RANGE: Code = 104;
const LENGTH_NOT_MULTIPLE: Code = 105;
const LAUNCH_FAILURE: Code = 201;

/// Makes a generator for the current context. All pseudo-random types are the same here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn curandCreateGenerator(generator: *mut usize, kind: c_uint) -> Code {
    call("curandCreateGenerator", |driver| {
        if !matches!(kind, 100 | 101 | 121 | 141 | 142 | 161) {
            return Err(TYPE_ERROR);
        }
        let context = driver.current().map_err(|_| NOT_INITIALIZED)?;
        driver.context(context).and_then(|context| context.check()).map_err(|_| NOT_INITIALIZED)?;
        let new = Generator { context, seed: 0, words: Philox::new(0), stream: 0 };
        // SAFETY: the caller's promise.
        unsafe { put(generator, driver.generators.insert(new)) }.map_err(|_| OUT_OF_RANGE)
    })
}

/// Destroys a generator. Succeeds in a dead context too, as candle's bindings would panic otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn curandDestroyGenerator(generator: usize) -> Code {
    call("curandDestroyGenerator", |driver| driver.generators.remove(generator).map(drop).ok_or(NOT_INITIALIZED))
}

/// Sets the stream of a generator.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetStream(generator: usize, stream: usize) -> Code {
    call("curandSetStream", |driver| {
        generator_of(driver, generator)?.stream = stream;
        Ok(())
    })
}

/// Sets the seed, and starts its sequence from the beginning.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetPseudoRandomGeneratorSeed(generator: usize, seed: c_ulonglong) -> Code {
    call("curandSetPseudoRandomGeneratorSeed", |driver| {
        let generator = generator_of(driver, generator)?;
        (generator.seed, generator.words) = (seed, Philox::new(seed));
        Ok(())
    })
}

/// Moves to a position of the seed's sequence.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetGeneratorOffset(generator: usize, offset: c_ulonglong) -> Code {
    call("curandSetGeneratorOffset", |driver| {
        generator_of(driver, generator)?.words.seek(offset);
        Ok(())
    })
}

/// The generator of a handle.
fn generator_of(driver: &mut Driver, handle: usize) -> Result<&mut Generator, Code> {
    driver.generators.get_mut(handle).ok_or(NOT_INITIALIZED)
}

/// Fills `n` numbers of `N` bytes with what `draw` makes, two at a time. The last one may be dropped.
fn generate<const N: usize>(
    driver: &mut Driver,
    handle: usize,
    address: u64,
    n: usize,
    mut draw: impl FnMut(&mut Philox) -> [[u8; N]; 2] + Send + 'static,
) -> Result<(), Code> {
    let generator = generator_of(driver, handle)?;
    let key = (generator.context, resolved(generator.stream));
    let name = driver.calling;
    let submitted = driver.submit(key, move |driver, stream| {
        let generator = driver.generators.get_mut(handle).ok_or(INVALID_HANDLE)?;
        let seed = generator.seed;
        let mut words = std::mem::replace(&mut generator.words, Philox::new(seed));
        let done = match driver.checked(stream.0)?.working() {
            Some(device) if n > 0 => device.affords(address, n).and_then(|()| {
                let bytes = device.bytes_mut(address, (n * N) as u64)?;
                for pair in bytes.as_chunks_mut::<N>().0.chunks_mut(2) {
                    pair.iter_mut().zip(draw(&mut words)).for_each(|(to, number)| *to = number);
                }
                Ok(())
            }),
            _ => Ok(()),
        };
        driver.generators.get_mut(handle).ok_or(INVALID_HANDLE)?.words = words;
        trace::record_library(name);
        let filled = driver.allocation_at(address, true);
        driver.record_work(stream, filled.as_slice(), name);
        done.or_else(|fault| driver.fault(stream.0, &fault.in_call(name)))
    });
    submitted.map_err(|_| LAUNCH_FAILURE)
}

/// A number from 0, exclusive, to 1, inclusive.
fn single(words: &mut Philox) -> f32 {
    (words.next() as f32).mul_add(1.0 / 4_294_967_296.0, 0.5 / 4_294_967_296.0)
}

/// A number from 0, exclusive, to 1, inclusive.
fn double(words: &mut Philox) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    let bits = (u64::from(words.next()) << 32 | u64::from(words.next())) >> 11;
    bits as f64 * STEP + STEP
}

/// Two independent normal numbers from two uniform ones (Box and Muller).
fn normal(u: f64, v: f64, mean: f64, deviation: f64) -> [f64; 2] {
    let radius = (-2.0 * u.ln()).sqrt() * deviation;
    let (sine, cosine) = (v * std::f64::consts::TAU).sin_cos();
    [radius * sine + mean, radius * cosine + mean]
}

/// Two normal numbers from single uniform ones.
fn normal_singles(words: &mut Philox, mean: f32, deviation: f32) -> [f64; 2] {
    normal(single(words).into(), single(words).into(), mean.into(), deviation.into())
}

/// Two normal numbers from double uniform ones.
fn normal_doubles(words: &mut Philox, mean: f64, deviation: f64) -> [f64; 2] {
    normal(double(words), double(words), mean, deviation)
}

fn even(n: usize) -> Result<(), Code> {
    if n.is_multiple_of(2) { Ok(()) } else { Err(LENGTH_NOT_MULTIPLE) }
}

/// Uniform numbers in (0, 1].
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateUniform(generator: usize, address: u64, n: usize) -> Code {
    let draw = move |words: &mut Philox| [single(words), single(words)].map(f32::to_le_bytes);
    call("curandGenerateUniform", |driver| generate(driver, generator, address, n, draw))
}

/// Uniform doubles in (0, 1].
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateUniformDouble(generator: usize, address: u64, n: usize) -> Code {
    let draw = move |words: &mut Philox| [double(words), double(words)].map(f64::to_le_bytes);
    call("curandGenerateUniformDouble", |driver| generate(driver, generator, address, n, draw))
}

/// Normal numbers. Their count must be even.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateNormal(generator: usize, address: u64, n: usize, mean: f32, deviation: f32) -> Code {
    let draw = move |words: &mut Philox| normal_singles(words, mean, deviation).map(|x| (x as f32).to_le_bytes());
    call("curandGenerateNormal", |driver| even(n).and_then(|()| generate(driver, generator, address, n, draw)))
}

/// Normal doubles. Their count must be even.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateNormalDouble(
    generator: usize,
    address: u64,
    n: usize,
    mean: f64,
    deviation: f64,
) -> Code {
    let draw = move |words: &mut Philox| normal_doubles(words, mean, deviation).map(f64::to_le_bytes);
    call("curandGenerateNormalDouble", |driver| even(n).and_then(|()| generate(driver, generator, address, n, draw)))
}

/// Numbers of 32 random bits.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerate(generator: usize, address: u64, n: usize) -> Code {
    let draw = move |words: &mut Philox| [words.next(), words.next()].map(u32::to_le_bytes);
    call("curandGenerate", |driver| generate(driver, generator, address, n, draw))
}

/// Numbers whose logarithms are normal. Their count must be even.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateLogNormal(generator: usize, address: u64, n: usize, mean: f32, deviation: f32) -> Code {
    let draw = move |words: &mut Philox| normal_singles(words, mean, deviation).map(|x| (x.exp() as f32).to_le_bytes());
    call("curandGenerateLogNormal", |driver| even(n).and_then(|()| generate(driver, generator, address, n, draw)))
}

/// Doubles whose logarithms are normal. Their count must be even.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateLogNormalDouble(
    generator: usize,
    address: u64,
    n: usize,
    mean: f64,
    deviation: f64,
) -> Code {
    let draw = move |words: &mut Philox| normal_doubles(words, mean, deviation).map(|x| x.exp().to_le_bytes());
    call("curandGenerateLogNormalDouble", |driver| even(n).and_then(|()| generate(driver, generator, address, n, draw)))
}
