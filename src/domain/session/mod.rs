//! Sessions: conversations that move from one agent to another.

mod history;
mod id;
mod session;
mod session_move;

pub use history::{ConversationHistory, HistoryMessage};
pub use id::SessionId;
pub use session::{Session, SessionHandoff};
pub use session_move::SessionMove;
