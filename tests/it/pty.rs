//! The real binary in a pseudo-terminal: journeys, every way to exit, job control, hostile text, and sizes.

mod comfort;
mod consent_prompt;
mod damage;
mod guided_tour;
mod hostile_text;
mod journeys;
mod newcomer;
mod picture;
mod shell;
mod sizes;
mod task;
mod terminal_lost;
mod terminal_restored;
mod timing;
mod tour;
