//! Conversion of the written values to numbers, with the checks.

use std::sync::Arc;

use super::parts::ModelParts;
use super::spec::{CbrSpec, FullSpec, MmppSpec, ModelSpec, OnOffSpec, SelfSimilarSpec, UserSpec};
use super::{Model, application};
use crate::law::LawSpec;
use crate::probability::ProbabilityLaw;
use crate::quantity::{BitRate, DrawnQuantity, Octets, TimeSpan};
use crate::source::{ChainLaws, Interval, OnOffLaws, RequestLaws, SelfSimilarLaws, shares_of_time};

/// The parts of a model with its mean and its peak rate; or the wrong key, and the reason.
pub(super) type Resolved = Result<(ModelParts, Option<f64>, Option<f64>), (String, String)>;

const MOST_BYTES: u64 = 16 << 20;
/// Least time between two blocks of a schedule.
const LEAST_GAP_NS: f64 = 1.0;
const LEAST_PERIOD_NS: f64 = 1000.0;
const MOST_STATES: usize = 100;
/// Most periods, changes of state or slots between two blocks on average: a source passes through
/// all of them.
const MOST_STEPS: f64 = 10_000.0;

pub(super) fn model(spec: &ModelSpec) -> Result<Model, (String, String)> {
    let (parts, mean_rate_bps, peak_rate_bps) = match spec {
        ModelSpec::Full(spec) => full(spec),
        ModelSpec::Cbr(spec) => cbr(spec),
        ModelSpec::User(spec) => user(spec),
        ModelSpec::OnOff(spec) => on_off(spec),
        ModelSpec::Mmpp(spec) => mmpp(spec),
        ModelSpec::SelfSimilar(spec) => self_similar(spec),
        ModelSpec::Www(spec) => application::www(spec),
        ModelSpec::Ftp(spec) => application::ftp(spec),
        ModelSpec::Telnet(spec) => application::telnet(spec),
        ModelSpec::Voip(spec) => application::voip(spec),
        ModelSpec::Video(spec) => application::video(spec),
        ModelSpec::Gop(spec) => application::gop(spec),
    }?;
    Ok(Model {
        parts,
        mean_rate_bps,
        peak_rate_bps,
    })
}

impl ModelSpec {
    /// The same model with another mean rate; none for models whose rate follows from other
    /// parameters.
    pub fn at_rate(&self, rate: BitRate) -> Option<ModelSpec> {
        let mut spec = self.clone();
        match &mut spec {
            ModelSpec::Full(spec) => spec.rate = Some(rate),
            ModelSpec::SelfSimilar(spec) => spec.rate = Some(rate),
            ModelSpec::Cbr(spec) => {
                spec.rate = Some(rate);
                // The length of a block is kept.
                if spec.block.is_some() {
                    spec.every = None;
                }
            }
            ModelSpec::OnOff(spec) => {
                let (on, off) = (spec.on.law().ok()?.mean(), spec.off.law().ok()?.mean());
                let peak = rate.bits_per_second() as f64 * (on + off) / on;
                spec.rate = Some(BitRate::from_bits_per_second(libm::round(peak) as u64));
            }
            _ => return None,
        }
        Some(spec)
    }

    /// True if its rate is still to be set, by the share of a load.
    pub(crate) fn has_no_rate(&self) -> bool {
        match self {
            ModelSpec::Cbr(spec) => {
                spec.rate.is_none() && (spec.every.is_none() || spec.block.is_none())
            }
            ModelSpec::OnOff(spec) => spec.rate.is_none(),
            ModelSpec::SelfSimilar(spec) => spec.rate.is_none(),
            _ => false,
        }
    }
}

fn full(spec: &FullSpec) -> Resolved {
    let block_bytes = block_bytes("block", spec.block)?;
    let Some(rate) = spec.rate else {
        return Ok((ModelParts::Full { block_bytes }, None, None));
    };
    Ok(steady(block_bytes, rate))
}

fn steady(block_bytes: u32, rate: BitRate) -> (ModelParts, Option<f64>, Option<f64>) {
    let interval = Interval::at_rate(block_bytes, rate.bits_per_second());
    let parts = ModelParts::Steady {
        block_bytes,
        interval,
    };
    let rate = rate.bits_per_second() as f64;
    (parts, Some(rate), Some(rate))
}

