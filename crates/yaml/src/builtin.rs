//! Files that are part of the program.

/// A file that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinFile {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

impl BuiltinFile {
    /// That of these files which has the name.
    pub fn find(files: &'static [BuiltinFile], name: &str) -> Option<&'static BuiltinFile> {
        files.iter().find(|file| file.name == name)
    }
}
