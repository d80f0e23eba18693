//! Maps addresses of a process to code: its mapped files, as long as it runs.
//!
//! Files are opened when they are first seen, as the process sees them (`/proc/PID/root`), so that
//! they can be read after it has ended, and are the right ones in a container.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use super::chains::CallChain;

/// Most processes, and most files of them, that are examined.
const MOST_PROCESSES: usize = 1_024;
const MOST_IMAGES: usize = 256;
/// Most bytes of a list of mappings that are read.
const LONGEST_MAPS: u64 = 4 * 1024 * 1024;
/// Shortest time between two readings of the mappings of a process, however many addresses are not
/// in them.
const AGAIN: Duration = Duration::from_millis(1);
/// Functions outside of the kernel that a complete stack has at least: the start of its thread, the
/// function that this calls, and so on.
const WHOLE: usize = 3;

/// Code in a process or in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CodeAddress {
    /// An address in the kernel.
    Kernel(u64),
    /// Index of a file, and offset from its beginning.
    File(usize, u64),
}

/// A stack: its process, and its functions with the callers first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct KnownStack {
    /// Index of the name of the process.
    pub(super) process: usize,
    pub(super) frames: Vec<CodeAddress>,
    /// Callers are missing.
    pub(super) is_cut: bool,
}

/// A file with code, or code without a file.
#[derive(Debug)]
pub(super) struct CodeImage {
    /// The last part of its path.
    pub(super) name: String,
    /// `None` where it cannot be read.
    pub(super) file: Option<File>,
    /// Path and inode.
    key: (String, u64),
}

/// The code of all processes that were sampled.
#[derive(Debug, Default)]
pub(super) struct CodeImages {
    images: Vec<CodeImage>,
    processes: HashMap<u32, ProcessImages>,
    programs: Vec<String>,
}

#[derive(Debug)]
struct ProcessImages {
    program: usize,
    /// In ascending order.
    regions: Vec<CodeRegion>,
    read: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CodeRegion {
    start: u64,
    end: u64,
    offset: u64,
    image: usize,
}

/// A line of `/proc/PID/maps` about code (proc_pid_maps(5)).
#[derive(Debug, PartialEq, Eq)]
struct MapsLine<'a> {
    start: u64,
    end: u64,
    offset: u64,
    inode: u64,
    path: &'a str,
}

impl CodeImages {
    pub(super) fn images(&self) -> &[CodeImage] {
        &self.images
    }

    pub(super) fn program(&self, number: usize) -> &str {
        self.programs.get(number).map_or("?", String::as_str)
    }

    /// The code of the addresses of a chain.
    pub(super) fn stack_of(&mut self, pid: u32, chain: CallChain) -> KnownStack {
        let mut frames = Vec::with_capacity(chain.user.len() + chain.kernel.len());
        // An address outside of code is no caller, and neither are those beyond it: a register had
        // another value.
        for address in chain.user {
            match self.code_address(pid, address) {
                Some(code_address) => frames.push(code_address),
                None => break,
            }
        }
        let is_cut = frames.len() < WHOLE;
        frames.reverse();
        frames.extend(chain.kernel.into_iter().rev().map(CodeAddress::Kernel));
        KnownStack {
            process: self
                .processes
                .get(&pid)
                .map_or(usize::MAX, |images| images.program),
            frames,
            is_cut,
        }
    }

    fn code_address(&mut self, pid: u32, address: u64) -> Option<CodeAddress> {
        let known = self.processes.get(&pid);
        if let Some(code_address) = known.and_then(|known| known.code_address(address)) {
            return Some(code_address);
        }
        let may_read = match known {
            Some(known) => known.read.elapsed() >= AGAIN,
            None => self.processes.len() < MOST_PROCESSES,
        };
        if may_read && let Some(read) = self.read(pid) {
            self.processes.insert(pid, read);
        }
        self.processes.get(&pid)?.code_address(address)
    }

    /// Reads the name and the mappings of a process; `None` where it has ended.
    fn read(&mut self, pid: u32) -> Option<ProcessImages> {
        let program = text_of(&format!("/proc/{pid}/comm"))?;
        let maps = text_of(&format!("/proc/{pid}/maps"))?;
        let program = self.program_number(program.trim_end());
        let mut regions: Vec<CodeRegion> = Vec::new();
        for line in maps.lines().filter_map(code_in) {
            regions.push(CodeRegion {
                start: line.start,
                end: line.end,
                offset: line.offset,
                image: self.image_number(pid, &line),
            });
        }
        regions.sort_by_key(|region| region.start);
        // A process that is ending has none.
        (!regions.is_empty()).then(|| ProcessImages {
            program,
            regions,
            read: Instant::now(),
        })
    }

    fn program_number(&mut self, name: &str) -> usize {
        let known = self.programs.iter().position(|program| program == name);
        known.unwrap_or_else(|| {
            self.programs.push(name.to_owned());
            self.programs.len() - 1
        })
    }

