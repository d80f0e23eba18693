//! Pages that belong together: files that all of them need lie beside them once.

use maud::{Markup, html};

use super::BEHAVIOUR;

pub(crate) const STYLE: &str = "assets/prestan.css";
pub(super) const SCRIPT: &str = "assets/prestan.js";

/// The pages of a site, as every one of them shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// Groups of pages: their headings, and their links.
    pub groups: Vec<(String, Vec<Link>)>,
}

/// A page of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Name of the page in links.
    pub name: String,
    /// The name of its file.
    pub file: String,
}

/// Files that all pages of a site need: their paths, and their content.
pub fn assets() -> [(&'static str, String); 2] {
    [
        (STYLE, super::STYLE.clone()),
        (SCRIPT, BEHAVIOUR.to_owned()),
    ]
}

/// Takes the style from that place beside the page.
pub(crate) fn style(path: &str) -> Markup {
    html! { link rel="stylesheet" href=(path); }
}

pub(crate) fn links(site: &Site) -> Markup {
    html! {
        nav class="site" aria-label="Pages" {
            @for (name, links) in &site.groups {
                span {
                    @if !name.is_empty() { strong { (name) } " " }
                    @for (index, link) in links.iter().enumerate() {
                        @if index > 0 { " " }
                        a href=(link.file) { (link.name) }
                    }
                }
                " "
            }
        }
    }
}
