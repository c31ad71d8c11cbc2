//! Types of mail.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// The subject matter of a mail.
    #[derive(Default)]
    pub enum MailType {
        /// Another agent continues the work.
        TaskHandoff = "task_handoff",
        /// A test or a verification failed.
        TestFailureReport = "test_failure_report",
        /// The failure is fixed and can be tested again.
        FixComplete = "fix_complete",
        /// The work is ready for verification.
        VerificationRequest = "verification_request",
        /// A task was assigned to an agent.
        Assignment = "assignment",
        /// Anything else.
        #[default]
        Note = "note",
    }
}
