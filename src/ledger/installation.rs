//! The installation as a whole.

use crate::store::tables::installation;
use crate::store::{Result, Tx};

/// Writes to the database, to show that writing works.
pub fn check_ready(tx: &mut Tx<'_>) -> Result<()> {
    installation::update_ready(tx)
}
