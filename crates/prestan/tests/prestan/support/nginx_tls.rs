//! nginx with TLS, for what a server of rustls does not do.

use std::fs;

use testbed::real::Recipe;
use testbed::{RealServer, need_or};

/// What it answers in clear text shows that it is ready.
const CONFIGURATION: &str = "
    daemon off;
    pid {{ dir }}/nginx.pid;
    error_log {{ dir }}/log/error.log warn;
    events {}
    http {
      access_log off;
      client_body_temp_path {{ dir }}/tmp/body;
      proxy_temp_path {{ dir }}/tmp/proxy;
      fastcgi_temp_path {{ dir }}/tmp/fastcgi;
      uwsgi_temp_path {{ dir }}/tmp/uwsgi;
      scgi_temp_path {{ dir }}/tmp/scgi;
      server {
        listen 127.0.0.1:{{ port }} ssl PROTOCOL;
        ssl_certificate IDENTITY;
        ssl_certificate_key IDENTITY;
        DIRECTIVES
        root {{ storage }};
      }
    }
";

/// Starts nginx with a certificate and its key (PEM), with more directives, and with that protocol beside HTTP/1.1; or skips
/// the test. Its URL is one of `http`.
pub(crate) fn nginx_tls(protocol: &str, identity: &str, directives: &str) -> Option<RealServer> {
    let files = tempfile::tempdir().unwrap();
    let (conf, pem) = (files.path().join("nginx.conf"), files.path().join("pem"));
    fs::write(&pem, identity).unwrap();
    let text = CONFIGURATION
        .replace("PROTOCOL", protocol)
        .replace("IDENTITY", pem.to_str().unwrap())
        .replace("DIRECTIVES", directives);
    fs::write(&conf, text).unwrap();
    let recipe = format!("nginx,file.nginx.conf={}", conf.display());
    let recipe = Recipe::with_parameters(&recipe).unwrap();
    need_or(recipe.installed())?;
    Some(RealServer::start(&recipe).unwrap_or_else(|error| panic!("{error}")))
}
