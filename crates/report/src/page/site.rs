//! Pages that belong together: what all of them need lies beside them once.

use super::markup::text;
use super::{BEHAVIOUR, CHARTS, FIGURES};

/// Where the style of all pages lies.
pub(super) const STYLE: &str = "assets/prestan.css";
/// Where the charts and the scripts of all pages lie.
pub(super) const SCRIPT: &str = "assets/prestan.js";

/// The pages of a site, as every one of them shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// Groups of pages: what they are, and where.
    pub groups: Vec<(String, Vec<Link>)>,
}

/// A page of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// The name of its file.
    pub file: String,
}

/// Files that all pages of a site need: where, and what is in them.
pub fn assets() -> [(&'static str, String); 2] {
    [
        (STYLE, super::STYLE.to_owned()),
        (SCRIPT, [CHARTS, "\n", FIGURES, BEHAVIOUR].concat()),
    ]
}

/// The other pages.
pub(crate) fn links(site: &Site) -> String {
    let link = |link: &Link| format!("<a href=\"{}\">{}</a>", text(&link.file), text(&link.name));
    let group = |(name, links): &(String, Vec<Link>)| {
        let links: Vec<String> = links.iter().map(link).collect();
        let links = links.join(" ");
        match name.is_empty() {
            true => format!("<span>{links}</span>\n"),
            false => format!("<span><strong>{}</strong> {links}</span>\n", text(name)),
        }
    };
    let groups: String = site.groups.iter().map(group).collect();
    format!("<nav class=\"site\" aria-label=\"Pages\">\n{groups}</nav>\n")
}
