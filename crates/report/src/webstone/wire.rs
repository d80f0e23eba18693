//! What programs read of pages. Its types have what those of `stats` lack: microseconds, rounded numbers, and the
//! counts of 1995.

use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::DistributionJson;

/// What a run says of its pages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct WebStone {
    /// Complete pages a minute.
    pub(crate) number: f64,
    /// Its 95 % interval; null with fewer than 20 complete pages, or a window too short for one.
    pub(crate) number_ci95: Option<[f64; 2]>,
    /// The rate went up or down over times that are not short beside the window, so that the
    /// interval may be too narrow.
    pub(crate) wanders: bool,
    /// The totals as WebSTONE counted them in 1995, incomplete pages among them.
    pub(crate) classic: Classic,
    /// Users at work at the same time, the *webchildren*.
    pub(crate) children: u32,
    /// Seconds that count.
    pub(crate) seconds: f64,
    /// Load factor: mean number of requests in progress, connecting included. It has no interval.
    pub(crate) in_progress: f64,
    /// What was retrieved in the time that counts.
    pub(crate) retrieved: Retrieved,
    /// What was retrieved outside of it: pages that were under way at the end are completed.
    pub(crate) left_out: Retrieved,
    /// One entry for each server, where there are several.
    pub(crate) servers: Vec<ServerResult>,
    /// One entry for each page of the suite, in its order.
    pub(crate) pages: Vec<PageResult>,
}

/// The totals of 1995, of all files that came as expected, whatever became of their pages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Classic {
    /// The WEBSTONE number: pages a minute, complete or not, rounded down. As in 1995 it has no
    /// interval.
    pub(crate) number: f64,
    /// Total cumulative time: the response times of all files that came, added up.
    pub(crate) cumulative_seconds: f64,
    /// Pages that ended, complete or not.
    pub(crate) pages: u64,
    /// Requests for files that failed.
    pub(crate) errors: u64,
    /// Files that came; in 1995 each had a connection.
    pub(crate) files: u64,
    /// Their bytes, heads included.
    pub(crate) bytes: u64,
    /// Bytes of their bodies.
    pub(crate) body_bytes: u64,
    /// Bytes of their heads, and of what frames the bodies.
    pub(crate) header_bytes: u64,
    /// Bytes over the cumulative time, a second. As in 1995 it has no interval.
    pub(crate) thruput: f64,
}

/// Sizes of files that came, in bytes. What a suite draws decides about them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sizes", deny_unknown_fields)]
pub(crate) struct SizesJson {
    /// How many there are.
    pub(crate) n: u64,
    /// Arithmetic mean. It has no interval.
    pub(crate) mean: f64,
    /// Standard deviation; null for one file. It has no interval.
    pub(crate) sd: Option<f64>,
    /// Least.
    pub(crate) min: u64,
    /// Greatest.
    pub(crate) max: u64,
}

/// One of several servers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ServerResult {
    /// The collection there.
    pub(crate) url: String,
    /// Users that asked it.
    pub(crate) children: u32,
    /// Complete pages a minute.
    pub(crate) number: f64,
    /// Its 95 % interval; null as above.
    pub(crate) number_ci95: Option<[f64; 2]>,
    /// As above.
    pub(crate) wanders: bool,
    /// What was retrieved there in the time that counts.
    pub(crate) retrieved: Retrieved,
}

/// One page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PageResult {
    /// Name of the page.
    pub(crate) name: String,
    /// How often it is drawn, in relation to the other pages.
    pub(crate) weight: f64,
    /// Bytes of all its files together; null where the suite does not say.
    pub(crate) bytes: Option<u64>,
    /// Names of its rows in `tests`, a file each.
    pub(crate) files: Vec<String>,
    /// What was retrieved of it in the time that counts.
    pub(crate) retrieved: Retrieved,
}

/// What visits to pages came to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Retrieved {
    /// Complete pages: every file came as expected.
    pub(crate) pages: u64,
    /// Incomplete ones: a file failed, was short or too long, or was never asked for.
    pub(crate) errors: u64,
    /// Files that came as expected.
    pub(crate) files: u64,
    /// Requests for files that failed.
    pub(crate) failed_files: u64,
    /// Connections that were opened.
    pub(crate) connects: u64,
    /// TCP segments sent on connections that ended with these pages, those that close them not included;
    /// absent where connections are kept, and where the system does not count segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) segments_sent: Option<u64>,
    /// TCP segments received on them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) segments_received: Option<u64>,
    /// Bytes of complete pages, heads of responses included.
    pub(crate) bytes: u64,
    /// Bytes of their bodies.
    pub(crate) body_bytes: u64,
    /// Bytes of their heads, and of what frames the bodies.
    pub(crate) header_bytes: u64,
    /// Bytes of incomplete pages, which are in none of the above.
    pub(crate) bytes_apart: u64,
    /// Bytes of all requests.
    pub(crate) bytes_sent: u64,
    /// How long opening a connection took, TLS included; null where none was opened.
    pub(crate) connect_us: Option<DistributionJson>,
    /// Response time of WebSTONE, of a file: from the beginning, connecting included, to the last
    /// byte. `tests` have that from the last byte sent to the first received.
    pub(crate) response_us: Option<DistributionJson>,
    /// The same of a complete page.
    pub(crate) page_us: Option<DistributionJson>,
    /// From the beginning of a complete page to the first byte of its first answer.
    pub(crate) first_byte_us: Option<DistributionJson>,
    /// Sizes of the answers of files that came, heads included, those of incomplete pages among
    /// them; null without any.
    pub(crate) response_bytes: Option<SizesJson>,
    /// Sizes of their bodies.
    pub(crate) response_body_bytes: Option<SizesJson>,
    /// All times of `connect_us` together.
    pub(crate) connect_total_us: f64,
    /// All times of `page_us` together.
    pub(crate) page_total_us: f64,
}
