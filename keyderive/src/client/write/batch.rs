//! The entries of one request, encoded one after the other.

use bytes::Bytes;

use super::Entry;
use super::limits::MAX_MUTATIONS;
use super::mutations::Mutations;
use crate::client::operation::Replay;
use crate::client::protobuf::{Reader, begin, bytes, bytes_len};

/// How many bytes of several entries a request has at most: well under what the service receives.
pub(super) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How many bytes of several entries a request has where nothing else is said: thousands of small rows, which take a
/// server far longer than the way there, and few enough that a request stays in a processor's caches.
pub(crate) const REQUEST_BYTES: usize = 1024 * 1024;

/// The memory of how many batches is kept.
const MOST_SPARES: usize = 8;

/// The number of the entries in a request, and of the key in an entry.
const ENTRIES: u8 = 2;
const ROW_KEY: u8 = 1;

/// Gathers the entries of a request.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    places: Vec<Place>,
    mutations: usize,
    /// Memory that batches before have left, and how much the last of them took.
    spares: Vec<(Vec<u8>, Vec<Place>)>,
    last: (usize, usize),
}

/// Where an entry begins, and whether it may be sent again when it may have been applied.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    replay: Replay,
}

/// What a request is to know of an entry beside its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    mutations: u32,
    replay: Replay,
}

/// Whether so much is too much for a request of several entries.
fn is_too_large(mutations: usize, bytes: usize) -> bool {
    mutations > MAX_MUTATIONS || bytes > MAX_BYTES
}

impl Batch {
    /// With memory for so many bytes and entries.
    pub(crate) fn with_capacity(bytes: usize, entries: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), places: Vec::with_capacity(entries), ..Self::default() }
    }

    /// Whether a request would be too large with another entry, or have more than so many bytes.
    pub(crate) fn is_full_for(&self, key: &[u8], mutations: &Mutations, most: usize) -> bool {
        self.is_full_with(entry_bytes(key, mutations), mutations.count(), most)
    }

    pub(crate) fn add(&mut self, key: &[u8], mutations: &Mutations) {
        if self.places.is_empty() {
            self.begin();
        }
        self.places.push(Place { start: self.bytes.len(), replay: mutations.replay() });
        self.mutations += mutations.count();
        encode(key, mutations, &mut self.bytes);
    }

    /// As [`is_full_for`](Self::is_full_for), of an entry that is encoded.
    pub(crate) fn is_full_for_encoded(&self, entry: &[u8], traits: Traits, most: usize) -> bool {
        self.is_full_with(entry.len(), traits.mutations as usize, most)
    }

    #[inline]
    fn is_full_with(&self, bytes: usize, mutations: usize, most: usize) -> bool {
        let (bytes, mutations) = (self.bytes.len() + bytes, self.mutations.saturating_add(mutations));
        !self.places.is_empty() && (bytes > most || is_too_large(mutations, bytes))
    }

    /// Adds an entry that is encoded.
    pub(crate) fn add_encoded(&mut self, entry: &[u8], traits: Traits) {
        self.places.push(Place { start: self.bytes.len(), replay: traits.replay });
        self.mutations = self.mutations.saturating_add(traits.mutations as usize);
        self.bytes.extend_from_slice(entry);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The row keys of its entries, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|place| split(entry(&self.bytes, &self.places, place)).0)
    }

    #[cfg(test)]
    pub(super) fn spares(&self) -> usize {
        self.spares.len()
    }

    /// Takes memory that is left, where it has none.
    #[cold]
    fn begin(&mut self) {
        if self.bytes.capacity() == 0 {
            let (bytes, places) = self.last;
            (self.bytes, self.places) =
                self.spares.pop().unwrap_or_else(|| (Vec::with_capacity(bytes), Vec::with_capacity(places)));
        }
    }

    /// Keeps the memory of entries whose request has been answered for later ones, as much as one large request has.
    pub(crate) fn reuse(&mut self, Entries { bytes, mut places }: Entries) {
        let kept: usize = self.spares.iter().map(|(bytes, _)| bytes.capacity()).sum();
        if self.spares.len() < MOST_SPARES
            && let Ok(mut bytes) = bytes.try_into_mut().map(Vec::from)
            && kept + bytes.capacity() <= MAX_BYTES
        {
            bytes.clear();
            places.clear();
            self.spares.push((bytes, places));
        }
    }

    /// Ends the batch, and begins the next one.
    pub(crate) fn take(&mut self) -> Entries {
        self.mutations = 0;
        self.last = ((self.bytes.len() + self.bytes.len() / 16).min(MAX_BYTES), self.places.len());
        let (bytes, places) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.places));
        Entries { bytes: bytes.into(), places }
    }
}

/// What an entry takes in a request.
pub(super) fn entry_bytes(key: &[u8], mutations: &Mutations) -> usize {
    bytes_len(bytes_len(key.len()) + mutations.bytes().len())
}

impl Entry {
    /// Writes it as a field of the request; where its key begins.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> usize {
        encode(&self.key, &self.mutations, out);
        // The key is before the mutations.
        out.len() - self.mutations.bytes().len() - self.key.len()
    }

    pub(crate) fn traits(&self) -> Traits {
        // None has more than a request may have.
        let mutations = u32::try_from(self.mutations.count()).unwrap_or(u32::MAX);
        Traits { mutations, replay: self.mutations.replay() }
    }
}

/// Writes an entry as a field of the request.
fn encode(key: &[u8], mutations: &Mutations, out: &mut Vec<u8>) {
    begin(ENTRIES, bytes_len(key.len()) + mutations.bytes().len(), out);
    bytes(ROW_KEY, key, out);
    out.extend_from_slice(mutations.bytes());
}

/// The row key of an entry that is a field of a request, its first field, and the mutations after it.
fn split(entry: &[u8]) -> (&[u8], &[u8]) {
    let mut reader = Reader::new(entry, 0);
    let mut key = || {
        reader.field()?;
        reader.varint()?;
        reader.field()?;
        reader.span()
    };
    let key = key().map_or(&[][..], |key| key.of(entry));
    (key, entry.get(reader.at()..).unwrap_or(&[]))
}

/// The entries of a request that is sent.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Bytes,
    places: Vec<Place>,
}

impl Entries {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// All of them, as fields of the request.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Those at these places, as fields of the request.
    pub(super) fn select(&self, places: impl Iterator<Item = usize>) -> Bytes {
        let mut selected = Vec::new();
        places.for_each(|place| selected.extend_from_slice(self.entry(place)));
        selected.into()
    }

    pub(in crate::client) fn replay(&self, place: usize) -> Replay {
        self.places[place].replay
    }

    /// The row key of an entry.
    pub(crate) fn key(&self, place: usize) -> Bytes {
        Bytes::copy_from_slice(split(self.entry(place)).0)
    }

    /// The row key of an entry, and its changes.
    pub(super) fn parts(&self, place: usize) -> (Bytes, Mutations) {
        let (key, mutations) = split(self.entry(place));
        (Bytes::copy_from_slice(key), Mutations::encoded(mutations))
    }

    /// The row keys of all entries, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|place| split(self.entry(place)).0)
    }

    /// An entry, as a field of the request.
    pub(crate) fn entry(&self, place: usize) -> &[u8] {
        entry(&self.bytes, &self.places, place)
    }
}

/// An entry among those of a request.
fn entry<'a>(bytes: &'a [u8], places: &[Place], place: usize) -> &'a [u8] {
    let end = places.get(place + 1).map_or(bytes.len(), |next| next.start);
    &bytes[places[place].start..end]
}
