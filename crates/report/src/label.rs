//! A server under another name (`--label`): text that identifies it leaves the record before any
//! report is made, so that no report can print it.
//!
//! The record on disk keeps all.

use core::net::{IpAddr, SocketAddr};

use std::collections::BTreeMap;

use record::{
    CallTarget, Environment, Event, EventKind, FlameRow, FlameStack, OF_KERNEL, PlanRecord, Server,
    ServerTimeSource, TracedCall,
};

/// Stands where something was left out.
const HIDDEN: &str = "(not shown)";

/// Tokens of a DAV header that identify no program: the classes of RFC 4918, section 18.
const CLASSES: [&str; 3] = ["1", "2", "3"];

/// Methods of an Allow header that are kept: those of RFC 9110, RFC 5789 and RFC 4918. Any other
/// token is text of the server, and the extensions it has may be those of one program only.
const METHODS: [&str; 16] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
];

/// Words of a Server header that are also words of reports.
const COMMON: [&str; 6] = ["prestan", "dav", "webdav", "http", "https", "server"];

/// Gives the server of a run the name that its plan has for it, if it has one, in everything that
/// reports are made of.
pub fn apply_label(plan: &mut PlanRecord, env: &mut Environment, events: &mut [Event]) {
    let Some(label) = plan.label.clone() else {
        return;
    };
    let server = ServerLabel::of(&label, plan.servers(), env.servers());
    server.plan(plan);
    for answered in env.server.iter_mut().chain(&mut env.others) {
        answered.software = None;
        answered.via = None;
        answered.addresses.clear();
        answered.dav.retain(|token| is_class(token));
        answered
            .allow
            .retain(|method| METHODS.contains(&method.as_str()));
    }
    rename_metrics(events);
    rename_addresses(events);
    for event in events {
        server.event(event);
    }
}

/// A server gives its metrics whatever names it likes: they have numbers instead, in the order of
/// their names.
fn rename_metrics(events: &mut [Event]) {
    let metrics = events.iter_mut().filter_map(|event| match &mut event.kind {
        EventKind::ServerTimes(times) => match &mut times.source {
            ServerTimeSource::Header { metric } => Some(metric),
            ServerTimeSource::AccessLog => None,
        },
        _ => None,
    });
    number_names(metrics.collect(), "metric");
}

/// Addresses have numbers, and caches no names.
fn rename_addresses(events: &mut [Event]) {
    let rows = events.iter_mut().filter_map(|event| match &mut event.kind {
        EventKind::Origins(row) => Some(row),
        _ => None,
    });
    let addresses = rows.flat_map(|row| {
        row.cache = None;
        row.addresses.iter_mut().map(|address| &mut address.address)
    });
    number_names(addresses.collect(), "address");
}

/// Replaces each name by a number, in the order of the names.
fn number_names(mut names: Vec<&mut String>, what: &str) {
    names.sort();
    let (mut before, mut number) = (None, 0);
    for name in names {
        if before.as_ref() != Some(name) {
            before = Some(name.clone());
            number += 1;
        }
        *name = format!("{what} {number}");
    }
}

/// A message about any of several servers, as reports may show it: each label with the URLs, or
/// names of recipes, that it stands for. Without a label, the message stays as it is.
pub fn labelled_text<'a>(
    labels: impl IntoIterator<Item = (&'a str, &'a [String])>,
    text: &str,
) -> String {
    let mut labels = labels.into_iter().map(|(label, urls)| {
        let urls = urls.iter().map(String::as_str);
        ServerLabel::of(label, urls, core::iter::empty())
    });
    let mut text = text.to_owned();
    if let Some(mut all) = labels.next() {
        // All names first: afterwards, all other text that names a server is hidden, whichever it
        // is.
        all.replaced.extend(labels.flat_map(|label| label.replaced));
        all.sort();
        all.hide(&mut text);
    }
    text
}

/// The name of a server, and the texts that it replaces.
struct ServerLabel {
    label: String,
    /// Texts with their replacements, in the order in which they are applied.
    replaced: Vec<(String, String)>,
}

