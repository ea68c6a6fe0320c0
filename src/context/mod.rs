//! The planner: a frozen input in, a plan with reasons out, and the plan as bytes.
