//! The colours of viridis, without its darkest eighth, which hardly differs from nothing: their brightness grows, so that
//! they can be told apart without seeing all colours, and in grey. By S. van der Walt and N. Smith, who gave them into the
//! public domain.

/// At equal distances.
const ANCHORS: [[u8; 3]; 8] = [
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
pub(super) const NOTHING: [u8; 3] = [0x12, 0x12, 0x12];
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

    /// What an eye sees of linear red, green and blue: all of them, and without the cones for red, for green, and for blue. By Machado,
    /// Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency", 2009.
    const EYES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn luminance(colour: [u8; 3], eye: &[[f64; 3]; 3]) -> f64 {
        let linear = colour.map(|channel| match f64::from(channel) / 255.0 {
            dark if dark <= 0.04045 => dark / 12.92,
            channel => ((channel + 0.055) / 1.055).powf(2.4),
        });
        let seen = eye.map(|row| (0..3).map(|at| row[at] * linear[at]).sum::<f64>().clamp(0.0, 1.0));
        0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]
    }

    /// The lightness of a colour, CIE L*, from 0 to 100.
    fn lightness(colour: [u8; 3], eye: &[[f64; 3]; 3]) -> f64 {
        let luminance = luminance(colour, eye);
        if luminance > 0.008856 { 116.0 * luminance.cbrt() - 16.0 } else { 903.3 * luminance }
    }

    #[test]
    fn brighter_is_more_for_every_eye() {
        for eye in &EYES {
            let seen = |level| lightness(colour(level), eye);
            let steps: Vec<_> = (1..=64).map(|step| seen(f64::from(step) / 64.0)).collect();
            assert!(steps.is_sorted(), "{steps:?}");
            // An eighth of the scale is seen everywhere; a difference of 2 is just seen.
            assert!(steps.iter().zip(&steps[8..]).all(|(less, more)| more - less > 5.5), "{steps:?}");
            // The contrast of WCAG 2.
            let contrast = (luminance(colour(1.0 / 32.0), eye) + 0.05) / (luminance(NOTHING, eye) + 0.05);
            assert!(contrast >= 1.6, "{contrast}");
            assert!(steps[0] - lightness(NOTHING, eye) > 6.0 && lightness(OVER, eye) - steps[63] > 6.0);
        }
    }
}
