//! What programs read of pages. Its types have what those of `stats` lack: microseconds, rounded
//! numbers, and the counts of 1995.

use record::{MeasureId, Run};
use stats::{BodySizes, PageSummary, PagesSummary, ServerSummary, Visits};

use super::classic::ClassicTotals;
use super::total;
use crate::fields::{IfAny, each, fields};
use crate::json::{rates, thousandths, us};

fields! {
    /// What a run says of its pages.
    (&Run, &PagesSummary), "WebStone", |(run, pages)| {
        /// Complete pages a minute.
        number = thousandths(pages.per_minute),
        /// Its 95 % interval; null with fewer than 20 complete pages, or a window too short for
        /// one.
        number_ci95 = pages.per_minute_ci95.map(rates),
        /// The rate went up or down over times that are not short beside the window, so that the
        /// interval may be too narrow.
        wanders = pages.wanders,
        /// The totals as WebSTONE counted them in 1995, incomplete pages among them.
        classic = ClassicTotals::of(run, pages),
        /// Users at work at the same time, the *webchildren*.
        children = run.plan.load.users,
        /// Seconds that count.
        seconds = pages.window_s,
        /// Load factor: mean number of requests in progress, connecting included. It has no
        /// interval.
        in_progress = thousandths(pages.in_progress),
        /// What was retrieved in the time that counts.
        retrieved = &pages.all,
        /// What was retrieved outside of it: pages that were under way at the end are completed.
        left_out = &pages.left_out,
        /// One entry for each server, where there are several.
        servers = &pages.servers,
        /// One entry for each page of the suite, in its order.
        pages = each(&pages.pages, |page| (*run, page)),
    }
}

fields! {
    /// The totals of 1995, of all files that came as expected, whatever became of their pages.
    ClassicTotals, "Classic", |totals| {
        /// The WEBSTONE number: pages a minute, complete or not, rounded down. As in 1995 it has no
        /// interval.
        number = totals.number(),
        /// Total cumulative time: the response times of all files that came, added up.
        cumulative_seconds = totals.response_s,
        /// Pages that ended, complete or not.
        pages = totals.pages,
        /// Requests for files that failed.
        errors = totals.errors,
        /// Files that came; in 1995 each had a connection.
        files = totals.files,
        /// Their bytes, heads included.
        bytes = totals.data(),
        /// Bytes of their bodies.
        body_bytes = totals.body,
        /// Bytes of their heads, and of what frames the bodies.
        header_bytes = totals.head,
        /// Bytes over the cumulative time, a second. As in 1995 it has no interval.
        thruput = thousandths(totals.thruput()),
    }
}

fields! {
    /// Sizes of files that came, in bytes. What a suite draws decides about them.
    BodySizes, "Sizes", |sizes| {
        /// How many there are.
        n = sizes.n,
        /// Arithmetic mean. It has no interval.
        mean = thousandths(sizes.mean()),
        /// Standard deviation; null for one file. It has no interval.
        sd = sizes.sd().map(thousandths),
        /// Least.
        min = sizes.min,
        /// Greatest.
        max = sizes.max,
    }
}

fields! {
    /// One of several servers.
    ServerSummary, "ServerResult", |server| {
        /// The collection there.
        url = &server.url,
        /// Users that asked it.
        children = server.users,
        /// Complete pages a minute.
        number = thousandths(server.per_minute),
        /// Its 95 % interval; null as above.
        number_ci95 = server.per_minute_ci95.map(rates),
        /// As above.
        wanders = server.wanders,
        /// What was retrieved there in the time that counts.
        retrieved = &server.visits,
    }
}

fields! {
    /// One page.
    (&Run, &PageSummary), "PageResult", |(run, page)| {
        /// Name of the page.
        name = &page.page.name,
        /// How often it is drawn, in relation to the other pages.
        weight = page.page.weight,
        /// Bytes of all its files together; null where the suite does not say.
        bytes = page.page.bytes,
        /// Names of its rows in `tests`, a file each.
        files = files(run, page),
        /// What was retrieved of it in the time that counts.
        retrieved = &page.visits,
    }
}

fields! {
    /// What visits to pages came to.
    Visits, "Retrieved", |visits| {
        /// Complete pages: every file came as expected.
        pages = visits.complete,
        /// Incomplete ones: a file failed, was short or too long, or was never asked for.
        errors = visits.incomplete,
        /// Files that came as expected.
        files = visits.files,
        /// Requests for files that failed.
        failed_files = visits.failed,
        /// Connections that were opened.
        connects = visits.connects,
        /// TCP segments sent on connections that ended with these pages, those that close them not
        /// included; absent where connections are kept, and where the system does not count
        /// segments.
        segments_sent = IfAny(visits.segments.map(|segments| segments.sent)),
        /// TCP segments received on them.
        segments_received = IfAny(visits.segments.map(|segments| segments.received)),
        /// Bytes of complete pages, heads of responses included.
        bytes = visits.bytes_received,
        /// Bytes of their bodies.
        body_bytes = visits.body_received,
        /// Bytes of their heads, and of what frames the bodies.
        header_bytes = visits.head_received(),
        /// Bytes of incomplete pages, which are in none of the above.
        bytes_apart = visits.bytes_apart,
        /// Bytes of all requests.
        bytes_sent = visits.bytes_sent,
        /// How long opening a connection took, TLS included; null where none was opened.
        connect_us = visits.connect,
        /// Response time of WebSTONE, of a file: from the beginning, connecting included, to the
        /// last byte. `tests` have that from the last byte sent to the first received.
        response_us = visits.file,
        /// The same of a complete page.
        page_us = visits.load,
        /// From the beginning of a complete page to the first byte of its first answer.
        first_byte_us = visits.first_byte,
        /// Sizes of the answers of files that came, heads included, those of incomplete pages among
        /// them; null without any.
        response_bytes = sizes(&visits.came.size),
        /// Sizes of their bodies.
        response_body_bytes = sizes(&visits.came.body),
        /// All times of `connect_us` together.
        connect_total_us = us(total(&visits.connect) * 1e9),
        /// All times of `page_us` together.
        page_total_us = us(total(&visits.load) * 1e9),
    }
}

fn sizes(sizes: &BodySizes) -> Option<BodySizes> {
    (sizes.n > 0).then_some(*sizes)
}

fn files<'a>(run: &'a Run, page: &PageSummary) -> Vec<&'a str> {
    let measure = |file: &MeasureId| run.plan.measures.get(usize::from(file.0));
    let measures = page.page.files.iter().filter_map(measure);
    measures.map(|measure| measure.name.as_str()).collect()
}
