//! Files of users: suites, traffic, laboratories and experiments.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use builtin::BuiltinFile;

use crate::error::RunnerError;

/// Largest file that is read, in bytes: an endless one (`/dev/zero`) is refused.
const LARGEST: u64 = 64 << 20;

/// The text of a file: UTF-8, or UTF-16 behind a byte order mark.
///
/// # Errors
///
/// The file cannot be read, is neither, or is larger than 64 MiB.
pub fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = File::open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    if read as u64 > LARGEST {
        let message = format!("it is larger than {} MiB", LARGEST >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    decoded(bytes).map_err(|message| io::Error::new(io::ErrorKind::InvalidData, message))
}

/// The text of a built-in object or else of a file. `kind` is its kind, with the sub-command of
/// `prestan lab` that lists the built-in ones.
///
/// # Errors
///
/// There is no such name, or the file cannot be read.
pub fn builtin_or_read(
    name: &str,
    builtin: &'static [BuiltinFile],
    (kind, list): (&str, &str),
) -> Result<Cow<'static, str>, RunnerError> {
    if let Some(builtin) = BuiltinFile::find(builtin, name) {
        return Ok(builtin.text.into());
    }
    let text = read(Path::new(name)).map_err(|error| {
        let is_word = !name.contains(['/', '.']);
        let names = builtin.iter().map(|builtin| builtin.name);
        RunnerError::Usage(match nearest::meant(name, names) {
            Some(nearest) if is_word => {
                format!("no {kind} is called `{name}`; did you mean `{nearest}`?")
            }
            _ if is_word => format!("no {kind} is called `{name}`; see `prestan lab {list}`"),
            _ => format!("reading {name} failed: {error}"),
        })
    })?;
    Ok(text.into())
}

fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    type Unit = fn([u8; 2]) -> u16;
    let (unit, text): (Unit, &[u8]) = match &bytes[..] {
        [0xff, 0xfe, text @ ..] => (u16::from_le_bytes, text),
        [0xfe, 0xff, text @ ..] => (u16::from_be_bytes, text),
        _ => {
            return String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                let line = 1 + error.as_bytes()[..at]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count();
                format!(
                    "it is no UTF-8: line {line} has bytes of another encoding; save it as UTF-8"
                )
            });
        }
    };
    let (pairs, rest) = text.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    match (String::from_utf16(&units), rest) {
        (Ok(text), []) => Ok(text),
        _ => Err("it begins as UTF-16, and is none; save it as UTF-8".to_owned()),
    }
}

/// The error of a defective file. Positions in its YAML begin with its name, keys do not.
pub fn defect(name: &str, error: &impl ToString) -> RunnerError {
    let error = error.to_string();
    let is_named = error
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(':'));
    RunnerError::Usage(if is_named {
        error
    } else {
        format!("{name}: {error}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 64 MiB");
        assert_eq!(read(Path::new("/dev/null")).unwrap(), "");
    }

    #[test]
    fn a_text_is_utf_8_or_utf_16_with_a_byte_order_mark() {
        let text = "suite: \u{e9}\u{1f600}\n";
        let units = || text.encode_utf16();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(text.into()).as_deref(), Ok(text));
        assert_eq!(
            decoded([&b"\xff\xfe"[..], &little].concat()).as_deref(),
            Ok(text)
        );
        assert_eq!(
            decoded([&b"\xfe\xff"[..], &big].concat()).as_deref(),
            Ok(text)
        );
        for (bytes, why) in [
            (&b"a: b\nc: Z\xfcrich"[..], "it is no UTF-8: line 2 "),
            (b"\xff\xfea", "it begins as UTF-16"),
            (b"\xff\xfe\x00\xd8", "it begins as UTF-16"),
        ] {
            let error = decoded(bytes.to_owned()).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn a_name_that_is_mistyped_is_corrected() {
        let error = builtin_or_read("congstion", builtin::LABS, ("lab", "list")).unwrap_err();
        let expected = "no lab is called `congstion`; did you mean `congestion`?";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_name_of_a_file_is_said_once() {
        let message = |error: &str| defect("x.yaml", &error).to_string();
        assert_eq!(message("x.yaml:1:2: odd"), "x.yaml:1:2: odd");
        assert_eq!(message("links[0].rate: odd"), "x.yaml: links[0].rate: odd");
    }
}
