//! The guides for users, from `assets/guides`, so that `cargo doc` shows them beside the code.
//! Not for: the architecture, which the crate's own page describes.

#[doc = include_str!("../assets/guides/commands.md")]
pub mod commands {}
#[doc = include_str!("../assets/guides/context.md")]
pub mod context {}
#[doc = include_str!("../assets/guides/policies.md")]
pub mod policies {
    #[doc = include_str!("../assets/guides/policies/adaptive.md")]
    pub mod adaptive {}
    #[doc = include_str!("../assets/guides/policies/lanes.md")]
    pub mod lanes {}
    #[doc = include_str!("../assets/guides/policies/layered.md")]
    pub mod layered {}
    #[doc = include_str!("../assets/guides/policies/levels.md")]
    pub mod levels {}
    #[doc = include_str!("../assets/guides/policies/window.md")]
    pub mod window {}
}
#[doc = include_str!("../assets/guides/retrieval.md")]
pub mod retrieval {}
#[doc = include_str!("../assets/guides/summaries.md")]
pub mod summaries {}
#[doc = include_str!("../assets/guides/tools.md")]
pub mod tools {}
#[doc = include_str!("../assets/guides/tour.md")]
pub mod tour {}
