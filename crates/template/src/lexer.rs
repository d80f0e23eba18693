//! Tokens of a template.

use crate::TemplateError;
use crate::value::shortened;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TemplateToken {
    /// Text outside of all delimiters.
    Outside(String),
    /// `{{`, `}}`, `{%`, `%}`
    Begin(Delimiters),
    End(Delimiters),
    Word(String),
    Integer(i128),
    Real(f64),
    Quoted(String),
    Sign(&'static str),
}

/// Most tokens of a template: each takes many times the bytes of its source.
const MOST_TOKENS: usize = 1_000_000;
/// Longest word in bytes: names are copied and compared at each use.
const LONGEST_WORD: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delimiters {
    Value,
    Statement,
}

/// Longer ones first.
const SIGNS: [&str; 25] = [
    "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[",
    "]", "{", "}", ",", ".", ":", "|",
];

/// The tokens of a text with templates in it.
pub(crate) fn text_tokens(text: &str) -> Result<Vec<TemplateToken>, TemplateError> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    let mut is_trimmed = false;
    loop {
        are_few(&tokens)?;
        let next = rest.match_indices('{').find_map(|(offset, _)| {
            let kind = rest[offset + 1..].chars().next()?;
            "{%#".contains(kind).then_some((offset, kind))
        });
        let (outside, kind) =
            next.map_or((rest, None), |(offset, kind)| (&rest[..offset], Some(kind)));
        let behind = rest.get(outside.len() + 2..).unwrap_or_default();
        let trims_end = kind.is_some() && behind.starts_with('-');
        push_outside(&mut tokens, outside, (is_trimmed, trims_end));
        let behind = behind.strip_prefix('-').unwrap_or(behind);
        (rest, is_trimmed) = match kind {
            None => return Ok(tokens),
            Some('#') => {
                let (inner, behind) = behind.split_once("#}").ok_or_else(|| unended("#}"))?;
                (behind, inner.ends_with('-'))
            }
            Some(kind) => {
                let part = if kind == '{' {
                    Delimiters::Value
                } else {
                    Delimiters::Statement
                };
                let raw_text = match part {
                    Delimiters::Statement => raw(&mut tokens, behind)?,
                    Delimiters::Value => None,
                };
                if let Some(read) = raw_text {
                    read
                } else {
                    tokens.push(TemplateToken::Begin(part));
                    within(&mut tokens, behind, Some(part))?
                }
            }
        };
    }
}

/// The tokens of an expression.
pub(crate) fn expression_tokens(text: &str) -> Result<Vec<TemplateToken>, TemplateError> {
    let mut tokens = Vec::new();
    within(&mut tokens, text, None)?;
    Ok(tokens)
}

fn push_outside(tokens: &mut Vec<TemplateToken>, text: &str, (starts, ends): (bool, bool)) {
    let text = if starts { text.trim_start() } else { text };
    let text = if ends { text.trim_end() } else { text };
    if !text.is_empty() {
        tokens.push(TemplateToken::Outside(text.to_owned()));
    }
}

/// Reads the content of `{% raw %}`, if this is one. Returns the rest after its end, and whether
/// its blanks are removed.
fn raw<'t>(
    tokens: &mut Vec<TemplateToken>,
    behind: &'t str,
) -> Result<Option<(&'t str, bool)>, TemplateError> {
    let Some((inner, trims_start)) = behind_word("raw", behind) else {
        return Ok(None);
    };
    for (offset, _) in inner.match_indices("{%") {
        let end = &inner[offset + 2..];
        let trimmed = end.strip_prefix('-');
        if let Some(behind) = behind_word("endraw", trimmed.unwrap_or(end)) {
            push_outside(tokens, &inner[..offset], (trims_start, trimmed.is_some()));
            return Ok(Some(behind));
        }
    }
    Err(unended("{% endraw %}"))
}

/// The rest after a statement that is this word alone, and whether its blanks are removed.
fn behind_word<'t>(word: &str, text: &'t str) -> Option<(&'t str, bool)> {
    let rest = text.trim_start().strip_prefix(word)?.trim_start();
    let trimmed = rest.strip_prefix("-%}");
    let behind = trimmed.or_else(|| rest.strip_prefix("%}"))?;
    Some((behind, trimmed.is_some()))
}

fn are_few(tokens: &[TemplateToken]) -> Result<(), TemplateError> {
    if tokens.len() > MOST_TOKENS {
        let message = format!("there are more than {MOST_TOKENS} words in it");
        return Err(TemplateError::Syntax(message));
    }
    Ok(())
}

