//! Files in the program. The build script lists them: a new one is one file in its directory.

/// A file that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinFile {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
}

impl BuiltinFile {
    /// Finds the file of this name.
    pub fn find(files: &'static [BuiltinFile], name: &str) -> Option<&'static BuiltinFile> {
        files.iter().find(|file| file.name == name)
    }
}

/// Suites, by name: `prestan run NAME URL`.
pub const SUITES: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// Networks of laboratories, by name.
pub const LABS: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/labs.rs"));

/// Experiments in laboratories, by name.
pub const EXPERIMENTS: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// Recipes of servers, by name; the crate `recipe` reads them.
pub const SERVERS: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/servers.rs"));

include!(concat!(env!("OUT_DIR"), "/each_server.rs"));

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_a_directory_is_in_its_list_by_name() {
        for (directory, files) in [
            ("suites", SUITES),
            ("labs", LABS),
            ("experiments", EXPERIMENTS),
            ("servers", SERVERS),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(directory);
            let entries = std::fs::read_dir(path).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let names = names.filter_map(|name| Some(name.strip_suffix(".yaml")?.to_owned()));
            let mut names: Vec<String> = names.collect();
            names.sort();
            assert!(files.iter().map(|file| file.name).eq(&names), "{names:?}");
            assert!(names.len() > 5 && files.iter().all(|file| !file.text.is_empty()));
        }
    }
}
