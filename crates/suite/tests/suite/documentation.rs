//! docs/SUITES.md is valid: the suite in it resolves, and the schema in docs is up to date.

use suite::{Overrides, parse, resolve};

#[test]
fn the_suite_in_the_documentation_resolves() {
    let page = include_str!("../../../../docs/SUITES.md");
    let yaml = page
        .split_once("```yaml\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .map(|(yaml, _)| yaml)
        .unwrap();
    let spec = parse("SUITES.md", yaml).unwrap_or_else(|error| panic!("{error}"));
    let plan = resolve("SUITES.md", yaml, &spec, &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = plan
        .measures
        .iter()
        .map(|measure| measure.name.as_str())
        .collect();
    assert_eq!(names, ["Save", "List", "LockedPut"]);
}

#[test]
fn every_prefix_of_a_suite_is_read_or_refused_without_a_panic() {
    let text = include_str!("../../../../suites/prestan.yaml");
    for end in (0..text.len())
        .step_by(37)
        .filter(|end| text.is_char_boundary(*end))
    {
        let prefix = &text[..end];
        if let Ok(spec) = parse("prefix", prefix) {
            let _ = resolve("prefix", prefix, &spec, &Overrides::default());
        }
    }
}

#[test]
fn what_is_to_be_cited_has_the_version_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    let citation = include_str!("../../../../CITATION.cff");
    assert!(citation.contains(&format!("\nversion: {version}\n")));
    let methodology = include_str!("../../../../docs/methodology/README.md");
    assert!(methodology.contains(&format!(", of Prestan {version}.")));
}

#[test]
fn the_schema_is_the_one_in_docs() {
    schemars::assert_published(
        "suite.schema.json",
        &schemars::published::<suite::spec::SuiteSpec>(),
    );
}
