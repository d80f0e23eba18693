//! Drawn numbers agree with their laws, and the tests detect numbers that do not.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use traffic::verify::{discrete_agreement, kolmogorov_smirnov};
use traffic::{BlockCount, LawSpec, ProbabilityLaw, TimeSpan};

const COUNT: usize = 10_000;
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// Probability of rejecting a right law: there are about a hundred tests here, with fixed seeds.
const RARE: f64 = 1e-4;

/// Laws of times as they are written, with their means in ns; cut laws have the mean of an
/// independent computation by numerical integration (`mean_by_integration`).
const TIMES: &[(&str, Option<f64>)] = &[
    ("uniform: {min: 5ms, max: 15ms}", Some(10e6)),
    ("exponential: {mean: 10ms}", Some(10e6)),
    ("exponential: {mean: 10ms, min: 2ms, max: 30ms}", None),
    ("normal: {mean: 10ms, sd: 2ms}", None),
    ("normal: {mean: 10ms, sd: 10ms}", None),
    ("normal: {mean: 10ms, sd: 5ms, min: 4ms, max: 12ms}", None),
    ("lognormal: {median: 10ms, sigma: 0.5}", Some(11_331_484.5)),
    (
        "lognormal: {median: 10ms, sigma: 1.5, min: 1ms, max: 100ms}",
        None,
    ),
    ("pareto: {min: 10ms, shape: 2.5}", Some(16_666_666.7)),
    ("pareto: {min: 10ms, shape: 0.9, max: 10s}", None),
    ("pareto: {min: 10ms, shape: 1, max: 10s}", None),
    ("gamma: {shape: 3, scale: 2ms}", Some(6e6)),
    ("gamma: {shape: 0.3, scale: 2ms}", Some(0.6e6)),
    ("gamma: {shape: 3, scale: 2ms, min: 2ms, max: 20ms}", None),
    ("weibull: {shape: 0.7, scale: 10ms}", Some(12_658_235.5)),
    ("weibull: {shape: 2, scale: 10ms, min: 5ms}", None),
];

/// The laws of a model with these keys.
fn user(keys: &str) -> traffic::UserSpec {
    let models = format!("models: {{m: {{user: {{{keys}, block: {{constant: 100}}}}}}}}");
    let spec = traffic::TrafficSpec::read("test", &models).unwrap();
    let traffic::ModelSpec::User(user) = &spec.models["m"] else {
        panic!("it is a user model");
    };
    user.clone()
}

fn law(text: &str) -> ProbabilityLaw {
    user(&format!("gap: {{{text}}}")).gap.law().unwrap()
}

fn draws(law: &ProbabilityLaw, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..COUNT).map(|_| law.draw(&mut rng)).collect()
}

/// The mean as the integral of P(X > x), by the trapezoidal rule in the logarithm of x.
fn mean_by_integration(law: &ProbabilityLaw) -> f64 {
    let survival = |x: f64| 1.0 - law.cdf(x);
    let (low, high, steps) = (1e3_f64.ln(), 1e13_f64.ln(), 200_000);
    let width = (high - low) / f64::from(steps);
    let part = |step: i32| {
        let x = (low + width * f64::from(step)).exp();
        x * survival(x) * width
    };
    1e3 + (0..=steps).map(part).sum::<f64>()
}

#[test]
fn numbers_have_their_law() {
    let laws: Vec<(&str, ProbabilityLaw)> =
        TIMES.iter().map(|(text, _)| (*text, law(text))).collect();
    for (text, law) in &laws {
        for seed in SEEDS {
            let found = kolmogorov_smirnov(&draws(law, seed), |x| law.cdf(x)).unwrap();
            assert!(found.p_value > RARE, "{text} {seed}: {found:?}");
            assert!(found.statistic < 0.02, "{text} {seed}: {found:?}");
        }
    }
    // Every law is distinguished from every other one, by the same test.
    for (text, drawn) in &laws {
        let numbers = draws(drawn, 1);
        for (other, expected) in laws.iter().filter(|(other, _)| other != text) {
            let found = kolmogorov_smirnov(&numbers, |x| expected.cdf(x)).unwrap();
            assert!(found.p_value < RARE, "{text} taken for {other}: {found:?}");
        }
    }
}

#[test]
fn small_errors_of_a_parameter_are_found_out() {
    let table = "
        exponential: {mean: 10ms} => exponential: {mean: 10.5ms}
        normal: {mean: 10ms, sd: 2ms} => normal: {mean: 10.1ms, sd: 2ms}
        pareto: {min: 10ms, shape: 2.5} => pareto: {min: 10ms, shape: 2.7}
        gamma: {shape: 3, scale: 2ms} => gamma: {shape: 3.2, scale: 2ms}
    ";
    for [right, wrong] in cases::rows(table) {
        let wrong = law(wrong);
        let found = kolmogorov_smirnov(&draws(&law(right), 1), |x| wrong.cdf(x)).unwrap();
        assert!(found.p_value < RARE, "{right}: {found:?}");
    }
}

