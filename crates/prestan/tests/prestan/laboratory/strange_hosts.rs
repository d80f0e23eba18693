//! Laboratories on machines that are not as most are: names, programs, limits; and links that are
//! hard to measure.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use testbed::need_or;

use super::commands::{PLAIN, PRESTAN, can_build};
use crate::support::Prestan;

/// Runs a lab with nothing in it, from `plain.yaml`.
const EMPTY: &str = "lab exec --lab plain.yaml client -- true";

/// Exit status, output and errors of a script in a directory, as root of a user namespace with
/// separate mounts and limits; `None` if this machine does not permit them.
fn unshared(home: &Path, script: &str) -> Option<(Option<i32>, String, String)> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args([
            "-rmpf",
            "--mount-proc",
            "sh",
            "-c",
            &format!("set -e\n{script}"),
        ]);
        command.current_dir(home).env("XDG_STATE_HOME", home);
        command.output().map_err(|error| error.to_string())
    };
    let is_permitted = unshare("true").and_then(|output| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(()).ok_or(errors)
    });
    need_or(is_permitted)?;
    fs::write(home.join("plain.yaml"), PLAIN).unwrap();
    let output = unshare(script).unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Some((output.status.code(), stdout, stderr))
}

#[test]
fn names_of_the_lab_win_over_those_of_the_machine() {
    if !can_build() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    file("hosts", "127.0.1.1 localhost server\n192.0.2.7 other\n");
    let nsswitch = "passwd: files\nhosts: none-such [!UNAVAIL=return] files\n";
    file("nsswitch", nsswitch);
    fs::create_dir_all(home.path().join("run/nscd/socket")).unwrap();
    fs::create_dir(home.path().join("etc")).unwrap();
    symlink("../nowhere/hosts", home.path().join("etc/hosts")).unwrap();
    let script = format!(
        "mount --bind hosts /etc/hosts; mount --bind nsswitch /etc/nsswitch.conf; mount --bind run /run\n\
         {PRESTAN} lab exec --lab plain.yaml client -- sh -c 'for name in server SERVER other; do getent ahosts $name; \
         done; ls /run/nscd; cat /etc/nsswitch.conf'"
    );
    let Some((code, found, errors)) = unshared(home.path(), &script) else {
        return;
    };
    assert_eq!(code, Some(0), "{errors}");
    assert!(!found.contains("127.0.1.1"), "{found}");
    assert!(!found.contains("socket"), "{found}");
    assert_eq!(found.matches("198.18.0.2 ").count(), 6, "{found}");
    assert!(found.contains("192.0.2.7 "), "{found}");
    let lines = "passwd: files\nhosts: files dns\n";
    assert!(found.ends_with(lines), "{found}");

    let script = format!("mount --bind etc /etc; {PRESTAN} {EMPTY}");
    let (code, _, errors) = unshared(home.path(), &script).unwrap();
    assert_eq!(code, Some(1), "{errors}");
    let says = "there is no /etc/../nowhere/hosts; create it";
    assert!(errors.contains(says), "{errors}");
}

#[test]
fn what_a_machine_lacks_is_named_with_a_remedy_that_helps() {
    if !can_build() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let program = |directory: &str, text: &str| {
        let path = home.path().join(directory);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("ip"), text).unwrap();
        fs::set_permissions(path.join("ip"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let busybox = "#!/bin/sh\necho \"ip: invalid option -- 'b'\" >&2\n\
                   echo 'BusyBox v1.37.0 (Debian) multi-call binary.' >&2\nexit 1\n";
    program("busybox", busybox);
    let no_ipv6 = "#!/bin/sh\nif read -r line && [ \"${line#addr add 2001:}\" != \"$line\" ]; then\n\
                   echo 'RTNETLINK answers: Operation not supported' >&2; exit 1; fi\n\
                   { echo \"$line\"; cat; } | PATH=${PATH#*:} exec ip \"$@\"\n";
    program("no-ipv6", no_ipv6);
    let table = [
        (
            "PATH=$PWD/busybox:$PATH",
            "`ip` is BusyBox's, which does not have what labs use (-batch); install the package iproute2",
        ),
        (
            "PATH=$PWD/no-ipv6:$PATH",
            "this kernel has no usable IPv6, and every host of a lab has an address of it (RTNETLINK answers: Operation \
             not supported); load its module as root (modprobe ipv6)",
        ),
        (
            "echo 1 > /proc/sys/user/max_net_namespaces",
            "cannot create a network namespace: No space left on device (os error 28); no more of them are permitted: end \
             programs that have some, or raise /proc/sys/user/max_net_namespaces as root",
        ),
        (
            "mkdir empty && mount --bind empty /proc",
            "cannot create a network namespace: No such file or directory (os error 2); /proc is missing: mount it",
        ),
    ];
    for (before, expected) in table {
        let Some((code, _, errors)) =
            unshared(home.path(), &format!("{before}\n{PRESTAN} {EMPTY}"))
        else {
            return;
        };
        assert_eq!(code, Some(1), "{before}: {errors}");
        assert!(errors.contains(expected), "{before}: {errors}");
    }
}

const HARD: &str =
    "hosts: {a: {}, b: {}}\nlinks:\n  - {ends: [a, b], forth: {FORTH}, back: {BACK}}\n";

#[test]
fn links_that_are_hard_to_measure_are_measured_or_said_not_to_be() {
    if !can_build() {
        return;
    }
    let prestan = Prestan::new();
    let hard = HARD
        .replace("FORTH", "loss: 100%")
        .replace("BACK", "rate: 1kbit");
    prestan.file("hard.yaml", &hard);
    let shallow = "rate: 10mbit, queue: 1";
    let shallow = HARD.replace("FORTH", shallow).replace("BACK", shallow);
    prestan.file("shallow.yaml", &shallow);
    let hard = prestan!(prestan => "lab check hard.yaml").ends(0);
    hard.stdout_has("not measured: every probe was lost");
    // The described delay of that wire, and none that was measured.
    assert_eq!(hard.stdout.matches("0 ns").count(), 1, "{hard}");
    hard.stderr_has("measuring b -> a, which takes ");
    let shallow = prestan!(hard.again() => "lab check shallow.yaml").run();
    // On a busy machine, two frames may meet where there is room for one.
    let is_lossy = shallow.stdout.contains("NOT as described: loss");
    assert_eq!(shallow.code, i32::from(is_lossy), "{shallow}");
}
