//! The Unix socket in the data directory, on which the kernel names every caller.

use std::fs::Permissions;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use tokio::net::UnixListener;

/// Listens on a socket that only its owner may connect to. The holder of the data directory's lock replaces what a killed server
/// left. Without a socket the server goes on, because its port is enough.
pub(super) fn listen(path: &Path) -> Option<UnixListener> {
    let listener = replace(path).and_then(|()| {
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(listener)
    });
    listener
        .inspect_err(|error| {
            let path = path.display();
            tracing::warn!(%path, %error, "cannot listen on the socket; clients use the port instead");
        })
        .ok()
}

/// Removes a socket of an earlier server, and nothing else.
fn replace(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(std::io::Error::other(
            "there is a file that is not a socket; remove it",
        )),
        Err(_) => Ok(()),
    }
}

/// Removes the socket of a server that stops.
pub(super) fn remove(path: &Path) {
    if let Err(error) = replace(path) {
        tracing::warn!(path = %path.display(), %error, "cannot remove the socket");
    }
}
