//! The constants of the application models, each with its source, and their rates.

use std::sync::Arc;

use super::parts::ModelParts;
use super::resolve::{Resolved, at, block_bytes, factor, frame_rate, positive_time, wrong};
use super::spec::{FtpSpec, GopSpec, TelnetSpec, VideoSpec, VoipSpec, WwwSpec};
use crate::probability::{Curve, ProbabilityLaw};
use crate::quantity::Octets;
use crate::source::{
    Interval, OnOffLaws, PacketVideo, PageLaws, PictureLaws, RTP_BYTES, RequestLaws,
    mean_embedded_objects,
};

/// The lengths of objects in the HTTP model of 3GPP2 C.R1002-0, cdma2000 Evaluation Methodology
/// (2004), which refers to Barford and Crovella (1998), SIGMETRICS '98, 151-160, for the form of
/// the laws: mean and standard deviation of the logarithm, least and most bytes.
const MAIN_OBJECT: [f64; 4] = [8.37, 1.37, 100.0, 2e6];
const EMBEDDED_OBJECT: [f64; 4] = [6.17, 2.36, 50.0, 2e6];
/// The lengths of files in the FTP model of the same document.
const FILE: [f64; 4] = [14.45, 0.35, 0.0, 5e6];

fn object([mu, sigma, least, most]: [f64; 4], factor: f64) -> Result<ProbabilityLaw, String> {
    let median = factor * libm::exp(mu);
    let curve = Curve::Lognormal { median, sigma };
    ProbabilityLaw::new(curve, factor * least, factor * most)
}

pub(super) fn www(spec: &WwwSpec) -> Resolved {
    let size_factor = factor("size_factor", spec.size_factor)?;
    let main = object(MAIN_OBJECT, size_factor).map_err(at("size_factor"))?;
    let embedded = object(EMBEDDED_OBJECT, size_factor).map_err(at("size_factor"))?;
    let reading = ProbabilityLaw::exponential(positive_time("reading", spec.reading)?);
    let parsing = ProbabilityLaw::exponential(positive_time("parsing", spec.parsing)?);
    let page_bytes = main.mean_whole() + mean_embedded_objects() * embedded.mean_whole();
    let page_s = (reading.mean() + parsing.mean()) / 1e9;
    let rate = 8.0 * page_bytes / page_s;
    let laws = PageLaws {
        main,
        embedded,
        parsing,
        reading,
        most_bytes: block_bytes("block", spec.block)?,
    };
    Ok((ModelParts::Pages(Arc::new(laws)), Some(rate), None))
}

pub(super) fn ftp(spec: &FtpSpec) -> Resolved {
    let size = object(FILE, factor("size_factor", spec.size_factor)?).map_err(at("size_factor"))?;
    let gap = ProbabilityLaw::exponential(positive_time("reading", spec.reading)?);
    let rate = 8e9 * size.mean_whole() / gap.mean();
    let laws = RequestLaws {
        gap,
        blocks: ProbabilityLaw::constant(1.0),
        size,
        most_bytes: Some(block_bytes("block", spec.block)?),
    };
    Ok((ModelParts::Requests(Arc::new(laws)), Some(rate), None))
}

/// Paxson and Floyd (1995), IEEE/ACM Transactions on Networking 3, 226-244, section IV: the
/// distances of the packets that a user of telnet causes are those of tcplib (Danzig and Jamin,
/// 1991), whose body is a Pareto law with this shape, and 1.1 s on average. That mean only exists
/// because the measured distances end: here at 10,000 times the shortest, so that 10 % exceed 1 s
/// with the default (15 % in tcplib) and none is longer than 14 minutes.
const KEYSTROKE_SHAPE: f64 = 0.9;
const KEYSTROKE_RANGE: f64 = 10_000.0;

pub(super) fn telnet(spec: &TelnetSpec) -> Resolved {
    let pareto = |min: f64| {
        let shape = KEYSTROKE_SHAPE;
        ProbabilityLaw::new(Curve::Pareto { min, shape }, 0.0, min * KEYSTROKE_RANGE)
    };
    let mean = positive_time("gap", spec.gap)?;
    let of_one = pareto(1.0).map_err(at("gap"))?.mean();
    let gap = pareto(mean / of_one).map_err(at("gap"))?;
    let bytes = block_bytes("block", spec.block)?;
    let laws = RequestLaws {
        gap,
        blocks: ProbabilityLaw::constant(1.0),
        size: ProbabilityLaw::constant(f64::from(bytes)),
        most_bytes: None,
    };
    let rate = 8e9 * f64::from(bytes) / mean;
    Ok((ModelParts::Requests(Arc::new(laws)), Some(rate), None))
}

