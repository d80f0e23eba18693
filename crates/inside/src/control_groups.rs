//! The processes of a server that was not started here: those of its control group (cgroups(7)).
//!
//! A service manager and a container engine give each service a group: a web server and the
//! interpreters that another process of the service started are in one. A group that is not
//! specific to a server is left out: the root, that of a login or a terminal, and one that this
//! process or the first process of the machine is in.

use std::fs;
use std::path::Path;

use crate::processes::{descendants_below, numbers_in};

/// Processes of the control group of a process, itself included, in ascending order; none where the
/// group is left out. One that has started this process is left out, too.
pub fn group_members(pid: u32) -> Vec<u32> {
    members_below(Path::new("/proc"), pid, std::process::id())
}

/// The group of a process, if it is specific to a service.
pub(crate) fn group(pid: u32) -> Option<Group> {
    group_of(Path::new("/proc"), pid, std::process::id())
}

/// Processes that are in a group now, as [`group_members`] has them.
pub(crate) fn members_of(group: &Group) -> Vec<u32> {
    members_in(Path::new("/proc"), group, std::process::id())
}

fn members_below(proc: &Path, pid: u32, this_process: u32) -> Vec<u32> {
    let group = group_of(proc, pid, this_process);
    group.map_or(Vec::new(), |group| members_in(proc, &group, this_process))
}

fn members_in(proc: &Path, group: &Group, this_process: u32) -> Vec<u32> {
    let is_in = |other: &u32| {
        paths(proc, *other).contains(group)
            && !descendants_below(proc, &[*other]).contains(&this_process)
    };
    let mut members: Vec<u32> = numbers_in(proc).into_iter().filter(is_in).collect();
    members.sort_unstable();
    members
}

/// A hierarchy, and a path in it, as a line of `/proc/PID/cgroup` has them.
pub(crate) type Group = (String, String);

/// The group of a process, if it is specific to a service.
fn group_of(proc: &Path, pid: u32, this_process: u32) -> Option<Group> {
    let others = [paths(proc, this_process), paths(proc, 1)].concat();
    paths(proc, pid)
        .into_iter()
        .find(|group| is_of_a_service(&group.1) && !others.contains(group))
}

/// The groups of a process, by hierarchy: that of version 2 first, then that of systemd, then
/// others.
fn paths(proc: &Path, pid: u32) -> Vec<Group> {
    // Names of groups are bytes, and need not be UTF-8.
    let text = fs::read(proc.join(pid.to_string()).join("cgroup")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let groups = text.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (hierarchy, path) = line.split_once(':')?;
        Some((hierarchy.to_owned(), path.to_owned()))
    });
    let mut groups: Vec<Group> = groups.collect();
    groups.sort_by_key(|(hierarchy, _)| match &hierarchy[..] {
        "" => 0,
        "name=systemd" => 1,
        _ => 2,
    });
    groups
}

