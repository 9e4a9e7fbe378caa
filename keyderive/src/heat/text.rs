//! Shares, times and windows as text, for reports, summaries and pictures.

use std::fmt;
use std::time::Duration;

use crate::dynamic::Value;

/// As `31 %`, with a decimal below 10, or as less than a tenth.
pub(super) fn percent(share: f64) -> impl fmt::Display {
    fmt::from_fn(move |f| match share * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => f.write_str("< 0.1 %"),
        percent if (0.05..9.95).contains(&percent) => write!(f, "{percent:.1} %"),
        percent => write!(f, "{percent:.0} %"),
    })
}

/// A time in UTC to the minute, or to the second if it has some.
pub(super) fn shown_time(time: i64) -> String {
    let text = Value::Time(i128::from(time) * 1_000_000).to_string().replacen('T', " ", 1);
    let text = text.trim_end_matches('Z');
    let text = text.split('.').next().unwrap_or(text);
    text.strip_suffix(":00").unwrap_or(text).to_owned()
}

/// As `minute`, or `150 s`.
pub(super) fn shown_window(window: Duration) -> String {
    match window.as_secs_f64() {
        60.0 => "minute".to_owned(),
        3600.0 => "hour".to_owned(),
        86_400.0 => "day".to_owned(),
        seconds if seconds < 0.001 => "< 1 ms".to_owned(),
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1000.0),
        seconds if seconds < 10.0 => format!("{seconds:.2} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.0} hours", seconds / 3600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_window_is_not_said_to_be_none() {
        for (micros, shown) in [
            (0, "< 1 ms"),
            (999, "< 1 ms"),
            (1000, "1 ms"),
            (4000, "4 ms"),
            (250_000, "250 ms"),
            (1_500_000, "1.50 s"),
            (60_000_000, "minute"),
            (150_000_000, "2 minutes"),
        ] {
            assert_eq!(shown_window(Duration::from_micros(micros)), shown);
        }
    }
}
