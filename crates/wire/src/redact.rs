//! Redaction: heads, URLs and commands without their credentials.
//!
//! Secret fields are recognised by their names, and a value that may be secret is hidden: a head
//! that was shown ends up in a bug report.

mod arguments;
mod lines;

use percent_encoding::percent_decode_str;

pub use arguments::redacted_arguments;
pub use lines::{names_secret, redacted_line};

use crate::response::ResponseHead;

/// Replaces a secret value.
pub const HIDDEN: &str = "(not shown)";

/// Parts of the names of fields and parameters whose values are secret.
const SECRET: [&str; 14] = [
    "auth",
    "cookie",
    "credential",
    "csrf",
    "jwt",
    "key",
    "pass",
    "pwd",
    "secret",
    "session",
    "sid",
    "sig",
    "token",
    "user",
];
/// Parameters of the query of a URL whose values are secret, by their whole names.
const SECRET_PARAMETERS: [&str; 20] = [
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "code",
    "credential",
    "key",
    "passwd",
    "password",
    "pwd",
    "secret",
    "session",
    "sessionid",
    "sig",
    "signature",
    "token",
    "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature",
];
/// Names that sound secret, whose values describe how to authenticate, and no identity.
const HARMLESS: [&str; 5] = [
    "lock-token",
    "ms-author-via",
    "proxy-authenticate",
    "user-agent",
    "www-authenticate",
];
/// Schemes of authentication, after which a secret follows wherever they occur.
const SCHEMES: [&str; 7] = [
    "apikey",
    "basic",
    "bearer",
    "digest",
    "negotiate",
    "ntlm",
    "token",
];

/// The lines of a request head, redacted; `private` names further fields whose values are hidden.
pub fn request_head(head: &[u8], private: &[String]) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let request_line = lines.next().unwrap_or_default();
    let fields = lines.take_while(|line| !line.is_empty());
    let field = |line: &str| match line.split_once(':') {
        Some((name, _)) if private.iter().any(|field| field.eq_ignore_ascii_case(name)) => {
            format!("{name}: {HIDDEN}")
        }
        Some((name, value)) => field(name, value.trim()),
        None => line.to_owned(),
    };
    std::iter::once(without_secret_parameters(request_line))
        .chain(fields.map(field))
        .collect()
}

/// The lines of a response head, redacted.
pub fn response_head(head: &ResponseHead) -> Vec<String> {
    let status_line = format!("{} {} {}", head.version.name(), head.status, head.reason);
    let fields = head.headers.iter().map(|(name, value)| field(name, value));
    std::iter::once(status_line.trim_end().to_owned())
        .chain(fields)
        .collect()
}

fn field(name: &str, value: &str) -> String {
    let is_harmless = HARMLESS.contains(&name.to_ascii_lowercase().as_str());
    let shown = match value.split_once(' ') {
        _ if is_harmless => value.to_owned(),
        // The scheme of the credentials may be shown.
        Some((scheme, _)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            format!("{scheme} {HIDDEN}")
        }
        _ if is_secret(name) => HIDDEN.to_owned(),
        _ => without_secret_parameters(value),
    };
    format!("{name}: {shown}")
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part)) && !HARMLESS.contains(&name.as_str())
}

