//! The processors of releases, and the tools to build for them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::{TARGETS, host};
use crate::project::{finish, output_of};
use crate::setup;

/// Path of the compiler in Debian's packages.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Debian packages that make and try the files, each with a file that proves its presence.
const PACKERS: [(&str, &str); 2] = [("man-db", "/usr/bin/man"), ("python3", "/usr/bin/python3")];

/// A processor with Debian's kind of Linux, and its names in other projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleaseTarget {
    /// Name in rustc.
    pub(super) triple: &'static str,
    /// Name in `uname -m` and Python.
    pub(super) machine: &'static str,
    /// Name in Debian and in containers.
    pub(super) debian: &'static str,
    /// Number of the machine in an ELF header.
    elf: u16,
    /// Debian packages to build and run programs for it on another processor, each with a file that
    /// proves its presence.
    cross: [(&'static str, &'static str); 3],
}

pub(super) const ALL: [ReleaseTarget; 2] = [
    ReleaseTarget {
        triple: TARGETS[0],
        machine: "x86_64",
        debian: "amd64",
        elf: 0x3e,
        cross: [
            ("gcc-x86-64-linux-gnu", "/usr/bin/x86_64-linux-gnu-gcc"),
            (
                "libc6-dev-amd64-cross",
                "/usr/x86_64-linux-gnu/include/stdio.h",
            ),
            ("qemu-user-static", "/usr/bin/qemu-x86_64-static"),
        ],
    },
    ReleaseTarget {
        triple: TARGETS[1],
        machine: "aarch64",
        debian: "arm64",
        elf: 0xb7,
        cross: [
            ("gcc-aarch64-linux-gnu", "/usr/bin/aarch64-linux-gnu-gcc"),
            (
                "libc6-dev-arm64-cross",
                "/usr/aarch64-linux-gnu/include/stdio.h",
            ),
            ("qemu-user-static", "/usr/bin/qemu-aarch64-static"),
        ],
    },
];

impl ReleaseTarget {
    pub(super) fn from_triple(triple: &str) -> Result<ReleaseTarget> {
        let found = ALL.into_iter().find(|target| target.triple == triple);
        found.with_context(|| {
            let triples = ALL.map(|target| target.triple).join(" and ");
            format!("releases are for {triples}, and not for {triple}")
        })
    }

    /// The target of a program that is already built, from its ELF header.
    pub(super) fn from_program(program: &Path) -> Result<ReleaseTarget> {
        let bytes = fs::read(program).with_context(|| format!("read {}", program.display()))?;
        let found = ALL
            .into_iter()
            .find(|target| elf_machine(&bytes) == Some(target.elf));
        found.with_context(|| {
            let path = program.display();
            format!("{path} is no program for a processor that releases are for")
        })
    }

    pub(super) fn is_host(self) -> Result<bool> {
        Ok(host()? == self.triple)
    }

    /// A command that runs a program for this processor, in an emulator if it is not that of this
    /// machine.
    pub(super) fn command(self, program: &Path) -> Result<Command> {
        if self.is_host()? {
            return Ok(Command::new(program));
        }
        let machine = self.machine;
        let mut command = Command::new(format!("qemu-{machine}-static"));
        command
            .args(["-L", &format!("/usr/{machine}-linux-gnu")])
            .arg(program);
        Ok(command)
    }

    /// Variables with which cargo links programs for this processor.
    pub(super) fn linker(self) -> Result<Option<(String, OsString)>> {
        if self.is_host()? {
            return Ok(None);
        }
        let triple = self.triple.to_uppercase().replace('-', "_");
        let linker = format!("{}-linux-gnu-gcc", self.machine);
        Ok(Some((
            format!("CARGO_TARGET_{triple}_LINKER"),
            linker.into(),
        )))
    }
}

/// Installs the tools that pack files for these processors, try them, and link programs for them.
pub(super) fn install_tools(targets: &[ReleaseTarget]) -> Result<()> {
    let mut packages = PACKERS.to_vec();
    for target in targets {
        if !target.is_host()? {
            packages.extend(target.cross);
        }
    }
    setup::packages(&packages)
}

