//! Agreement of numbers with their law: tests of Kolmogorov and Smirnov and of Pearson, and the
//! Hurst parameter.

mod goodness;
mod hurst;

pub use goodness::{Agreement, discrete_agreement, kolmogorov_smirnov};
pub use hurst::{HurstEstimate, LogscalePoint, Wavelet, hurst};
