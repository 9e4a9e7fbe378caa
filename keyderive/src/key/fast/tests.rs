//! Each fast form against the plain one.

use proptest::prelude::*;

use super::*;

/// Bytes around the edges that the checks have: delimiters, ends of ASCII, and the starts and seconds of characters.
fn edgy() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => any::<u8>(),
        4 => 0x20..0x30_u8,
        2 => Just(b'a'),
        8 => prop::sample::select(vec![
            0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
            0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
        ]),
    ];
    prop::collection::vec(byte, 0..150)
}

/// Text of characters of all lengths, with at most a byte of it changed.
fn nearly_text() -> impl Strategy<Value = Vec<u8>> {
    let change = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
    ("\\PC{0,60}", change).prop_map(|(text, change)| {
        let mut bytes = text.into_bytes();
        if let (Some((at, byte)), false) = (change, bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #[test]
    fn marks_are_those_of_each_byte(key in edgy(), delimiter in 0..0x7f_u8, start in 0..160_usize) {
        let marked = Marked::new(&key, delimiter);
        let plain = (start..key.len()).find(|at| key[*at] <= delimiter).unwrap_or(key.len());
        prop_assert_eq!(marked.find_forbidden(start, delimiter), plain);
        prop_assert_eq!(Marked::without(&key).find_forbidden(start, delimiter), plain);
        prop_assert_eq!(holds_forbidden(&key, delimiter), key.iter().any(|byte| *byte <= delimiter));
    }

    #[test]
    fn text_is_given_for_ascii_alone(key in edgy(), start in 0..150_usize, end in 0..150_usize) {
        let marked = Marked::new(&key, b'#');
        let plain = key.get(start..end).filter(|bytes| bytes.is_ascii());
        let expected = plain.filter(|_| end <= 64).map(|bytes| str::from_utf8(bytes).unwrap());
        prop_assert_eq!(marked.ascii(start, end), expected);
        prop_assert_eq!(Marked::without(&key).ascii(start, end), expected.filter(|_| end == 0));
    }

    #[test]
    #[cfg(feature = "client")]
    fn text_is_what_is_utf8(some in edgy(), text in nearly_text(), len in 0..20_usize) {
        for bytes in [&some[..], &text, &some[..len.min(some.len())], &text[..len.min(text.len())]] {
            prop_assert_eq!(as_text(bytes), str::from_utf8(bytes).ok());
        }
    }

    #[test]
    fn both_forms_mark_the_same(block in any::<[u8; BLOCK]>(), delimiter in 0..0x7f_u8) {
        let bit = |test: fn(u8, u8) -> bool| {
            block.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(test(*byte, delimiter)))
        };
        let plain = (bit(|byte, delimiter| byte <= delimiter), bit(|byte, _| !byte.is_ascii()));
        prop_assert_eq!(marks(&block, delimiter), plain);
        prop_assert_eq!(portable::marks(&block, delimiter), plain);
    }

    #[test]
    fn the_same_bytes_are_utf8(bytes in prop_oneof![edgy(), nearly_text()]) {
        prop_assert_eq!(utf8(&bytes), str::from_utf8(&bytes).ok());
    }
}

/// Each pair of bytes before each kind of byte, at every place of a step and across two.
#[test]
fn every_start_of_a_character_is_judged_as_by_the_standard_library() {
    for first in 0..=u8::MAX {
        for second in 0..=u8::MAX {
            for rest in [&b""[..], b"a", b"\x80", b"\x80\x80", b"\xbfa", b"\x80\x80\x80", b"\xc3\xa9"] {
                let bytes = [&[first, second], rest].concat();
                assert_eq!(is_utf8(&bytes), str::from_utf8(&bytes).is_ok(), "{bytes:x?}");
            }
        }
    }
    for text in ["é", "語", "𝄞", "\u{7ff}\u{800}", "\u{d7ff}\u{e000}", "\u{ffff}\u{10000}\u{10ffff}"] {
        for before in 0..130 {
            let bytes = ["a".repeat(before).as_bytes(), text.as_bytes()].concat();
            for len in 0..=bytes.len() {
                let bytes = &bytes[..len];
                assert_eq!(is_utf8(bytes), str::from_utf8(bytes).is_ok(), "{}", bytes.escape_ascii());
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_appended_is_the_bytes_and_what_is_forbidden_in_them(
        parts in prop::collection::vec(edgy(), 0..5),
        delimiter in 0..0x7f_u8,
        room in 0..200_usize,
    ) {
        let mut vec = Vec::with_capacity(room);
        vec.extend_from_slice(b"before");
        let mut plain = vec.clone();
        let mut buf = KeyBuf::new(&mut vec, 0);
        for part in &parts {
            let forbidden = buf.put_checked(part, delimiter);
            prop_assert_eq!(forbidden, part.iter().any(|byte| *byte <= delimiter));
            buf.push(delimiter);
            buf.with_vec(|vec| vec.extend_from_slice(b"--"));
            buf.put(part);
            plain.extend([part.as_slice(), &[delimiter], b"--", part].concat());
            prop_assert_eq!(buf.len(), plain.len());
        }
        prop_assert_eq!(buf.finish(), &plain);
    }

    #[test]
    fn both_forms_check_words_the_same(words in prop::collection::vec(any::<u64>(), 1..8), delimiter in 0..0x7f_u8) {
        let plain = words.iter().any(|word| word.to_le_bytes().iter().any(|byte| *byte <= delimiter));
        let first = (Checked::new(words[0], delimiter), portable::Checked::new(words[0], delimiter));
        let (fast, portable) = words.iter().fold(first, |(fast, portable), word| (fast.and(*word), portable.and(*word)));
        prop_assert_eq!((fast.holds_forbidden(), portable.holds_forbidden()), (plain, plain));
    }
}

/// Strings of every length around the words, in exactly their room and before other bytes.
#[test]
fn strings_of_every_length_are_copied_whole() {
    let text: Vec<u8> = (0..90).map(|at| b'0' + at % 60).collect();
    for len in 0..=text.len() {
        let mut vec = Vec::new();
        let mut buf = KeyBuf::new(&mut vec, len);
        assert!(!buf.put_checked(&text[..len], b'#'));
        assert_eq!(buf.finish(), &text[..len]);
        for at in 0..len {
            let mut text = text[..len].to_vec();
            text[at] = b'#';
            assert!(KeyBuf::new(&mut Vec::new(), 0).put_checked(&text, b'#'), "{at} of {len}");
        }
    }
}
