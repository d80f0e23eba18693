//! Files of a run that are first written under another name.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use crate::error::{RunDirError, writing};
use crate::folder::Folder;

/// Suffix of the name of a file that is not complete yet.
pub(crate) const PART: &str = ".part";

/// A file that is not complete yet. Dropping it before completion removes it: on a full disk, its
/// space serves the rest of the record.
pub(crate) struct PartFile {
    folder: Arc<Folder>,
    name: String,
    is_complete: bool,
}

impl PartFile {
    /// Creates it, if there is no file of its name.
    pub(crate) fn create(
        folder: &Arc<Folder>,
        name: &str,
    ) -> Result<(PartFile, File), RunDirError> {
        let file = folder.create(&part_of(name))?;
        let part = PartFile {
            folder: folder.clone(),
            name: name.to_owned(),
            is_complete: false,
        };
        Ok((part, file))
    }

    /// Renames it to its final name, replacing another file.
    pub(crate) fn complete(mut self) -> Result<(), RunDirError> {
        self.folder.rename(&part_of(&self.name), &self.name)?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_complete {
            // A failure is about to be reported, and this one adds nothing to it.
            let _ = self.folder.remove_file(part_of(&self.name));
        }
    }
}

/// Replaces a file atomically.
pub(crate) fn replace(folder: &Arc<Folder>, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
    let (part, mut file) = PartFile::create(folder, name)?;
    let written = file.write_all(bytes);
    written.map_err(|error| writing(&folder.path().join(name), error))?;
    part.complete()
}

fn part_of(name: &str) -> String {
    format!("{name}{PART}")
}
