//! A page before it is written: as one file, or with its style and its script beside it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::markup::{Frame, document};
use super::site;

/// Sources of a policy for files beside a page, also where it was not fetched over HTTP.
const BESIDE: &str = "'self' file:";

/// A page, and the style, script and data that it needs.
#[derive(Debug, Clone)]
pub struct PageDocument {
    pub(super) title: String,
    pub(super) body: Markup,
    /// Its numbers as JSON without any `<`, which no browser executes.
    pub(super) data: Option<String>,
    pub(super) style: String,
    pub(super) script: String,
}

impl PageDocument {
    /// The page as one document that loads nothing.
    pub fn whole(&self) -> String {
        let style = html! { style { (PreEscaped(&self.style)) } };
        let script = html! { script { (PreEscaped(&self.script)) } };
        // By their hashes (W3C, Content Security Policy Level 3, section 2.3.1): whatever else
        // should ever come to stand in the page is neither run nor applied.
        let policy = policy(&source(&self.style), &source(&self.script));
        self.framed(&policy, style, script)
    }

    /// The names of three files in one directory: the page, its style, its script.
    pub const FILES: [&str; 3] = ["index.html", "style.css", "script.js"];

    /// Content of each of [`Self::FILES`]. Nothing in this page is style or script, which the
    /// policy of a server may forbid.
    pub fn files(&self) -> [String; 3] {
        let [_, style, script] = Self::FILES;
        let page = self.linked(style, script);
        [page, self.style.clone(), self.script.clone()]
    }

    /// The page without the style and script, which lie beside it at these paths.
    pub(super) fn linked(&self, style: &str, script: &str) -> String {
        let script = html! { script src=(script) {} };
        self.framed(&policy(BESIDE, BESIDE), site::style(style), script)
    }

    fn framed(&self, policy: &str, style: Markup, script: Markup) -> String {
        let frame = Frame {
            title: &self.title,
            policy,
            style,
            scripts: html! {
                @if let Some(data) = &self.data {
                    script type="application/json" id="data" { (PreEscaped(data)) }
                }
                (script)
            },
        };
        document(frame, &self.body)
    }
}

fn policy(styles: &str, scripts: &str) -> String {
    format!(
        "default-src 'none'; style-src {styles}; script-src {scripts}; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// How a policy names a script or a style that stands in the page.
fn source(block: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(block)))
}
