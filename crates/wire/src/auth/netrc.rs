//! User and password from a netrc file, as ftp(1) and curl read it.

/// Login and password of the entry for `host`, or of `default`. Words are separated by white space,
/// `macdef` runs to the next empty line, and a line that begins with `#` is a comment; quoted
/// words, which curl supports, are not.
pub fn netrc_entry<'a>(text: &'a str, host: &str) -> Option<(&'a str, &'a str)> {
    let mut words = words(text).into_iter();
    let (mut is_ours, mut login, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if let (true, Some(entry)) = (is_ours, login.zip(password)) {
                    return Some(entry);
                }
                (login, password) = (None, None);
                is_ours = word == "default"
                    || words
                        .next()
                        .is_some_and(|name| name.eq_ignore_ascii_case(host));
            }
            "login" => login = words.next(),
            "password" => password = words.next(),
            _ => {}
        }
    }
    login.zip(password).filter(|_| is_ours)
}

/// Without comments and macros.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut in_macro = false;
    for line in text.lines() {
        if in_macro {
            in_macro = !line.trim().is_empty();
            continue;
        }
        if line.trim_start().starts_with('#') {
            continue;
        }
        for word in line.split_whitespace() {
            if word == "macdef" {
                in_macro = true;
                break;
            }
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_host() {
        let text = "# machine h login commented password out\n\
                    machine other login a password b\n\
                    macdef init\nmachine h login macro password macro\n\n\
                    machine H.example login ann\n  password s3cret account x\n\
                    machine half login only\n\
                    machine signs login #ann password #1\n\
                    default login anonymous password guest\n";
        let table = [
            ("other", Some(("a", "b"))),
            ("h.example", Some(("ann", "s3cret"))),
            ("unknown", Some(("anonymous", "guest"))),
            ("half", Some(("anonymous", "guest"))),
            // A password may begin like a comment.
            ("signs", Some(("#ann", "#1"))),
        ];
        for (host, expected) in table {
            assert_eq!(netrc_entry(text, host), expected, "{host}");
        }
        assert_eq!(netrc_entry("machine h login x", "h"), None);
        assert_eq!(netrc_entry("", "h"), None);
    }
}