/// A compiler with the standard library of each target: `None` for that of cargo (rustup installs
/// missing libraries), otherwise Debian's.
///
/// # Errors
/// There is none: a release must not silently lack a processor.
pub(super) fn compiler(targets: &[ReleaseTarget]) -> Result<Option<OsString>> {
    let usual = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let missing = without_library(&usual, targets);
    if missing.is_empty() || rustup_adds(&missing) {
        return Ok(None);
    }
    let debian = OsString::from(DEBIAN_RUSTC);
    if without_library(&debian, targets).is_empty() {
        return Ok(Some(debian));
    }
    let target = missing[0];
    let (triple, architecture) = (target.triple, target.debian);
    bail!(
        "no compiler on this machine has the standard library for {triple}.\n\
         With rustup: rustup target add {triple}\n\
         On Debian:   dpkg --add-architecture {architecture} && apt-get update && \
         apt-get install rustc-web libstd-rust-web-dev:{architecture}\n\
         The files of one processor alone: cargo xtask dist --target {}",
        host()?
    );
}

/// Targets for which a compiler has no standard library.
fn without_library(rustc: &OsString, targets: &[ReleaseTarget]) -> Vec<ReleaseTarget> {
    let has_library = |target: &ReleaseTarget| {
        let mut command = Command::new(rustc);
        command.args(["--print", "target-libdir", "--target", target.triple]);
        output_of(&mut command).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
    };
    let missing = targets.iter().filter(|target| !has_library(target));
    missing.copied().collect()
}

fn rustup_adds(missing: &[ReleaseTarget]) -> bool {
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add"]);
    rustup.args(missing.iter().map(|target| target.triple));
    finish(&mut rustup).is_ok()
}

/// The machine of a 64-bit little-endian ELF file.
fn elf_machine(bytes: &[u8]) -> Option<u16> {
    let machine = bytes.get(18..20)?;
    bytes
        .starts_with(b"\x7fELF\x02\x01")
        .then(|| u16::from_le_bytes([machine[0], machine[1]]))
}

/// The newest version of glibc whose symbols a program uses (`GLIBC_2.34` and so on): the oldest
/// that it runs with.
pub(super) fn newest_glibc(program: &Path) -> Result<(u32, u32)> {
    let bytes = fs::read(program).with_context(|| format!("read {}", program.display()))?;
    newest_glibc_in(&bytes).context("the program names no version of glibc")
}

fn newest_glibc_in(program: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let places = program.windows(PREFIX.len()).enumerate();
    let versions = places.filter(|(_, bytes)| *bytes == PREFIX).map(|(at, _)| {
        let rest = &program[at + PREFIX.len()..];
        let length = rest
            .iter()
            .position(|byte| !byte.is_ascii_digit() && *byte != b'.');
        let version = std::str::from_utf8(&rest[..length?]).ok()?;
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    });
    versions.flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_which_glibc_it_needs() {
        assert_eq!(
            newest_glibc_in(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.9\0"),
            Some((2, 34))
        );
        assert_eq!(newest_glibc_in(b"\0GLIBC_PRIVATE\0"), None);
    }

    #[test]
    fn a_program_is_for_one_processor() {
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.resize(18, 0);
        assert_eq!(elf_machine(&head), None);
        head.extend(0xb7_u16.to_le_bytes());
        assert_eq!(elf_machine(&head), Some(0xb7));
        head[4] = 1; // 32 bits
        assert_eq!(elf_machine(&head), None);
        let program = env::current_exe().unwrap();
        assert!(
            ReleaseTarget::from_program(&program)
                .unwrap()
                .is_host()
                .unwrap_or_default()
        );
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(ReleaseTarget::from_program(&text).is_err());
    }

    #[test]
    fn a_compiler_without_a_library_is_not_taken() {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let host = ReleaseTarget::from_triple(&host().unwrap()).unwrap();
        assert!(without_library(&rustc, &[host]).is_empty());
        let elsewhere = ReleaseTarget {
            triple: "z80-unknown-linux-gnu",
            ..host
        };
        assert_eq!(without_library(&rustc, &[host, elsewhere]), [elsewhere]);
        assert!(ReleaseTarget::from_triple("z80-unknown-linux-gnu").is_err());
    }
}