fn unended(end: &str) -> TemplateError {
    TemplateError::Syntax(format!("`{end}` is missing"))
}

/// Reads until the end of this part, or of the text. Returns the rest, and whether its blanks are
/// removed.
fn within<'t>(
    tokens: &mut Vec<TemplateToken>,
    text: &'t str,
    part: Option<Delimiters>,
) -> Result<(&'t str, bool), TemplateError> {
    let end = match part {
        Some(Delimiters::Value) => "}}",
        Some(Delimiters::Statement) => "%}",
        None => "",
    };
    let mut rest = text;
    // Number of open braces: `}}` may end two maps.
    let mut open = 0_usize;
    loop {
        are_few(tokens)?;
        rest = rest.trim_start();
        if rest.is_empty() {
            return match part {
                None => Ok((rest, false)),
                Some(_) => Err(unended(end)),
            };
        }
        if let Some(part) = part.filter(|_| open == 0) {
            let trimmed = rest
                .strip_prefix('-')
                .and_then(|rest| rest.strip_prefix(end));
            let is_trimmed = trimmed.is_some();
            if let Some(behind) = trimmed.or_else(|| rest.strip_prefix(end)) {
                tokens.push(TemplateToken::End(part));
                return Ok((behind, is_trimmed));
            }
        }
        // `a.0.1` has two members.
        let is_member = tokens.last() == Some(&TemplateToken::Sign("."));
        let (token, behind) = token(rest, is_member)?;
        match token {
            TemplateToken::Sign("{") => open += 1,
            TemplateToken::Sign("}") => open = open.saturating_sub(1),
            _ => {}
        }
        tokens.push(token);
        rest = behind;
    }
}

fn token(rest: &str, is_member: bool) -> Result<(TemplateToken, &str), TemplateError> {
    let first = rest.chars().next().unwrap_or(' ');
    let until = |is_part: fn(char) -> bool| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        rest.split_at(end)
    };
    if first.is_ascii_digit() {
        return number(rest, is_member);
    }
    if first.is_alphabetic() || first == '_' {
        let (word, rest) = until(|c| c.is_alphanumeric() || c == '_');
        if word.len() > LONGEST_WORD {
            let message = format!("`{}` has more than {LONGEST_WORD} bytes", shortened(word));
            return Err(TemplateError::Syntax(message));
        }
        return Ok((TemplateToken::Word(word.to_owned()), rest));
    }
    if first == '"' || first == '\'' {
        return quoted(&rest[1..], first);
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((TemplateToken::Sign(sign), &rest[sign.len()..])),
        None => Err(TemplateError::Syntax(format!(
            "`{first}` means nothing here"
        ))),
    }
}

/// Digits, possibly separated by `_`, and the fraction and the exponent of a real number, which no
/// member has.
fn number(rest: &str, is_member: bool) -> Result<(TemplateToken, &str), TemplateError> {
    let digits = |from: usize| {
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        rest[from..]
            .find(|c| !is_digit(c))
            .map_or(rest.len(), |length| from + length)
    };
    let begins = |from: usize| rest[from..].starts_with(|c: char| c.is_ascii_digit());
    let whole = digits(0);
    let mut end = whole;
    if !is_member && rest[end..].starts_with('.') && begins(end + 1) {
        end = digits(end + 1);
    }
    if !is_member && rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        if begins(end + 1 + sign) {
            end = digits(end + 1 + sign);
        }
    }
    let written = rest[..end].replace('_', "");
    let token = if end == whole {
        written.parse().ok().map(TemplateToken::Integer)
    } else {
        let number = written
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite());
        number.map(TemplateToken::Real)
    };
    let too_large = || TemplateError::Syntax(format!("`{}` is too large", shortened(&written)));
    let token = token.ok_or_else(too_large)?;
    Ok((token, &rest[end..]))
}

fn quoted(rest: &str, quote: char) -> Result<(TemplateToken, &str), TemplateError> {
    let (mut text, mut letters) = (String::new(), rest.char_indices());
    while let Some((offset, letter)) = letters.next() {
        if letter == quote {
            return Ok((TemplateToken::Quoted(text), &rest[offset + 1..]));
        }
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        text.push(match letters.next() {
            Some((_, 'n')) => '\n',
            Some((_, 'r')) => '\r',
            Some((_, 't')) => '\t',
            Some((_, c @ ('\\' | '"' | '\''))) => c,
            other => {
                let other = other.map_or(String::new(), |(_, letter)| letter.to_string());
                return Err(TemplateError::Syntax(format!(
                    "`\\{other}` means nothing in a text"
                )));
            }
        });
    }
    Err(unended(&quote.to_string()))
}