/// A text without the secrets of its URLs: no user, and no parameter like `?token=...`,
/// `;jsessionid=...` or `#access_token=...`.
fn without_secret_parameters(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        // A value with one of these separators in it must not be taken for several.
        let word = without_secret_values(word);
        let mut parts = word.split_inclusive(['?', '&', ';', '#']);
        let path = parts.next().unwrap_or_default();
        let parameters: String = parts.map(parameter).collect();
        without_user_info(path) + &parameters
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A parameter, with the sign that ends it.
fn parameter(parameter: &str) -> String {
    let end = parameter.len() - usize::from(parameter.ends_with(['?', '&', ';', '#']));
    match parameter[..end].split_once('=') {
        Some((name, _)) if is_secret(name) || name.eq_ignore_ascii_case("code") => {
            format!("{name}={HIDDEN}{}", &parameter[end..])
        }
        _ => parameter.to_owned(),
    }
}

/// A line that is not a field, cut where a secret may begin.
pub(crate) fn malformed(line: &[u8]) -> &[u8] {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let name = line.iter().take_while(|byte| is_of_name(byte)).count();
    if is_secret(&String::from_utf8_lossy(&line[..name])) {
        &line[..name]
    } else {
        line
    }
}

/// A URL, redacted: without the user information before its host, and without the values of
/// parameters of its query whose names are those of secrets (`token`, `sig`, `password`...).
pub fn redacted_url(url: &str) -> String {
    without_secret_values(&without_user_info(url))
}

/// A URL that a server names, redacted: as [`redacted_url`], and without the values of all
/// parameters, in paths and fragments as well, whose names sound like that of a secret
/// (`;jsessionid=...`). The user cannot judge parameters that the server made.
pub fn redacted_link(url: &str) -> String {
    without_secret_parameters(url)
}

/// Options that are followed by a secret.
const SECRET_OPTIONS: [&str; 2] = ["--user", "-u"];
/// Options that are followed by a header.
const HEADER_OPTIONS: [&str; 2] = ["--header", "-H"];

/// A command line, redacted and quoted for a shell: the program without its directories, and
/// without user, password, values of headers and secrets in URLs. A value that may be secret is
/// hidden.
pub fn redacted_command(arguments: impl IntoIterator<Item = String>) -> String {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let mut words = vec![quoted(program.rsplit('/').next().unwrap_or_default())];
    let mut before = String::new();
    for argument in arguments {
        words.push(quoted(&redacted_argument(&before, &argument)));
        before = argument;
    }
    words.join(" ")
}

/// An argument, redacted by the one before it.
fn redacted_argument(before: &str, argument: &str) -> String {
    if SECRET_OPTIONS.contains(&before) {
        return HIDDEN.to_owned();
    }
    if HEADER_OPTIONS.contains(&before) {
        return redacted_header(argument);
    }
    // `--user=ann` and `-uann`; `--users` is another option.
    let value_of = |option: &str| {
        let rest = argument.strip_prefix(option)?;
        let rest = if option.starts_with("--") {
            rest.strip_prefix('=')?
        } else {
            Some(rest).filter(|rest| !rest.is_empty())?
        };
        Some((&argument[..argument.len() - rest.len()], rest))
    };
    if let Some((option, _)) = SECRET_OPTIONS.iter().find_map(|name| value_of(name)) {
        return format!("{option}{HIDDEN}");
    }
    if let Some((option, value)) = HEADER_OPTIONS.iter().find_map(|name| value_of(name)) {
        return format!("{option}{}", redacted_header(value));
    }
    redacted_target(argument)
}

/// A URL as a user typed it, perhaps without its scheme, redacted: without user information and
/// without the values of secret parameters of its query. Works for any other text as well.
pub fn redacted_target(typed: &str) -> String {
    let end = end_of_authority(typed);
    // A scheme ends with `:`, and may follow the name of a target or an option (`a=http://h/`). A
    // "://" further on belongs to a path, or to a password.
    let scheme = typed[..end]
        .strip_suffix(':')
        .filter(|_| typed[end..].starts_with("//"));
    let scheme = scheme.map(|scheme| scheme.rsplit('=').next().unwrap_or_default());
    let shown = match typed[..end].rfind('@') {
        Some(at) if !scheme.is_some_and(is_scheme) => format!("...{}", &typed[at..]),
        _ => typed.to_owned(),
    };
    redacted_url(&shown)
}

/// True if a URL can begin with the text, followed by `://` (RFC 3986, section 3.1). No part of it
/// can be a password, which follows a `:`.
pub(crate) fn is_scheme(text: &str) -> bool {
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_of_scheme)
}

/// The end of the authority that a text begins with.
fn end_of_authority(text: &str) -> usize {
    text.find(['/', '?', '#']).unwrap_or(text.len())
}

