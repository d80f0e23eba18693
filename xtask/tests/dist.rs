//! `cargo xtask dist`, with the program of the tests: the files of a release are complete and work.
//! The nightly run also compares two builds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo test --workspace` makes the program; `cargo test -p xtask` only finds it. In CI it must
/// be there.
#[test]
fn what_is_published_is_whole_and_works() {
    let test = env::current_exe().unwrap();
    let directory = test.parent().and_then(Path::parent).unwrap();
    let program = directory.join("prestan");
    if !program.is_file() {
        assert!(
            env::var_os("CI").is_none(),
            "{} is not built",
            program.display()
        );
        eprintln!("skipped: {} is not built", program.display());
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    // Without what only a debugger reads, as it is published.
    let stripped = temporary.path().join("prestan");
    let mut strip = Command::new("strip");
    assert!(
        strip
            .arg("-o")
            .arg(&stripped)
            .arg(program)
            .status()
            .unwrap()
            .success()
    );
    let into = temporary.path().join("made");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["dist", "--program"])
        .arg(&stripped)
        .arg("--into")
        .arg(&into)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let sums = fs::read_to_string(into.join("SHA256SUMS")).unwrap();
    let names: Vec<&str> = sums
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    for ending in [".tar.gz", ".deb", ".whl", ".cdx.json"] {
        assert!(names.iter().any(|name| name.ends_with(ending)), "{names:?}");
    }
    let path = |ending: &str| {
        let name = names.iter().find(|name| name.ends_with(ending));
        into.join(name.unwrap())
    };
    wheel_is_as_its_list_says(&path(".whl"));
    archive_is_where_binstall_looks(&path(".tar.gz"));
    let unpacked = temporary.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    said(
        Command::new("tar")
            .arg("-xzf")
            .arg(path(".tar.gz"))
            .arg("-C")
            .arg(&unpacked),
    );
    links_lead_somewhere(&unpacked, 20);
    debian_package_is_described(&path(".deb"), temporary.path());

    // A damaged archive is found.
    fs::write(path(".tar.gz"), "damaged").unwrap();
    let mut check = Command::new("sha256sum");
    let check = check.args(["--check", "--status", "SHA256SUMS"]);
    let status = check.current_dir(into).status();
    assert!(!status.unwrap().success());
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Its size and sums are those of its files, its links lead to files of it, the maintainer has an
/// address, and Debian's tool has no objection.
fn debian_package_is_described(package: &Path, temporary: &Path) {
    let tree = temporary.join("debian");
    let field = |name: &str| said(Command::new("dpkg-deb").arg("-f").arg(package).arg(name));
    said(Command::new("dpkg-deb").arg("-R").args([package, &tree]));
    let sums = tree.join("DEBIAN/md5sums");
    let check = ["--check", "--strict", "--quiet"];
    said(
        Command::new("md5sum")
            .args(check)
            .arg(&sums)
            .current_dir(&tree),
    );
    let files = fs::read_to_string(&sums).unwrap();
    let sizes = files.lines().map(|line| {
        let (_, name) = line.split_once("  ").unwrap();
        fs::metadata(tree.join(name)).unwrap().len().div_ceil(1024)
    });
    assert_eq!(
        field("Installed-Size").trim(),
        sizes.sum::<u64>().to_string()
    );
    fs::remove_dir_all(tree.join("DEBIAN")).unwrap();
    assert_eq!(files.lines().count(), files_below(&tree).len());
    let maintainer = field("Maintainer");
    let (name, address) = maintainer.trim().split_once(" <").unwrap();
    let (user, host) = address.strip_suffix('>').unwrap().split_once('@').unwrap();
    assert!(
        !name.is_empty() && !user.is_empty() && host.contains('.'),
        "{maintainer}"
    );
    links_lead_somewhere(&tree, 20);
    debian_has_no_objection(package);
}

/// Runs Debian's own checks of the package.
fn debian_has_no_objection(package: &Path) {
    let lintian = Path::new("/usr/bin/lintian");
    if !lintian.is_file() {
        assert!(env::var_os("CI").is_none(), "lintian is not installed");
        eprintln!("skipped: lintian is not installed; `cargo xtask setup` installs it");
        return;
    }
    let mut lintian = Command::new(lintian);
    lintian.args(["--allow-root", "--fail-on=error,warning"]);
    said(lintian.arg(package));
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Relative links of a page to what is not there.
fn broken_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', '#']).next());
    let relative = links.filter(|link| !link.contains("://") && !link.contains(' '));
    let broken = relative.filter(|link| !page.parent().unwrap().join(link).exists());
    broken.map(str::to_owned).collect()
}

/// Those of all pages, of which there are at least so many.
fn links_lead_somewhere(directory: &Path, least: usize) {
    let mut pages = files_below(directory);
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    assert!(pages.len() >= least, "{pages:?}");
    for page in &pages {
        assert_eq!(broken_links(page), [] as [&str; 0], "{}", page.display());
    }
    // Without the page of which most is known.
    let linked = pages
        .iter()
        .find(|page| page.ends_with("docs/methodology/README.md"));
    fs::remove_file(linked.unwrap()).unwrap();
    let readme = pages
        .iter()
        .find(|page| page.ends_with("README.md") && page.with_file_name("docs").is_dir());
    assert!(broken_links(readme.unwrap()).contains(&"docs/methodology/README.md".to_owned()));
}

/// As an installer checks it: all files but the list have their checksums in it, and the program
/// may be run.
fn wheel_is_as_its_list_says(wheel: &Path) {
    const CHECK: &str = r#"
import base64, csv, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
[record] = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
[script] = [name for name in wheel.namelist() if name.endswith(".data/scripts/prestan")]
assert wheel.getinfo(script).external_attr >> 16 == 0o100755
rows = list(csv.reader(wheel.read(record).decode().splitlines()))
assert [row[0] for row in rows] == wheel.namelist()
for name, digest, length in rows[:-1]:
    content = wheel.read(name)
    found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    assert (digest, length) == ("sha256=" + found, str(len(content))), name
assert rows[-1] == [record, "", ""]
"#;
    let mut check = Command::new("python3");
    let output = check.args(["-c", CHECK]).arg(wheel).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The templates of `package.metadata.binstall` name this file, and the program in it.
fn archive_is_where_binstall_looks(archive: &Path) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/prestan/Cargo.toml");
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let expanded = |key: &str| {
        let mut text = binstall[key].as_str().unwrap().to_owned();
        for (name, value) in [
            ("name", "prestan"),
            ("bin", "prestan"),
            ("version", env!("CARGO_PKG_VERSION")),
            ("target", &target),
            ("binary-ext", ""),
            ("repo", "https://forge.example/o/prestan"),
        ] {
            text = text.replace(&format!("{{ {name} }}"), value);
        }
        assert!(!text.contains('{'), "{text}");
        text
    };
    let name = archive.file_name().unwrap().to_str().unwrap();
    // The README names it as well.
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let named = readme.split("`tar -xf ").nth(1).unwrap().split('`').next();
    let named = named.unwrap().replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert_eq!(named.replace("x86_64", env::consts::ARCH), name);
    let release = format!("releases/download/v{}", env!("CARGO_PKG_VERSION"));
    let url = format!("https://forge.example/o/prestan/{release}/{name}");
    assert_eq!(expanded("pkg-url"), url);
    let mut list = Command::new("tar");
    let list = list.arg("-tzf").arg(archive).output().unwrap().stdout;
    let list = String::from_utf8(list).unwrap();
    let program = expanded("bin-dir");
    assert!(
        list.lines().any(|file| file == program),
        "{program}: {list}"
    );
}
