//! Synthetic workloads: when events happen, and to which items.

use std::time::Duration;

/// A synthetic workload: an iterator of [`Draw`]s, each with a time and an item, such as the number of a user.
///
/// ```
/// use std::time::Duration;
/// use keyderive::heat::Workload;
///
/// let hour = Duration::from_secs(3600);
/// let draws: Vec<_> = Workload::zipf(1_000, 1.1).events(10_000).lasting(hour).seed(7).into_iter().collect();
/// assert_eq!(draws.len(), 10_000);
/// assert!(draws.is_sorted_by_key(|draw| draw.time));
/// // The most popular of the 1000 users, item 0, has a sixth of all.
/// assert!((1_500..2_000).contains(&draws.iter().filter(|draw| draw.item == 0).count()));
/// ```
///
/// The same parameters make the same draws on every machine.
#[derive(Clone, Debug)]
#[must_use = "a workload is an iterator: map its draws to keys"]
pub struct Workload {
    events: u64,
    start: i64,
    lasting: Duration,
    seed: u64,
    items: u64,
    exponent: f64,
    bursts: Option<Bursts>,
}

#[derive(Clone, Copy, Debug)]
struct Bursts {
    every: f64,
    length: f64,
    factor: f64,
}

/// One event of a [`Workload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Draw {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The index of the event, from 0.
    pub index: u64,
    /// Which item, from 0; in a Zipf workload, lower items are more popular.
    pub item: u64,
    /// A random number, for other fields of the key.
    pub random: u64,
}

impl Workload {
    /// Events that are spread evenly over this many items.
    pub fn uniform(items: u64) -> Self {
        Self::zipf(items, 0.0)
    }

    /// Events of items whose popularity falls by Zipf's law: the share of the n-th most popular is proportional to 1 / n^exponent. Around 1
    /// is usual for people and pages; 0 is uniform. Exponents above 20 count as 20.
    pub fn zipf(items: u64, exponent: f64) -> Self {
        Self {
            events: 100_000,
            // 2026-01-01T00:00:00Z
            start: 1_767_225_600_000,
            lasting: Duration::from_secs(3600),
            seed: 0,
            items: items.max(1),
            exponent: if exponent.is_nan() { 0.0 } else { exponent.clamp(0.0, 20.0) },
            bursts: None,
        }
    }

    /// How many events there are; 100,000 by default.
    pub fn events(self, events: u64) -> Self {
        Self { events, ..self }
    }

    /// The time of the first event, in milliseconds since 1970.
    pub fn starting_at(self, start: i64) -> Self {
        Self { start, ..self }
    }

    /// The time over which the events are spread; an hour by default.
    pub fn lasting(self, lasting: Duration) -> Self {
        Self { lasting, ..self }
    }

    /// Once per period `every`, for `length`, the rate is `factor` times the usual one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use keyderive::heat::Workload;
    /// let bursts = Workload::uniform(10).events(6000).bursts(Duration::from_secs(600), Duration::from_secs(60), 9.0);
    /// let first_minute = bursts.starting_at(0).into_iter().filter(|draw| draw.time < 60_000).count();
    /// assert_eq!(first_minute, 500); // and 500 in the nine minutes after it
    /// ```
    pub fn bursts(self, every: Duration, length: Duration, factor: f64) -> Self {
        let every = every.as_secs_f64().max(1e-3);
        let length = length.as_secs_f64().min(every);
        let factor = if factor.is_nan() { 1.0 } else { factor.clamp(1e-3, 1e6) };
        Self { bursts: Some(Bursts { every, length, factor }), ..self }
    }

    /// Sets the seed: another one makes other draws of the same workload.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The time of an event in seconds after the start.
    fn second(&self, index: f64) -> f64 {
        let lasting = self.lasting.as_secs_f64();
        let part = index / self.events as f64;
        let Some(Bursts { every, length, factor }) = self.bursts else { return part * lasting };
        // How much comes until a time, where one a second is usual.
        let in_period = factor * length + (every - length);
        let until = |second: f64| {
            let rest = second % every;
            (second / every).floor() * in_period + rest.min(length) * factor + (rest - length).max(0.0)
        };
        let amount = part * until(lasting);
        let rest = amount % in_period;
        let inside = if rest < factor * length { rest / factor } else { length + rest - factor * length };
        (amount / in_period).floor() * every + inside
    }
}

