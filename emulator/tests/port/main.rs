//! The command `keyderive-emulator`, driven by Google's own clients as they are installed.

mod cbt;
mod command;
mod python;
mod served;
