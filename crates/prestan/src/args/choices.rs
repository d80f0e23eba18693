//! Options whose value is one of a few words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use engine::ClockChoice;
use record::{AddressChoice, Arrivals, HttpVersion};
use report::{Design, Find, TextLayout};
use stats::ComparedTimes;
use terminal::screen::ColorChoice;
use wire::auth::AuthScheme;

use crate::exit::ExitStatus;

/// Words, their values, and their descriptions in `--help`.
type Choices<T, const N: usize> = [(&'static str, T, &'static str); N];

/// Parses one of these words.
pub(crate) fn choice<T: Copy + Send + Sync + 'static, const N: usize>(
    choices: Choices<T, N>,
) -> impl TypedValueParser<Value = T> {
    let shown = choices.map(|(word, _, help)| match help {
        "" => PossibleValue::new(word),
        help => PossibleValue::new(word).help(help),
    });
    PossibleValuesParser::new(shown).try_map(move |word| {
        let chosen = choices.iter().find(|(known, ..)| *known == word);
        chosen.map(|(_, meaning, _)| *meaning).ok_or("no such word")
    })
}

/// Choice among the addresses of a host.
#[rustfmt::skip]
pub(crate) const ADDRESSES: Choices<AddressChoice, 3> = [
    ("first", AddressChoice::First, "The first that answers, in the order of the resolver"),
    ("random", AddressChoice::Random, "One at random for each connection"),
    ("round-robin", AddressChoice::RoundRobin, "One after the other"),
];

/// Distribution of the planned moments of an open loop.
#[rustfmt::skip]
pub(crate) const ARRIVALS: Choices<Arrivals, 2> = [
    ("constant", Arrivals::Constant, "Equal intervals"),
    ("poisson", Arrivals::Poisson, "Random and independent, as from many independent users"),
];

/// Scheme of authentication.
#[rustfmt::skip]
pub(crate) const AUTH: Choices<AuthScheme, 4> = [
    ("auto", AuthScheme::Auto, "Digest if the server offers it, otherwise Basic; Bearer for a token. Basic and Bearer are \
                                sent without a challenge only over TLS, a Unix socket or loopback"),
    ("basic", AuthScheme::Basic, "Basic, from the first request on"),
    ("digest", AuthScheme::Digest, "Digest only: the password is never sent"),
    ("bearer", AuthScheme::Bearer, "Bearer, from the first request on"),
];

/// Clock of a run.
#[rustfmt::skip]
pub(crate) const CLOCK: Choices<ClockChoice, 3> = [
    ("auto", ClockChoice::Auto, "Kernel time stamps if available, otherwise the user clock with a warning"),
    ("kernel", ClockChoice::Kernel, "Kernel time stamps of packets"),
    ("user", ClockChoice::User, "Clock read before and after the system calls: less overhead, but includes the wake-up of \
                                 the client"),
];

/// Use of colours.
#[rustfmt::skip]
pub(crate) const COLOR: Choices<ColorChoice, 3> = [
    ("auto", ColorChoice::Auto, "On a terminal, unless NO_COLOR is set or TERM is dumb; elsewhere with CLICOLOR_FORCE"),
    ("always", ColorChoice::Always, "Always"),
    ("never", ColorChoice::Never, "Never"),
];

/// Points of a sweep.
#[rustfmt::skip]
pub(crate) const DESIGN: Choices<Design, 2> = [
    ("grid", Design::Grid, "All combinations"),
    ("one", Design::OneAtATime, "Each parameter alone, with the others at their first value"),
];

/// Goal of a search.
#[rustfmt::skip]
pub(crate) const FIND: Choices<Find, 2> = [
    ("users", Find::Users, "Concurrent users, each of which waits for its responses (closed loop)"),
    ("rate", Find::Rate, "Requests per second, whatever the server does (open loop)"),
];

/// Version of HTTP in requests.
pub(crate) const HTTP: Choices<HttpVersion, 3> = [
    ("1.0", HttpVersion::Http10, ""),
    ("1.1", HttpVersion::Http11, ""),
    ("2", HttpVersion::Http2, ""),
];

/// Exit status of an inconclusive result.
pub(crate) const INCONCLUSIVE: Choices<ExitStatus, 2> = [
    ("pass", ExitStatus::Done, "Exit status 0"),
    ("fail", ExitStatus::TestFailed, "Exit status 1"),
];

/// Layout of the report of a run.
#[rustfmt::skip]
pub(crate) const LAYOUT: Choices<TextLayout, 4> = [
    ("full", TextLayout::Full, "Figures first, then their limits, then how they were measured"),
    ("brief", TextLayout::Brief, "Figures, and one sentence about their limits"),
    ("2004", TextLayout::Of2004, "The report of 2004 (Xu, section 5.6), to the letter"),
    ("calls", TextLayout::Calls, "Every system call of the server that --inside or --pid has counted"),
];

/// Compared times.
pub(crate) const TIMES: Choices<ComparedTimes, 2> = [
    ("response", ComparedTimes::ToFirstByte, "Response times"),
    ("total", ComparedTimes::Total, "Total times"),
];

/// TLS handshakes: true for full ones only.
pub(crate) const TLS_RESUMPTION: Choices<bool, 2> = [
    ("on", false, "If the server offers it"),
    ("off", true, "Never: each handshake is a full one"),
];
