//! Kinds of the numbers in JSON documents: estimates with an interval, estimates without one, and
//! facts.

/// Where the interval of an estimate stands, in the same object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Interval {
    /// Under that key.
    Key(&'static str),
    /// In the list under that key, at that place.
    Place(&'static str, usize),
}
use Interval::{Key, Place};

/// Kinds of the numbers of one type of object. A number that is in no list fails the test: its
/// author decides on the kind.
pub(crate) struct Numbers {
    /// The type, as the schema calls it; empty for the document itself.
    pub(crate) of: &'static str,
    pub(crate) estimates: &'static [(&'static str, Interval)],
    /// Estimates without an interval, as their descriptions state.
    pub(crate) without: &'static [&'static str],
    /// Counts, settings, extremes, sums, and intervals.
    pub(crate) facts: &'static [&'static str],
}

pub(crate) const fn facts(of: &'static str, facts: &'static [&'static str]) -> Numbers {
    Numbers {
        of,
        estimates: &[],
        without: &[],
        facts,
    }
}

pub(crate) const RESULT: &[Numbers] = &[
    facts("", &["schema_version", "missed", "left_out"]),
    Numbers {
        of: "InsideMean",
        estimates: &[("mean", Key("ci95"))],
        without: &[],
        facts: &["ci95"],
    },
    Numbers {
        of: "InsideRow",
        estimates: &[],
        without: &["kernel_percent"],
        facts: &["operations", "memory_growth_bytes", "threads"],
    },
    facts(
        "AccessLog",
        &[
            "operations",
            "joined",
            "missing",
            "ambiguous",
            "beyond",
            "other_lines",
            "unreadable_lines",
        ],
    ),
    Numbers {
        of: "ServerViewFigure",
        estimates: &[("mean", Key("ci95"))],
        without: &[],
        facts: &["ci95"],
    },
    Numbers {
        of: "ServerViewRow",
        estimates: &[],
        without: &["ours_us"],
        facts: &["operations", "timed", "resolution_us"],
    },
    Numbers {
        of: "Traced",
        estimates: &[],
        without: &["slowed"],
        facts: &["operations", "other_calls"],
    },
    facts(
        "Flame",
        &[
            "operations",
            "frequency_hz",
            "samples",
            "lost",
            "without_callers",
            "other",
        ],
    ),
    Numbers {
        of: "FlameFunction",
        estimates: &[("percent", Key("ci95"))],
        without: &[],
        facts: &["samples", "ci95"],
    },
    facts("FlameStack", &["samples"]),
    Numbers {
        of: "TracedShares",
        estimates: &[],
        without: &[
            "sync_percent",
            "files_percent",
            "locks_percent",
            "others_percent",
            "queued_percent",
        ],
        facts: &[],
    },
    facts("ServerProcess", &["pid", "threads"]),
    Numbers {
        of: "TracedCall",
        estimates: &[],
        without: &["lasted_us"],
        facts: &["per_operation", "failed", "bytes_per_operation"],
    },
    facts(
        "BackgroundComponent",
        &[
            "flows",
            "planned_bits_per_second",
            "delay_variation_p50_us",
            "delay_variation_p99_us",
            "unsent_blocks",
            "failed_flows",
        ],
    ),
    facts(
        "BackgroundFigures",
        &[
            "sent_bits_per_second",
            "received_bits_per_second",
            "received",
            "lost",
            "overflowed",
            "lost_percent",
            "reordered",
            "duplicates",
            "retransmissions",
            "jitter_us",
            "delay_variation_us",
            "stalls",
            "stalled_s",
            "unsent_blocks",
            "failed_flows",
        ],
    ),
    facts(
        "BackgroundGeneratorEnd",
        &[
            "seconds",
            "sent_bytes",
            "received_bytes",
            "packets",
            "lost",
            "jitter_ns",
            "mean_delay_ns",
            "retransmissions",
        ],
    ),
    facts(
        "BackgroundPacing",
        &["blocks", "p50_ns", "p99_ns", "max_ns"],
    ),
    facts("BackgroundSecond", &["at_s"]),
    facts("Bar", &["from_us", "to_us", "response", "planned"]),
    Numbers {
        of: "Bias",
        estimates: &[
            ("p50", Place("percentiles_ci95", 0)),
            ("p99", Place("percentiles_ci95", 1)),
        ],
        without: &[],
        facts: &["n", "percentiles_ci95"],
    },
    Numbers {
        of: "Classic",
        estimates: &[],
        without: &["number", "thruput"],
        facts: &[
            "cumulative_seconds",
            "pages",
            "errors",
            "files",
            "bytes",
            "body_bytes",
            "header_bytes",
        ],
    },
    facts(
        "Connects",
        &["count", "resent", "segments_sent", "segments_received"],
    ),
    facts("Failure", &["count", "status", "first_s", "last_s"]),
    facts("Cached", &["responses"]),
    facts("Address", &["responses"]),
    facts("ServerAddress", &["connections"]),
    Numbers {
        of: "Distribution",
        estimates: &[
            ("mean", Key("ci95")),
            ("p50", Place("percentiles_ci95", 0)),
            ("p90", Place("percentiles_ci95", 1)),
            ("p95", Place("percentiles_ci95", 2)),
            ("p99", Place("percentiles_ci95", 3)),
            ("p999", Place("percentiles_ci95", 4)),
        ],
        without: &["sd"],
        facts: &["n", "min", "max", "ci95", "percentiles_ci95"],
    },
    facts("Exhausted", &["ports", "files", "buffers"]),
    facts(
        "Generator",
        &[
            "workers",
            "wall_s",
            "cpu_share",
            "queued_share",
            "stalled_s",
            "stalls",
            "longest_stall_us",
        ],
    ),
    facts("Goal", &["half_width_percent"]),
    facts("Http", &["pipeline", "parallel", "window"]),
    Numbers {
        of: "Lateness",
        estimates: &[],
        without: &["p50", "p99"],
        facts: &["n", "max"],
    },
    facts(
        "Load",
        &[
            "users",
            "requests",
            "duration_s",
            "warmup",
            "warmup_s",
            "timeout_s",
        ],
    ),
    facts("Machine", &["cores", "memory_bytes"]),
    Numbers {
        of: "Pings",
        estimates: &[],
        without: &["p50"],
        facts: &["n", "min", "max"],
    },
    facts("RoundTrip", &["tcp_us"]),
    // Constraints read estimates, with their intervals, and facts.
    Numbers {
        of: "Reading",
        estimates: &[("value", Key("interval"))],
        without: &[],
        facts: &["interval"],
    },
    facts(
        "Outcomes",
        &[
            "ok",
            "wrong_status",
            "wrong_body",
            "unsupported",
            "refused",
            "connect_failed",
            "timeout",
            "reset",
            "protocol_error",
            "dropped",
            "cancelled",
        ],
    ),
    facts("Pace", &["max_waiting"]),
    facts("PageResult", &["weight", "bytes"]),
    facts(
        "Retrieved",
        &[
            "pages",
            "errors",
            "files",
            "failed_files",
            "connects",
            "segments_sent",
            "segments_received",
            "bytes",
            "body_bytes",
            "header_bytes",
            "bytes_apart",
            "bytes_sent",
            "connect_total_us",
            "page_total_us",
        ],
    ),
    Numbers {
        of: "ServerResult",
        estimates: &[("number", Key("number_ci95"))],
        without: &[],
        facts: &["children", "number_ci95"],
    },
    facts("Share", &["count", "of"]),
    Numbers {
        of: "Sizes",
        estimates: &[],
        without: &["mean", "sd"],
        facts: &["n", "min", "max"],
    },
    facts("Adapt", &["least", "most", "every_s", "ladder"]),
    Numbers {
        of: "LoadStep",
        estimates: &[],
        without: &["per_second", "p50_us", "p99_us"],
        facts: &["users", "from_s", "seconds", "operations", "failed"],
    },
    facts("Role", &["users"]),
    facts("Stage", &["rate", "duration_s"]),
    facts("Suite", &["version"]),
    Numbers {
        of: "Test",
        estimates: &[("per_second", Key("per_second_ci95"))],
        without: &[],
        facts: &[
            "operations",
            "left_out",
            "early",
            "missed",
            "bytes_sent",
            "bytes_received",
            "window_s",
            "per_second_ci95",
        ],
    },
    Numbers {
        of: "WebStone",
        estimates: &[("number", Key("number_ci95"))],
        without: &["in_progress"],
        facts: &["children", "seconds", "number_ci95"],
    },
];

pub(crate) const SEARCH: &[Numbers] = &[
    Numbers {
        of: "",
        estimates: &[],
        without: &["knee"],
        facts: &["schema_version"],
    },
    facts("Held", &["load", "held", "trials", "at_least", "at_most"]),
    facts("NotMeasured", &["users"]),
    Numbers {
        of: "OfLoad",
        estimates: &[],
        without: &[
            "throughput_per_s",
            "mean_us",
            "p50_us",
            "p99_us",
            "processor_us",
        ],
        facts: &["load", "held", "trials", "failures"],
    },
    Numbers {
        of: "Point",
        estimates: &[
            ("throughput_per_s", Key("throughput_ci95_per_s")),
            ("mean_us", Key("mean_ci95_us")),
            ("p50_us", Key("p50_ci95_us")),
            ("p99_us", Key("p99_ci95_us")),
        ],
        without: &["processor_us"],
        facts: &[
            "load",
            "failures",
            "throughput_ci95_per_s",
            "mean_ci95_us",
            "p50_ci95_us",
            "p99_ci95_us",
        ],
    },
];

pub(crate) const SWEEP: &[Numbers] = &[
    facts("", &["schema_version", "repeats", "same_within_percent"]),
    Numbers {
        of: "Measured",
        estimates: &[("mean_us", Key("ci95_us")), ("ratio", Key("ratio_ci95"))],
        without: &[],
        facts: &["runs", "operations", "failed", "ci95_us", "ratio_ci95"],
    },
    Numbers {
        of: "OfParameter",
        estimates: &[("ratio", Key("ci95"))],
        without: &[],
        facts: &["from", "to", "ci95", "p", "p_holm"],
    },
    facts("NotMeasured", &["users"]),
    facts("OfServer", &["server"]),
    Numbers {
        of: "OfTerm",
        estimates: &[
            ("per_unit_us", Key("per_unit_ci95_us")),
            ("exponent_found", Key("exponent_ci95")),
        ],
        without: &[],
        // The exponent of the law is the one that was found, or 1 where that is as good.
        facts: &["exponent", "per_unit_ci95_us", "exponent_ci95"],
    },
    facts("Parameter", &["values"]),
    Numbers {
        of: "CallLaw",
        estimates: &[],
        without: &["base", "exponent"],
        facts: &[],
    },
    Numbers {
        of: "CallPoint",
        estimates: &[],
        without: &["per_operation"],
        facts: &[],
    },
    Numbers {
        of: "TheLaw",
        estimates: &[("base_us", Key("base_ci95_us"))],
        without: &["misfit_percent"],
        facts: &["base_ci95_us"],
    },
];

pub(crate) const CAMPAIGN: &[Numbers] = &[
    facts(
        "",
        &[
            "schema_version",
            "repetitions",
            "planned_trials",
            "ended_trials",
        ],
    ),
    Numbers {
        of: "Estimate",
        estimates: &[("mean", Key("ci95"))],
        without: &[],
        facts: &[
            "repetitions",
            "unfinished",
            "ci95",
            "predicted",
            "published",
        ],
    },
    facts("OfTrials", &["trials"]),
    facts("Orders", &["as_published", "reversed", "inconclusive"]),
    facts("Beside", &["compared", "within"]),
    Numbers {
        of: "Outside",
        estimates: &[],
        without: &["mean"],
        facts: &["predicted"],
    },
    facts("Trial", &["repetition", "seconds"]),
];
