//! The peak memory of a path, in a process that does nothing else.

use std::process::Command;

use super::data::{In16, In64};
use super::{machine, merges};
use crate::EventKey;
use crate::program::Failure;

/// A path that runs once, to measure its memory.
pub struct Peak {
    /// The name of the path.
    pub path: String,
    /// How many buckets it merges.
    pub buckets: usize,
    /// Where the scripted server is.
    pub host: String,
}

impl Peak {
    /// Runs the path in this process, and prints its peak resident memory in KiB.
    ///
    /// # Errors
    /// When the path fails, or the system does not tell.
    pub fn print(&self) -> Result<(), Failure> {
        machine::pin_client();
        match self.buckets {
            16 => merges::run_once::<In16>(&self.path, &self.host)?,
            64 => merges::run_once::<In64>(&self.path, &self.host)?,
            _ => merges::run_once::<EventKey>(&self.path, &self.host)?,
        }
        let peak = machine::field("/proc/self/status", "VmHWM:").ok_or("the system tells no peak")?;
        println!("{}", peak.trim_end_matches(" kB"));
        Ok(())
    }

    /// Runs the path in a process of its own, and returns its peak resident memory in MiB.
    pub(super) fn measure(&self) -> Result<f64, Failure> {
        let output = Command::new(std::env::current_exe()?)
            .args(["--peak", &self.path, "--host", &self.host, "--buckets", &self.buckets.to_string()])
            .output()?;
        let printed = String::from_utf8(output.stdout)?;
        let kilobytes: f64 = printed
            .trim()
            .parse()
            .map_err(|_| format!("{}: {}", self.path, String::from_utf8_lossy(&output.stderr)))?;
        Ok(kilobytes / 1024.0)
    }
}
