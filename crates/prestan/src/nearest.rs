//! Names that are near what was typed.

/// Similarity from which a name is suggested: that of clap, which suggests options.
const SIMILAR: f64 = 0.7;

/// The names that are similar to a word, the most similar first.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let similarity = |name: &'a str| (strsim::jaro(word, name), name);
    let mut similar: Vec<(f64, &str)> = names
        .into_iter()
        .map(similarity)
        .filter(|(similarity, _)| *similarity > SIMILAR)
        .collect();
    similar.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    similar.into_iter().map(|(_, name)| name).collect()
}

/// Whether a text can be a URL: `localhost`, or with a dot, a slash or a colon in it; a path that
/// begins with a dot or a slash cannot.
pub(crate) fn may_be_url(text: &str) -> bool {
    let is_path = text.starts_with(['.', '/']);
    let has_parts = text.contains(['.', '/', ':']);
    !is_path && (has_parts || text.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found_best_first() {
        let names = ["run", "report", "compare", "load", "runs"];
        let table: [(&str, &[&str]); 5] = [
            ("lod", &["load"]),
            ("loda", &["load"]),
            ("rnus", &["runs", "run"]),
            ("nas", &[]),
            ("", &[]),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }

    #[test]
    fn urls_are_told_from_words() {
        for url in [
            "localhost",
            "LocalHost",
            "h/dav",
            "h:81",
            "[::1]",
            "dav.example",
        ] {
            assert!(may_be_url(url), "{url}");
        }
        for word in ["GET", "lod", "nas", "./run", "/run", ""] {
            assert!(!may_be_url(word), "{word}");
        }
    }
}
