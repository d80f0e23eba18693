//! Recipes of servers: files of `servers/`, which are part of the program, and commands of users.
//!
//! ```text
//! servers/NAME.yaml --> Recipe, one for each variant --> templates filled in --> files, arguments, environment, URL
//!                          `--> programs that are missing --> what installs them
//! ```

mod expected;
mod install;
mod templates;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use builtin::{BuiltinFile, SERVERS};
use serde::Deserialize;

pub use expected::{ServerExpectations, UnsupportedRows};
pub use install::{Install, PublishedCrate, find_program, tool_cache};
pub use templates::{BadTemplate, NO_URL, RecipeTemplates, authority, in_url};

/// The directory that a server serves, in its temporary one.
pub const STORAGE: &str = "storage";

/// How to start one server. Its parts are described in `servers/README.md`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name on the command line: `apache-digest`.
    pub name: String,
    /// Name for people, in one line.
    pub title: String,
    /// Storage of properties and locks.
    pub keeps: Keeps,
    /// Authentication that the server wants.
    #[serde(default)]
    pub auth: UrlScheme,
    /// Packages with the server.
    #[serde(default)]
    pub install: Install,
    /// Names of the server's own files in the storage, in any collection.
    #[serde(default)]
    pub bookkeeping: Vec<String>,
    /// Missing or unusual features, in sentences for people; empty if there are none.
    #[serde(default)]
    pub limits: String,
    /// Results that tests expect.
    #[serde(default)]
    pub expected: ServerExpectations,
    /// Set if it has a switch for HTTP/2 without TLS: `http2` in its templates.
    #[serde(default)]
    pub http2: bool,
    /// Executable: a name to look for, or a path.
    pub program: String,
    version: Vec<String>,
    /// Executable that prints the version, if it is not the program.
    version_program: Option<String>,
    #[serde(default)]
    needs: Vec<PathBuf>,
    /// A second process that the program needs: it is started first and ended last.
    pub helper: Option<Helper>,
    /// User that runs it where Prestan is root.
    pub user: Option<String>,
    /// Directories to create, in its temporary one.
    #[serde(default)]
    pub directories: Vec<String>,
    /// Templates of files, by their paths in the temporary directory.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Templates of its arguments.
    pub arguments: Vec<String>,
    /// Templates of additional environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Its logs.
    pub logs: LogNames,
    #[serde(default)]
    variants: Vec<RecipeVariant>,
    /// The URL of the collection that is measured: that of its root, unless it can hold nothing.
    #[serde(default = "root_url")]
    pub url: String,
    /// Set if it speaks HTTP/2, without TLS and with prior knowledge.
    #[serde(skip)]
    pub is_http2: bool,
    /// Set if it runs in the directory of this process, not in its temporary one.
    #[serde(skip)]
    pub in_place: bool,
}

fn root_url() -> String {
    "http://{{ host }}:{{ port }}/".to_owned()
}

/// Storage of a server's data about resources beside their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keeps {
    /// Dead properties.
    pub properties: Keeping,
    /// Locks.
    pub locks: Keeping,
}

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeping {
    /// Files of any format, written as a whole or by key.
    Files,
    /// A database with transactions.
    Database,
    /// The memory of its process.
    Memory,
    /// None: the server does not have them.
    Nothing,
}

impl Keeping {
    /// The name used in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Keeping::Files => "files",
            Keeping::Database => "database",
            Keeping::Memory => "memory",
            Keeping::Nothing => "nothing",
        }
    }
}

/// Authentication of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlScheme {
    /// None.
    #[default]
    None,
    /// RFC 7617.
    Basic,
    /// RFC 7616, SHA-256 or MD5.
    Digest,
}

impl UrlScheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            UrlScheme::None => "none",
            UrlScheme::Basic => "basic",
            UrlScheme::Digest => "digest",
        }
    }
}

/// A process that a server needs beside it. It has the same user, directory, environment and
/// standard output as the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Helper {
    program: String,
    /// Templates of its arguments.
    pub arguments: Vec<String>,
}

/// Names of log files, in the temporary directory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogNames {
    /// Its complaints.
    pub error: String,
    /// A line for each request.
    pub access: Option<String>,
    /// Unit of TIME in the access log; `None` where it has none.
    pub time: Option<LoggedTime>,
}

