//! Random numbers of cuRAND.

use crate::{WELL, allocate, download, with_device};
use cuda::api::curand::*;

fn generator(seed: u64) -> usize {
    let mut generator = 0;
    assert_eq!(unsafe { curandCreateGenerator(&raw mut generator, 100) }, 0);
    assert_eq!(curandSetPseudoRandomGeneratorSeed(generator, seed), 0);
    generator
}

#[test]
fn uniform_numbers_are_above_zero_and_at_most_one() {
    with_device(WELL);
    let n = 100_001;
    let (single, double) = (allocate(n * 4), allocate(n * 8));
    assert_eq!(curandGenerateUniform(generator(1), single, n), 0);
    assert_eq!(curandGenerateUniformDouble(generator(1), double, n), 0);
    let single: Vec<f64> = download::<f32>(single, n).unwrap().into_iter().map(f64::from).collect();
    for numbers in [single, download::<f64>(double, n).unwrap()] {
        assert!(numbers.iter().all(|&x| 0.0 < x && x <= 1.0));
        assert!((numbers.iter().sum::<f64>() / n as f64 - 0.5).abs() < 0.01);
    }
}

#[test]
fn normal_numbers_have_their_mean_and_deviation_and_come_in_pairs() {
    with_device(WELL);
    let n = 100_000;
    let (single, double) = (allocate(n * 4), allocate(n * 8));
    assert_eq!(curandGenerateNormal(generator(1), single, n, 3.0, 2.0), 0);
    assert_eq!(curandGenerateNormalDouble(generator(1), double, n, 3.0, 2.0), 0);
    let single: Vec<f64> = download::<f32>(single, n).unwrap().into_iter().map(f64::from).collect();
    for numbers in [single, download::<f64>(double, n).unwrap()] {
        let mean = numbers.iter().sum::<f64>() / n as f64;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 3.0).abs() < 0.05 && (variance - 4.0).abs() < 0.1, "{mean} {variance}");
    }
    assert_eq!(curandGenerateNormal(generator(1), allocate(12), 3, 0.0, 1.0), 105);
}

#[test]
fn a_seed_repeats_its_numbers_and_they_go_on() {
    with_device(WELL);
    let draw = |generator| {
        let address = allocate(12);
        assert_eq!(curandGenerateUniform(generator, address, 3), 0);
        download::<f32>(address, 3).unwrap()
    };
    let (first, second) = (generator(5), generator(5));
    let numbers = draw(first);
    assert_eq!(numbers, draw(second));
    assert_ne!(numbers, draw(second));
    assert_eq!(curandSetPseudoRandomGeneratorSeed(second, 5), 0);
    assert_eq!(numbers, draw(second));
}

#[test]
fn random_bits_are_even_and_the_logarithms_of_log_normal_numbers_are_normal() {
    with_device(WELL);
    let n = 100_000;
    let (bits, single, double) = (allocate(n * 4), allocate(n * 4), allocate(n * 8));
    assert_eq!(curandGenerate(generator(1), bits, n), 0);
    let ones: u32 = download::<u32>(bits, n).unwrap().into_iter().map(u32::count_ones).sum();
    assert!((f64::from(ones) / (32 * n) as f64 - 0.5).abs() < 0.001, "{ones}");
    assert_eq!(curandGenerateLogNormal(generator(1), single, n, 3.0, 2.0), 0);
    assert_eq!(curandGenerateLogNormalDouble(generator(1), double, n, 3.0, 2.0), 0);
    let single: Vec<f64> = download::<f32>(single, n).unwrap().into_iter().map(f64::from).collect();
    for numbers in [single, download::<f64>(double, n).unwrap()] {
        let mean = numbers.iter().map(|x| x.ln()).sum::<f64>() / n as f64;
        let variance = numbers.iter().map(|x| (x.ln() - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 3.0).abs() < 0.05 && (variance - 4.0).abs() < 0.1, "{mean} {variance}");
    }
    assert_eq!(curandGenerateLogNormal(generator(1), allocate(12), 3, 0.0, 1.0), 105);
}
