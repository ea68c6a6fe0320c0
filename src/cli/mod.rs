//! The command line: arguments in, engine requests out, answers printed.
