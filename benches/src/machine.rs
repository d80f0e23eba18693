//! Machine and programs, without which figures are meaningless.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

/// The machine, and the programs that took part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchMachine {
    kernel: String,
    cpu: String,
    cores: usize,
    /// Programs and their versions.
    programs: BTreeMap<String, String>,
}

impl BenchMachine {
    /// This machine, with no programs yet.
    pub(crate) fn this() -> BenchMachine {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let cpus = read("/proc/cpuinfo");
        let model = cpus
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let model = model.and_then(|rest| rest.split_once(": "));
        BenchMachine {
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            cpu: model.map_or("unknown", |(_, name)| name).to_owned(),
            cores: thread::available_parallelism().map_or(1, Into::into),
            programs: BTreeMap::new(),
        }
    }

    /// Adds a program; its version follows its name.
    pub(crate) fn add(&mut self, version: &str) {
        let (name, version) = version.split_once(' ').unwrap_or((version, "unknown"));
        self.programs.insert(name.to_owned(), version.to_owned());
    }

    /// One line for below a table.
    pub fn line(&self) -> String {
        let programs = self.programs.iter();
        let programs: Vec<_> = programs
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        let BenchMachine {
            kernel, cpu, cores, ..
        } = self;
        let programs = if programs.is_empty() {
            String::new()
        } else {
            format!("; {}", programs.join(", "))
        };
        format!("{cpu}, {cores} cores, Linux {kernel}{programs}")
    }
}
