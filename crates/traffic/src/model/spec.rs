//! Models as written in a traffic file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::LawSpec;
use crate::quantity::{BitRate, BlockCount, Octets, TimeSpan};

/// How a source behaves: one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSpec {
    /// As fast as the network takes it, or paced at a rate.
    Full(FullSpec),
    /// Constant rate.
    Cbr(CbrSpec),
    /// Requests at random distances, with a random number of blocks of random length.
    User(UserSpec),
    /// Constant rate in random periods, silence between them.
    OnOff(OnOffSpec),
    /// Markov-modulated Poisson process.
    Mmpp(MmppSpec),
    /// Many sources together: self-similar, with a given Hurst parameter.
    SelfSimilar(SelfSimilarSpec),
    /// Pages of the World Wide Web, one user.
    Www(WwwSpec),
    /// Files by FTP, one user.
    Ftp(FtpSpec),
    /// Keystrokes of one user.
    Telnet(TelnetSpec),
    /// One direction of a telephone call.
    Voip(VoipSpec),
    /// Near real-time video in small packets.
    Video(VideoSpec),
    /// Video in groups of pictures of given sizes.
    Gop(GopSpec),
}

/// As fast as the network takes it, or paced at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FullSpec {
    /// Length of a block; default 8KiB.
    #[serde(default = "block_8k")]
    pub block: Octets,
    /// Paced at this rate of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// Constant rate: two of `rate`, `block` and `every`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbrSpec {
    /// Rate of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Length of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Octets>,
    /// Time between two blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<TimeSpan>,
}

/// Requests at random distances, with a random number of blocks of random length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserSpec {
    /// Time between two requests.
    pub gap: LawSpec<TimeSpan>,
    /// Blocks of a request, rounded, at least 1; default 1.
    #[serde(default = "one_block")]
    pub blocks: LawSpec<BlockCount>,
    /// Length of a block.
    pub block: LawSpec<Octets>,
}

/// Constant rate in random periods, silence between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    /// Time of a period with blocks.
    pub on: LawSpec<TimeSpan>,
    /// Time of silence.
    pub off: LawSpec<TimeSpan>,
    /// Rate of payload during a period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Length of a block.
    pub block: Octets,
}

/// Markov-modulated Poisson process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MmppSpec {
    /// Blocks per second in each state.
    pub rates: Vec<f64>,
    /// The generator matrix: row i, column j has the changes per second from state i to state j;
    /// rows add up to 0.
    pub generator: Vec<Vec<f64>>,
    /// Length of a block.
    pub block: LawSpec<Octets>,
}

/// Many sources together: self-similar, with a given Hurst parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelfSimilarSpec {
    /// Mean rate of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Hurst parameter: 0.55 to 0.95.
    pub hurst: f64,
    /// Length of a block.
    pub block: Octets,
    /// Shortest time scale of the self-similarity; default 10ms.
    #[serde(default = "slot_10ms")]
    pub slot: TimeSpan,
    /// Mean number of sources that are sending; the rates in slots vary by 1 / sqrt(this) of their
    /// mean. Default 50.
    #[serde(default = "fifty")]
    pub sessions: f64,
}

/// Pages of the World Wide Web, one user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WwwSpec {
    /// Mean time between two pages; default 30s.
    #[serde(default = "reading_30s")]
    pub reading: TimeSpan,
    /// Mean time between the main object and the embedded ones; default 130ms.
    #[serde(default = "parsing_130ms")]
    pub parsing: TimeSpan,
    /// Factor of the lengths of all objects; default 1.
    #[serde(default = "one")]
    pub size_factor: f64,
    /// Longest block; default 8KiB.
    #[serde(default = "block_8k")]
    pub block: Octets,
}

/// Files by FTP, one user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtpSpec {
    /// Mean time between two files; default 180s.
    #[serde(default = "reading_180s")]
    pub reading: TimeSpan,
    /// Factor of the lengths of files, which are 2 MB on average; default 1.
    #[serde(default = "one")]
    pub size_factor: f64,
    /// Longest block; default 8KiB.
    #[serde(default = "block_8k")]
    pub block: Octets,
}

/// Keystrokes of one user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelnetSpec {
    /// Mean time between two packets; default 1.1s.
    #[serde(default = "gap_1100ms")]
    pub gap: TimeSpan,
    /// Length of a packet's payload; default 1.
    #[serde(default = "one_byte")]
    pub block: Octets,
}

/// One direction of a telephone call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VoipSpec {
    /// Coder of the voice.
    pub codec: VoiceCodec,
    /// Nothing is sent in pauses of the speaker; default true.
    #[serde(default = "yes")]
    pub silence_suppression: bool,
}

/// Coders of voice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VoiceCodec {
    /// 64 kbit/s, 160 bytes every 20 ms.
    G711,
    /// 8 kbit/s, 20 bytes every 20 ms.
    G729,
    /// 6.4 kbit/s with its padding, 24 bytes every 30 ms.
    #[serde(rename = "g723.1")]
    G7231,
}

impl VoiceCodec {
    /// Bytes of voice in a packet, and nanoseconds between packets.
    pub(crate) fn packets(self) -> (u32, u64) {
        match self {
            VoiceCodec::G711 => (160, 20_000_000),
            VoiceCodec::G729 => (20, 20_000_000),
            VoiceCodec::G7231 => (24, 30_000_000),
        }
    }
}

/// Near real-time video in small packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoSpec {
    /// Mean rate without RTP headers; default 32kbit. The lengths of packets grow with it.
    #[serde(default = "rate_32k")]
    pub rate: BitRate,
    /// Frames per second; default 10.
    #[serde(default = "ten")]
    pub fps: f64,
}

/// Video in groups of pictures of given sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GopSpec {
    /// The pattern that is repeated, of I, P and B: `IBBPBBPBBPBB`.
    pub pattern: String,
    /// Frames per second.
    pub fps: f64,
    /// Mean length of an I frame.
    pub i: Octets,
    /// Mean length of a P frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<Octets>,
    /// Mean length of a B frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<Octets>,
    /// Standard deviation of the lengths of each type, as a part of their mean; default 0.25.
    #[serde(default = "quarter")]
    pub variation: f64,
    /// Longest block; default 1400.
    #[serde(default = "block_1400")]
    pub block: Octets,
}

fn block_8k() -> Octets {
    Octets::from_bytes(8192)
}

fn block_1400() -> Octets {
    Octets::from_bytes(1400)
}

fn one_byte() -> Octets {
    Octets::from_bytes(1)
}

fn one_block() -> LawSpec<BlockCount> {
    LawSpec::Constant(BlockCount::ONE)
}

fn slot_10ms() -> TimeSpan {
    TimeSpan::from_nanos(10_000_000)
}

fn reading_30s() -> TimeSpan {
    TimeSpan::from_nanos(30_000_000_000)
}

fn parsing_130ms() -> TimeSpan {
    TimeSpan::from_nanos(130_000_000)
}

fn reading_180s() -> TimeSpan {
    TimeSpan::from_nanos(180_000_000_000)
}

fn gap_1100ms() -> TimeSpan {
    TimeSpan::from_nanos(1_100_000_000)
}

fn rate_32k() -> BitRate {
    BitRate::from_bits_per_second(32_000)
}

fn fifty() -> f64 {
    50.0
}

fn ten() -> f64 {
    10.0
}

fn one() -> f64 {
    1.0
}

fn quarter() -> f64 {
    0.25
}

fn yes() -> bool {
    true
}
