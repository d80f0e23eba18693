//! Files that a user wrote: suites, traffic, laboratories and experiments.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::exit::Failed;

/// Largest file that is read, in bytes: an endless one (`/dev/zero`) is refused.
const LARGEST: u64 = 64 << 20;

/// The text of a file.
///
/// # Errors
///
/// It cannot be read, is no UTF-8, or is larger than 64 MiB.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?
        .take(LARGEST + 1)
        .read_to_string(&mut text)?;
    if read as u64 > LARGEST {
        let message = format!("it is larger than {} MiB", LARGEST >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// A defect of a file. Places within its YAML begin with its name already, and keys do not.
pub(crate) fn defect(name: &str, error: &impl ToString) -> Failed {
    let error = error.to_string();
    let is_named = error
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(':'));
    Failed::Usage(if is_named {
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
    fn the_name_of_a_file_is_said_once() {
        let said = |error: &str| defect("x.yaml", &error).to_string();
        assert_eq!(said("x.yaml:1:2: odd"), "x.yaml:1:2: odd");
        assert_eq!(said("links[0].rate: odd"), "x.yaml: links[0].rate: odd");
    }
}