/// The unit of the time in an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggedTime {
    /// Seconds with three decimals.
    Seconds,
    /// Whole microseconds.
    Microseconds,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeVariant {
    name: String,
    title: String,
    auth: UrlScheme,
}

/// A server that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its executable.
    pub program: PathBuf,
    /// Version, as reported by the program.
    pub version: String,
    /// Executable of its helper, where it needs one.
    pub helper: Option<PathBuf>,
}

/// A server that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is missing; it comes with: {how}")]
pub struct MissingProgram {
    /// Missing program or file.
    pub what: String,
    /// Packages with it.
    pub how: String,
}

/// All recipes, variants included, in the order of their files' names.
pub fn recipes() -> &'static [Recipe] {
    static RECIPES: LazyLock<Vec<Recipe>> =
        LazyLock::new(|| SERVERS.iter().flat_map(read).collect());
    &RECIPES
}

/// The recipes of a file of `servers/`, without those of crates.
pub fn tested_of(file: &str) -> Vec<Recipe> {
    let file = BuiltinFile::find(SERVERS, file);
    let recipes = file.into_iter().flat_map(read);
    recipes.filter(|recipe| !recipe.is_crate()).collect()
}

fn read(BuiltinFile { name, text }: &BuiltinFile) -> Vec<Recipe> {
    let mut recipe: Recipe = match yaml::read(text) {
        Ok(recipe) => recipe,
        // A file of the source tree, and the first thing any test of this module reads.
        Err(error) => panic!("servers/{name}.yaml: {error}"),
    };
    let variants = std::mem::take(&mut recipe.variants);
    if variants.is_empty() {
        return vec![recipe];
    }
    let variants = variants.into_iter();
    variants
        .map(|RecipeVariant { name, title, auth }| Recipe {
            name,
            title,
            auth,
            ..recipe.clone()
        })
        .collect()
}