    fn image_number(&mut self, pid: u32, line: &MapsLine<'_>) -> usize {
        let key = (line.path.to_owned(), line.inode);
        if let Some(known) = self.images.iter().position(|image| image.key == key) {
            return known;
        }
        let is_open = self.images.len() < MOST_IMAGES;
        let name = match line.path {
            _ if !is_open => "other files",
            "" => "anonymous",
            path => path.rsplit('/').next().unwrap_or(path),
        };
        let name = name.trim_end_matches(" (deleted)");
        let name = name.trim_matches(['[', ']']).to_owned();
        // One image stands for all beyond the limit.
        let full = self.images.len() > MOST_IMAGES;
        if full {
            return MOST_IMAGES;
        }
        let file = (is_open && line.inode != 0).then(|| opened(pid, line));
        self.images.push(CodeImage {
            name,
            file: file.flatten(),
            key,
        });
        self.images.len() - 1
    }
}

impl ProcessImages {
    fn code_address(&self, address: u64) -> Option<CodeAddress> {
        let after = self
            .regions
            .partition_point(|region| region.start <= address);
        let region = self.regions.get(after.checked_sub(1)?)?;
        let within = address - region.start;
        (address < region.end)
            .then(|| CodeAddress::File(region.image, region.offset.saturating_add(within)))
    }
}

/// Opens a mapped file; `None` where that is not possible, or the path has another file now.
fn opened(pid: u32, line: &MapsLine<'_>) -> Option<File> {
    let as_seen = format!("/proc/{pid}/root{}", line.path);
    // The path may now be a pipe, which must not block.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    // A deleted file can be opened by its mapping, where this user may do that.
    let mapped = format!("/proc/{pid}/map_files/{:x}-{:x}", line.start, line.end);
    let mut files = [as_seen, mapped].into_iter();
    files.find_map(|path| {
        let file = options.open(path).ok()?;
        let found = file.metadata().ok()?;
        (found.is_file() && found.ino() == line.inode).then_some(file)
    })
}

/// The text of a file of /proc, up to a limit.
fn text_of(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST_MAPS).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A mapping that is executable.
fn code_in(line: &str) -> Option<MapsLine<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (rights, rest) = rest.split_once(' ')?;
    let (offset, rest) = rest.split_once(' ')?;
    let (_device, rest) = rest.split_once(' ')?;
    let (inode, path) = rest.split_once(' ').unwrap_or((rest, ""));
    let (start, end) = range.split_once('-')?;
    let hexadecimal = |number| u64::from_str_radix(number, 16).ok();
    let line = MapsLine {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        offset: hexadecimal(offset)?,
        inode: inode.trim().parse().ok()?,
        path: path.trim_start(),
    };
    (rights.contains('x') && line.start < line.end).then_some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_about_code_are_read() {
        let line = "7f00aa000-7f00ab000 r-xp 00001000 fe:00 131 /usr/lib/with space.so (deleted)";
        let expected = MapsLine {
            start: 0x7_f00a_a000,
            end: 0x7_f00a_b000,
            offset: 0x1000,
            inode: 131,
            path: "/usr/lib/with space.so (deleted)",
        };
        assert_eq!(code_in(line), Some(expected));
        assert_eq!(code_in(&line.replace("r-xp", "rw-p")), None);
        let anonymous = code_in("1000-2000 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.path, anonymous.inode), ("", 0));
    }

    #[test]
    fn addresses_of_this_process_lie_in_its_program() {
        let mut images = CodeImages::default();
        let this_process = std::process::id();
        let here = addresses_of_this_process_lie_in_its_program as fn() as usize as u64;
        let chain = CallChain {
            kernel: vec![u64::MAX - 10_000],
            user: vec![here, here + 1, 8, here],
        };
        let stack = images.stack_of(this_process, chain);
        // An address outside of code is no caller, and neither are those beyond it.
        let [
            CodeAddress::File(image, _),
            CodeAddress::File(_, offset),
            CodeAddress::Kernel(_),
        ] = stack.frames[..]
        else {
            panic!("{stack:?}");
        };
        assert!(stack.is_cut && offset > 0);
        assert_ne!(images.program(stack.process), "?");
        let image = &images.images()[image];
        assert!(image.file.is_some(), "{image:?}");
        let program = std::env::current_exe().unwrap();
        assert!(program.ends_with(&image.name), "{image:?}");
    }

    #[test]
    fn a_process_that_has_ended_has_no_code() {
        let mut images = CodeImages::default();
        let stack = images.stack_of(
            u32::MAX,
            CallChain {
                kernel: vec![],
                user: vec![1, 2, 3],
            },
        );
        assert_eq!(
            (stack.frames.len(), images.program(stack.process)),
            (0, "?")
        );
    }

    #[test]
    fn there_is_a_limit_to_files() {
        let mut images = CodeImages::default();
        for inode in 0..2 * MOST_IMAGES as u64 {
            let line = MapsLine {
                start: 0,
                end: 1,
                offset: 0,
                inode,
                path: "/nothing",
            };
            images.image_number(u32::MAX, &line);
        }
        assert_eq!(images.images().len(), MOST_IMAGES + 1);
        assert_eq!(images.images()[MOST_IMAGES].name, "other files");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "[0-9a-fx rwp:/-]{0,80}") {
            let _ = code_in(&line);
        }
    }
}
