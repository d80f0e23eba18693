//! The estimator of the Hurst parameter, on series with a known one, and the self-similar model.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use traffic::verify::{Wavelet, hurst};
use traffic::{Behaviour, Model, TrafficSpec};

/// Fast Fourier transform in place, of a length that is a power of two.
fn transform(values: &mut [(f64, f64)]) {
    let length = values.len();
    let bits = length.trailing_zeros();
    for index in 0..length {
        let other = index.reverse_bits() >> (usize::BITS - bits);
        if index < other {
            values.swap(index, other);
        }
    }
    let mut half = 1;
    while half < length {
        let step = -std::f64::consts::PI / half as f64;
        let turns: Vec<(f64, f64)> = (0..half).map(|k| (step * k as f64).sin_cos()).collect();
        for block in values.chunks_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((one, two), (sin, cos)) in low.iter_mut().zip(high).zip(&turns) {
                let product = (two.0 * cos - two.1 * sin, two.0 * sin + two.1 * cos);
                *two = (one.0 - product.0, one.1 - product.1);
                *one = (one.0 + product.0, one.1 + product.1);
            }
        }
        half *= 2;
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, turn): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}

/// Fractional Gaussian noise with exactly its covariances: Davies and Harte (1987), Biometrika 74,
/// 95-101.
struct NoiseMaker {
    roots: Vec<f64>,
}

impl NoiseMaker {
    fn new(hurst: f64, length: usize) -> Self {
        let power = |x: f64| x.abs().powf(2.0 * hurst);
        let circle = 2 * length;
        let covariance = |index: usize| {
            let lag = index.min(circle - index) as f64;
            0.5 * (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0))
        };
        let mut values: Vec<_> = (0..circle).map(|index| (covariance(index), 0.0)).collect();
        transform(&mut values);
        let scale = circle as f64;
        let root = |(real, _): &(f64, f64)| {
            assert!(*real > -1e-9, "no covariance: {real}");
            (real.max(0.0) / scale).sqrt()
        };
        let roots = values.iter().map(root).collect();
        NoiseMaker { roots }
    }

    fn series(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        // The real part of a transform of independent complex numbers.
        let complex = |root: &f64| (root * normal(rng), root * normal(rng));
        let mut values: Vec<(f64, f64)> = self.roots.iter().map(complex).collect();
        transform(&mut values);
        values.truncate(values.len() / 2);
        values.into_iter().map(|(real, _)| real).collect()
    }
}

#[test]
fn the_estimator_is_unbiased_and_its_interval_covers() {
    const RUNS: u32 = 400;
    for truth in [0.5, 0.6, 0.75, 0.9] {
        let maker = NoiseMaker::new(truth, 1 << 13);
        for wavelet in [Wavelet::Haar, Wavelet::Daubechies2, Wavelet::Daubechies3] {
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            let (mut sum, mut covered, mut bad_fits) = (0.0, 0, 0);
            for _ in 0..RUNS {
                let found = hurst(&maker.series(&mut rng), wavelet, 3).unwrap();
                sum += found.hurst;
                covered += u32::from(found.interval.0 <= truth && truth <= found.interval.1);
                bad_fits += u32::from(found.fit_p_value < 0.05);
            }
            let bias = sum / f64::from(RUNS) - truth;
            let coverage = f64::from(covered) / f64::from(RUNS);
            let rejected = f64::from(bad_fits) / f64::from(RUNS);
            eprintln!(
                "H {truth} {wavelet:?}: bias {bias:+.4}, coverage {coverage:.3}, fit rejected {rejected:.3}"
            );
            assert!(bias.abs() < 0.01, "{truth} {wavelet:?}: {bias}");
            // Three standard deviations of 400 runs are 3 %.
            let is_right = (0.91..=0.985).contains(&coverage);
            assert!(is_right, "{truth} {wavelet:?}: {coverage}");
            assert!(rejected < 0.12, "{truth} {wavelet:?}: {rejected}");
        }
    }
}

#[test]
fn another_hurst_parameter_is_found_out() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let noise = NoiseMaker::new(0.7, 1 << 16).series(&mut rng);
    let found = hurst(&noise, Wavelet::Daubechies3, 3).unwrap();
    assert!((found.hurst - 0.7).abs() < 0.05, "{found:?}");
    assert!(found.interval.1 < 0.8, "{found:?}");
    // A trend misleads the wavelet of Haar, and not the one with three vanishing moments.
    let trend = |(index, value): (usize, &f64)| value + 2e-3 * index as f64;
    let trended: Vec<f64> = noise.iter().enumerate().map(trend).collect();
    let haar = hurst(&trended, Wavelet::Haar, 3).unwrap().hurst;
    let smooth = hurst(&trended, Wavelet::Daubechies3, 3).unwrap().hurst;
    assert!((haar - 0.7).abs() > 0.05, "{haar}");
    assert!((smooth - 0.7).abs() < 0.05, "{smooth}");
    // A series with one time scale is on no line.
    let mut last = 0.0;
    let short: Vec<f64> = (0..1 << 16)
        .map(|_| {
            last = 0.99 * last + normal(&mut rng);
            last
        })
        .collect();
    let found = hurst(&short, Wavelet::Daubechies3, 3).unwrap();
    assert!(found.fit_p_value < 1e-6, "{found:?}");
}

fn counts(text: &str, seed: u64, bin_ns: u64, bins: usize) -> Vec<f64> {
    let text = format!("models: {{m: {{{text}}}}}");
    let spec = TrafficSpec::read("test", &text).unwrap();
    let Behaviour::Scheduled(schedule) = Model::new(&spec.models["m"]).unwrap().behaviour(seed, 0)
    else {
        panic!("it has a schedule");
    };
    let mut counts = vec![0.0; bins];
    for block in schedule {
        let Some(count) = counts.get_mut((block.at_ns / bin_ns) as usize) else {
            break;
        };
        *count += f64::from(block.bytes);
    }
    counts
}

#[test]
fn the_self_similar_model_meets_its_hurst_parameter() {
    for truth in [0.55, 0.6, 0.7, 0.8, 0.9, 0.95] {
        for seed in 1..=3 {
            let text = format!("self-similar: {{rate: 4mbit, hurst: {truth}, block: 500}}");
            let series = counts(&text, seed, 10_000_000, 1 << 18);
            let found = hurst(&series, Wavelet::Daubechies3, 3).unwrap();
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            eprintln!(
                "H {truth}, seed {seed}: {:.3} ({:.3} to {:.3}), fit {:.3}, mean {:.0} of 5000 bytes",
                found.hurst, found.interval.0, found.interval.1, found.fit_p_value, mean
            );
            let error = (found.hurst - truth).abs();
            assert!(error < 0.05, "{truth} {seed}: {found:?}");
        }
    }
}

#[test]
fn sources_without_memory_are_not_self_similar() {
    let text = "user: {gap: {exponential: {mean: 1ms}}, block: {constant: 500}}";
    let series = counts(text, 1, 10_000_000, 1 << 16);
    let found = hurst(&series, Wavelet::Daubechies3, 3).unwrap();
    assert!((found.hurst - 0.5).abs() < 0.05, "{found:?}");
}
