//! One request: the part of this layer, and the rest, which `dav-server` handles.

use std::path::Path;

use dav_server::DavHandler;
use dav_server::body::{Body, BodyType};
use dav_server::davpath::DavPath;
use dav_server::localfs::LocalFs;
use http::header::{ALLOW, CONTENT_LENGTH, HeaderValue, SERVER};
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;

use super::fs::PropFs;
use super::locks::LockTable;
use super::propfind::{self, Depth};
use super::props::DeadProps;

/// Everything needed to respond to a request; cheap to clone.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) files: PropFs,
    pub(super) props: DeadProps,
    pub(super) locks: LockTable,
    dav: DavHandler,
}

impl Handler {
    pub(super) fn new(root: &Path) -> Handler {
        let props = DeadProps::default();
        let files = PropFs::new(LocalFs::new(root, true, false, false), props.clone());
        let locks = LockTable::new();
        let dav = DavHandler::builder()
            .filesystem(Box::new(files.clone()))
            .locksystem(Box::new(locks.clone()))
            .autoindex(true) // without it, GET of a collection is 405
            .build_handler();
        Handler {
            files,
            props,
            locks,
            dav,
        }
    }

    pub(super) async fn handle(&self, request: Request<Incoming>) -> Response<Body> {
        let head = request.method() == Method::HEAD;
        let mut response = match request.method().as_str() {
            "PROPFIND" => propfind::answer(self, request).await,
            "COPY" => self.copy(request).await,
            "OPTIONS" => self.options(request).await,
            _ => self.dav.handle(request).await,
        };
        if !head {
            say_length(&mut response);
        }
        response
            .headers_mut()
            .insert(SERVER, HeaderValue::from_static("Prestan-demo"));
        response
    }

    /// `dav-server` has PROPPATCH and does not list it (`handle_options.rs`).
    async fn options(&self, request: Request<Incoming>) -> Response<Body> {
        let mut response = self.dav.handle(request).await;
        let allow = response.headers().get(ALLOW);
        let listed = allow.and_then(|allow| allow.to_str().ok());
        // A missing resource has no properties.
        if let Some(listed) = listed.filter(|listed| listed.contains("PROPFIND"))
            && let Ok(allow) = HeaderValue::from_str(&format!("{listed},PROPPATCH"))
        {
            response.headers_mut().insert(ALLOW, allow);
        }
        response
    }

    /// `dav-server` copies a collection by creating a new one, without passing its source to the
    /// file system (`handle_copymove.rs`: "only copy properties (which we do not do yet)"), so the
    /// properties of collections are copied here.
    async fn copy(&self, request: Request<Incoming>) -> Response<Body> {
        let from = DavPath::new(request.uri().path());
        let to = request
            .headers()
            .get("destination")
            .and_then(|value| value.to_str().ok()?.parse::<Uri>().ok())
            .map(|uri| DavPath::new(uri.path()));
        let depth = Depth::of(&request);
        let response = self.dav.handle(request).await;
        let copied = matches!(
            response.status(),
            StatusCode::CREATED | StatusCode::NO_CONTENT
        );
        if let (true, Ok(from), Some(Ok(to))) = (copied, from, to) {
            self.props.copy(&from, &to, depth != Some(Depth::Zero));
        }
        response
    }
}

/// Bodies of `dav-server` do not report their length to hyper, so that even an empty one was sent
/// as a chunked body.
fn say_length(response: &mut Response<Body>) {
    let length = match &response.body().inner {
        BodyType::Empty | BodyType::Bytes(None) => 0,
        BodyType::Bytes(Some(bytes)) => bytes.len(),
        BodyType::AsyncStream(_) => return,
    };
    // RFC 9110, section 8.6: none with 204, and in a 304 it means something else.
    let silent = matches!(
        response.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if !silent && !response.headers().contains_key(CONTENT_LENGTH) {
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}
