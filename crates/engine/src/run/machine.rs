//! Facts about the machine that sends the requests.

use std::fs;

use record::Machine;

/// Reads the system's description; missing values are `unknown` or 0.
pub fn machine() -> Machine {
    Machine {
        os: os(),
        cpu: cpu().unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism()
            .map_or(0, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        memory_bytes: memory().unwrap_or(0),
    }
}

fn os() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kind = fs::read_to_string("/proc/sys/kernel/ostype")
        .unwrap_or_else(|_| std::env::consts::OS.to_owned());
    format!("{} {}", kind.trim(), release.trim())
        .trim_end()
        .to_owned()
}

fn cpu() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
