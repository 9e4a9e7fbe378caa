//! The keys with the most operations, in bounded memory.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::key::codec::read_hex;
use crate::key::{Hex, MAX_KEY_LEN, UnquotedKey};

/// The version of the names of the data.
const VERSION: u32 = 1;

/// The keys with the most operations, and their counts, in bounded memory.
///
/// ```
/// use keyderive::heat::HeavyKeys;
///
/// let mut keys = HeavyKeys::new(16);
/// for number in 0..10_000 {
///     keys.add(format!("user{}", if number % 4 == 0 { 7 } else { number }).as_bytes(), 1);
/// }
/// let heaviest = &keys.top(1)[0];
/// assert_eq!(heaviest.key, b"user7");
/// // It has 2501, one of them as user number 7.
/// assert!((heaviest.count - heaviest.error..=heaviest.count).contains(&2501));
/// ```
///
/// Counts are never too low, and too high by at most [`error`](HeavyKey::error), which is at most the total divided by the capacity. So it
/// has every key with more operations than that. The algorithm is Misra and Gries'.
#[derive(Clone, Debug, PartialEq)]
pub struct HeavyKeys {
    capacity: usize,
    counts: HashMap<Box<[u8]>, u64>,
    /// What was taken from every count.
    taken: u64,
    total: u64,
}

/// A key of [`HeavyKeys`].
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeavyKey {
    /// The key.
    pub key: Vec<u8>,
    /// An upper bound of its operations.
    pub count: u64,
    /// By how much `count` may be too high.
    pub error: u64,
}

impl fmt::Debug for HeavyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} - {}", UnquotedKey(&self.key), self.count, self.error)
    }
}

impl HeavyKeys {
    /// Keeps this many keys, from 8 to 65,536, and temporarily twice as many.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.clamp(8, 1 << 16), counts: HashMap::new(), taken: 0, total: 0 }
    }

    /// Adds operations on a key.
    pub fn add(&mut self, key: &[u8], count: u64) {
        let key = &key[..key.len().min(MAX_KEY_LEN)];
        self.total = self.total.saturating_add(count);
        match self.counts.get_mut(key) {
            Some(known) => *known = known.saturating_add(count),
            None => {
                self.counts.insert(key.into(), count);
                if self.counts.len() > 2 * self.capacity {
                    self.drop_light();
                }
            }
        }
    }

    /// Takes the count of the next lighter key from all, so that no more than the capacity are left.
    fn drop_light(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        if counts.len() <= self.capacity {
            return;
        }
        let capacity = self.capacity;
        let (_, &mut taken, _) = counts.select_nth_unstable_by(capacity, |one, other| other.cmp(one));
        self.counts.retain(|_, count| {
            *count -= taken.min(*count);
            *count > 0
        });
        self.taken = self.taken.saturating_add(taken);
    }

    /// Adds the counts of another, such as another process's.
    pub fn merge(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            let known = self.counts.entry(key.clone()).or_default();
            *known = known.saturating_add(*count);
        }
        self.taken = self.taken.saturating_add(other.taken);
        self.total = self.total.saturating_add(other.total);
        self.capacity = self.capacity.max(other.capacity);
        self.drop_light();
    }

    /// The heaviest keys, in descending order; at most as many as the capacity.
    #[must_use]
    pub fn top(&self, count: usize) -> Vec<HeavyKey> {
        let all = self.counts.iter().map(|(key, count)| HeavyKey {
            key: key.to_vec(),
            count: count.saturating_add(self.taken),
            error: self.taken,
        });
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by(|one, other| other.count.cmp(&one.count).then_with(|| one.key.cmp(&other.key)));
        all.truncate(count.min(self.capacity));
        all
    }

    /// How many operations were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    capacity: usize,
    taken: u64,
    total: u64,
    /// Keys in hexadecimal.
    counts: Vec<(String, u64)>,
}

