//! Names of functions: from the symbols of ELF files, and from `/proc/kallsyms`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use record::OF_KERNEL;

use super::images::{CodeAddress, CodeImages};

/// Longest name of a function, in characters: those of templates can be endless.
const LONGEST: usize = 160;

/// The names of functions by address.
pub(super) struct FunctionNames<'i> {
    images: &'i CodeImages,
    names: HashMap<CodeAddress, String>,
}

impl FunctionNames<'_> {
    /// The names for these addresses.
    pub(super) fn of(addresses: HashSet<CodeAddress>, images: &CodeImages) -> FunctionNames<'_> {
        let mut in_kernel = Vec::new();
        let mut in_files: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for address in addresses {
            match address {
                CodeAddress::Kernel(address) => in_kernel.push(address),
                CodeAddress::File(image, offset) => in_files.entry(image).or_default().push(offset),
            }
        }
        let symbolizer = Symbolizer::builder()
            .enable_code_info(false)
            .enable_inlined_fns(false)
            .enable_auto_reload(false)
            .build();
        let mut names = HashMap::new();
        let mut add = |addresses: Vec<CodeAddress>, found: Vec<Symbolized<'_>>| {
            for (address, found) in addresses.into_iter().zip(&found) {
                if let Some(symbol) = found.as_sym() {
                    names.insert(address, shown(&symbol.name));
                }
            }
        };
        if !in_kernel.is_empty() && shows_addresses() {
            let source = Source::Kernel(Kernel {
                vmlinux: MaybeDefault::None,
                ..Kernel::default()
            });
            if let Ok(found) = symbolizer.symbolize(&source, Input::AbsAddr(&in_kernel)) {
                add(
                    in_kernel.into_iter().map(CodeAddress::Kernel).collect(),
                    found,
                );
            }
        }
        for (number, offsets) in in_files {
            let image = images.images().get(number);
            let Some(file) = image.and_then(|image| image.file.as_ref()) else {
                continue;
            };
            let source = Source::Elf(Elf::new(format!("/proc/self/fd/{}", file.as_raw_fd())));
            if let Ok(found) = symbolizer.symbolize(&source, Input::FileOffset(&offsets)) {
                let addresses = offsets.into_iter();
                let addresses = addresses.map(|offset| CodeAddress::File(number, offset));
                add(addresses.collect(), found);
            }
        }
        FunctionNames { images, names }
    }

    /// The name of a function in a folded stack.
    pub(super) fn name(&self, address: CodeAddress) -> String {
        let known = self.names.get(&address).map(String::as_str);
        match address {
            CodeAddress::Kernel(_) => format!("{}{OF_KERNEL}", known.unwrap_or("[kernel]")),
            CodeAddress::File(image, _) => known.map_or_else(
                || {
                    let image = self.images.images().get(image);
                    format!("[{}]", shown(image.map_or("?", |image| &image.name)))
                },
                str::to_owned,
            ),
        }
    }

    /// The name of a program in a folded stack.
    pub(super) fn program(&self, number: usize) -> String {
        shown(self.images.program(number))
    }
}

/// A name without separators, and cut.
fn shown(name: &str) -> String {
    let mut name: String = name.chars().take(LONGEST + 1).collect();
    if name.chars().count() > LONGEST {
        name = name.chars().take(LONGEST - 3).collect();
        name += "...";
    }
    name.replace(';', ":")
}

/// True if `/proc/kallsyms` has addresses: for users who may not see them (`kernel.kptr_restrict`),
/// all are 0.
fn shows_addresses() -> bool {
    let Ok(file) = File::open("/proc/kallsyms") else {
        return false;
    };
    let is_real = |line: &String| line.bytes().take(8).any(|digit| digit != b'0');
    let mut lines = BufReader::new(file).lines().map_while(Result::ok).take(100);
    lines.any(|line| is_real(&line))
}

#[cfg(test)]
mod tests {
    use super::super::chains::CallChain;
    use super::*;

    #[unsafe(no_mangle)]
    extern "C" fn prestan_test_named() {}

    #[test]
    fn functions_of_this_program_have_their_names() {
        let mut images = CodeImages::default();
        let address = prestan_test_named as extern "C" fn() as usize as u64;
        let chain = CallChain {
            kernel: Vec::new(),
            user: vec![address],
        };
        let stack = images.stack_of(std::process::id(), chain);
        // An offset beyond the end of the file has no function, and neither has a missing file.
        let CodeAddress::File(image, _) = stack.frames[0] else {
            panic!("{stack:?}");
        };
        let beyond = CodeAddress::File(image, u64::MAX / 2);
        let nowhere = CodeAddress::File(usize::MAX, 0);
        let mut addresses: HashSet<CodeAddress> = stack.frames.iter().copied().collect();
        addresses.extend([beyond, nowhere, CodeAddress::Kernel(1)]);
        let names = FunctionNames::of(addresses, &images);
        assert_eq!(names.name(stack.frames[0]), "prestan_test_named");
        let program = &images.images()[image].name;
        assert_eq!(names.name(beyond), format!("[{program}]"));
        assert_eq!(names.name(nowhere), "[?]");
        assert_eq!(names.name(CodeAddress::Kernel(1)), "[kernel]_[k]");
    }

    #[test]
    fn names_have_an_end_and_no_separator() {
        assert_eq!(shown("a;b"), "a:b");
        let long = shown(&"ä".repeat(LONGEST + 1));
        assert_eq!(long.chars().count(), LONGEST);
        assert_eq!(shown(&"x".repeat(LONGEST)).len(), LONGEST);
    }
}
