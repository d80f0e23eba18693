//! Laboratories on machines that are not as most are.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use testbed::need_or;

use super::commands::can_build;

/// The program itself, inside of a lab.
const PRESTAN: &str = env!("CARGO_BIN_EXE_prestan");

const PLAIN: &str = "hosts: {client: {}, server: {}}\nlinks: [{ends: [client, server]}]\n";

/// Runs a lab with nothing in it, from `plain.yaml`.
const EMPTY: &str = "lab exec --lab plain.yaml client -- true";

/// Exit status, output and errors of a script in a directory, as root of a user namespace whose mounts and limits are its
/// own; `None` where this machine does not permit those.
fn unshared(home: &tempfile::TempDir, script: &str) -> Option<(Option<i32>, String, String)> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["-rmpf", "--mount-proc", "sh", "-c"])
            .arg(format!("set -e\n{script}"));
        command
            .current_dir(home.path())
            .env("XDG_STATE_HOME", home.path());
        command.output().map_err(|error| error.to_string())
    };
    let is_permitted = unshare("true").and_then(|output| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(()).ok_or(errors)
    });
    need_or(is_permitted)?;
    fs::write(home.path().join("plain.yaml"), PLAIN).unwrap();
    let output = unshare(script).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

#[test]
fn names_of_the_lab_win_over_those_of_the_machine() {
    if !can_build() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    file("hosts", "127.0.1.1 localhost server\n192.0.2.7 other\n");
    file(
        "nsswitch",
        "passwd: files\nhosts: none-such [!UNAVAIL=return] files\n",
    );
    fs::create_dir_all(home.path().join("run/nscd/socket")).unwrap();
    fs::create_dir(home.path().join("etc")).unwrap();
    symlink("../nowhere/hosts", home.path().join("etc/hosts")).unwrap();
    let script = format!(
        "mount --bind hosts /etc/hosts; mount --bind nsswitch /etc/nsswitch.conf; mount --bind run /run\n\
         {PRESTAN} lab exec --lab plain.yaml client -- sh -c 'for name in server SERVER other; do getent ahosts $name; \
         done; ls /run/nscd; cat /etc/nsswitch.conf'"
    );
    let Some((code, found, errors)) = unshared(&home, &script) else {
        return;
    };
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        !found.contains("127.0.1.1") && !found.contains("socket"),
        "{found}"
    );
    assert_eq!(found.matches("198.18.0.2 ").count(), 6, "{found}");
    assert!(found.contains("192.0.2.7 "), "{found}");
    assert!(
        found.ends_with("passwd: files\nhosts: files dns\n"),
        "{found}"
    );

    let script = format!("mount --bind etc /etc; {PRESTAN} {EMPTY}");
    let (code, _, errors) = unshared(&home, &script).unwrap();
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("there is no /etc/../nowhere/hosts; create it"),
        "{errors}"
    );
}
