//! Flame graphs on pages.

use serde_json::Value;

use crate::page::{data, page_of};
use crate::runs;

/// Content of a section of a page.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("<section id=\"{id}\">")).unwrap();
    rest.split_once("</section>").unwrap().0
}

#[test]
fn flame_graphs_are_drawn_without_scripts() {
    let run = runs::looked_into();
    let page = page_of(&run);
    let flames = section(&page, "flames");
    insta::assert_snapshot!("flame_graphs", flames);
    // The names of functions are text: a frame for each, and one for the whole.
    assert!(
        !flames.contains("<b>parse") && !flames.contains("handle<b>"),
        "{flames}"
    );
    assert!(!flames.contains("<script") && !flames.contains(" style="));
    assert_eq!(
        flames.matches("<svg").count(),
        flames.matches("</svg>").count()
    );
    // The data of the page do not have all of it again.
    let data: Value = serde_json::from_str(data(&page)).unwrap();
    let sampled = &data["runs"][0]["result"]["inside"]["flames"][0];
    assert_eq!(sampled["stacks"], Value::Array(Vec::new()));
    assert_eq!(sampled["functions"][0]["name"], "ext4_write_[k]");
    // Without samples, there is no graph.
    assert!(!page_of(&runs::classic()).contains("Flame graph"));
}
