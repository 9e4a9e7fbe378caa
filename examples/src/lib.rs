//! Worked examples of keyderive: see the `.rs` files beside this folder.