#[test]
fn means_are_those_of_the_laws() {
    for (text, mean) in TIMES {
        let law = law(text);
        let integral = mean_by_integration(&law);
        let mean = mean.unwrap_or(integral);
        let error = (law.mean() / mean - 1.0).abs();
        assert!(error < 1e-6, "{text}: {} {mean}", law.mean());
        let error = (integral / mean - 1.0).abs();
        assert!(error < 1e-3, "{text}: {integral} {mean}");
    }
}

/// Laws of numbers of blocks.
const COUNTS: &[&str] = &[
    "uniform: {min: 1, max: 6}",
    "exponential: {mean: 2}",
    "exponential: {mean: 40}",
    "normal: {mean: 5, sd: 2}",
    "lognormal: {median: 4, sigma: 1}",
    "pareto: {min: 1, shape: 1.5}",
    "gamma: {shape: 2, scale: 3}",
    "weibull: {shape: 1.5, scale: 8}",
    "empirical: \"1,5\\n2,3\\n7,2\\n\"",
];

fn count_law(text: &str) -> ProbabilityLaw {
    let user = user(&format!("gap: {{constant: 1s}}, blocks: {{{text}}}"));
    user.blocks.law().unwrap()
}

fn whole_draws(law: &ProbabilityLaw, seed: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..COUNT).map(|_| law.draw_whole(&mut rng)).collect()
}

#[test]
fn whole_numbers_have_their_law() {
    let laws: Vec<(&str, ProbabilityLaw)> =
        COUNTS.iter().map(|text| (*text, count_law(text))).collect();
    for (text, law) in &laws {
        for seed in SEEDS {
            let numbers = whole_draws(law, seed);
            assert!(numbers.iter().all(|number| *number >= 1));
            let found = discrete_agreement(&numbers, |k| law.whole_cdf(k)).unwrap();
            assert!(found.p_value > RARE, "{text} {seed}: {found:?}");
        }
        // P(K <= k) and the mean of whole numbers belong together: the sum of P(K > k).
        let sum: f64 = (0..2_000_000).map(|k| 1.0 - law.whole_cdf(k)).sum();
        // The tail of the Pareto law beyond two millions.
        let is_pareto = text.starts_with("pareto");
        let tail = if is_pareto { 2.0 / 2e6_f64.sqrt() } else { 0.0 };
        let mean = law.mean_whole();
        let error = (mean / (sum + tail) - 1.0).abs();
        assert!(error < 2e-4, "{text}: {mean} {sum}");
    }
    for (text, drawn) in &laws {
        let numbers = whole_draws(drawn, 1);
        for (other, expected) in laws.iter().filter(|(other, _)| other != text) {
            let found = discrete_agreement(&numbers, |k| expected.whole_cdf(k)).unwrap();
            assert!(found.p_value < RARE, "{text} taken for {other}: {found:?}");
        }
    }
}

#[test]
fn constants_and_measured_values_are_themselves() {
    let constant = LawSpec::Constant("20ms".parse::<TimeSpan>().unwrap());
    let constant = constant.law().unwrap();
    assert!(draws(&constant, 1).iter().all(|number| *number == 20e6));
    assert_eq!((constant.cdf(20e6), constant.cdf(19e6)), (1.0, 0.0));

    let csv = "# measured\n20ms, 1\n10ms,3\n\n40ms,0\n";
    let measured = LawSpec::<TimeSpan>::Empirical(csv.into()).law().unwrap();
    assert_eq!(measured.mean(), 12.5e6);
    let drawn = draws(&measured, 1);
    let tens = drawn.iter().filter(|number| **number == 10e6).count();
    // Four standard deviations.
    assert!(tens.abs_diff(7500) < 174, "{tens}");

    let table = "
        # => the CSV has no value with a weight above 0
        1,0 => the CSV has no value with a weight above 0
        1↵x => line 2 of the CSV: `x` is no number of blocks; write 1 or 2.5
        1,-2 => line 1 of the CSV: `1,-2` has no weight of 0 or more
        1,NaN => line 1 of the CSV: `1,NaN` has no weight of 0 or more
    ";
    for [csv, message] in cases::rows(table) {
        let law = LawSpec::<BlockCount>::Empirical(csv.into());
        assert_eq!(law.law().unwrap_err(), message);
    }
}