impl ServerLabel {
    fn of<'a>(
        label: &str,
        urls: impl Iterator<Item = &'a str>,
        servers: impl Iterator<Item = &'a Server>,
    ) -> ServerLabel {
        let mut replaced = Vec::new();
        let mut hosts = Vec::new();
        for (url, number) in urls.zip(0..) {
            let name = numbered(label, number);
            let (authority, path) = parts(url);
            replaced.push((url.trim_end_matches('/').to_owned(), name.clone()));
            if path.len() > 1 {
                replaced.push((path.to_owned(), "/".to_owned()));
            }
            hosts.push((authority.to_owned(), name.clone()));
            // An IP address is hidden as all of them are, and may be a part of another one.
            if host(authority).parse::<IpAddr>().is_err() {
                hosts.push((host(authority).to_owned(), name));
            }
        }
        replaced.append(&mut hosts);
        let identifying = servers.flat_map(identifying);
        replaced.extend(identifying.map(|word| (word, HIDDEN.to_owned())));
        replaced.retain(|(from, _)| !from.is_empty());
        let mut label = ServerLabel {
            label: label.to_owned(),
            replaced,
        };
        label.sort();
        label
    }

    /// The longest first: a part of something longer would leave the rest of it.
    fn sort(&mut self) {
        let replaced = &mut self.replaced;
        replaced.sort_by_key(|(from, _)| core::cmp::Reverse(from.len()));
    }

    fn plan(&self, plan: &mut PlanRecord) {
        plan.target = self.label.clone();
        for (other, number) in plan.others.iter_mut().zip(1..) {
            *other = numbered(&self.label, number);
        }
        if let Some(side) = &mut plan.side {
            side.clone_from(&self.label);
        }
        if let Some(inside) = &mut plan.inside {
            // Names of programs.
            inside.processes.clear();
        }
        self.hide(&mut plan.suite.title);
        let titles = plan.tests.iter_mut().filter_map(|test| test.title.as_mut());
        titles.for_each(|title| self.hide(title));
        // The command names the server in as many ways as there are options.
        plan.command = None;
        for note in &mut plan.notes {
            self.hide(&mut note.text);
        }
    }

    fn event(&self, event: &mut Event) {
        match &mut event.kind {
            EventKind::NotSupported { evidence, .. }
            | EventKind::TestFailed { evidence, .. }
            | EventKind::OperationFailed { evidence, .. } => self.hide(evidence),
            EventKind::Note { text, .. } | EventKind::Warning { text } => self.hide(text),
            EventKind::LeftBehind(left) => {
                self.hide(&mut left.url);
                self.hide(&mut left.reason);
            }
            EventKind::Aborted { reason } => self.hide(reason),
            EventKind::BackgroundEnded(end) => {
                if let Some(failure) = &mut end.failure {
                    self.hide(failure);
                }
            }
            EventKind::Traced(row) => row.calls.iter_mut().for_each(hide_target),
            EventKind::Flame(row) => hide_functions(row),
            EventKind::Background(_)
            | EventKind::Inside(_)
            | EventKind::UnseenCalls { .. }
            | EventKind::ServerTimes(_)
            | EventKind::Origins(_)
            | EventKind::AccessLog(_)
            | EventKind::TestStarted { .. }
            | EventKind::MeasuringStarted { .. }
            | EventKind::MeasuringEnded { .. }
            | EventKind::Generator(_)
            | EventKind::ClockStepped { .. }
            | EventKind::Goal(_)
            | EventKind::LoadChanged { .. }
            | EventKind::EndedEarly { .. }
            | EventKind::TestEnded { .. }
            | EventKind::FirstAnswer { .. }
            | EventKind::ClosedSilently { .. }
            | EventKind::Interrupted => {}
        }
    }

    fn hide(&self, text: &mut String) {
        for (from, to) in &self.replaced {
            *text = replace_words(text, from, to);
        }
        *text = without_addresses(&without_authorities(text));
    }
}

/// The name of the `number`th server of a run: the first has the label itself.
fn numbered(label: &str, number: usize) -> String {
    match number {
        0 => label.to_owned(),
        _ => format!("{label} #{}", number + 1),
    }
}

