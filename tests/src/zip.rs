//! Reads a zip archive of one file.

/// The signatures of the archive's last record, which locates the directory, and of a directory entry.
const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const DEFLATED: u32 = 8;

/// Decompresses the first file of an archive.
///
/// # Panics
///
/// When the input is not an archive, or its first file is not deflated.
#[must_use]
pub fn first_file(archive: &[u8]) -> Vec<u8> {
    let end = archive.windows(4).rposition(|window| window == END).expect("a zip archive");
    let entry = &archive[number(archive, end + 16, 4)..];
    assert_eq!(&entry[..4], ENTRY);
    assert_eq!(number(entry, 10, 2), DEFLATED as usize);
    let (compressed, size) = (number(entry, 20, 4), number(entry, 24, 4));
    // The file's local header has a name and an extra field, whose lengths are its own.
    let header = &archive[number(entry, 42, 4)..];
    let begin = 30 + number(header, 26, 2) + number(header, 28, 2);
    let file = miniz_oxide::inflate::decompress_to_vec(&header[begin..begin + compressed]).unwrap();
    assert_eq!(file.len(), size);
    file
}

/// A little-endian number of `len` bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}
