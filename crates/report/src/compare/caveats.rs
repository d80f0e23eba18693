//! Caveats of a comparison, and reasons why runs cannot be compared: a sentence each.

use record::Pace;
use stats::{Caveat, Difference, Setting, TotalTimes};

use crate::background::flows_in_words;
use crate::clean;
use crate::lists::more_rows;
use crate::units::human;
use crate::warnings::warning;

/// Rows that a caveat spells out.
const ROWS: usize = 3;

/// Why runs cannot be compared.
pub fn difference(difference: &Difference) -> String {
    match difference {
        Difference::Pairs(a, b) => format!(
            "there are {a} runs of one and {b} of the other; runs are compared in pairs, so give as \
             many of both"
        ),
        Difference::Twice(run) => format!(
            "the run {run} is given more than once for the same server; a run counts once, so give \
             different ones"
        ),
        Difference::Plan(one, other) => {
            let remedy = match one {
                Setting::Clock(_) => "measure both with --clock user, which every machine has",
                _ => "measure again with the same",
            };
            let what = differs(one, other);
            format!("the runs differ in what they measured: {what}; {remedy}")
        }
    }
}

pub(crate) fn caveat(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Disqualified(runs) => format!(
            "the load generator may have changed rows in {runs} of the runs; their pairs are not part of \
             the ratios of these rows"
        ),
        Caveat::Incomplete(runs) => format!("{runs} of the runs did not complete"),
        Caveat::OneRun => "one run of each does not show how much runs of one server differ, so there \
                           are ratios but no verdicts; measure both with `--for 60s`, or give several \
                           recorded runs of each as DIR,DIR,..."
            .to_owned(),
        Caveat::OneProcess => "the servers were not restarted for each run: verdicts apply to these \
                               two processes, and two processes of one program differ, too; let prestan \
                               start them (--server, or --start-a and --start-b)"
            .to_owned(),
        Caveat::SameRun(1) => "it is the same run on both sides".to_owned(),
        Caveat::SameRun(pairs) => format!("{pairs} pairs are the same run on both sides"),
        Caveat::Apart(pairs) => format!(
            "not measured side by side ({pairs} {}): changes of the machine between the runs are part of \
             the ratios; `prestan compare` with both URLs measures in turns",
            if *pairs == 1 { "pair" } else { "pairs" }
        ),
        Caveat::OtherProcesses(server) => format!(
            "the kernel counted no processor time of the processes that were watched of {server}: is one of them the server \
             that responds (--pid)?"
        ),
        Caveat::Origins(server, origins) => format!("{server}: {}", warning(origins)),
        Caveat::TotalTimes(rows) => {
            let row = |row: &TotalTimes| {
                let (name, a, b) = (clean(&row.row), human(row.a), human(row.b));
                format!("{name} {a} with A, {b} with B")
            };
            let shown: Vec<String> = rows.iter().take(ROWS).map(row).collect();
            let more = more_rows(rows.len().saturating_sub(ROWS)).map_or(String::new(), |more| format!("; {more}"));
            format!(
                "median total times (to the last byte of the response) differ by more than these ratios show: \
                 {}{more}; compare them with --times total",
                shown.join("; ")
            )
        }
        Caveat::Differs(one, other) => differs(one, other),
    }
}

fn differs(one: &Setting, other: &Setting) -> String {
    let (what, one) = in_words(one);
    let (_, other) = in_words(other);
    format!("{what} is {one} in one and {other} in the other")
}

