//! Messages of the libraries: their log records are printed like messages of the program.

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::output::print_message;

/// The libraries whose log records are messages for users.
const LIBRARIES: [&str; 2] = ["runner", "campaign"];

struct MessageLogger;

/// From now on, their messages are printed.
pub fn listen() {
    // Fails only if there is a logger already.
    let _ = log::set_logger(&MessageLogger);
    log::set_max_level(LevelFilter::Info);
}

impl Log for MessageLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let library = metadata.target().split("::").next();
        metadata.level() <= Level::Info
            && library.is_some_and(|library| LIBRARIES.contains(&library))
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            print_message(&message(record));
        }
    }

    fn flush(&self) {}
}

fn message(record: &Record<'_>) -> String {
    let text = record.args();
    match record.level() {
        Level::Error | Level::Warn => format!("prestan: warning: {text}"),
        Level::Info | Level::Debug | Level::Trace => format!("prestan: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_our_libraries_are_printed_and_no_others() {
        let logged = |target, level| {
            let text = format_args!("it is late");
            let record = Record::builder()
                .target(target)
                .level(level)
                .args(text)
                .build();
            let is_told = MessageLogger.enabled(record.metadata());
            is_told.then(|| message(&record))
        };
        let info = logged("runner::background::follower", Level::Info);
        assert_eq!(info.as_deref(), Some("prestan: it is late"));
        let warning = logged("runner", Level::Warn);
        assert_eq!(warning.as_deref(), Some("prestan: warning: it is late"));
        for (target, level) in [
            ("runner", Level::Debug),
            ("runners::x", Level::Warn),
            ("rustls::client", Level::Warn),
        ] {
            assert_eq!(logged(target, level), None, "{target}");
        }
    }
}
