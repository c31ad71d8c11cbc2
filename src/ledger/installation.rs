//! Checks of the whole installation.

use crate::store::tables::installation;
use crate::store::{Result, Tx};

/// Proves that the database is writable, by writing to it.
pub fn check_ready(tx: &mut Tx<'_>) -> Result<()> {
    installation::update_ready(tx)
}
