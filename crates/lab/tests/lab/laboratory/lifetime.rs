//! A laboratory ends with its process, and leaves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{ForwarderSettings, Lab, Namespace, TwoHosts};

use super::scenes::{self, PlayedScene};
use super::support::{DatagramPath, can_build, delay, wait_until};

/// A program that has a child, whose child is an orphan in another session. It prints the ids of
/// the last two, as the laboratory counts them, and ends when its input does, which is never.
const FAMILY: &str = "(setsid sleep 1000 & echo $!); sleep 1000 & echo $!; wait";

/// Starts the family, and waits until all of its processes exist.
fn start_family(lab: &Lab, namespace: &Namespace) -> std::process::Child {
    let mut command = Command::new("sh");
    command.args(["-c", FAMILY]).stdout(Stdio::piped());
    let mut child = lab.spawn(namespace, command).unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    for _ in 0..2 {
        let process = lines.next().unwrap().unwrap();
        assert!(process.parse::<u32>().unwrap() < 100, "{process}");
    }
    child
}

/// Processes and file descriptors of this machine that keep one of these network namespaces.
pub(crate) fn holders(namespaces: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap() {
        let process = process.unwrap().path();
        let links = ["task", "fd"].iter().flat_map(|part| {
            let entries = fs::read_dir(process.join(part)).into_iter().flatten();
            let entries = entries.flatten().map(|entry| entry.path());
            entries.map(move |path| {
                if *part == "task" {
                    path.join("ns/net")
                } else {
                    path
                }
            })
        });
        for link in links {
            let Ok(target) = fs::read_link(&link) else {
                continue;
            };
            if namespaces.contains(&*target.to_string_lossy()) {
                found.push(link.display().to_string());
            }
        }
    }
    found
}

/// The name of a namespace in `/proc`: `net:[4026532281]`.
fn name(namespace: &Namespace) -> String {
    let stat = rustix::fs::fstat(namespace.as_fd()).unwrap();
    format!("net:[{}]", stat.st_ino)
}

/// The scene: holds a laboratory with programs until it is killed.
pub(crate) fn hold() {
    let hosts = TwoHosts::new(&ForwarderSettings {
        forth: delay(Duration::from_secs(10)),
        ..ForwarderSettings::default()
    })
    .unwrap();
    let families = [&hosts.client, &hosts.server].map(|host| start_family(&hosts.lab, host));
    // Frames are inside when it ends.
    DatagramPath::new(&hosts).send(10, 100);
    scenes::print(format!("{} {}", name(&hosts.client), name(&hosts.server)));
    for mut family in families {
        family.wait().unwrap();
    }
}

#[test]
fn nothing_is_left_of_a_process_that_was_killed() {
    if !can_build() {
        return;
    }
    let mut scene = PlayedScene::start(scenes::command("hold")).unwrap();
    let line = scene.line().unwrap();
    let namespaces: BTreeSet<String> = line.split(' ').map(str::to_owned).collect();
    assert_eq!(namespaces.len(), 2);
    // Three processes of each family, and the descriptors of the scene.
    assert!(
        holders(&namespaces).len() >= 8,
        "{:?}",
        holders(&namespaces)
    );
    scene.child.kill().unwrap();
    scene.child.wait().unwrap();
    wait_until("all holders of the namespaces end", || {
        holders(&namespaces).is_empty()
    });
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(namespaces.iter().all(|name| !mounts.contains(name)));
}

#[test]
fn programs_end_with_their_laboratory() {
    if !can_build() {
        return;
    }
    let namespace = Namespace::new("host").unwrap();
    let names = BTreeSet::from([name(&namespace)]);
    let lab = Lab::new().unwrap();
    let mut family = start_family(&lab, &namespace);
    drop(namespace);
    assert!(!holders(&names).is_empty());
    drop(lab);
    assert!(!family.wait().unwrap().success());
    wait_until("the family ends", || holders(&names).is_empty());
}

/// The scene: builds a laboratory several times, and counts file descriptors and threads.
pub(crate) fn build_and_drop() {
    let count = |what| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    let both = || (count("fd"), count("task"));
    let before = both();
    for round in 0..3 {
        let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
        let mut family = start_family(&hosts.lab, &hosts.client);
        let during = both();
        assert!(during.0 > before.0 && during.1 > before.1, "{during:?}");
        let (forwarder, lab) = (hosts.forwarder, hosts.lab);
        if round == 0 {
            forwarder.stop().unwrap();
        } else {
            drop(forwarder);
        }
        drop(lab);
        family.wait().unwrap();
    }
    // Detached threads end a moment later.
    wait_until("all is freed", || both() == before);
    scenes::print("freed");
}

#[test]
fn file_descriptors_and_threads_are_freed() {
    if !can_build() {
        return;
    }
    let scene = PlayedScene::start(scenes::command("build and drop")).unwrap();
    assert_eq!(scene.outcome(), "freed");
}