impl Serialize for HeavyKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counts: Vec<_> =
            self.counts.iter().map(|(key, count)| (Hex(key).to_string(), *count)).collect();
        counts.sort_unstable();
        Form { version: VERSION, capacity: self.capacity, taken: self.taken, total: self.total, counts }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HeavyKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let fault =
            |fault: &dyn fmt::Display| de::Error::custom(format_args!("not heavy keys of heat: {fault}"));
        if form.version != VERSION {
            return Err(fault(&format_args!(
                "`version` is {}, and this release reads {VERSION}",
                form.version
            )));
        }
        let mut keys = Self::new(form.capacity);
        if keys.capacity != form.capacity || form.counts.len() > 2 * keys.capacity {
            return Err(fault(&format_args!(
                "`capacity` is {}, for {} counts",
                form.capacity,
                form.counts.len()
            )));
        }
        (keys.taken, keys.total) = (form.taken, form.total);
        for (key, count) in form.counts {
            let key = read_hex(key.as_bytes()).map_err(|error| fault(&error))?;
            if key.len() > MAX_KEY_LEN || count == 0 || keys.counts.insert(key.into(), count).is_some() {
                return Err(fault(&"a key is twice in `counts`, has no operations, or is too long"));
            }
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(keys: &[u32]) -> HashMap<Vec<u8>, u64> {
        let mut counts = HashMap::new();
        for key in keys {
            *counts.entry(key.to_string().into_bytes()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn counts_are_right_within_their_error_and_so_are_merged_ones() {
        let mut random = fastrand::Rng::with_seed(7);
        let keys: Vec<u32> = (0..200_000).map(|_| (random.f64().powi(-1) as u32).min(1 << 20)).collect();
        let of = |keys: &[u32]| {
            let mut sketch = HeavyKeys::new(64);
            keys.iter().for_each(|key| sketch.add(key.to_string().as_bytes(), 1));
            sketch
        };
        let mut merged = of(&keys[..120_000]);
        merged.merge(&of(&keys[120_000..]));
        let counts = exact(&keys);
        for sketch in [of(&keys), merged] {
            assert_eq!(sketch.total(), 200_000);
            let top = sketch.top(1000);
            assert!(top.len() <= 64 && top.len() > 20);
            assert!(top.windows(2).all(|pair| pair[0].count >= pair[1].count));
            for one in &top {
                assert!(one.error <= 200_000 / 64, "{one:?}");
                assert!((one.count - one.error..=one.count).contains(&counts[&one.key]), "{one:?}");
            }
            let heavy = counts.iter().filter(|(_, count)| **count > 200_000 / 64);
            assert!(heavy.clone().count() > 5);
            for (key, _) in heavy {
                assert!(top.iter().any(|one| one.key == *key));
            }
            let json = serde_json::to_string(&sketch).unwrap();
            assert_eq!(serde_json::from_str::<HeavyKeys>(&json).unwrap(), sketch);
        }
    }

    #[test]
    fn hostile_data_is_an_error() {
        for json in [
            r#"{"version":2,"capacity":8,"taken":0,"total":0,"counts":[]}"#,
            r#"{"version":1,"capacity":99999999,"taken":0,"total":0,"counts":[]}"#,
            r#"{"version":1,"capacity":8,"taken":0,"total":0,"counts":[["zz",1]]}"#,
            r#"{"version":1,"capacity":8,"taken":0,"total":0,"counts":[["00",1],["00",1]]}"#,
        ] {
            assert!(
                serde_json::from_str::<HeavyKeys>(json).unwrap_err().to_string().contains("not heavy keys"),
                "{json}"
            );
        }
        let json = r#"{"version":1,"capacity":8,"taken":18446744073709551615,"total":18446744073709551615,"counts":[["00",18446744073709551615]]}"#;
        let mut keys: HeavyKeys = serde_json::from_str(json).unwrap();
        keys.merge(&keys.clone());
        assert_eq!(keys.top(1)[0].count, u64::MAX);
    }
}