impl Recipe {
    /// The recipe of that name.
    pub fn named(name: &str) -> Option<&'static Recipe> {
        recipes().iter().find(|recipe| recipe.name == name)
    }

    /// A shell command of the user that starts a server at `url`. Both are templates as in
    /// `servers/`.
    pub fn of_command(name: &str, command: &str, url: Option<&str>) -> Recipe {
        Recipe {
            name: name.to_owned(),
            title: command.to_owned(),
            keeps: Keeps {
                properties: Keeping::Nothing,
                locks: Keeping::Nothing,
            },
            auth: UrlScheme::None,
            install: Install::default(),
            bookkeeping: Vec::new(),
            program: "sh".to_owned(),
            version: vec!["-c".to_owned(), ":".to_owned()],
            version_program: None,
            limits: String::new(),
            expected: ServerExpectations::default(),
            http2: false,
            needs: Vec::new(),
            helper: None,
            user: None,
            directories: Vec::new(),
            files: BTreeMap::new(),
            arguments: vec!["-c".to_owned(), command.to_owned()],
            environment: BTreeMap::new(),
            logs: LogNames {
                error: "output.log".to_owned(),
                access: None,
                time: None,
            },
            variants: Vec::new(),
            url: url.map_or_else(root_url, str::to_owned),
            is_http2: false,
            in_place: true,
        }
    }

    /// True if it is made of a command ([`Recipe::of_command`]).
    pub fn is_command(&self) -> bool {
        self.in_place
    }

    /// True if only the URL has `{{ port }}`, so that the server does not learn its port.
    pub fn lacks_port(&self) -> bool {
        has_port(&self.url) && !self.templates().any(|text| has_port(text))
    }

    /// Templates of a server, but for its URL.
    fn templates(&self) -> impl Iterator<Item = &String> {
        let of_helper = self.helper.iter().flat_map(|helper| &helper.arguments);
        let words = self.arguments.iter().chain(of_helper);
        words
            .chain(self.environment.values())
            .chain(self.files.values())
    }

    /// Checks its templates, regardless of the host.
    ///
    /// # Errors
    /// A sentence about the defect.
    pub fn check(&self) -> Result<(), String> {
        templates::check(self)
    }

    /// A recipe with comma-separated parameters after its name: `apache`, or
    /// `apache,program=/opt/httpd/bin/httpd`. Parameters are `program=PATH`, `arg=ARGUMENT` (one
    /// more), `http=2` (if the server has a switch for that), `env.NAME=VALUE`, and
    /// `file.NAME=PATH` (the content of one of its files).
    ///
    /// # Errors
    /// A sentence about the defect.
    pub fn with_parameters(text: &str) -> Result<Recipe, String> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let mut recipe = Recipe::named(name).cloned().ok_or_else(|| {
            let names = names(recipes().iter());
            format!("no server is called `{name}`; there are {names}")
        })?;
        parts.try_for_each(|part| recipe.set(part))?;
        recipe.check()?;
        recipe.name = text.to_owned();
        Ok(recipe)
    }

    /// Sets a parameter: `program=PATH`, `arg=ARGUMENT` (one more), `http=2`, `env.NAME=VALUE`, or
    /// `file.NAME=PATH` (the content of one of its files, from that file).
    fn set(&mut self, parameter: &str) -> Result<(), String> {
        let (key, value) = parameter
            .split_once('=')
            .ok_or_else(|| format!("`{parameter}`: write NAME=VALUE"))?;
        match key.split_once('.') {
            None if key == "program" => self.program = value.to_owned(),
            None if key == "http" => {
                if value != "2" || !self.http2 {
                    let names = names(recipes().iter().filter(|recipe| recipe.http2));
                    return Err(format!("http={value}: only {names} have http=2"));
                }
                self.is_http2 = true;
            }
            None if key == "arg" => self.arguments.push(value.to_owned()),
            Some(("env", name)) => {
                self.environment.insert(name.to_owned(), value.to_owned());
            }
            Some(("file", name)) => {
                let Some(content) = self.files.get_mut(name) else {
                    let names: Vec<&str> = self.files.keys().map(String::as_str).collect();
                    return Err(format!(
                        "`{name}` is no file of {}; there are {}",
                        self.name,
                        names.join(", ")
                    ));
                };
                *content = fs::read_to_string(value)
                    .map_err(|error| format!("reading {value} failed: {error}"))?;
            }
            _ => {
                return Err(format!(
                    "`{key}` is no parameter of a server; there are program, arg, http, env.NAME \
                     and file.NAME"
                ));
            }
        }
        Ok(())
    }

    /// Adds an argument for the program.
    pub fn with_argument(mut self, argument: &str) -> Recipe {
        self.arguments.push(argument.to_owned());
        self
    }

    /// True if it is built from a crate, which takes minutes: only ignored tests may need it.
    pub fn is_crate(&self) -> bool {
        self.install.published.is_some()
    }

    /// True if a program or another file that it needs is missing.
    pub fn is_missing(&self) -> bool {
        self.found().is_err()
    }

    /// Its executable and that of its helper, and the one that prints the version.
    fn found(&self) -> Result<(PathBuf, Option<PathBuf>, PathBuf), MissingProgram> {
        let missing = |what: String| self.missing(what);
        let find = |program: &String| find_program(program).ok_or_else(|| missing(program.clone()));
        let program = find(&self.program)?;
        let helper = self.helper.as_ref().map(|helper| find(&helper.program));
        let helper = helper.transpose()?;
        let versioned = self.version_program.as_ref().map(find).transpose()?;
        let versioned = versioned.unwrap_or_else(|| program.clone());
        match self.needs.iter().find(|file| !file.exists()) {
            Some(file) => Err(missing(file.display().to_string())),
            None => Ok((program, helper, versioned)),
        }
    }

    fn missing(&self, what: String) -> MissingProgram {
        MissingProgram {
            what,
            how: self.install.to_string(),
        }
    }

    /// Finds the server, and its version.
    pub fn installed(&self) -> Result<Installed, MissingProgram> {
        let (program, helper, versioned) = self.found()?;
        let output = Command::new(&versioned).args(&self.version).output();
        let output =
            output.map_err(|error| self.missing(format!("{}: {error};", versioned.display())))?;
        // nginx prints it on standard error.
        let text = [output.stdout, output.stderr].concat();
        Ok(Installed {
            program,
            version: version_in(&String::from_utf8_lossy(&text)),
            helper,
        })
    }
}

