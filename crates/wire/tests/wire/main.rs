//! HTTP and WebDAV as bytes: requests, responses, authentication.

#[cfg(test)]
mod auth;
#[cfg(test)]
mod feed;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod multistatus;
#[cfg(test)]
mod odd_responses;
#[cfg(test)]
mod one_after_the_other;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod response;
#[cfg(test)]
mod target;
