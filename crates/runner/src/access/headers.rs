//! Headers that are sent with every request.

/// Headers that change the meaning of a request. Sent with every one, they could lead a run out of
/// its collection. Headers that a suite writes, or must not write, are refused as well.
const CHANGING_HEADERS: &[&str] = &["if", "lock-token"];

/// True for a header that is written for each request, or that would change its meaning.
fn is_reserved(name: &str) -> bool {
    let keyed = suite::KEYED_HEADERS.iter().map(|(header, _)| header);
    suite::OWN_HEADERS
        .iter()
        .chain(keyed)
        .chain(suite::METHOD_HEADERS)
        .chain(CHANGING_HEADERS)
        .any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// Parses a header that is sent with every request, `Name: value`. No message has the value, which
/// may be a secret.
///
/// # Errors
///
/// The text is not a header, or the header would change the meaning of a request.
pub fn read_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write 'Name: value'")?;
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(format!("`{name}` is no header name"));
    }
    if is_reserved(name) {
        let instead = match name.to_ascii_lowercase().as_str() {
            "authorization" => "; give credentials with --user, --token-file or --netrc",
            "depth" => "; `prestan load` has --depth",
            "host" => "; give the name in the URL and the address with --resolve",
            name if suite::METHOD_HEADERS.contains(&name) => {
                "; it makes a request with another method of each one"
            }
            _ => "; write it in a suite, for the requests that need it",
        };
        return Err(format!("{name} cannot be sent with every request{instead}"));
    }
    if value.chars().any(char::is_control) {
        return Err("a header value has no control characters".to_owned());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}
