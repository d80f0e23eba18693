//! No challenge may cause a panic, an endless exchange, or a line end in a request.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::auth::{AuthDecision, AuthScheme, Authenticator, Credentials, Secret};
use wire::response::Headers;

fuzz_target!(|challenges: Vec<&str>| {
    let password = Secret::new("hunter2");
    let credentials = Credentials::Password {
        user: "user".to_owned(),
        password,
    };
    let mut user = Authenticator::new(Some(credentials), AuthScheme::Auto, false);
    let headers: Headers = challenges
        .iter()
        .map(|challenge| ("WWW-Authenticate", *challenge))
        .collect();
    for round in 0.. {
        assert!(round < 6, "asked for ever");
        let value = user.authorization("GET", "/", round).unwrap_or_default();
        assert!(!value.windows(7).any(|part| part == b"hunter2"));
        assert!(!value.contains(&b'\r') && !value.contains(&b'\n'));
        match user.challenged(&headers) {
            AuthDecision::TryAgain => {}
            AuthDecision::GiveUp(error) => {
                assert!(!format!("{error} {error:?} {user:?}").contains("hunter2"));
                break;
            }
        }
    }
});
