//! Missing requirements are reported in one sentence with the remedy; and a laboratory without
//! root.

use std::os::unix::process::CommandExt;

use lab::{ForwarderSettings, Impairment, LabError, Namespace, Tap, TwoHosts, user_namespace};
use rustix::process::geteuid;

use super::scenes::{self, PlayedScene};
use super::support::{DatagramPath, can_build};

/// A user without rights.
const NOBODY: u32 = 65_534;

/// The scene: builds a laboratory and sends a datagram through it, or reports why it cannot.
pub(crate) fn build() {
    match TwoHosts::new(&ForwarderSettings::default()) {
        Ok(hosts) => {
            let path = DatagramPath::new(&hosts);
            path.send(1, 100);
            assert_eq!(path.receive(1).len(), 1);
            scenes::print("built");
        }
        Err(error) => scenes::print(error),
    }
}

#[test]
fn a_user_namespace_is_enough() {
    if !can_build() {
        return;
    }
    let mut command = scenes::command("build");
    user_namespace::enter_before_exec(&mut command);
    let outcome = match PlayedScene::start(command) {
        Ok(scene) => scene.outcome(),
        Err(error) => LabError::UserNamespace(error).to_string(),
    };
    let is_closed = outcome.contains("allow this user") || outcome.contains("allow them");
    if is_closed && std::env::var_os("CI").is_none() {
        eprintln!("skipped: {outcome}");
        return;
    }
    assert_eq!(outcome, "built");
}

#[test]
fn without_rights_the_message_names_them() {
    if !can_build() {
        return;
    }
    let mut command = scenes::command("build");
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    match PlayedScene::start(command) {
        Ok(scene) => assert_eq!(
            scene.outcome(),
            "cannot create a network namespace: Operation not permitted (os error 1); run as root \
             (CAP_SYS_ADMIN), or enter a user namespace first"
        ),
        // That user may not read this program.
        Err(error) => eprintln!("skipped: {error}"),
    }
}

#[test]
fn without_ip_the_message_names_its_package() {
    if !can_build() {
        return;
    }
    let mut command = scenes::command("build");
    command.env("PATH", "/none/such");
    assert_eq!(
        PlayedScene::start(command).unwrap().outcome(),
        "cannot run `ip`: No such file or directory (os error 2); install the package iproute2"
    );
}

#[test]
fn a_process_with_threads_cannot_enter_a_user_namespace() {
    // The test harness has one thread, and this test another.
    let refused = std::thread::spawn(user_namespace::enter).join().unwrap();
    assert!(matches!(refused, Err(LabError::SeveralThreads)));
}

#[test]
fn commands_and_parameters_that_fail_are_named() {
    if !can_build() {
        return;
    }
    let namespace = Namespace::new("host").unwrap();
    let error = namespace
        .ip(&["link set lo up", "link set none up"])
        .unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("`ip` failed in the namespace `host`: Cannot find device \"none\""),
        "{error}"
    );
    let error = namespace
        .sysctl(&[("net.none", "1")])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot set net.none to `1` in the namespace `host`"),
        "{error}"
    );
    assert!(namespace.dropped("none").is_err());
    let tap = Tap::create(&namespace, "eth0").unwrap();
    for name in ["eth0", "", "a/b", "longer than a name", "with\0zero"] {
        let error = Tap::create(&namespace, name).unwrap_err();
        assert!(matches!(error, LabError::Tap { .. }), "{name}: {error}");
    }
    drop(tap);
    Tap::create(&namespace, "eth0").unwrap();
}

#[test]
fn settings_out_of_range_are_refused_before_anything_is_built() {
    if !can_build() {
        return;
    }
    let refused = TwoHosts::new(&ForwarderSettings {
        back: Impairment {
            duplication: 2.0,
            ..Impairment::default()
        },
        ..ForwarderSettings::default()
    });
    assert!(matches!(refused, Err(LabError::Setting(_))));
}