/// A header without its value, whatever its name.
fn redacted_header(header: &str) -> String {
    match header.split_once(':') {
        Some((name, _)) => format!("{name}: {HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A URL, or the path of one, without the values of secret parameters in its query.
pub(crate) fn without_secret_values(url: &str) -> String {
    let Some((path, rest)) = url.split_once('?') else {
        return url.to_owned();
    };
    let (query, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let pairs: Vec<String> = query.split('&').map(without_secret_value).collect();
    format!("{path}?{}{fragment}", pairs.join("&"))
}

/// A part of a query between two `&`, without secrets. Some servers take `;` for a separator as
/// well, others for a part of the value: from the first secret name on, nothing of it is shown.
fn without_secret_value(pair: &str) -> String {
    let mut start = 0;
    for parameter in pair.split_inclusive(';') {
        if let Some((name, _)) = parameter.split_once('=')
            && is_secret_parameter(name)
        {
            return format!("{}={HIDDEN}", &pair[..start + name.len()]);
        }
        start += parameter.len();
    }
    pair.to_owned()
}

/// True if a name in a query, which may be percent-encoded, is that of a secret.
fn is_secret_parameter(name: &str) -> bool {
    let name = percent_decode_str(name).decode_utf8_lossy();
    let mut known = SECRET_PARAMETERS.iter();
    known.any(|known| known.eq_ignore_ascii_case(&name))
}

/// A URL without the user and password before its host, and before the host of a URL within it.
fn without_user_info(url: &str) -> String {
    const SEPARATOR: &str = "://";
    let mut out = String::with_capacity(url.len());
    let mut rest = url;
    while let Some(found) = rest.find(SEPARATOR) {
        let (before, after) = rest.split_at(found + SEPARATOR.len());
        out.push_str(before);
        rest = after;
        if let Some(at) = after[..end_of_authority(after)].rfind('@') {
            out.push_str("...");
            rest = &after[at..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::response::{Limits, ReadEvent, ResponseReader};

    #[test]
    fn what_lets_somebody_in_is_not_shown() {
        let table = "
            Authorization: Basic YTpi => Authorization: Basic (not shown)
            proxy-authorization: secret => proxy-authorization: (not shown)
            Cookie: id=5 => Cookie: (not shown)
            X-API-Key: 5 => X-API-Key: (not shown)
            X-Remote-User: me => X-Remote-User: (not shown)
            Referer: http://me:pw@h/?a=1&access_token=5&b => Referer: http://...@h/?a=1&access_token=(not shown)&b
            Referer: http://h/a;jsessionid=5?code=5#id_token=5&c=1
                => Referer: http://h/a;jsessionid=(not shown)?code=(not shown)#id_token=(not shown)&c=1
            Accept: text/html; q=1, a/b;q=0 => Accept: text/html; q=1, a/b;q=0
            Host: h:8080 => Host: h:8080
            MS-Author-Via: DAV => MS-Author-Via: DAV
            User-Agent: prestan/1 => User-Agent: prestan/1
            If: (<opaquelocktoken:5>) => If: (<opaquelocktoken:5>)
            Lock-Token: <opaquelocktoken:5> => Lock-Token: <opaquelocktoken:5>
            X-Prestan: general: 7 (a.html) => X-Prestan: general: 7 (a.html)
        ";
        for [field, expected] in cases::rows(table) {
            let head = format!("GET /a?sig=5 HTTP/1.1\r\n{field}\r\n\r\nbody: not a head");
            let shown = request_head(head.as_bytes(), &["X-Mine".to_owned()]);
            assert_eq!(shown, ["GET /a?sig=(not shown) HTTP/1.1", expected]);
        }
        assert_eq!(request_head(b"", &[]), [""]);
    }

    #[test]
    fn what_a_server_hands_out_is_not_shown_either() {
        let mut reader = ResponseReader::new(false, Limits::default());
        let head = b"HTTP/1.1 401 \r\nWWW-Authenticate: Basic realm=\"a\"\r\nSet-Cookie: id=5\r\n\
                     Authentication-Info: nextnonce=\"5\"\r\nContent-Length: 0\r\n\r\n";
        assert!(matches!(reader.step(head).unwrap().event, ReadEvent::Head));
        let shown = response_head(reader.head().unwrap());
        let expected = [
            "HTTP/1.1 401",
            "WWW-Authenticate: Basic realm=\"a\"",
            "Set-Cookie: (not shown)",
            "Authentication-Info: (not shown)",
            "Content-Length: 0",
        ];
        assert_eq!(shown, expected);
    }

    proptest! {
        #[test]
        fn whatever_is_sent_can_be_shown(bytes: Vec<u8>, value in "[!-~]{12,20}") {
            request_head(&bytes, &[]);
            let head = [b"GET / HTTP/1.1\r\nX-Token: ", value.as_bytes(), b"\r\n", &bytes].concat();
            let shown = request_head(&head, &[]);
            prop_assert_eq!(&shown[1], "X-Token: (not shown)");
        }
    }

    #[test]
    fn a_malformed_line_with_a_secret_is_cut_behind_its_name() {
        assert_eq!(malformed(b"Set-Cookie id=5"), b"Set-Cookie");
        assert_eq!(malformed(b"no field"), b"no field");
        assert_eq!(malformed(b""), b"");
    }

    #[test]
    fn a_url_without_the_values_of_secret_parameters() {
        let table = [
            ("http://h/a?token=5", "http://h/a?token=(not shown)"),
            ("/a?b=1&Sig=5&c", "/a?b=1&Sig=(not shown)&c"),
            ("http://me:pw@h/?key=5#x", "http://...@h/?key=(not shown)#x"),
            ("/a?token=5;6?7=8&c=1", "/a?token=(not shown)&c=1"),
            ("/a?b=1;token=5", "/a?b=1;token=(not shown)"),
            ("/a?%74oken=5", "/a?%74oken=(not shown)"),
            ("/a?token", "/a?token"),
            ("/a?tokens=5&monkey=6", "/a?tokens=5&monkey=6"),
            ("/token=5", "/token=5"),
        ];
        for (url, expected) in table {
            assert_eq!(redacted_url(url), expected);
            assert_eq!(redacted_url(expected), expected, "a second time");
        }
        for name in SECRET_PARAMETERS {
            for name in [name.to_owned(), name.to_ascii_uppercase()] {
                let shown = redacted_url(&format!("http://h/?a=1&{name}=5"));
                assert_eq!(shown, format!("http://h/?a=1&{name}=(not shown)"));
            }
        }
        let head = request_head(b"GET /a?token=5;6?7 HTTP/1.1\r\n\r\n", &[]);
        assert_eq!(head, ["GET /a?token=(not shown) HTTP/1.1"]);
    }

    #[test]
    fn a_link_without_the_values_of_what_sounds_secret() {
        let table = [
            ("/a.png;jsessionid=5E1F", "/a.png;jsessionid=(not shown)"),
            ("/a?csrf_token=5&b=1", "/a?csrf_token=(not shown)&b=1"),
            ("/a?sid=5#jwt=6", "/a?sid=(not shown)#jwt=(not shown)"),
            ("http://me:pw@h/a?code=5", "http://...@h/a?code=(not shown)"),
            ("/a;v=1/b?c=2", "/a;v=1/b?c=2"),
        ];
        for (url, expected) in table {
            assert_eq!(redacted_link(url), expected);
        }
    }

    #[test]
    fn a_command_without_what_lets_somebody_in() {
        let table = r"
            /opt/bin/prestan|webstone|general|http://me:pw@h:81/?token=5|-c|4
                => prestan webstone general 'http://...@h:81/?token=(not shown)' -c 4
            prestan|--user|ann:pw|--user=ann:pw|-uann:pw|--users|8
                => prestan --user '(not shown)' '--user=(not shown)' '-u(not shown)' --users 8
            prestan|--header|X-Mine: pw|--header=Cookie: pw|-H|pw
                => prestan --header 'X-Mine: (not shown)' '--header=Cookie: (not shown)' -H '(not shown)'
            prestan|me:pw@h/a|--target|b=http://me:pw@h/|--password-file|secret
                => prestan ...@h/a --target b=http://...@h/ --password-file secret
            prestan|--page|/a?b=1&password=pw|--note|disk=it's new|
                => prestan --page '/a?b=1&password=(not shown)' --note 'disk=it'\''s new' ''
        ";
        for [arguments, expected] in cases::rows(table) {
            let shown = redacted_command(arguments.split('|').map(str::to_owned));
            assert_eq!(shown, expected);
            assert!(!shown.contains("pw"));
        }
    }

    #[test]
    fn a_target_without_its_scheme_has_no_user_either() {
        let table = [
            ("me:pw@h/a://b/", "...@h/a://b/"),
            ("me:pw@h://b", "...@h://b"),
            ("me:pw@http://b", "...@http://b"),
            ("me:p@w@h", "...@h"),
            ("me:pw@h?a://b@c", "...@h?a://...@c"),
            ("a=me:pw@h/", "...@h/"),
            ("a=http://me:pw@h/", "a=http://...@h/"),
            ("--target=a=HTTP://me:pw@h/", "--target=a=HTTP://...@h/"),
            ("h/a@b", "h/a@b"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h/?a=http://me:pw@h/", "http://h/?a=http://...@h/"),
            ("general-modem", "general-modem"),
            ("", ""),
        ];
        for (typed, expected) in table {
            assert_eq!(redacted_target(typed), expected);
        }
    }

    proptest! {
        /// A part that the parser of targets takes for a password is never shown, whatever
        /// surrounds it.
        #[test]
        fn no_password_is_shown(
            option in "(--target=)?([a-z]{1,3}=)?",
            scheme in "(|http://|HTTPS://)",
            user in "[a-z+.-]{0,5}",
            password in "[A-Za-z0-9:@=%&+.,;!$~_-]{0,8}",
            path in "(/[a-z@:/.-]{0,12}(\\?[a-z@:/=&]{0,12})?)?",
        ) {
            // A password that occurs nowhere else.
            let password = format!("{password}SECRET9");
            let url = format!("{scheme}{user}:{password}@h.example{path}");
            let parsed = crate::target::Target::resource(&url);
            if let Ok(mut target) = parsed {
                prop_assert!(target.take_user_info().is_some_and(|(_, password)| password.is_some()));
            }
            let typed = format!("{option}{url}");
            let shown = redacted_target(&typed);
            prop_assert!(!shown.contains("SECRET9"), "{}", shown);
            let command = ["prestan".to_owned(), typed];
            prop_assert!(!redacted_command(command).contains("SECRET9"));
            prop_assert_eq!(redacted_target(&shown), shown.clone(), "a second time");
        }
    }

    #[test]
    fn a_url_without_its_user() {
        let table = [
            ("http://me:pw@h/a@b", "http://...@h/a@b"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h?a@b", "http://h?a@b"),
            ("/a@b", "/a@b"),
        ];
        for (url, expected) in table {
            assert_eq!(without_user_info(url), expected);
        }
    }
}