fn in_words(setting: &Setting) -> (&'static str, String) {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    match setting {
        Setting::Suite(name, sha256) => ("the suite", format!("{name} ({sha256:.12})")),
        Setting::Params(params) => ("the set of parameters", params.clone()),
        Setting::Clock(clock) => ("the clock", format!("{clock:?}").to_lowercase()),
        Setting::Users(users) => ("the number of users", users.to_string()),
        Setting::Servers(servers) => ("the number of servers", servers.to_string()),
        Setting::Load { pace, in_turn } => {
            let order = if *in_turn {
                ", in the order of the suite"
            } else {
                ""
            };
            ("the load", format!("{pace:?}{order}"))
        }
        Setting::Http(http) => ("the use of HTTP", http.to_string()),
        Setting::Beside(loads) => {
            let load = |(suite, sha256, users, pace): &(String, String, u32, Pace)| {
                format!("{suite} ({sha256:.12}), users: {users}, {pace:?}")
            };
            let loads: Vec<String> = loads.iter().map(load).collect();
            let loads = Some(loads.join("; ")).filter(|text| !text.is_empty());
            ("the load beside the run", or_none(loads))
        }
        Setting::Background(components, generators) => {
            let all = Some(flows_in_words(components, generators)).filter(|text| !text.is_empty());
            ("the background traffic", or_none(all))
        }
        Setting::Tests(tests) => ("the set of tests", tests.join(", ")),
        Setting::Requests(requests) => {
            let requests = requests.map(|n| n.to_string());
            ("the number of requests", or_none(requests))
        }
        Setting::Duration(seconds) => {
            let seconds = seconds.map(|s| format!("{s} s"));
            ("the duration", or_none(seconds))
        }
        Setting::Version(version) => ("the version of prestan", version.clone()),
        Setting::Machine { cpu, cores, os } => (
            "the machine that measured",
            format!("{cpu} ({cores} cores, {os})"),
        ),
        Setting::Warmup(rounds) => ("the number of rounds to warm up", rounds.to_string()),
        Setting::Scheme(scheme) => ("the scheme of the URL", or_none(scheme.clone())),
        Setting::Acks(asked) => {
            let acks = if *asked { "asked for" } else { "not asked for" };
            ("the stamp of acknowledgements", acks.to_owned())
        }
        Setting::Timeout(seconds) => ("the timeout", format!("{seconds} s")),
        Setting::Verify(ways) => {
            let ways: Vec<&str> = ways.iter().map(|way| way.name()).collect();
            ("the verification of responses", ways.join(" and "))
        }
        Setting::Inside(is_looked_into) => {
            let inside = if *is_looked_into {
                "asked for"
            } else {
                "not asked for"
            };
            (
                "the look inside of the server, which makes fast operations slower,",
                inside.to_owned(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{BackgroundComponent, BackgroundGenerator, Clock, Verify};

    use super::*;

    #[test]
    fn settings_that_differ_are_told_with_both_values() {
        let scheme = |name: &str| Setting::Scheme(Some(name.to_owned()));
        let table = [
            (
                Setting::Users(1),
                Setting::Users(7),
                "the number of users is 1 in one and 7 in the other",
            ),
            (
                scheme("http"),
                scheme("https"),
                "the scheme of the URL is http in one and https in the other",
            ),
            (
                Setting::Acks(false),
                Setting::Acks(true),
                "the stamp of acknowledgements is not asked for in one and asked for in the other",
            ),
            (
                Setting::Verify(vec![Verify::Full]),
                Setting::Verify(vec![Verify::Full, Verify::Head]),
                "the verification of responses is full in one and full and head in the other",
            ),
            (
                Setting::Inside(true),
                Setting::Inside(false),
                "the look inside of the server, which makes fast operations slower, is asked for in one and not asked for in \
                 the other",
            ),
            (
                Setting::Background(Vec::new(), Vec::new()),
                Setting::Background(
                    vec![BackgroundComponent {
                        name: "voice".to_owned(),
                        protocol: "udp".to_owned(),
                        flows: 2,
                        planned_bps: Some(8e5),
                    }],
                    vec![BackgroundGenerator {
                        name: "bulk".to_owned(),
                        command: vec!["iperf3".to_owned()],
                        sink_command: Vec::new(),
                    }],
                ),
                "the background traffic is none in one and voice (udp, flows: 2, 800 kbit/s); generator bulk \
                 (iperf3) in the other",
            ),
            (
                Setting::Duration(Some(30.0)),
                Setting::Duration(None),
                "the duration is 30 s in one and none in the other",
            ),
        ];
        for (one, other, expected) in table {
            assert_eq!(caveat(&Caveat::Differs(one, other)), expected);
        }
        let clocks = Difference::Plan(Setting::Clock(Clock::User), Setting::Clock(Clock::Kernel));
        assert_eq!(
            difference(&clocks),
            "the runs differ in what they measured: the clock is user in one and kernel in the other; measure \
             both with --clock user, which every machine has"
        );
    }
}
