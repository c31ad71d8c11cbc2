//! The table of permissions in the documents is the one in the code.

use std::path::Path;

use chorus::domain::{Cell, Grant, Provider, permission_cell};

const PROVIDERS: [Provider; 4] = [
    Provider::ClaudeCode,
    Provider::Codex,
    Provider::OpenCode,
    Provider::Gemini,
];

fn shown(cell: Cell) -> String {
    let code = |words: &[&str]| format!("`{}`", words.join(" "));
    match cell {
        Cell::Words(words) | Cell::Json(words) => code(&[words]),
        Cell::Arguments(arguments) => code(arguments),
        Cell::Always => "always".to_owned(),
        Cell::Refused => "refused".to_owned(),
        Cell::Policy {
            mode,
            tools,
            prefix,
            decision,
        } => {
            let mode = match mode {
                "" => String::new(),
                mode => format!("`--approval-mode {mode}`, "),
            };
            let prefix = match prefix {
                "" => String::new(),
                prefix => format!(" with `{prefix}`"),
            };
            let tools: Vec<_> = tools.iter().map(|tool| code(&[tool])).collect();
            format!("{mode}{decision} {}{prefix}", tools.join(" "))
        }
    }
}

#[test]
fn the_documents_show_the_table_of_the_code() {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut table = row(["grant"]
        .into_iter()
        .chain(PROVIDERS.iter().map(|provider| provider.as_str()))
        .map(str::to_owned)
        .collect());
    table.push_str("|---|---|---|---|---|\n");
    for grant in Grant::ALL {
        let cells = PROVIDERS.map(|provider| shown(permission_cell(provider, grant)));
        table.push_str(&row(
            [vec![grant.as_str().to_owned()], cells.to_vec()].concat()
        ));
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agents-and-providers.md");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(
        text.contains(&table),
        "the page must have this table:\n{table}"
    );
}
