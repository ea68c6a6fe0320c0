//! Writers of export formats, from neutral records.
