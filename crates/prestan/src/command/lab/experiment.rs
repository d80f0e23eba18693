//! `prestan lab run`: experiments in laboratories.

mod trial;

pub(super) fn trial_temp(file: &str) -> Result<crate::exit::ExitStatus, crate::exit::Failed> {
    super::become_root()?;
    let v: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let spec: experiment::TrialSpec = serde_json::from_value(v["trial"].clone()).unwrap();
    let name = v["lab"].as_str().unwrap();
    let lab = topology::LabSpec::read(name, topology::BuiltinLab::find(name).map(|l| l.text.to_owned()).unwrap_or_else(|| std::fs::read_to_string(name).unwrap()).as_str()).unwrap();
    let cancel = engine::Cancel::default();
    let _i = crate::watch::on_interrupt(cancel.clone(), None)?;
    let dir = std::path::Path::new("/tmp/h3cap");
    std::fs::create_dir_all(dir).unwrap();
    let task = trial::TrialTask { spec: &spec, lab: &lab, seed: 1, cancel: &cancel, kept_captures: Some((dir, "t".to_owned())) };
    let begun = std::time::Instant::now();
    let r = task.run();
    println!("{:?} {r:#?}", begun.elapsed());
    Ok(crate::exit::ExitStatus::Done)
}
