//! Progress of long commands.

use std::io::IsTerminal;

use indicatif::{ProgressDrawTarget, ProgressStyle};

use crate::engine::archive::Progress;

/// A bar on standard error, if that is a terminal.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ProgressBar(indicatif::ProgressBar);

impl ProgressBar {
    pub fn new(what: &'static str) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} tasks, {eta} left")
            .expect("the template is well formed");
        Self(
            indicatif::ProgressBar::with_draw_target(None, target)
                .with_style(style)
                .with_message(what),
        )
    }

    pub fn show(&self, progress: Progress) {
        self.0.set_length(progress.total);
        self.0.set_position(progress.done);
    }

    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
