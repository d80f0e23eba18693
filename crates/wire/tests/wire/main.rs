//! HTTP and WebDAV as bytes: requests, responses, authentication.

#![cfg(test)]

mod auth;
mod feed;
mod http2;
mod multistatus;
mod odd_responses;
mod one_after_the_other;
mod properties;
mod response;
mod target;