/// Names of recipes, with commas between them.
fn names<'a>(recipes: impl Iterator<Item = &'a Recipe>) -> String {
    let names: Vec<&str> = recipes.map(|recipe| &*recipe.name).collect();
    names.join(", ")
}

/// True if a template uses `port`.
fn has_port(template: &str) -> bool {
    let template = template.replace("{%", "{{").replace("%}", "}}");
    let mut expressions = template.split("{{").skip(1);
    expressions.any(|rest| {
        let expression = rest.split("}}").next().unwrap_or_default();
        expression.contains("port")
    })
}

/// The first word that looks like a version: `1.22.1` in `nginx version: nginx/1.22.1`.
fn version_in(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || "/()".contains(c));
    let numbers = words.map(|word| word.trim_start_matches('v'));
    let version = numbers
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .find(|word| word.contains('.'));
    version.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_recipe_with_a_name_of_its_own() {
        let mut names: Vec<_> = recipes().iter().map(|recipe| &*recipe.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(
            Recipe::named("apache-digest").unwrap().auth,
            UrlScheme::Digest
        );
        assert!(Recipe::named("iis").is_none());
    }

    #[test]
    fn recipes_have_parameters() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("conf");
        fs::write(&file, "Listen {{ port }}").unwrap();
        let text = format!(
            "apache,program=/opt/httpd,env.A=b=c,arg=-X,file.httpd.conf={}",
            file.display()
        );
        let recipe = Recipe::with_parameters(&text).unwrap();
        assert_eq!(recipe.program, "/opt/httpd");
        assert_eq!(recipe.environment["A"], "b=c");
        assert_eq!(recipe.arguments.last().unwrap(), "-X");
        assert_eq!(recipe.files["httpd.conf"], "Listen {{ port }}");
        assert_eq!(recipe.name, text);
        for (wrong, said) in [
            ("iis", "no server is called `iis`"),
            ("apache,colour=red", "`colour` is no parameter"),
            ("apache,program", "write NAME=VALUE"),
            (
                "dufs,http=2",
                "http=2: only apache, apache-basic, apache-digest, nginx have http=2",
            ),
            ("apache,file.nothing=x", "`nothing` is no file of apache"),
            ("nginx,env.A={{ nothing }}", "bad template: "),
            (
                "apache,file.httpd.conf=/nowhere/conf",
                "reading /nowhere/conf failed",
            ),
        ] {
            let error = Recipe::with_parameters(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_switch_for_http2_is_in_the_templates_of_those_that_have_it() {
        for recipe in recipes() {
            let has_switch = recipe.templates().any(|text| text.contains("http2"));
            assert_eq!(has_switch, recipe.http2, "{}", recipe.name);
        }
    }

    #[test]
    fn a_server_gets_its_port() {
        assert!(recipes().iter().all(|recipe| !recipe.lacks_port()));
        let fixed = Some("http://127.0.0.1:8080/");
        for (command, url, lacks) in [
            ("serve {{ port }}", None, false),
            ("serve {%if port%}1{%endif%}", None, false),
            ("serve --port 80 {{ storage }}", None, true),
            ("serve", Some("http://[::1]:{{port}}/"), true),
            ("serve", fixed, false),
        ] {
            let recipe = Recipe::of_command("A", command, url);
            assert_eq!(recipe.lacks_port(), lacks, "{command} {url:?}");
        }
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let table = "
            Server version: Apache/2.4.71 (Debian)↵Server built: x => 2.4.71
            nginx version: nginx/1.22.1 => 1.22.1
            lighttpd/1.4.69 (ssl) - a light and fast webserver => 1.4.69
            rclone v1.60.1-DEV => 1.60.1-DEV
            4.4.0 => 4.4.0
            dufs 0.47.0 => 0.47.0
            Server version: Apache Tomcat/10.1.60 (Debian)↵Server number: 10.1.60.0 => 10.1.60
            golang.org/x/net v0.35.0 => 0.35.0
            usage: no idea => unknown
        ";
        for [said, version] in cases::rows(table) {
            assert_eq!(version_in(said), version);
        }
    }
}
