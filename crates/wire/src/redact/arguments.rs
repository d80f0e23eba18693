//! Redaction of commands of other programs.

use super::{HIDDEN, redacted_target};

/// Arguments of another program, redacted: secrets are recognised by the name of their option and
/// in URLs. The meaning of short options depends on the program.
pub fn redacted_arguments(arguments: &[String]) -> Vec<String> {
    let before = std::iter::once("").chain(arguments.iter().map(String::as_str));
    let shown = |(before, argument): (&str, &String)| match redacted_by_name(before, argument) {
        Some(hidden) => hidden,
        None if before == "--user" => HIDDEN.to_owned(),
        None => redacted_target(argument),
    };
    before.zip(arguments).map(shown).collect()
}

/// An argument, redacted because its name, or that of the option before it, is that of a secret.
fn redacted_by_name(before: &str, argument: &str) -> Option<String> {
    let is_option = before.starts_with('-') && !before.contains('=');
    if is_option && is_secret_name(before) {
        return Some(HIDDEN.to_owned());
    }
    let (name, _) = argument.split_once('=')?;
    (!name.contains("://") && is_secret_name(name)).then(|| format!("{name}={HIDDEN}"))
}

/// True if an option or a variable of this name has a secret value. Names of files are not secrets.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "api-key",
        "api_key",
    ];
    !name.ends_with("file") && parts.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_other_programs_are_shown_without_secrets() {
        let table = "
            iperf3 -u -b 20M -c {destination} => iperf3 -u -b 20M -c {destination}
            send --password pw --port {port} => send --password (not shown) --port {port}
            send --api-key=k TOKEN=t --rate=5 => send --api-key=(not shown) TOKEN=(not shown) --rate=5
            send --token-file t => send --token-file t
            send --user ann:pw => send --user (not shown)
        ";
        for [arguments, expected] in cases::rows(table) {
            let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            assert_eq!(redacted_arguments(&arguments).join(" "), expected);
        }
        let url = ["http://ann:pw@192.0.2.1/?token=t".to_owned()];
        let shown = redacted_arguments(&url).join(" ");
        assert!(!shown.contains("pw") && !shown.contains("=t"), "{shown}");
    }
}