/// Authority and path of a URL.
fn parts(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// The host of an authority, without the brackets of IPv6.
fn host(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

fn is_class(token: &str) -> bool {
    CLASSES.contains(&token)
}

/// Texts by which a server identifies itself, whole and word by word.
fn identifying(server: &Server) -> Vec<String> {
    let software = server.software.as_deref().unwrap_or_default();
    let separates = |c: char| c.is_whitespace() || "/()[],;".contains(c);
    let is_name = |word: &&str| {
        let is_common = COMMON
            .iter()
            .any(|common| common.eq_ignore_ascii_case(word));
        word.len() > 2 && !is_common
    };
    let words = software.split(separates).filter(is_name);
    let tokens = server.dav.iter().map(String::as_str);
    let tokens = tokens.filter(|token| !is_class(token));
    let all = words
        .chain([software])
        .chain(tokens)
        .chain(server.via.as_deref());
    all.map(str::to_owned).collect()
}

/// Replaces a text where it is no part of a word, whatever the case of its letters.
fn replace_words(text: &str, from: &str, to: &str) -> String {
    let (lower, wanted) = (text.to_ascii_lowercase(), from.to_ascii_lowercase());
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    while let Some(found) = lower[rest..].find(&wanted) {
        let (start, end) = (rest + found, rest + found + wanted.len());
        let goes_on = |one: Option<char>, other: Option<char>| {
            one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
        };
        let before = end_of_word(&lower[..start]);
        let after = lower[end..].chars().next();
        let is_part =
            goes_on(before, wanted.chars().next()) || goes_on(wanted.chars().next_back(), after);
        out.push_str(&text[rest..start]);
        out.push_str(if is_part { &text[start..end] } else { to });
        rest = end;
    }
    out.push_str(&text[rest..]);
    out
}

/// The last character of a text, if what follows may be a part of its word. In excerpts a line end
/// is `\\n`.
fn end_of_word(text: &str) -> Option<char> {
    let is_escaped = ["\\n", "\\r", "\\t"].iter().any(|end| text.ends_with(end));
    text.chars().next_back().filter(|_| !is_escaped)
}

/// Hides the authority in URLs, also in those without a scheme: a redirect may point anywhere.
fn without_authorities(text: &str) -> String {
    const SLASHES: &str = "//";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find(SLASHES) {
        let (before, after) = rest.split_at(found + SLASHES.len());
        out.push_str(before);
        rest = after;
        // Within a path they separate nothing.
        if end_of_word(&before[..found]).is_some_and(|c| c.is_alphanumeric() || c == '/') {
            continue;
        }
        let end = after.find(|c: char| c.is_whitespace() || "/\"'<>?#;,`".contains(c));
        out.push_str(HIDDEN);
        rest = &after[end.unwrap_or(after.len())..];
    }
    out.push_str(rest);
    out
}

/// An IP address, with a port, brackets or a zone, or without.
fn is_address(word: &str) -> bool {
    let bare = word.split('%').next().unwrap_or_default();
    let bare = bare.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok()
}

/// Hides IP addresses, with their ports.
fn without_addresses(text: &str) -> String {
    let is_of_address = |c: char| c.is_ascii_hexdigit() || ".:[]%".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_address) {
        let (before, after) = rest.split_at(start);
        let end = after.find(|c| !is_of_address(c)).unwrap_or(after.len());
        let is_apart = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
        // The end of a sentence is none of an address.
        let word = after[..end].trim_end_matches(['.', ':']);
        // The address may stand behind a name and a colon.
        let starts = std::iter::once(0).chain(word.match_indices(':').map(|(at, _)| at + 1));
        let mut addresses = starts.filter(|at| is_address(&word[*at..]));
        let is_within_zone = word.contains('%');
        let is_behind = is_within_zone || is_apart(after[end..].chars().next());
        let address = addresses.next().filter(|at| {
            let is_before = *at > 0 || is_apart(end_of_word(before));
            is_before && is_behind
        });
        out.push_str(before);
        if let Some(at) = address {
            out.push_str(&after[..at]);
            out.push_str(HIDDEN);
            out.push_str(&after[word.len()..end]);
        } else {
            out.push_str(&after[..end]);
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// Names of the files of a server, and of the hosts that it contacts, reveal which program it is.
fn hide_target(call: &mut TracedCall) {
    if let CallTarget::File { path: name } | CallTarget::Socket { peer: name } = &mut call.target {
        "*".clone_into(name);
    }
}

/// Functions of the kernel are the same for all servers; those of a server have its name, mostly.
/// Stacks that differ in these only become one.
fn hide_functions(row: &mut FlameRow) {
    let mut hidden: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for stack in &row.stacks {
        let names = stack.stack.split(';');
        let names = names.map(|name| if name.ends_with(OF_KERNEL) { name } else { "*" });
        let sum = hidden
            .entry(names.collect::<Vec<_>>().join(";"))
            .or_default();
        sum.resize(sum.len().max(stack.samples.len()), 0);
        for (sum, part) in sum.iter_mut().zip(&stack.samples) {
            *sum += part;
        }
    }
    let stacks = hidden.into_iter();
    row.stacks = stacks
        .map(|(stack, samples)| FlameStack { stack, samples })
        .collect();
    row.stacks
        .sort_by_key(|stack| core::cmp::Reverse(stack.count()));
}

#[cfg(test)]
mod tests;
