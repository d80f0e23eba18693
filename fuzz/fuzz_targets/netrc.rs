//! No netrc file may cause a panic; found values are in it, after their keywords.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::auth::netrc_entry;

fuzz_target!(|input: (&str, &str)| {
    let (text, host) = input;
    let Some((login, password)) = netrc_entry(text, host) else {
        return;
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.contains(&login) && words.contains(&password));
    // Comments and macros are not distinguished here.
    if text.contains('#') || text.contains("macdef") {
        return;
    }
    let follows = |key: &str, value: &str| words.windows(2).any(|two| two == [key, value]);
    assert!(follows("login", login) && follows("password", password));
    let names = words.windows(2).filter(|two| two[0] == "machine");
    let is_for_host = names
        .into_iter()
        .any(|two| two[1].eq_ignore_ascii_case(host));
    assert!(is_for_host || words.contains(&"default"));
});
