//! Reports without parts that change from run to run and from machine to machine: words and their
//! positions stay.

/// Beginnings of lines of which the rest changes.
const CHANGING: [&str; 7] = [
    "Prestan: ",
    "Suite: prestan, version 2 ",
    "Suite: load, version 1 ",
    "Clock: ",
    "Client: ",
    "Started: ",
    "Idle Round Trip: ",
];

/// Beginnings of paragraphs that are wrapped where the numbers in them want it.
const WRAPPED: [&str; 3] = ["Clock: ", GENERATOR, "- "];
const GENERATOR: &str = "Load generator:";

/// Notes about events on a machine that also runs other programs.
const BY_CHANCE: [&str; 4] = [
    ": most of the time passes after the first byte of the response",
    ": throughput varied over ",
    ": throughput varied slowly over ",
    "the slowest operation is a large part ",
];

/// A report with numbers as #, and without warnings, of which a busy machine has others than a
/// quiet one.
pub(crate) fn shape(report: &str) -> String {
    let (before, rest) = report.split_once("\nWarnings:\n").unwrap_or((report, ""));
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let mut lines: Vec<String> = Vec::new();
    let (mut in_histogram, mut in_verdict) = (false, false);
    for line in before.lines().chain([""]).chain(after.lines()) {
        in_histogram &= !line.is_empty();
        in_verdict = line.starts_with("Inconclusive: ") || (in_verdict && !line.is_empty());
        let is_paragraph = |last: &str| last.starts_with(GENERATOR) && !line.is_empty();
        let is_wrapped =
            line.starts_with("  ") || lines.last().is_some_and(|last| is_paragraph(last));
        match lines.last_mut() {
            // A bar for each range of times that there were.
            _ if in_histogram || in_verdict => continue,
            Some(last) if is_wrapped && WRAPPED.iter().any(|start| last.starts_with(start)) => {
                *last = format!("{last} {}", line.trim_start());
            }
            Some(last) if line.is_empty() && last.is_empty() => {}
            _ => lines.push(line.to_owned()),
        }
        in_histogram |= line.contains(": operations by response time");
    }
    let lines: Vec<String> = lines
        .iter()
        .filter(|line| !BY_CHANCE.iter().any(|note| line.contains(note)))
        .map(|line| redacted(line))
        .collect();
    lines.join("\n").replace("Notes:\n\n", "")
}

fn redacted(line: &str) -> String {
    if let Some(start) = CHANGING.iter().find(|start| line.starts_with(*start)) {
        return format!("{start}<...>");
    }
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        if word.starts_with("http://127.0.0.1:") {
            words.push("<url>".to_owned());
            continue;
        }
        let bare = word.trim_matches(|c: char| "(),;*".contains(c));
        let is_unit = ["µs", "ms", "s"].contains(&bare);
        let after_number = words.last().is_some_and(|last| last.ends_with('#'));
        words.push(match bare.parse::<f64>() {
            Ok(_) => word.replace(bare, "#").replace('*', ""),
            Err(_) if is_unit && after_number => word.replace(bare, "<unit>").replace('*', ""),
            Err(_) => word.to_owned(),
        });
    }
    // A busy machine may hold the generator up, and a quiet one never does.
    let line = words.join(" ");
    line.replace("stalled # % (at most # <unit>)", "never stalled")
}
