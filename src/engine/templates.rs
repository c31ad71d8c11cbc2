//! Templates of requests and responses: the user's own, and those embedded in the program.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::seeds::SEEDS;
use crate::domain::Kind;

/// The folder of templates, both in the data directory and in the embedded seeds.
const FOLDER: &str = "templates";

/// The maximum size of a template, which becomes part of the agent's prompt.
const LARGEST: u64 = 64 * 1024;

/// The two templates of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Request,
    Response,
}

impl Form {
    pub const ALL: [Self; 2] = [Self::Request, Self::Response];

    /// Returns the form's name, which is part of the file name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// The reason why an existing template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("Template {} cannot be read: {cause}; make it readable, or remove it to use the embedded one", path.display())]
    Unreadable {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("Template {} is larger than {limit} bytes; shorten it", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("Template {} is not UTF-8 text; save it as UTF-8", path.display())]
    NotText { path: PathBuf },
}

/// Returns the path of the user's own template, which may not exist.
pub fn template_path(data_dir: &Path, kind: &Kind, form: Form) -> PathBuf {
    data_dir.join(FOLDER).join(file_name(kind, form))
}

/// Finds a template. A file in the data directory wins over the embedded one.
pub fn template(data_dir: &Path, kind: &Kind, form: Form) -> Result<Option<String>, TemplateError> {
    if let Some(own) = read_own(data_dir, template_path(data_dir, kind, form))? {
        return Ok(Some(own));
    }
    let embedded = SEEDS.get_file(Path::new(FOLDER).join(file_name(kind, form)));
    let text = embedded.and_then(|file| file.contents_utf8());
    Ok(text.map(str::to_owned))
}

/// Lists the kinds that have an embedded or own template, sorted by name.
pub fn kinds_with_templates(data_dir: &Path) -> Vec<Kind> {
    let embedded = SEEDS.get_dir(FOLDER).into_iter().flat_map(|folder| {
        let names = folder.files().filter_map(|file| file.path().file_name());
        names.map(|name| name.to_string_lossy().into_owned())
    });
    // A missing folder has no templates. An unreadable one is reported when one of its templates is read.
    let entries = std::fs::read_dir(data_dir.join(FOLDER))
        .into_iter()
        .flatten();
    let own = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let kinds: BTreeSet<_> = embedded
        .chain(own)
        .filter_map(|name| kind_of(&name))
        .collect();
    kinds.into_iter().collect()
}

fn file_name(kind: &Kind, form: Form) -> String {
    format!("{kind}.{}.md", form.as_str())
}

fn kind_of(name: &str) -> Option<Kind> {
    let (kind, form) = name.strip_suffix(".md")?.split_once('.')?;
    Form::ALL.iter().find(|known| known.as_str() == form)?;
    Kind::parse(kind).ok()
}

/// Reads the user's own template, if it exists. Its path must stay inside the data directory after symbolic links are resolved,
/// because its text is sent to agents.
fn read_own(data_dir: &Path, path: PathBuf) -> Result<Option<String>, TemplateError> {
    let found = path.canonicalize().and_then(|found| {
        let root = data_dir.canonicalize()?;
        Ok((found.starts_with(root), found))
    });
    let found = match found {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(TemplateError::Unreadable { path, cause }),
        Ok((false, _)) => {
            let cause = std::io::Error::other("a symbolic link leads out of the data directory");
            return Err(TemplateError::Unreadable { path, cause });
        }
        Ok((true, found)) => found,
    };
    let bytes = match read_file(&found) {
        Ok(bytes) => bytes,
        Err(cause) => return Err(TemplateError::Unreadable { path, cause }),
    };
    if bytes.len() as u64 > LARGEST {
        return Err(TemplateError::TooLarge {
            path,
            limit: LARGEST,
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(TemplateError::NotText { path }),
    }
}

/// Reads a file up to one byte more than the limit.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    // Opening a named pipe would block until a writer opens it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Returns the kinds that have a default kind rule.
    fn default_kinds() -> Vec<Kind> {
        let routes = SEEDS.get_file("routes.json").unwrap().contents();
        let routes: Vec<Value> = serde_json::from_slice(routes).unwrap();
        let kinds = routes.iter().map(|route| route["kind"].as_str().unwrap());
        kinds.map(|kind| Kind::parse(kind).unwrap()).collect()
    }

    fn embedded(kind: &Kind, form: Form) -> String {
        let nowhere = Path::new("/nowhere");
        let found = template(nowhere, kind, form).unwrap();
        found.unwrap_or_else(|| panic!("{kind} has no {} form", form.as_str()))
    }

    /// Removes text in backticks, where tags do not count.
    fn without_code(text: &str) -> String {
        text.split('`').step_by(2).collect()
    }

    /// Whether a text contains a tag: `#` followed by a letter or digit.
    fn has_tag(text: &str) -> bool {
        let text = without_code(text);
        let mut places = text.match_indices('#');
        places.any(|(place, _)| text[place + 1..].starts_with(|c: char| c.is_alphanumeric()))
    }

    #[test]
    fn every_default_kind_has_both_forms_and_no_form_is_of_another_kind() {
        let mut kinds = default_kinds();
        assert_eq!(kinds.len(), 7);
        for kind in &kinds {
            for form in Form::ALL {
                let text = embedded(kind, form);
                assert!(text.starts_with("# ") && text.ends_with("-->\n"), "{text}");
                assert_eq!(
                    text.lines().filter(|line| line.starts_with("# ")).count(),
                    1
                );
                assert_eq!(text.matches("<!--").count(), text.matches("-->").count());
            }
        }
        kinds.sort();
        assert_eq!(kinds_with_templates(Path::new("/nowhere")), kinds);
    }

    #[test]
    fn a_request_form_has_its_tags_below_the_heading_and_nowhere_else() {
        for kind in default_kinds() {
            let text = embedded(&kind, Form::Request);
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(lines[1], "");
            assert_eq!(lines[2], format!("**Tags**: #needs-{kind} #P2"));
            for line in [&lines[..2], &lines[3..]].concat() {
                assert!(!has_tag(line), "{kind}: {line}");
            }
            for section in ["Topic", "Expectations"] {
                assert!(
                    text.contains(&format!("\n## {section}\n")),
                    "{kind}: {section}"
                );
            }
        }
    }

    #[test]
    fn a_response_form_has_no_tags_and_is_short_enough_for_every_prompt() {
        for kind in default_kinds() {
            let text = embedded(&kind, Form::Response);
            assert!(!has_tag(&text), "{text}");
            assert!(text.len() <= 1024, "{kind}: {} bytes", text.len());
        }
    }

    #[test]
    fn a_file_in_the_data_directory_wins_and_may_be_of_a_new_kind() {
        let folder = tempfile::tempdir().unwrap();
        let [fix, audit] = ["fix", "audit-2"].map(|kind| Kind::parse(kind).unwrap());
        let read = |kind, form| template(folder.path(), kind, form).unwrap();
        assert_eq!(read(&audit, Form::Request), None);
        std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
        for (kind, text) in [(&fix, "mine"), (&audit, "")] {
            std::fs::write(template_path(folder.path(), kind, Form::Request), text).unwrap();
        }
        for odd in [
            "fix.md",
            "Fix.request.md",
            ".request.md",
            "x.reply.md",
            "y.request.txt",
        ] {
            std::fs::write(folder.path().join(FOLDER).join(odd), "odd").unwrap();
        }
        assert_eq!(read(&fix, Form::Request).as_deref(), Some("mine"));
        assert_eq!(
            read(&fix, Form::Response),
            Some(embedded(&fix, Form::Response))
        );
        assert_eq!(read(&audit, Form::Request).as_deref(), Some(""));
        assert_eq!(read(&audit, Form::Response), None);
        let mut kinds = default_kinds();
        kinds.push(audit);
        kinds.sort();
        assert_eq!(kinds_with_templates(folder.path()), kinds);
    }

    #[test]
    fn an_unusable_template_is_an_error_and_is_not_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let fix = Kind::parse("fix").unwrap();
        let path = template_path(folder.path(), &fix, Form::Request);
        let problem = || {
            let error = template(folder.path(), &fix, Form::Request).unwrap_err();
            let error = error.to_string();
            error.replace(path.to_str().unwrap(), "FILE")
        };
        std::fs::write(folder.path().join(FOLDER), "a file").unwrap();
        assert!(problem().contains("Not a directory"), "{}", problem());
        std::fs::remove_file(folder.path().join(FOLDER)).unwrap();
        std::fs::create_dir_all(&path).unwrap();
        assert!(problem().contains("not a regular file"), "{}", problem());
        std::fs::remove_dir(&path).unwrap();
        let largest = usize::try_from(LARGEST).unwrap();
        std::fs::write(&path, "x".repeat(largest)).unwrap();
        template(folder.path(), &fix, Form::Request).unwrap();
        std::fs::write(&path, "x".repeat(largest + 1)).unwrap();
        assert_eq!(
            problem(),
            "Template FILE is larger than 65536 bytes; shorten it"
        );
        std::fs::write(&path, b"caf\xe9").unwrap();
        assert_eq!(
            problem(),
            "Template FILE is not UTF-8 text; save it as UTF-8"
        );
        std::fs::remove_file(&path).unwrap();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
        assert!(
            problem().contains("leads out of the data directory"),
            "{}",
            problem()
        );
    }
}
