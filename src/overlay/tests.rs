//! Tests of the overlay as a whole.
