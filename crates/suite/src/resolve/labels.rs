//! X-Prestan as it was printed in 2004.

use crate::error::SuiteError;
use crate::plan::Plan;

use super::SuiteSource;

/// Tests of the suite `prestan`, with number and name of their test case as printed by Xu (2004),
/// section by section (5.1.1 to 5.4.1). Some of them contradict others, and are unchanged:
/// docs/PAPERS.md has the list.
const CASES: [(&str, u32, &str); 21] = [
    ("ProppatchMult", 4, "propfinddead"),
    ("ProppatchSingle", 3, "proppatch"),
    ("PropfindDeadMult", 4, "propfinddead"),
    ("PropfindDeadSingle", 4, "propfinddead"),
    ("PropfindLiveMult", 5, "propfindlive"),
    ("PropfindLiveSingle", 5, "propfindlive"),
    ("Put1K", 6, "put1K"),
    ("Put64K", 1, "put64K"),
    ("Put1024K", 8, "put1024K"),
    ("Get1K", 6, "get1K"),
    ("Get64K", 7, "get64K"),
    ("Get1024K", 8, "get1024K"),
    ("MkCol", 10, "my_collection"),
    ("Copy", 1, "begin"),
    ("CopyCol", 10, "my_collection"),
    ("Move", 1, "begin"),
    ("MoveCol", 10, "my_collection"),
    ("Delete", 1, "begin"),
    ("DeleteCol", 10, "my_collection"),
    ("Locks", 11, "locks"),
    ("LocksCol", 11, "locks"),
];

/// Sets the value that was printed for each test in its requests.
pub(super) fn of_2004(file: &SuiteSource<'_>, plan: &mut Plan) -> Result<(), SuiteError> {
    for test in &mut plan.tests {
        let case = CASES.iter().find(|(name, ..)| *name == test.name);
        let Some((_, number, name)) = case.filter(|_| plan.suite.name == "prestan") else {
            return Err(file.error_anywhere(format!(
                "--x-prestan 2004 is for the tests of the suite prestan, which the paper prints; it has none for {}",
                test.name
            )));
        };
        // The name of its suite was null, and printed so.
        test.label = Some(format!("(null): {number} ({name})"));
    }
    Ok(())
}
