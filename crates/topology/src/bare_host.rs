//! Bare hosts: a web server on a TCP of its own as a host, with the features of a lab file.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use trace::rto::{PAPER_WEIGHTS, RtoWeights, SamplingStrategy};
use traffic::TimeSpan;

use crate::FileError;
use crate::file::LabHostSpec;
use crate::numbers::time_text;
use crate::sender::{CongestionControl, SenderSettings, SenderSettingsError, TimeoutResend};

/// Sizes in KiB of the files of a bare host, those of the dissertation: `/504k`, `/320k` and
/// `/160k`.
pub const PAPER_FILES_KIB: [usize; 3] = [504, 320, 160];

/// The features of a bare host's TCP: those of a preset, except for the given ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BareHostSpec {
    /// Features to begin with; default `bare`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<BarePreset>,
    /// Weights of a new round trip in the retransmission timeout: `W1` (the default) to `W9` of
    /// Loukili (2012), table 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PaperWeightsName>,
    /// Weight of a new round trip in the smoothed one, instead of that of `weights`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Weight of a new round trip in the variation, instead of that of `weights`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Factor of the variation in the timeout; default 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<f64>,
    /// Granularity of the clock, G; default 250 µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<TimeSpan>,
    /// Least timeout; default: none of `bare`, 200 ms of `conventional`, 300 ms of `not-iis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_min: Option<TimeSpan>,
    /// Timeout before the first round trip; default 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_initial: Option<TimeSpan>,
    /// Longest timeout; default 60 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_max: Option<TimeSpan>,
    /// Measured round trips: `one` of each window of data (the default), `some` (every other),
    /// `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingName>,
    /// The timeout doubles with each timeout, until the next round trip; default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
    /// Retransmission after a timeout: of `everything` that is outstanding (the default), or of the
    /// `first-segment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_resend: Option<TimeoutResend>,
    /// Three duplicate acknowledgments cause the first segment to be retransmitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_retransmit: Option<bool>,
    /// Fast recovery follows a fast retransmit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_recovery: Option<bool>,
    /// Use selective acknowledgments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Use time stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Congestion control; default: `none` of `bare`, `cubic` of `conventional`, `compound` of
    /// `not-iis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionControl>,
    /// Initial congestion window, in segments; default 10, and 2 of `not-iis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
}

/// Features to begin with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BarePreset {
    /// The bare server of Loukili (2012).
    #[default]
    Bare,
    /// The usual features of servers today.
    Conventional,
    /// A stand-in for a server on Windows: neither IIS nor the TCP of Windows is measured.
    NotIis,
}

/// Weights W1 to W9 of Loukili (2012), table 5.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the table is in `trace::rto::PAPER_WEIGHTS`, in this order"
)]
pub enum PaperWeightsName {
    #[default]
    W1,
    W2,
    W3,
    W4,
    W5,
    W6,
    W7,
    W8,
    W9,
}

/// Measured round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingName {
    /// The first of each window of data.
    One,
    /// The first, third, fifth, ... of each window.
    Some,
    /// All.
    All,
}

/// A planned bare host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedBareHost {
    /// The preset of its description.
    pub preset: BarePreset,
    /// Settings of its sender.
    pub sender: SenderSettings,
}

