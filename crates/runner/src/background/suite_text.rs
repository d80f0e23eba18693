//! The text of a suite for a record, with redacted commands of generators.

use std::borrow::Cow;
use std::collections::BTreeMap;

use suite::spec::BackgroundSpec;
use suite::{BackgroundPlan, Plan, TrafficOrigin};
use traffic::GeneratorSpec;
use wire::redact::redacted_arguments;

use crate::error::RunnerError;

/// The text of this plan's suite, as recorded.
///
/// # Errors
/// A secret is written in another form than the parsed one, so that it cannot be redacted.
pub(crate) fn recorded_suite<'a>(text: &'a str, plan: &Plan) -> Result<Cow<'a, str>, RunnerError> {
    let Some(BackgroundPlan {
        traffic: TrafficOrigin::Here(described),
        ..
    }) = &plan.background
    else {
        return Ok(Cow::Borrowed(text));
    };
    let mut recorded = Cow::Borrowed(text);
    let secrets = described.generators.values().flat_map(secrets_of);
    for (secret, shown) in secrets {
        recorded = Cow::Owned(without_secret(&recorded, &secret, &shown));
    }
    if matches!(recorded, Cow::Borrowed(_)) || !has_secrets(&recorded) {
        return Ok(recorded);
    }
    Err(RunnerError::Usage(
        "the record has the text of the suite, and what is secret in the commands of its generators cannot be left out of \
         it; write the traffic in a file of its own (`background: load.yaml`), which is not recorded"
            .to_owned(),
    ))
}

/// True if commands in a suite have secrets that are written in another form than the parsed one,
/// or that cannot be found.
fn has_secrets(suite: &str) -> bool {
    let Ok(suite) = suite::parse("suite", suite) else {
        return true;
    };
    let traffic = match suite.background.map(|background| background.value) {
        Some(BackgroundSpec::Keys(keys)) => keys.traffic,
        Some(BackgroundSpec::File(_)) | None => None,
    };
    let mut generators = traffic
        .into_iter()
        .flat_map(|traffic| traffic.value.generators);
    generators.any(|(_, generator)| !secrets_of(&generator).is_empty())
}

/// Secret arguments of a generator and their replacements; longest first, because one may be part
/// of another.
fn secrets_of(generator: &GeneratorSpec) -> Vec<(String, String)> {
    let programs = [Some(&generator.source), generator.sink.as_ref()];
    let commands = programs
        .into_iter()
        .flatten()
        .flat_map(|program| [&program.command, &program.decoder]);
    let secrets: BTreeMap<String, String> = commands
        .flat_map(|command| command.iter().cloned().zip(redacted_arguments(command)))
        .filter(|(argument, shown)| argument != shown)
        .collect();
    let mut secrets: Vec<_> = secrets.into_iter().collect();
    secrets.sort_by_key(|(argument, _)| std::cmp::Reverse(argument.len()));
    secrets
}

/// Replaces `secret` by `shown` in the description of the traffic.
fn without_secret(text: &str, secret: &str, shown: &str) -> String {
    let (start, end) = place_of_background(text);
    let mut replaced = text[..start].to_owned();
    let mut at = start;
    while let Some(offset) = text[at..end].find(secret).filter(|_| !secret.is_empty()) {
        let (first, behind) = (at + offset, at + offset + secret.len());
        let is_word = text[..first].chars().next_back().is_none_or(is_between)
            && text[behind..].chars().next().is_none_or(is_between);
        replaced += &text[at..first];
        replaced += if is_word { shown } else { secret };
        at = behind;
    }
    replaced + &text[at..]
}

/// True for a character between two scalars of YAML.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || "[],\"'".contains(letter)
}

/// Range from the key `background` to the next key of the suite; the whole text if the key has
/// another form.
fn place_of_background(text: &str) -> (usize, usize) {
    let mut place = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_key = !line.starts_with([' ', '\t', '#', '\n', '\r']);
        match place {
            None if line.starts_with("background:") => place = Some(at),
            Some(start) if is_key => return (start, at),
            _ => {}
        }
        at += line.len();
    }
    (place.unwrap_or(0), text.len())
}

#[cfg(test)]
mod tests {
    use suite::Overrides;

    use super::*;

    fn recorded(command: &str) -> Result<String, RunnerError> {
        let text = format!(
            "suite: s3cret\nbackground:\n  traffic:\n    generators:\n      g:\n        source: {{command: {command}}}\n    \
             loads: {{l: {{generators: [{{generator: g}}]}}}}\n# s3cret\ntests:\n- {{name: A, loop: [{{GET: f, measure: \
             A}}]}}\n"
        );
        let spec = suite::parse("s", &text).unwrap();
        let plan = suite::resolve("s", &text, &spec, &Overrides::default()).unwrap();
        let recorded = recorded_suite(&text, &plan)?;
        // The redacted text is still a valid suite.
        suite::parse("s", &recorded).unwrap();
        Ok(recorded.into_owned())
    }

    #[test]
    fn a_recorded_suite_has_no_secrets_of_generators() {
        let table = r#"
            [a, '{destination}', --password, s3cret] => --password, (not shown)]
            [a, '{destination}', --password, "s3cret"] => "(not shown)"
            [a, '{destination}', --api-key=s3cret, s3cretly] => --api-key=(not shown), s3cretly]
            [a, '{destination}', 'http://ann:s3cret@h/', TOKEN=s3cret] => TOKEN=(not shown)]
        "#;
        for [command, expected] in cases::rows(table) {
            let recorded = recorded(command).unwrap();
            assert!(recorded.contains(expected), "{recorded}");
            assert!(recorded.starts_with("suite: s3cret\n"), "{recorded}");
            let traffic = &recorded
                ["suite: s3cret".len()..recorded.find("# s3cret").unwrap_or(recorded.len())];
            assert!(
                !traffic.replace("s3cretly", "").contains("s3cret"),
                "{recorded}"
            );
        }
        let plain = recorded("[a, '{destination}', --rate, '5']").unwrap();
        assert!(plain.contains("--rate, '5']"), "{plain}");
    }

    #[test]
    fn a_secret_that_cannot_be_left_out_is_refused() {
        let Err(RunnerError::Usage(why)) =
            recorded("[a, '{destination}', --password, \"s\\x33cret\"]")
        else {
            panic!("it was recorded");
        };
        let says = "write the traffic in a file of its own";
        assert!(why.contains(says), "{why}");
    }
}
