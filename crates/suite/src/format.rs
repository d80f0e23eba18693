//! Formats the expressions of a suite file: `p99( Get )<5ms` becomes `p99(Get) < 5 ms`.
//!
//! Everything else is unchanged, including comments and blanks.

use constraint::Constraint;

use crate::error::SuiteError;
use crate::position::Located;
use crate::spec::{self, ActionSpec, StepSpec, SuiteSpec};

/// The text of a suite file with formatted expressions. An expression on several lines, or with an
/// escape, is unchanged.
pub fn formatted(name: &str, text: &str) -> Result<String, SuiteError> {
    let spec = spec::parse(name, text)?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let mut expressions = expressions(&spec);
    // From the end, so that earlier positions stay valid.
    expressions.sort_by_key(|expression| expression.position);
    for expression in expressions.into_iter().rev() {
        let position = expression.position;
        let parsed = Constraint::parse(&expression.value)
            .map_err(|why| SuiteError::at(name, &lines.concat(), Some(position), why.message))?;
        if let Some(line) = lines.get_mut(position.line.saturating_sub(1) as usize) {
            replace(
                line,
                position.column,
                &expression.value,
                &parsed.to_string(),
            );
        }
    }
    Ok(lines.concat())
}

/// Replaces an expression at a column, from 1, if the file has it there without escapes.
fn replace(line: &mut String, column: u32, written: &str, usual: &str) {
    // The value of a folded block ends with its line.
    let written = written.trim_end();
    let before = line.char_indices().nth(column.saturating_sub(1) as usize);
    let Some((mut at, first)) = before else {
        return;
    };
    let quote = Some(first).filter(|first| matches!(first, '"' | '\''));
    at += quote.map_or(0, char::len_utf8);
    let is_there = line[at..].starts_with(written);
    let can_be_there = quote.is_none_or(|quote| !usual.contains(quote));
    if is_there && can_be_there {
        line.replace_range(at..at + written.len(), usual);
    }
}

/// All expressions of a suite.
fn expressions(spec: &SuiteSpec) -> Vec<&Located<String>> {
    let constraints = spec.constraints.values();
    let constraints = constraints.map(|constraint| &constraint.expression);
    let adapt = spec.adapt.iter();
    let adapt = adapt.flat_map(|adapt| [&adapt.value.raise, &adapt.value.lower]);
    let mut found: Vec<&Located<String>> = constraints.chain(adapt.flatten()).collect();
    for test in &spec.tests {
        let outside = test.value.setup.iter().chain(&test.value.cleanup);
        let steps = outside
            .chain(test.value.looped())
            .flat_map(StepSpec::and_inside);
        found.extend(steps.filter_map(|step| match &step.action {
            ActionSpec::When(condition) => Some(condition),
            _ => None,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const UGLY: &str = "suite: s # p99( Get )<5ms
constraints:
  plain:   p99( Get )<5ms   # as it was
  quoted: \"mean(Get)<=10*  mean( Get )\"
  both: {abort: true, expression: '(failures(Get)==0)'}
  folded: >
    p99( Get )<5ms
  word: p99(\"Get\")<5ms
tests:
  - name: T
    loop:
      - GET: a
        measure: Get
      - when: \"p50(Get,last 10s)>1ms\"
        steps: [{end: test}]
";

    #[test]
    fn expressions_have_their_usual_form_and_nothing_else_changes() {
        let usual = UGLY
            .replace("plain:   p99( Get )<5ms", "plain:   p99(Get) < 5 ms")
            .replace("mean(Get)<=10*  mean( Get )", "mean(Get) <= 10 * mean(Get)")
            .replace("'(failures(Get)==0)'", "'failures(Get) == 0'")
            .replace("    p99( Get )<5ms\n", "    p99(Get) < 5 ms\n")
            .replace("word: p99(\"Get\")<5ms", "word: p99(Get) < 5 ms")
            .replace("p50(Get,last 10s)>1ms", "p50(Get, last 10 s) > 1 ms");
        assert_eq!(formatted("s.yaml", UGLY).unwrap(), usual);
        // Formatting again changes nothing.
        assert_eq!(formatted("s.yaml", &usual).unwrap(), usual);
    }

    #[test]
    fn what_cannot_be_read_has_a_position() {
        let wrong = UGLY.replace("plain:   p99( Get )<5ms", "plain:   p99( Get )<");
        let error = formatted("s.yaml", &wrong).unwrap_err().to_string();
        assert!(
            error.starts_with("s.yaml:3:12: the constraint ends early"),
            "{error}"
        );
    }

    #[test]
    fn built_in_suites_are_formatted() {
        for builtin in builtin::SUITES {
            assert_eq!(formatted(builtin.name, builtin.text).unwrap(), builtin.text);
        }
    }
}
