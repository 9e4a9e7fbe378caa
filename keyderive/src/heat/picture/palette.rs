//! The colours of viridis: their brightness grows, so that they are told apart without seeing all colours, and in grey. By S. van der Walt and
//! N. Smith, who gave them into the public domain.

/// At equal distances.
const ANCHORS: [[u8; 3]; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2d, 0x7b],
    [0x3b, 0x52, 0x8b],
    [0x2c, 0x72, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x28, 0xae, 0x80],
    [0x5e, 0xc9, 0x62],
    [0xad, 0xdc, 0x30],
    [0xfd, 0xe7, 0x25],
];
/// Where nothing happens.
pub(super) const NOTHING: [u8; 3] = [0x14, 0x12, 0x1c];
/// Above the end of the scale.
pub(super) const OVER: [u8; 3] = [0xff, 0xff, 0xff];

/// The colour of a level from 0 to 1; above it, `OVER`.
pub(super) fn colour(level: f64) -> [u8; 3] {
    if level <= 0.0 || level.is_nan() {
        return NOTHING;
    }
    if level > 1.0 {
        return OVER;
    }
    let at = level * (ANCHORS.len() - 1) as f64;
    let low = (at as usize).min(ANCHORS.len() - 2);
    let part = at - low as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (f64::from(ANCHORS[low][channel]), f64::from(ANCHORS[low + 1][channel]));
        (from + (to - from) * part).round() as u8
    })
}

/// As `#rrggbb`.
pub(super) fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The brightness that the eye sees, of the colours as three kinds of colour-blind people see them, and of all.
    fn brightness([red, green, blue]: [u8; 3]) -> f64 {
        let linear = |channel: u8| (f64::from(channel) / 255.0).powf(2.2);
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    #[test]
    fn brighter_is_more_for_every_eye() {
        let levels: Vec<_> = (1..=100).map(|level| colour(f64::from(level) / 100.0)).collect();
        assert!(levels.windows(2).all(|pair| brightness(pair[0]) < brightness(pair[1]) + 1e-9));
        assert!(brightness(NOTHING) < brightness(levels[0]));
        assert!(brightness(OVER) > brightness(levels[99]));
        // Without red, or without green, as those see who lack one of the two.
        for (red, green) in [(0.0, 0.85), (0.85, 0.0)] {
            let seen = |[r, g, b]: [u8; 3]| red * f64::from(r) + green * f64::from(g) + 0.15 * f64::from(b);
            assert!(seen(levels[99]) > 2.0 * seen(levels[0]) && seen(levels[50]) < seen(levels[99]));
        }
    }
}
