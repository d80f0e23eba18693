//! The templates of a recipe, filled in for a server.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use template::{Bounds, Never, Template, TemplateError, Value};

use crate::{Recipe, STORAGE};

/// How much a template of a recipe may take.
const BOUNDS: Bounds = Bounds {
    steps: 100_000,
    bytes: 16 << 20,
};

/// A template that cannot be filled in.
#[derive(Debug, thiserror::Error)]
#[error("bad template: {0}")]
pub struct BadTemplate(#[from] TemplateError);

/// The templates of a recipe, and the values that they name.
pub struct RecipeTemplates<'a> {
    recipe: &'a Recipe,
    dir: String,
    storage: String,
    address: IpAddr,
    port: u16,
}

impl RecipeTemplates<'_> {
    /// Templates of a server with this temporary directory, which is to listen at this address.
    pub fn of<'a>(
        recipe: &'a Recipe,
        dir: &Path,
        address: IpAddr,
        port: u16,
    ) -> RecipeTemplates<'a> {
        RecipeTemplates {
            recipe,
            dir: dir.to_string_lossy().into_owned(),
            storage: dir.join(STORAGE).to_string_lossy().into_owned(),
            address,
            port,
        }
    }

    fn value(&self, name: &str) -> Option<Value<Never>> {
        Some(match name {
            "dir" => self.dir.as_str().into(),
            "storage" => self.storage.as_str().into(),
            "address" => self.address.to_string().into(),
            "host" => in_url(self.address).into(),
            "port" => Value::Integer(self.port.into()),
            "auth" => self.recipe.auth.name().into(),
            "http2" => Value::Flag(self.recipe.is_http2),
            _ => return None,
        })
    }

    /// A text with everything filled in.
    ///
    /// # Errors
    /// If it is no template, names something else, or takes too much.
    pub fn rendered(&self, text: &str) -> Result<String, BadTemplate> {
        let template = Template::parse(text);
        let named = |name: &str| self.value(name);
        Ok(template.and_then(|own| own.text(&named, &mut BOUNDS.clone()))?)
    }
}

/// Looks for what is wrong with the templates of a recipe wherever it is started.
pub(crate) fn check(recipe: &Recipe) -> Result<(), String> {
    // As good as those that it will have.
    let templates = RecipeTemplates::of(recipe, Path::new("/"), Ipv4Addr::LOCALHOST.into(), 80);
    let rendered = |text: &String| templates.rendered(text).map_err(|error| error.to_string());
    for text in recipe.templates() {
        rendered(text)?;
    }
    let authority = authority(&rendered(&recipe.url)?);
    authority.map(drop).ok_or_else(|| NO_URL.to_owned())
}

/// Says that [`authority`] is `None`.
pub const NO_URL: &str = "its URL has no host, or is no URL";

/// Host and port of a URL, and whether there is TLS; `None` where it has no host.
pub fn authority(url: &str) -> Option<(String, bool)> {
    let uri: http::Uri = url.parse().ok()?;
    let is_tls = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    Some((format!("{}:{port}", uri.host()?), is_tls))
}

/// An address as it stands in a URL.
pub fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_version_6_have_brackets_in_a_url() {
        assert_eq!(in_url("2001:2::1".parse().unwrap()), "[2001:2::1]");
        assert_eq!(in_url("198.18.0.1".parse().unwrap()), "198.18.0.1");
    }
}
