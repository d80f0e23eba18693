//! Options of the laboratory in which a command runs. The comments on fields are the texts of
//! `--help`.

use std::ffi::OsString;

use clap::Args;

/// The lab in which a command that measures runs, if any.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Laboratory")]
pub(crate) struct LabOptions {
    /// Build this lab, and run this command in it: a built-in one (see `prestan lab list`), or a
    /// lab file
    ///
    /// The same as `prestan lab exec --lab LAB client -- prestan ...`: the lab ends with the
    /// command. Servers that it starts are in the lab's host for servers; one that is given by a
    /// command has to listen at {{ address }}.
    #[arg(long, value_name = "LAB")]
    pub(crate) lab: Option<String>,

    /// Host of the lab in which this command runs [default: client]
    #[arg(long, value_name = "HOST", requires = "lab")]
    pub(crate) lab_host: Option<String>,

    /// Host of the lab in which servers are started [default: that of the lab file, or `server`]
    #[arg(long, value_name = "HOST", requires = "lab")]
    pub(crate) server_host: Option<String>,

    /// Servers listen at the IPv6 address of their host
    #[arg(long, requires = "lab")]
    pub(crate) server_ipv6: bool,
}

/// Options above that have a value, followed by those that have none.
const LAB_OPTIONS: [&str; 3] = ["--lab", "--lab-host", "--server-host"];
const LAB_FLAGS: [&str; 1] = ["--server-ipv6"];

impl LabOptions {
    /// Arguments of this program, without those above.
    pub(crate) fn removed_from(mut args: impl Iterator<Item = OsString>) -> Vec<OsString> {
        let mut kept = Vec::new();
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            if name == "--" {
                kept.push(arg);
                kept.extend(args);
                break;
            }
            let (name, has_value) = match name.split_once('=') {
                Some((name, _)) => (name, true),
                None => (&*name, false),
            };
            if LAB_OPTIONS.contains(&name) {
                if !has_value {
                    args.next();
                }
            } else if !LAB_FLAGS.contains(&name) {
                kept.push(arg);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_lab_are_removed_and_no_others() {
        let table = [
            ("run x --lab link --server apache", "run x --server apache"),
            ("run --lab=link --lab-host=a x", "run x"),
            (
                "--server-host b x --server-ipv6 --label y --lab z",
                "x --label y",
            ),
            ("run x -- --lab link", "run x -- --lab link"),
            ("run x --lab", "run x"),
            ("run x --server lab", "run x --server lab"),
        ];
        for (given, expected) in table {
            let args = given.split(' ').map(OsString::from);
            let kept = LabOptions::removed_from(args);
            let kept: Vec<&str> = kept.iter().filter_map(|arg| arg.to_str()).collect();
            assert_eq!(kept.join(" "), expected, "{given}");
        }
    }
}
