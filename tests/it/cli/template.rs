//! The forms of requests and of their responses.

use std::path::Path;

use insta::assert_snapshot;

use crate::support::{Chorus, redact};

/// Asks for a form where there is neither a server nor a database.
fn form(data_dir: &Path, arguments: &[&str]) -> String {
    let command = ["request", "template"].iter().chain(arguments).copied();
    redact(
        &Chorus::new(command)
            .env("CHORUS_DATA_DIR", data_dir)
            .transcript(),
    )
}

#[test]
fn the_forms_of_a_kind_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(form(folder.path(), &["chores"]), @"
    exit 0
    --- stdout
    # Chores: the clean-up in one line

    **Tags**: #needs-chores #P2

    <!-- Replace each comment with your answer. Delete sections that do not apply. Priorities: `#P0` is most urgent, then `#P1`, then `#P2`. -->

    ## Topic

    <!-- The clean-up. State any difference that a user would notice. -->

    ## List

    <!-- One small, checkable box each: `- [ ] raise the version of x in y`. -->

    ## Context

    <!-- Where, by which rules, why now. Paths and links. -->

    ## Leave alone

    <!-- Neighbouring code that must not be touched. -->

    ## Expectations

    <!-- The checks that must pass afterwards. What to do with an item that turns out to be more than a chore. -->
    --- stderr
    ");
    assert_snapshot!(form(&folder.path().join("nowhere"), &["chores", "--response"]), @"
    exit 0
    --- stdout
    # Chores: the clean-up

    ## In short

    <!-- The number of items done, and any change of behaviour. -->

    ## List

    <!-- Every box of the request: done, or not done and why. -->

    ## Change

    <!-- Files; commit or branch. -->

    ## Evidence

    <!-- The checks you ran, and their results. -->

    ## Left

    <!-- Items that turned out to be more than a chore, and findings you did not touch. -->
    --- stderr
    ");
}

#[test]
fn a_custom_template_is_printed_and_a_missing_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("templates");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("audit.request.md"), "# Audit\n\n").unwrap();
    std::fs::write(own.join("fix.request.md"), b"\xff").unwrap();
    assert_snapshot!(form(folder.path(), &["audit"]), @"
    exit 0
    --- stdout
    # Audit
    --- stderr
    ");
    assert_snapshot!(form(folder.path(), &["audit", "--response"]), @"
    exit 3
    --- stdout
    --- stderr
    error: no response template for requests of kind audit
    hint: kinds with a template: audit, brainstorm, chores, documentation, fix, implementation, loop, research
    hint: write your own template in <tmp>/templates/audit.response.md
    ");
    assert_snapshot!(form(folder.path(), &["../x"]), @r#"
    exit 3
    --- stdout
    --- stderr
    error: "../x" is not a valid kind: it must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters
    hint: kinds with a template: audit, brainstorm, chores, documentation, fix, implementation, loop, research
    "#);
    assert_snapshot!(form(folder.path(), &["fix"]), @"
    exit 1
    --- stdout
    --- stderr
    error: Template <tmp>/templates/fix.request.md is not UTF-8 text; save it as UTF-8
    ");
}