fn cbr(spec: &CbrSpec) -> Resolved {
    match (spec.rate, spec.block, spec.every) {
        (Some(rate), Some(block), None) => Ok(steady(block_bytes("block", block)?, rate)),
        (None, Some(block), Some(every)) => {
            let block_bytes = block_bytes("block", block)?;
            let every_ns = positive_time("every", every)?;
            let rate = 8e9 * f64::from(block_bytes) / every_ns;
            let interval = Interval::from_nanos(every.nanos());
            let parts = ModelParts::Steady {
                block_bytes,
                interval,
            };
            Ok((parts, Some(rate), Some(rate)))
        }
        (Some(rate), None, Some(every)) => {
            positive_time("every", every)?;
            let bits = u128::from(rate.bits_per_second()) * u128::from(every.nanos());
            let bytes = bits / 8_000_000_000;
            let block = Octets::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
            if bytes == 0 {
                let why = "sends less than a byte every time; give a longer `every`";
                return Err(wrong("rate", why));
            }
            // The rate is kept where the block had to be rounded.
            Ok(steady(block_bytes("rate", block)?, rate))
        }
        _ => Err(wrong("cbr", "has two of the keys rate, block and every")),
    }
}

fn user(spec: &UserSpec) -> Resolved {
    let gap = time_law("gap", &spec.gap, LEAST_GAP_NS)?;
    let blocks = spec.blocks.law().map_err(at("blocks"))?;
    let size = size_law("block", &spec.block)?;
    let rate = 8e9 * blocks.mean_whole() * size.mean_whole() / gap.mean();
    let laws = RequestLaws {
        gap,
        blocks,
        size,
        most_bytes: None,
    };
    Ok((ModelParts::Requests(Arc::new(laws)), Some(rate), None))
}

fn on_off(spec: &OnOffSpec) -> Resolved {
    let rate = spec.rate.ok_or_else(|| wrong("rate", "is missing"))?;
    let block_bytes = block_bytes("block", spec.block)?;
    let on = time_law("on", &spec.on, LEAST_PERIOD_NS)?;
    let off = time_law("off", &spec.off, 0.0)?;
    let peak = rate.bits_per_second() as f64;
    let block_ns = 8e9 * f64::from(block_bytes) / peak;
    check_steps("rate", block_ns / on.mean(), "periods")?;
    let mean = peak * on.mean() / (on.mean() + off.mean());
    let laws = OnOffLaws {
        on,
        off,
        interval: Interval::at_rate(block_bytes, rate.bits_per_second()),
        block_bytes,
    };
    Ok((ModelParts::OnOff(Arc::new(laws)), Some(mean), Some(peak)))
}

fn mmpp(spec: &MmppSpec) -> Resolved {
    let states = spec.rates.len();
    if !(1..=MOST_STATES).contains(&states) {
        return Err(wrong("rates", "has between 1 and 100 states"));
    }
    if let Some(rate) = spec.rates.iter().find(|rate| !(0.0..=1e8).contains(*rate)) {
        let why = format!("{rate} is not between 0 and 100 million blocks per second");
        return Err(wrong("rates", &why));
    }
    let is_square =
        spec.generator.len() == states && spec.generator.iter().all(|row| row.len() == states);
    if !is_square {
        let why = format!("has {states} rows of {states} numbers, as there are {states} rates");
        return Err(wrong("generator", &why));
    }
    for (state, row) in spec.generator.iter().enumerate() {
        check_row(state, row).map_err(|why| wrong(&format!("generator[{state}]"), &why))?;
    }
    let Some(shares) = shares_of_time(&spec.generator) else {
        let why = "has a state that is never entered or never left";
        return Err(wrong("generator", why));
    };
    let states = shares.iter().zip(&spec.rates);
    let blocks: f64 = states.map(|(share, rate)| share * rate).sum();
    if blocks <= 0.0 {
        return Err(wrong("rates", "are 0 in all states"));
    }
    let leaving = |(state, row): (usize, &Vec<f64>)| {
        let others = row.iter().enumerate().filter(|(other, _)| *other != state);
        shares[state] * others.map(|(_, rate)| rate).sum::<f64>()
    };
    let changes: f64 = spec.generator.iter().enumerate().map(leaving).sum();
    check_steps("generator", changes / blocks, "changes of state")?;
    let size = size_law("block", &spec.block)?;
    let rate = 8.0 * blocks * size.mean_whole();
    let laws = ChainLaws {
        rates: spec.rates.clone(),
        changes: spec.generator.clone(),
        shares,
        size,
    };
    Ok((ModelParts::Mmpp(Arc::new(laws)), Some(rate), None))
}

