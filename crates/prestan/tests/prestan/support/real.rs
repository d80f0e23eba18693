//! Real servers, and nginx as needed by tests: in front of a server, or with TLS features that a
//! server of rustls lacks.

use std::fs;

use testbed::real::Recipe;
use testbed::{RealServer, need_or};

/// A server with these parameters if it can be started; otherwise a test is skipped.
fn installed(recipe: &str) -> Option<Recipe> {
    let recipe = Recipe::with_parameters(recipe).unwrap();
    need_or(recipe.installed()).map(|_| recipe)
}

pub(crate) fn is_installed(recipe: &str) -> bool {
    installed(recipe).is_some()
}

/// Starts a server, or skips the test.
pub(crate) fn started(recipe: &str) -> Option<RealServer> {
    let recipe = installed(recipe)?;
    Some(RealServer::start(&recipe).unwrap_or_else(|error| panic!("{error}")))
}

/// nginx with these servers.
const NGINX: &str = "
    load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
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
      SERVERS
    }
";

/// Starts nginx with these servers, or skips the test.
pub(crate) fn nginx(servers: &str) -> Option<RealServer> {
    let files = tempfile::tempdir().unwrap();
    let conf = files.path().join("nginx.conf");
    fs::write(&conf, NGINX.replace("SERVERS", servers)).unwrap();
    started(&format!("nginx,file.nginx.conf={}", conf.display()))
}

/// A response in clear text shows that it is ready.
const WITH_TLS: &str = "
    server {
      listen 127.0.0.1:{{ port }} ssl PROTOCOL;
      ssl_certificate IDENTITY;
      ssl_certificate_key IDENTITY;
      DIRECTIVES
      root {{ storage }};
    }
";

/// Starts nginx with a certificate and its key (PEM), with more directives, and with that protocol
/// beside HTTP/1.1; or skips the test. Its URL is one of `http`.
pub(crate) fn nginx_tls(protocol: &str, identity: &str, directives: &str) -> Option<RealServer> {
    let files = tempfile::tempdir().unwrap();
    let pem = files.path().join("pem");
    fs::write(&pem, identity).unwrap();
    let server = WITH_TLS
        .replace("PROTOCOL", protocol)
        .replace("IDENTITY", pem.to_str().unwrap());
    nginx(&server.replace("DIRECTIVES", directives))
}