impl IntoIterator for Workload {
    type Item = Draw;
    type IntoIter = Draws;

    fn into_iter(self) -> Draws {
        let zipf = Zipf::new(self.items as f64, self.exponent);
        let random = fastrand::Rng::with_seed(self.seed);
        Draws { workload: self, zipf, random, next: 0 }
    }
}

/// The events of a [`Workload`].
#[derive(Clone, Debug)]
pub struct Draws {
    workload: Workload,
    zipf: Zipf,
    random: fastrand::Rng,
    next: u64,
}

impl Iterator for Draws {
    type Item = Draw;

    fn next(&mut self) -> Option<Draw> {
        let index = self.next;
        if index >= self.workload.events {
            return None;
        }
        self.next += 1;
        // Not at equal distances: a rhythm could be one of the keys, too, such as of reversed bits.
        let second = self.workload.second(index as f64 + self.random.f64());
        let time = self.workload.start.saturating_add((second * 1000.0) as i64);
        let item = match self.workload.exponent {
            0.0 => self.random.u64(..self.workload.items),
            _ => self.zipf.draw(&mut self.random) - 1,
        };
        Some(Draw { time, index, item: item.min(self.workload.items - 1), random: self.random.u64(..) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.workload.events - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

/// Ranks by Zipf's law, by rejection and inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", 1996. It needs no table of all ranks.
#[derive(Clone, Debug)]
struct Zipf {
    items: f64,
    exponent: f64,
    from: f64,
    to: f64,
    squeeze: f64,
}

impl Zipf {
    fn new(items: f64, exponent: f64) -> Self {
        let mut zipf = Self { items, exponent, from: 0.0, to: 0.0, squeeze: 0.0 };
        zipf.from = zipf.integral(1.5) - 1.0;
        zipf.to = zipf.integral(items + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the density, up to a constant.
    fn integral(&self, x: f64) -> f64 {
        let of = (1.0 - self.exponent) * x.ln();
        // The limit of `exp_m1(of) / of` at 0 is 1.
        x.ln() * if of.abs() > 1e-8 { of.exp_m1() / of } else { 1.0 + of / 2.0 }
    }

    fn inverse(&self, x: f64) -> f64 {
        let of = (x * (1.0 - self.exponent)).max(-1.0);
        (x * if of.abs() > 1e-8 { of.ln_1p() / of } else { 1.0 - of / 2.0 }).exp()
    }

    fn draw(&self, random: &mut fastrand::Rng) -> u64 {
        loop {
            let at = self.to + random.f64() * (self.from - self.to);
            let x = self.inverse(at);
            let rank = (x + 0.5).floor().clamp(1.0, self.items);
            if rank - x <= self.squeeze || at >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn popularity_falls_by_zipfs_law() {
        for exponent in [0.0, 0.5, 1.0, 1.1, 2.0] {
            let mut counts = [0_u32; 100];
            for draw in Workload::zipf(100, exponent).events(200_000) {
                counts[draw.item as usize] += 1;
            }
            let whole: f64 = (1..=100).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1, 2, 3, 10, 50, 100] {
                let expected = 200_000.0 * f64::from(rank).powf(-exponent) / whole;
                let found = f64::from(counts[rank as usize - 1]);
                assert!(
                    (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                    "{exponent}, {rank}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn odd_numbers_make_no_endless_loop() {
        for (items, exponent) in
            [(0, 1.0), (1, 1.0), (u64::MAX, 1.2), (5, f64::NAN), (5, f64::INFINITY), (5, -1.0)]
        {
            let draws =
                Workload::zipf(items, exponent).events(100).lasting(Duration::MAX).starting_at(i64::MAX);
            assert!(draws.into_iter().all(|draw| draw.item < items.max(1)));
        }
    }
}