/// True if a group is that of a service or of a container. A scope of systemd contains processes
/// that others than systemd have started: a login, a terminal, or a container.
fn is_of_a_service(path: &str) -> bool {
    const CONTAINERS: [&str; 4] = ["docker-", "libpod-", "cri-containerd-", "crio-"];
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        _ if name.is_empty() || !path.starts_with('/') => false,
        Some((name, "scope")) => CONTAINERS
            .iter()
            .any(|container| name.starts_with(container)),
        Some((_, "slice")) => false,
        Some((name, "service")) => !name.starts_with("user@"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn members<T: AsRef<[u8]>>(processes: &[(u32, T)], pid: u32) -> Vec<u32> {
        let proc = tempfile::tempdir().unwrap();
        for (pid, groups) in processes {
            let directory = proc.path().join(pid.to_string());
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("cgroup"), groups).unwrap();
            // The first has started all others.
            let parent = u32::from(*pid > 1);
            fs::write(
                directory.join("stat"),
                format!("{pid} (x) S {parent} 1 0 0 -1 64"),
            )
            .unwrap();
        }
        members_below(proc.path(), pid, 50)
    }

    #[test]
    fn a_service_has_all_processes_of_its_group() {
        let processes = [
            (1, "0::/init.scope\n"),
            (10, "0::/system.slice/web.service\n"),
            (11, "0::/system.slice/web.service\n"),
            (12, "0::/system.slice/web.service/below\n"),
            (13, "0::/system.slice/other.service\n"),
            (50, "0::/user.slice/user-0.slice/session-3.scope\n"),
        ];
        assert_eq!(members(&processes, 10), [10, 11]);
        assert_eq!(members(&processes, 12), [12]);
        assert_eq!(members(&processes, 99), [0_u32; 0]);
    }

    #[test]
    fn a_group_of_version_1_counts_where_this_process_is_in_another() {
        let processes = [
            (1, "3:pids:/\n2:memory:/\n0::/\n"),
            (10, "3:pids:/web\n2:memory:/all\n0::/\n"),
            (11, "3:pids:/web\n2:memory:/all\n0::/\n"),
            (12, "3:pids:/\n2:memory:/all\n0::/\n"),
            (50, "3:pids:/\n2:memory:/all\n0::/\n"),
        ];
        assert_eq!(members(&processes, 10), [10, 11]);
        // The only group is one that this process is in.
        assert_eq!(members(&processes, 12), [0_u32; 0]);
    }

    #[test]
    fn one_that_has_started_this_process_is_left_out() {
        let service = "0::/system.slice/ssh.service\n";
        let session = "0::/user.slice/user-0.slice/session-3.scope\n";
        let processes = [(1, service), (10, service), (50, session)];
        assert_eq!(members(&processes, 10), [0_u32; 0]);
        let processes = [
            (1, "0::/init.scope\n"),
            (10, service),
            (11, service),
            (50, session),
        ];
        assert_eq!(members(&processes, 10), [10, 11]);
    }

    #[test]
    fn what_is_no_line_of_a_group_names_none() {
        let odd: [&[u8]; 7] = [
            b"",
            b"\n\n",
            b"0\n",
            b"0:\n",
            b"0::\n",
            b":::\n",
            b"\xff\xfe\x00",
        ];
        for groups in odd {
            let processes = [
                (1, b"0::/\n".as_slice()),
                (10, groups),
                (11, groups),
                (50, b"0::/own\n"),
            ];
            assert_eq!(members(&processes, 10), [0_u32; 0], "{groups:?}");
        }
        // The rest of a file counts, colons are part of a name, and a name need not be UTF-8.
        let groups = b"nonsense\n0::/a:b\xff\n".as_slice();
        let processes = [
            (1, b"0::/\n".as_slice()),
            (10, groups),
            (11, groups),
            (50, b"0::/own\n"),
        ];
        assert_eq!(members(&processes, 10), [10, 11]);
    }

    #[test]
    fn logins_and_slices_are_left_out_and_containers_are_not() {
        for (path, is_reported) in [
            ("/", false),
            ("/user.slice/user-0.slice/session-1.scope", false),
            ("/user.slice/user-0.slice/user@0.service", false),
            (
                "/user.slice/user@0.service/app.slice/vte-spawn-1.scope",
                false,
            ),
            ("/system.slice", false),
            ("/system.slice/docker-0123.scope", true),
            ("/docker/0123", true),
            ("/system.slice/php8.2-fpm.service", true),
        ] {
            assert_eq!(is_of_a_service(path), is_reported, "{path}");
        }
    }

    /// A group of the machine, removed at the end.
    struct MadeGroup {
        directory: PathBuf,
        processes: Vec<Child>,
    }

    impl MadeGroup {
        fn new() -> Option<MadeGroup> {
            let parents = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
            let name = format!("prestan-test-{}", std::process::id());
            let made = parents.iter().find_map(|parent| {
                let directory = Path::new(parent).join(&name);
                fs::create_dir(&directory).ok()?;
                let is_group = directory.join("cgroup.procs").exists();
                if !is_group {
                    let _ = fs::remove_dir(&directory);
                }
                is_group.then_some(directory)
            });
            made.map(|directory| MadeGroup {
                directory,
                processes: Vec::new(),
            })
        }

        /// A process in it; `None` where the system does not permit that.
        fn process(&mut self) -> Option<u32> {
            let child = Command::new("cat").stdin(Stdio::piped()).spawn().ok()?;
            let pid = child.id();
            self.processes.push(child);
            fs::write(self.directory.join("cgroup.procs"), pid.to_string()).ok()?;
            Some(pid)
        }
    }

    impl Drop for MadeGroup {
        fn drop(&mut self) {
            for process in &mut self.processes {
                let _ = process.kill();
                let _ = process.wait();
            }
            let _ = fs::remove_dir(&self.directory);
        }
    }

    #[test]
    fn a_group_of_this_machine_has_its_processes() {
        let mut group = MadeGroup::new();
        let pids = group
            .as_mut()
            .map(|group| [group.process(), group.process()]);
        let Some([Some(one), Some(other)]) = pids else {
            eprintln!("skipped: this process may not make a control group");
            return;
        };
        assert_eq!(group_members(one), [one, other]);
        // This process is not in it, and its group is left out.
        assert_eq!(group_members(std::process::id()), [0_u32; 0]);
    }
}
