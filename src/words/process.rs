//! Sentences about the processes of runs.

/// The warning after a stop, if processes are left.
pub fn processes_left(count: usize) -> Option<String> {
    (count > 0).then(|| {
        let noun = if count == 1 { "process" } else { "processes" };
        format!(
            "{count} {noun} of the run survived SIGKILL, probably in a system call that does not return; check with `ps`"
        )
    })
}