impl PlannedBareHost {
    /// Resolves and checks the description at `place`, the key of the host.
    pub(crate) fn new(
        place: &str,
        host: &LabHostSpec,
        spec: &BareHostSpec,
    ) -> Result<Self, FileError> {
        check_rest(place, host)?;
        let preset = spec.preset.unwrap_or_default();
        let mut sender = match preset {
            BarePreset::Bare => SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One),
            BarePreset::Conventional => SenderSettings::conventional(CongestionControl::Cubic),
            BarePreset::NotIis => SenderSettings::not_iis(),
        };
        spec.apply_to(&mut sender);
        match sender.check() {
            Ok(()) => Ok(PlannedBareHost { preset, sender }),
            Err(error) => {
                let place = format!("{place}.bare.{}", spec.key_of(&error, &sender));
                Err(FileError::new(place, error.to_string()))
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        let SenderSettings { rto, sampling, .. } = self.sender;
        let mut parts = vec![match self.preset {
            BarePreset::Bare => "bare server".to_owned(),
            BarePreset::Conventional => "bare server, conventional".to_owned(),
            BarePreset::NotIis => "bare server, not IIS".to_owned(),
        }];
        parts.push(weights_text(rto.weights));
        parts.push(match sampling {
            SamplingStrategy::One => "one round trip of a window".to_owned(),
            SamplingStrategy::Some => "every other round trip".to_owned(),
            SamplingStrategy::All => "all round trips".to_owned(),
        });
        if rto.factor != 4.0 {
            parts.push(format!("K = {}", rto.factor));
        }
        parts.push(format!("G = {}", time_text(rto.granularity_ns as u64)));
        if rto.minimum_ns > 0.0 {
            parts.push(format!("rto_min {}", time_text(rto.minimum_ns as u64)));
        }
        let congestion = match self.sender.congestion_control {
            CongestionControl::None => "no congestion control",
            CongestionControl::Reno => "reno",
            CongestionControl::Cubic => "cubic",
            CongestionControl::Compound => "compound",
        };
        parts.push(congestion.to_owned());
        parts.push(format!(
            "initial window {}",
            self.sender.initial_window_segments
        ));
        let features = [
            (self.sender.fast_recovery, "fast recovery"),
            (
                self.sender.fast_retransmit && !self.sender.fast_recovery,
                "fast retransmit",
            ),
            (self.sender.sack, "SACK"),
            (self.sender.timestamps, "time stamps"),
            (!self.sender.backoff, "no backoff"),
            (
                self.sender.timeout_resend == TimeoutResend::FirstSegment,
                "resends the first segment",
            ),
        ];
        let features = features.iter().filter(|(has_it, _)| *has_it);
        parts.extend(features.map(|(_, name)| (*name).to_owned()));
        parts.join(", ")
    }
}

/// W1 to W9, or both weights.
fn weights_text(weights: RtoWeights) -> String {
    match PAPER_WEIGHTS.iter().position(|known| *known == weights) {
        Some(index) => format!("W{}", index + 1),
        None => format!("alpha {}, beta {}", weights.alpha, weights.beta),
    }
}

/// Refuses keys about the TCP of the kernel, which a bare host does not have.
fn check_rest(place: &str, host: &LabHostSpec) -> Result<(), FileError> {
    let given = [
        ("congestion", host.congestion.is_some()),
        ("rto_min", host.rto_min.is_some()),
        ("quickack", host.quickack.is_some()),
        ("initial_window", host.initial_window.is_some()),
        (
            "initial_receive_window",
            host.initial_receive_window.is_some(),
        ),
        ("to", !host.to.is_empty()),
        ("sysctl", !host.sysctl.is_empty()),
    ];
    let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    Err(FileError::new(
        format!("{place}.{key}"),
        "is for the TCP of the kernel, which a bare host does not use; its features stand below `bare`",
    ))
}

impl BareHostSpec {
    fn apply_to(&self, sender: &mut SenderSettings) {
        fn set<T: Copy>(place: &mut T, value: Option<T>) {
            *place = value.unwrap_or(*place);
        }
        let nanos = |time: TimeSpan| time.nanos() as f64;
        set(&mut sender.rto.weights, self.weights.map(Into::into));
        set(&mut sender.rto.weights.alpha, self.alpha);
        set(&mut sender.rto.weights.beta, self.beta);
        set(&mut sender.rto.factor, self.k);
        set(&mut sender.rto.granularity_ns, self.granularity.map(nanos));
        set(&mut sender.rto.minimum_ns, self.rto_min.map(nanos));
        set(
            &mut sender.initial_rto_ns,
            self.rto_initial.map(TimeSpan::nanos),
        );
        set(
            &mut sender.maximum_rto_ns,
            self.rto_max.map(TimeSpan::nanos),
        );
        set(&mut sender.sampling, self.sampling.map(Into::into));
        set(&mut sender.backoff, self.backoff);
        set(&mut sender.timeout_resend, self.timeout_resend);
        set(&mut sender.fast_retransmit, self.fast_retransmit);
        set(&mut sender.fast_recovery, self.fast_recovery);
        set(&mut sender.sack, self.sack);
        set(&mut sender.timestamps, self.timestamps);
        set(&mut sender.congestion_control, self.congestion);
        set(&mut sender.initial_window_segments, self.initial_window);
    }

    /// The key of an error: the first given one that can be the cause.
    fn key_of(&self, error: &SenderSettingsError, sender: &SenderSettings) -> &'static str {
        let is_share = |weight: f64| weight > 0.0 && weight <= 1.0;
        match error {
            SenderSettingsError::Weights if !is_share(sender.rto.weights.alpha) => "alpha",
            SenderSettingsError::Weights => "beta",
            SenderSettingsError::Factor => "k",
            SenderSettingsError::Granularity => "granularity",
            SenderSettingsError::Timeouts if self.rto_max.is_some() => "rto_max",
            SenderSettingsError::Timeouts if self.rto_initial.is_some() => "rto_initial",
            SenderSettingsError::Timeouts => "rto_min",
            SenderSettingsError::InitialWindow => "initial_window",
            SenderSettingsError::RecoveryAlone if self.fast_recovery.is_some() => "fast_recovery",
            SenderSettingsError::RecoveryAlone => "fast_retransmit",
        }
    }
}

impl From<PaperWeightsName> for RtoWeights {
    fn from(name: PaperWeightsName) -> RtoWeights {
        PAPER_WEIGHTS[name as usize]
    }
}

impl From<SamplingName> for SamplingStrategy {
    fn from(name: SamplingName) -> SamplingStrategy {
        match name {
            SamplingName::One => SamplingStrategy::One,
            SamplingName::Some => SamplingStrategy::Some,
            SamplingName::All => SamplingStrategy::All,
        }
    }
}

/// `bare:` without a value is a bare host, too, and not an ordinary one.
pub(crate) fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BareHostSpec>, D::Error> {
    let spec = Option::<BareHostSpec>::deserialize(deserializer)?;
    Ok(Some(spec.unwrap_or_default()))
}
