//! The report of 1995 (Trent and Sake, section 7), counted as in 1995.
//!
//! The formulas are those by which the three reports that the paper prints can be recomputed from
//! their own figures, which the tests do:
//!
//! - The cumulative time is the average response time times the number of connects: the response
//!   times of all files that came, added up. Failed requests are not in it.
//! - Thruput is the amount of data over that time.
//! - Pages that miss a file were counted as retrieved, and are in the number.
//! - Averages of times end after the microsecond, the number after the page; averages of bytes are
//!   rounded.

use record::Run;
use stats::{PageSummary, PagesSummary, Visits};

use super::{average, longest, seconds, total};
use crate::clean;

/// What the totals are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassicTotals {
    pub(super) clients: u32,
    /// Time that counts.
    pub(super) minutes: f64,
    /// Pages that ended, complete or not.
    pub(super) pages: u64,
    pub(super) errors: u64,
    /// Files that came. In 1995 each had a connect.
    pub(super) files: u64,
    /// Their response times together, seconds.
    pub(super) response_s: f64,
    /// The longest of them.
    pub(super) longest_response_s: f64,
    pub(super) connects: u64,
    /// How long that took together, seconds.
    pub(super) connect_s: f64,
    /// The longest of them.
    pub(super) longest_connect_s: f64,
    /// Bytes of the bodies of these files.
    pub(super) body: u64,
    /// Bytes of their heads.
    pub(super) head: u64,
}

impl ClassicTotals {
    pub(super) fn of(run: &Run, pages: &PagesSummary) -> ClassicTotals {
        let all = &pages.all;
        ClassicTotals {
            clients: run.plan.load.users,
            minutes: pages.window_s / 60.0,
            pages: hits(all),
            errors: all.failed,
            files: all.files,
            response_s: average(&all.file) * all.files as f64,
            longest_response_s: longest(&all.file),
            connects: all.connects,
            connect_s: average(&all.connect) * all.connects as f64,
            longest_connect_s: longest(&all.connect),
            body: all.came.body.sum,
            head: all.came.size.sum.saturating_sub(all.came.body.sum),
        }
    }

    /// The WEBSTONE number: pages a minute.
    pub(super) fn number(&self) -> f64 {
        over(self.pages as f64, self.minutes).floor()
    }

    pub(super) fn data(&self) -> u64 {
        self.body + self.head
    }

    /// Bytes a second of the cumulative time.
    pub(super) fn thruput(&self) -> f64 {
        over(self.data() as f64, self.response_s)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let per_file = |amount: f64| over(amount, self.files as f64);
        vec![
            format!("WEBSTONE number: {:.0}", self.number()),
            format!("Total number of clients: {}", self.clients),
            format!(
                "Total cumulative time of test for all hosts (sec): {:.6}",
                self.response_s
            ),
            format!(
                "Total number of pages retrieved from server: {}",
                self.pages
            ),
            format!("Total number of errors to server: {}", self.errors),
            format!("Total number of connects to server: {}", self.connects),
            format!(
                "Average time per connect: {:.6} seconds",
                whole_us(over(self.connect_s, self.connects as f64))
            ),
            format!(
                "Maximum time to connect: {:.6} seconds",
                self.longest_connect_s
            ),
            format!("Total amount of data moved: {}", self.data()),
            format!("Total bytes of body moved: {} bytes.", self.body),
            format!("Total bytes of header moved {}", self.head),
            format!(
                "Average body size: {:.0} bytes.",
                per_file(self.body as f64)
            ),
            format!("Average retrieval size {:.0}", per_file(self.data() as f64)),
            format!("Thruput = {:.0} bytes/sec", self.thruput()),
            format!(
                "Average Response time: {:.6} seconds",
                whole_us(per_file(self.response_s))
            ),
            format!(
                "Maximum Response time: {:.6} seconds",
                self.longest_response_s
            ),
        ]
    }
}

