//! The dispatcher: its queue, and the rule of each kind of request.

use super::{Dispatch, Input, Replied};
use crate::api::{DispatchOverview, RoutesInput};
use crate::domain::KindRule;

impl Dispatch<'_> {
    pub async fn overview(&self) -> Replied<DispatchOverview> {
        self.0.fetch(&["dispatch"], &()).await
    }

    pub async fn rules(&self) -> Replied<Vec<KindRule>> {
        self.0.fetch(&["dispatch", "routes"], &()).await
    }

    /// Replaces all rules.
    pub async fn set_rules(&self, rules: &Input<RoutesInput>) -> Replied<Vec<KindRule>> {
        self.0.put(&["dispatch", "routes"], rules).await
    }
}
