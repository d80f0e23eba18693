//! Names that are similar to a misspelt one, as suggestions.

/// Similarity from which a name is suggested: that of clap, which suggests options.
const SIMILAR: f64 = 0.7;

/// Most names that a message lists.
const LISTED: usize = 40;

/// The names that are similar to a word, the most similar first.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let written = word.to_lowercase();
    let similarity = |name: &'a str| {
        let known = name.to_lowercase();
        // Of short names, two swapped letters are most, and shorter names are like anything.
        let slips = strsim::osa_distance(&written, &known);
        let similarity = match (slips, written.chars().count()) {
            (0, _) => 2.0,
            (1, 3..) => 1.0,
            (_, 4..) => strsim::jaro(&written, &known),
            _ => 0.0,
        };
        (similarity, name)
    };
    let all = names.into_iter().map(similarity);
    let mut similar: Vec<(f64, &str)> = all
        .filter(|(similarity, _)| *similarity > SIMILAR)
        .collect();
    similar.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    similar.into_iter().map(|(_, name)| name).collect()
}

/// The name that was probably meant.
pub fn meant<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, names).first().copied()
}

/// Advice for a name that nothing has: the one that was probably meant, or else `known` and all
/// names that there are.
pub fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>, known: &str) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(meant) = meant(word, names.iter().copied()) {
        return format!("did you mean `{meant}`?");
    }
    if names.is_empty() {
        return "there are none".to_owned();
    }
    let more = if names.len() > LISTED { ", ..." } else { "" };
    let names = &names[..names.len().min(LISTED)];
    format!("{known} {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found_best_first() {
        let names = ["run", "report", "compare", "load", "runs", "Get"];
        let table: [(&str, &[&str]); 7] = [
            ("lod", &["load"]),
            ("loda", &["load"]),
            ("rnus", &["runs", "run"]),
            ("Gte", &["Get"]),
            ("RUNS", &["runs", "run"]),
            ("nas", &[]),
            ("", &[]),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }

    #[test]
    fn what_is_like_nothing_has_all_names_behind_it() {
        assert_eq!(
            hint("lod", ["load", "run"], "known are"),
            "did you mean `load`?"
        );
        assert_eq!(
            hint("nas", ["load", "run"], "known are"),
            "known are load, run"
        );
        assert_eq!(hint("nas", [], "known are"), "there are none");
    }
}
