//! Reads the specs of agents.

use std::path::{Component, Path};

use include_dir::{Dir, include_dir};

use crate::domain::Agent;
use crate::supervisor::may_pass;

/// The embedded specs of the default agents.
static SPECS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/agents");

/// A spec that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    message: String,
    /// Whether the system only lacked something.
    pub may_pass: bool,
}

impl From<String> for SpecError {
    fn from(message: String) -> Self {
        Self {
            message,
            may_pass: false,
        }
    }
}

/// Reads an agent's spec from the data directory, from the server's working directory, or from the embedded files, in this
/// order.
pub fn read_spec(agent: &Agent, data_dir: &Path) -> Result<String, SpecError> {
    check_spec_path(agent)?;
    let path = Path::new(agent.spec_path.as_str());
    for root in [data_dir, Path::new(".")] {
        match read_inside(root, path) {
            Ok(spec) => return Ok(spec),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(SpecError {
                    message: format!("Spec {} cannot be read: {error}", root.join(path).display()),
                    may_pass: may_pass(&error),
                });
            }
        }
    }
    let embedded = path
        .strip_prefix("agents")
        .ok()
        .and_then(|path| SPECS.get_file(path));
    embedded
        .and_then(|file| file.contents_utf8())
        .map(str::to_owned)
        .ok_or_else(|| {
            format!(
                "Spec {} of agent {} does not exist; create {}",
                agent.spec_path,
                agent.name,
                data_dir.join(path).display()
            )
            .into()
        })
}

/// Checks that the path cannot leave the data directory, apart from symbolic links.
pub fn check_spec_path(agent: &Agent) -> Result<(), SpecError> {
    let path = Path::new(agent.spec_path.as_str());
    let is_inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside {
        return Err(format!(
            "Spec {} of agent {} must be a path relative to the data directory, without `..`",
            agent.spec_path, agent.name
        )
        .into());
    }
    Ok(())
}

/// Reads a file that must be inside `root` after symbolic links are resolved.
fn read_inside(root: &Path, path: &Path) -> std::io::Result<String> {
    let resolved = root.join(path).canonicalize()?;
    if resolved.starts_with(root.canonicalize()?) {
        std::fs::read_to_string(resolved)
    } else {
        Err(std::io::Error::other(
            "a symbolic link leads out of the directory",
        ))
    }
}