fn check_row(state: usize, row: &[f64]) -> Result<(), String> {
    let is_wrong = |(other, rate): (usize, &f64)| other != state && !(0.0..=1e9).contains(rate);
    if row.iter().enumerate().any(is_wrong) {
        return Err("has a number below 0 or above 10^9 outside the diagonal".to_owned());
    }
    let sum: f64 = row.iter().sum();
    let sizes = row.iter().map(|entry| entry.abs());
    let largest = sizes.fold(1e-300_f64, f64::max);
    if sum.is_finite() && sum.abs() <= 1e-6 * largest {
        return Ok(());
    }
    Err(format!("adds up to {sum}, and not to 0"))
}

fn self_similar(spec: &SelfSimilarSpec) -> Resolved {
    let rate = spec.rate.ok_or_else(|| wrong("rate", "is missing"))?;
    if !(0.55..=0.95).contains(&spec.hurst) {
        return Err(wrong("hurst", "must be between 0.55 and 0.95"));
    }
    if !(1.0..=10_000.0).contains(&spec.sessions) {
        return Err(wrong("sessions", "must be between 1 and 10000"));
    }
    let slot_ns = spec.slot.nanos();
    if !(100_000..=100_000_000_000).contains(&slot_ns) {
        return Err(wrong("slot", "must be between 100us and 100s"));
    }
    let (rate, block_bytes) = (rate.bits_per_second(), block_bytes("block", spec.block)?);
    let block_ns = 8e9 * f64::from(block_bytes) / rate as f64;
    check_steps("slot", block_ns / slot_ns as f64, "slots")?;
    let laws = SelfSimilarLaws::new(spec.hurst, slot_ns, spec.sessions, rate, block_bytes);
    let parts = ModelParts::SelfSimilar(Arc::new(laws));
    Ok((parts, Some(rate as f64), None))
}

fn check_steps(key: &str, steps_per_block: f64, steps: &str) -> Result<(), (String, String)> {
    if steps_per_block <= MOST_STEPS {
        return Ok(());
    }
    let why =
        format!("lets {steps_per_block:.0} {steps} pass for a block; at most {MOST_STEPS:.0} may");
    Err(wrong(key, &why))
}

pub(super) fn wrong(key: &str, why: &str) -> (String, String) {
    (key.to_owned(), why.to_owned())
}

/// Puts a key before a reason.
pub(super) fn at(key: &'static str) -> impl Fn(String) -> (String, String) {
    move |why| (key.to_owned(), why)
}

pub(super) fn block_bytes(key: &str, size: Octets) -> Result<u32, (String, String)> {
    let bytes = u32::try_from(size.bytes()).ok();
    let bytes = bytes.filter(|bytes| (1..=MOST_BYTES).contains(&u64::from(*bytes)));
    let why = format!("a block of {size} is not between 1 byte and 16MiB");
    bytes.ok_or_else(|| wrong(key, &why))
}

pub(super) fn positive_time(key: &str, time: TimeSpan) -> Result<f64, (String, String)> {
    if time.nanos() > 0 {
        return Ok(time.number());
    }
    Err(wrong(key, "must be longer than 0"))
}

pub(super) fn factor(key: &str, factor: f64) -> Result<f64, (String, String)> {
    if (0.01..=1000.0).contains(&factor) {
        return Ok(factor);
    }
    Err(wrong(key, "must be between 0.01 and 1000"))
}

pub(super) fn frame_rate(per_second: f64) -> Result<f64, (String, String)> {
    if (0.1..=1000.0).contains(&per_second) {
        return Ok(per_second);
    }
    Err(wrong("fps", "must be between 0.1 and 1000"))
}

fn time_law(
    key: &'static str,
    law: &LawSpec<TimeSpan>,
    least_mean_ns: f64,
) -> Result<ProbabilityLaw, (String, String)> {
    let law = law.law().map_err(at(key))?;
    if law.mean() >= least_mean_ns {
        return Ok(law);
    }
    let why = format!("the mean must be at least {least_mean_ns:.0} ns");
    Err(wrong(key, &why))
}

fn size_law(key: &'static str, law: &LawSpec<Octets>) -> Result<ProbabilityLaw, (String, String)> {
    let law = law.law().map_err(at(key))?;
    if law.chance_outside(1, MOST_BYTES) < 0.001 && law.mean_whole() <= MOST_BYTES as f64 {
        return Ok(law);
    }
    Err(wrong(key, "blocks are longer than 16MiB; give max"))
}