/// ITU-T P.59 (1993), artificial conversational speech: the mean talkspurt and the mean pause in
/// nanoseconds. Both are exponential here, as in the model of Brady (1969), Bell System Technical
/// Journal 48, 2445-2472.
const TALKSPURT_NS: f64 = 1.004e9;
const PAUSE_NS: f64 = 1.587e9;

pub(super) fn voip(spec: &VoipSpec) -> Resolved {
    let (voice_bytes, every_ns) = spec.codec.packets();
    let block_bytes = voice_bytes + RTP_BYTES;
    let interval = Interval::from_nanos(every_ns);
    let peak = 8e9 * f64::from(block_bytes) / every_ns as f64;
    if !spec.silence_suppression {
        let parts = ModelParts::Steady {
            block_bytes,
            interval,
        };
        return Ok((parts, Some(peak), Some(peak)));
    }
    let laws = OnOffLaws {
        on: ProbabilityLaw::exponential(TALKSPURT_NS),
        off: ProbabilityLaw::exponential(PAUSE_NS),
        interval,
        block_bytes,
    };
    let mean = peak * TALKSPURT_NS / (TALKSPURT_NS + PAUSE_NS);
    Ok((ModelParts::OnOff(Arc::new(laws)), Some(mean), Some(peak)))
}

/// The near real-time video of 3GPP2 C.R1002-0 (2004): see `source::frames`.
pub(super) fn video(spec: &VideoSpec) -> Resolved {
    let per_second = frame_rate(spec.fps)?;
    let scale = PacketVideo::scale_for(spec.rate.bits_per_second() as f64, per_second);
    if !(0.1..=1e4).contains(&scale) {
        let why =
            "gives packets of less than 5 or more than 500000 bytes; choose rate and fps that fit";
        return Err(wrong("rate", why));
    }
    let rate = PacketVideo::mean_rate_bps(per_second, scale);
    let parts = ModelParts::PacketVideo { per_second, scale };
    Ok((parts, Some(rate), None))
}

/// Frames of each type have log-normal lengths: Krunz and Hughes (1995), SIGMETRICS '95, 47-55.
pub(super) fn gop(spec: &GopSpec) -> Resolved {
    let per_second = frame_rate(spec.fps)?;
    let variation = spec.variation;
    if !(0.05..=5.0).contains(&variation) {
        return Err(wrong("variation", "must be between 0.05 and 5"));
    }
    let sigma = libm::sqrt(libm::log1p(variation * variation));
    let frame = |key: &'static str| {
        move |mean: Octets| {
            if mean.bytes() < 1 {
                return Err(wrong(key, "must be at least 1 byte"));
            }
            let median = mean.bytes() as f64 * libm::exp(-0.5 * sigma * sigma);
            let law = ProbabilityLaw::new(Curve::Lognormal { median, sigma }, 0.0, f64::INFINITY);
            law.map(Arc::new).map_err(at(key))
        }
    };
    let i = frame("i")(spec.i)?;
    let p = spec.p.map(frame("p")).transpose()?;
    let b = spec.b.map(frame("b")).transpose()?;
    let pattern = |why: &str| wrong("pattern", why);
    let law_of_letter = |letter| match letter {
        'I' => Ok(Arc::clone(&i)),
        'P' => p
            .clone()
            .ok_or_else(|| pattern("has a P; give the key p, too")),
        'B' => b
            .clone()
            .ok_or_else(|| pattern("has a B; give the key b, too")),
        _ => Err(pattern("consists of the letters I, P and B")),
    };
    if !spec.pattern.starts_with('I') || spec.pattern.len() > 1000 {
        return Err(pattern("begins with I and has at most 1000 letters"));
    }
    let letters = spec.pattern.chars();
    let group: Vec<_> = letters.map(law_of_letter).collect::<Result<_, _>>()?;
    let bytes: f64 = group.iter().map(|law| law.mean_whole()).sum();
    let rate = 8.0 * bytes / group.len() as f64 * per_second;
    let laws = PictureLaws {
        per_second,
        group,
        most_bytes: block_bytes("block", spec.block)?,
    };
    Ok((ModelParts::Pictures(Arc::new(laws)), Some(rate), None))
}
