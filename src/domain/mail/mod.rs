//! Mail between agents, people and the router.

mod address;
mod mail;
mod mail_type;
mod query;
mod urgency;

pub use address::{Address, Correspondent, IllegalAddress};
pub use mail::{
    Mail, MailContent, MailId, MailVersion, NewMail, Recipient, ThreadId, check_handoff_type,
    check_subject,
};
pub use mail_type::MailType;
pub use query::{MailQuery, SearchWords};
pub use urgency::Urgency;
