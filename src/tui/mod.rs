//! The workbench: a pure model, its update, its views, and the terminal beneath.
