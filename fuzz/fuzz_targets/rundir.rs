//! A damaged run directory is read or refused, and runs that can be read can be reported.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rundir::{RunDir, load};
use stats::testing::RunBuilder;

/// A run directory and the content of its files.
struct Whole {
    directory: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn whole() -> Whole {
    // The reader of samples turns panics of the Parquet library into errors, and libFuzzer ends the
    // process in the hook. Other panics end it anyway.
    std::panic::set_hook(Box::new(|_| {}));
    let directory = std::env::temp_dir().join(format!("prestan-fuzz-{}", std::process::id()));
    // Of an earlier process with the same number.
    let _ = fs::remove_dir_all(&directory);
    let run = RunBuilder::new(2)
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 20, |i| 100 + i)
        .build();
    let kept = RunDir::create(&directory, &run.plan, "suite: fuzz", &run.env).unwrap();
    for event in &run.events {
        kept.append(event);
    }
    let mut samples = kept.samples_writer(&run.plan);
    samples.write(&run.samples).unwrap();
    samples.finish().unwrap();
    kept.complete(run.env, Ok(())).unwrap();
    let mut files = Vec::new();
    read_below(&directory, &mut files);
    files.sort();
    Whole { directory, files }
}

fn read_below(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => read_below(&path, files),
            false => files.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
}

fuzz_target!(|input: (u8, u16, u8, bool, &[u8])| {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    let whole = WHOLE.get_or_init(whole);
    let (which, at, removed, is_cut, inserted) = input;
    let (path, content) = &whole.files[usize::from(which) % whole.files.len()];
    let at = usize::from(at) % (content.len() + 1);
    let rest = (at + usize::from(removed)).min(content.len());
    let mut damaged = content[..at].to_vec();
    damaged.extend_from_slice(inserted);
    if !is_cut {
        damaged.extend_from_slice(&content[rest..]);
    }
    fs::write(path, &damaged).unwrap();
    if let Ok(run) = load(&whole.directory) {
        let summary = stats::summarise(&run);
        report::text(&run, &summary, &[], &report::TextOptions::default());
        report::json(&run, &summary, &[]);
    }
    fs::write(path, content).unwrap();
});
