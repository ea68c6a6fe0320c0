//! The real binary in a pseudo-terminal: journeys, every way out, job control, hostile text, sizes.

mod comfort;
mod damage;
mod given_back;
mod gone;
mod inject;
mod journeys;
mod picture;
mod shell;
mod sizes;
mod task;
mod timing;
mod tour;
mod word;
