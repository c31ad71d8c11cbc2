//! The installation: whether it works, and where it is.

use crate::domain::Text;
use crate::store::tables::installation;
use crate::store::{Result, Tx};

/// Proves that the database is writable, by writing to it.
pub fn check_ready(tx: &mut Tx<'_>) -> Result<()> {
    installation::update_ready(tx)
}

/// Records the data directory. If it was elsewhere before, the workspaces in its folder are in the new one now: a copy must not work in
/// the folders of the original. Returns the number of tasks whose workspace has moved.
pub fn settle(tx: &mut Tx<'_>, data_dir: &Text) -> Result<usize> {
    let before = installation::data_dir(tx)?;
    if before.as_ref() == Some(data_dir) {
        return Ok(0);
    }
    installation::set_data_dir(tx, data_dir)?;
    let Some(before) = before else {
        return Ok(0);
    };
    let folder = |data_dir: &Text| format!("{data_dir}/workspaces/");
    installation::move_workspaces(tx, &folder(&before), &folder(data_dir))
}