pub(super) fn page_block(number: usize, PageSummary { page, visits }: &PageSummary) -> Vec<String> {
    let heading = format!("Page # {number} ({})", clean(&page.name));
    let size = match page.bytes {
        Some(bytes) => bytes.to_string(),
        None => "unknown".to_owned(),
    };
    let came = &visits.came;
    vec![
        heading,
        format!("Total number of times page was hit {}", hits(visits)),
        format!("Total time {:.6} seconds", total(&visits.file)),
        format!("Maximum Response time {:.6}", seconds(came.longest)),
        format!("Total connect time for page {:.6}", total(&visits.connect)),
        format!(
            "Maximum time to connect {:.6}",
            seconds(came.longest_connect)
        ),
        format!("Total amount of data moved {}", came.body.sum),
        format!("Page size {size}"),
        format!("Total number of connects {}", visits.connects),
        String::new(),
    ]
}

/// Pages that ended, complete or not.
fn hits(visits: &Visits) -> u64 {
    visits.complete + visits.incomplete
}

pub(super) fn over(amount: f64, by: f64) -> f64 {
    if by > 0.0 { amount / by } else { 0.0 }
}

/// Whole microseconds, as integers divide. A sum of decimals may miss them by a billionth.
fn whole_us(seconds: f64) -> f64 {
    (seconds * 1e6 + 1e-3).floor() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a printed report: hits, files of the page, seconds of response, bytes of the
    /// page, bytes moved, connects.
    type Printed = (u64, u64, f64, u64, u64, u64);

    /// A report of section 7: of its totals, and of its pages.
    struct PrintedReport {
        totals: ClassicTotals,
        pages: [Printed; 6],
        lines: &'static str,
    }

    const NETSITE: PrintedReport = PrintedReport {
        totals: ClassicTotals {
            clients: 24,
            minutes: 35.0,
            pages: 15_770,
            errors: 0,
            files: 41_672,
            response_s: 50_333.931_099,
            longest_response_s: 19.524_160,
            connects: 41_672,
            connect_s: 41_672.0 * 0.004_304,
            longest_connect_s: 5.782_854,
            body: 17_401_507_840,
            head: 7_966_720,
        },
        pages: [
            (6649, 3, 4_238.492_450, 12_288, 81_702_912, 19_947),
            (607, 3, 526.552_497, 48_128, 29_213_696, 1821),
            (980, 2, 15_710.908_864, 6_291_456, 6_165_626_880, 1960),
            (2866, 3, 2_581.663_009, 218_112, 625_108_992, 8598),
            (3040, 2, 25_083.667_145, 3_167_232, 9_628_385_280, 6080),
            (1628, 2, 2_148.113_647, 525_312, 855_207_936, 3256),
        ],
        lines: "WEBSTONE number: 450
Total number of clients: 24
Total cumulative time of test for all hosts (sec): 50333.931099
Total number of pages retrieved from server: 15770
Total number of errors to server: 0
Total number of connects to server: 41672
Average time per connect: 0.004304 seconds
Maximum time to connect: 5.782854 seconds
Total amount of data moved: 17409474560
Total bytes of body moved: 17401507840 bytes.
Total bytes of header moved 7966720
Average body size: 417583 bytes.
Average retrieval size 417774
Thruput = 345879 bytes/sec
Average Response time: 1.207859 seconds
Maximum Response time: 19.524160 seconds",
    };

    const NCSA: PrintedReport = PrintedReport {
        totals: ClassicTotals {
            clients: 24,
            minutes: 35.0,
            pages: 3134,
            errors: 0,
            files: 8420,
            response_s: 50_244.193_163,
            longest_response_s: 42.658_441,
            connects: 8420,
            connect_s: 8420.0 * 0.014_684,
            longest_connect_s: 5.995_063,
            body: 2_847_382_528,
            head: 1_517_056,
        },
        pages: [
            (1414, 3, 16_772.472_590, 12_288, 17_375_232, 4242),
            (144, 3, 1_797.158_479, 48_128, 6_930_432, 432),
            (102, 2, 4_813.787_541, 6_291_456, 641_728_512, 204),
            (580, 3, 7_588.192_121, 218_112, 126_504_960, 1740),
            (600, 2, 16_247.815_216, 3_167_232, 1_900_339_200, 1200),
            (294, 2, 2_922.036_210, 525_312, 154_441_728, 588),
        ],
        lines: "WEBSTONE number: 89
Total number of clients: 24
Total cumulative time of test for all hosts (sec): 50244.193163
Total number of pages retrieved from server: 3134
Total number of errors to server: 0
Total number of connects to server: 8420
Average time per connect: 0.014684 seconds
Maximum time to connect: 5.995063 seconds
Total amount of data moved: 2848899584
Total bytes of body moved: 2847382528 bytes.
Total bytes of header moved 1517056
Average body size: 338169 bytes.
Average retrieval size 338349
Thruput = 56701 bytes/sec
Average Response time: 5.967243 seconds
Maximum Response time: 42.658441 seconds",
    };

    const CERN: PrintedReport = PrintedReport {
        totals: ClassicTotals {
            clients: 24,
            minutes: 45.0,
            pages: 9412,
            errors: 247,
            files: 25_167,
            response_s: 45_943.710_179,
            longest_response_s: 34.973_206,
            connects: 25_167,
            connect_s: 25_167.0 * 0.823_767,
            longest_connect_s: 30.002_288,
            body: 9_389_627_392,
            head: 5_063_680,
        },
        pages: [
            (3724, 3, 16_302.320_093, 12_288, 45_530_112, 11_105),
            (501, 3, 2_637.893_006, 48_128, 24_018_944, 1496),
            (432, 2, 3_164.881_323, 6_291_456, 2_707_423_232, 862),
            (2080, 3, 8_849.459_607, 218_112, 453_441_536, 6205),
            (1732, 2, 10_588.881_744, 3_167_232, 5_447_897_088, 3452),
            (943, 2, 3_968.363_226, 525_312, 491_273_216, 1878),
        ],
        lines: "WEBSTONE number: 209
Total number of clients: 24
Total cumulative time of test for all hosts (sec): 45943.710179
Total number of pages retrieved from server: 9412
Total number of errors to server: 247
Total number of connects to server: 25167
Average time per connect: 0.823767 seconds
Maximum time to connect: 30.002288 seconds
Total amount of data moved: 9394691072
Total bytes of body moved: 9389627392 bytes.
Total bytes of header moved 5063680
Average body size: 373093 bytes.
Average retrieval size 373294
Thruput = 204483 bytes/sec
Average Response time: 1.825553 seconds
Maximum Response time: 34.973206 seconds",
    };

    #[test]
    fn the_three_reports_of_1995_come_out_of_their_own_figures() {
        for report in [NETSITE, NCSA, CERN] {
            assert_eq!(report.totals.lines().join("\n"), report.lines);
        }
    }

    #[test]
    fn the_pages_of_1995_add_up_to_the_totals() {
        for PrintedReport { totals, pages, .. } in [NETSITE, NCSA, CERN] {
            let hits: u64 = pages.iter().map(|page| page.0).sum();
            assert_eq!(hits, totals.pages);
            // Of pages that the end of the test cut off, the files are in the totals only: with
            // CERN, whose children waited long, 0.7 % of the connects and 2.3 % of the bytes.
            let connects: u64 = pages.iter().map(|page| page.5).sum();
            let response_s: f64 = pages.iter().map(|page| page.2).sum();
            let body: u64 = pages.iter().map(|page| page.4).sum();
            assert!((0.99..=1.0).contains(&(connects as f64 / totals.connects as f64)));
            assert!((0.99..=1.0).contains(&(response_s / totals.response_s)));
            assert!((0.97..=1.0).contains(&(body as f64 / totals.body as f64)));
        }
    }

    #[test]
    fn incomplete_pages_were_counted_and_their_missing_files_were_not() {
        // Pages with fewer connects than files have fewer bytes, too, by whole files: page 2 of
        // CERN lacks two of its files of 5 MiB.
        let (hits, files, _, size, moved, connects) = CERN.pages[2];
        assert_eq!(hits * files - connects, 2);
        assert_eq!(hits * size - moved, 2 * (5 << 20));
        let short = |page: &&Printed| page.0 * page.1 > page.5;
        assert_eq!(CERN.pages.iter().filter(short).count(), 6);
        assert_eq!(NETSITE.pages.iter().filter(short).count(), 0);
        // They are in the number all the same, and errors are not in the cumulative time: 24
        // children for 45 minutes are 64,800 s.
        let hits: u64 = CERN.pages.iter().map(|page| page.0).sum();
        assert_eq!(hits / 45, 209);
        let share = CERN.totals.response_s / (24.0 * 45.0 * 60.0);
        assert_eq!((share * 100.0) as u32, 70, "{share}");
    }
}
