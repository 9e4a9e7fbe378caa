//! The command `keyderive serve`, driven by Google's clients, if installed, and by requests that no client sends.

mod broken;
mod cbt;
mod clients;
mod command;
mod peers;
mod queries;
mod rows;
mod served;
