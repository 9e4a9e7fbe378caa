//! Many columns, families, variants and fields of keys.

use std::collections::BTreeMap;

use keyderive::row::{Condition, OwnedRow};
use keyderive::{Cell, Client, KeyField, Row, RowKey};
use keyderive_tests::fixtures::{created, fails};

use super::{PageKey, key};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    rows_of_many_columns_are_written_and_read
    a_row_without_columns_is_written_and_read
    a_row_of_a_hundred_families_is_written_and_read
    columns_and_keys_hold_enums_of_many_variants
    sixteen_columns_are_selected
}

/// A row type with a number in each column.
trait Numbered: OwnedRow + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    const COLUMNS: usize;

    fn from(first: u32) -> Self;
}

/// Row types, each with the columns of the one before it and some of its own.
macro_rules! rows {
    (@ [$($before:ident)*]) => {};
    (@ [$($before:ident)*] $name:ident: $($own:ident)*; $($rest:tt)*) => {
        #[derive(Row, Debug, PartialEq)]
        struct $name {
            $($before: u32,)*
            $($own: u32,)*
        }

        impl Numbered for $name {
            const COLUMNS: usize = [$(stringify!($before),)* $(stringify!($own),)*].len();

            fn from(first: u32) -> Self {
                let mut numbers = first..;
                let mut next = || numbers.next().unwrap();
                Self { $($before: next(),)* $($own: next(),)* }
            }
        }

        rows! { @ [$($before)* $($own)*] $($rest)* }
    };
}

rows! {
    @ []
    One: c000;
    Columns32:
        c001 c002 c003 c004 c005 c006 c007 c008 c009 c010 c011 c012 c013 c014 c015 c016 c017 c018 c019 c020
        c021 c022 c023 c024 c025 c026 c027 c028 c029 c030 c031;
    Columns33: c032;
    Columns64:
        c033 c034 c035 c036 c037 c038 c039 c040 c041 c042 c043 c044 c045 c046 c047 c048 c049 c050 c051 c052
        c053 c054 c055 c056 c057 c058 c059 c060 c061 c062 c063;
    Columns65: c064;
    Columns128:
        c065 c066 c067 c068 c069 c070 c071 c072 c073 c074 c075 c076 c077 c078 c079 c080 c081 c082 c083 c084
        c085 c086 c087 c088 c089 c090 c091 c092 c093 c094 c095 c096 c097 c098 c099 c100 c101 c102 c103 c104
        c105 c106 c107 c108 c109 c110 c111 c112 c113 c114 c115 c116 c117 c118 c119 c120 c121 c122 c123 c124
        c125 c126 c127;
    Columns129: c128;
    Columns257:
        c129 c130 c131 c132 c133 c134 c135 c136 c137 c138 c139 c140 c141 c142 c143 c144 c145 c146 c147 c148
        c149 c150 c151 c152 c153 c154 c155 c156 c157 c158 c159 c160 c161 c162 c163 c164 c165 c166 c167 c168
        c169 c170 c171 c172 c173 c174 c175 c176 c177 c178 c179 c180 c181 c182 c183 c184 c185 c186 c187 c188
        c189 c190 c191 c192 c193 c194 c195 c196 c197 c198 c199 c200 c201 c202 c203 c204 c205 c206 c207 c208
        c209 c210 c211 c212 c213 c214 c215 c216 c217 c218 c219 c220 c221 c222 c223 c224 c225 c226 c227 c228
        c229 c230 c231 c232 c233 c234 c235 c236 c237 c238 c239 c240 c241 c242 c243 c244 c245 c246 c247 c248
        c249 c250 c251 c252 c253 c254 c255 c256;
    Columns1000:
        c257 c258 c259 c260 c261 c262 c263 c264 c265 c266 c267 c268 c269 c270 c271 c272 c273 c274 c275 c276
        c277 c278 c279 c280 c281 c282 c283 c284 c285 c286 c287 c288 c289 c290 c291 c292 c293 c294 c295 c296
        c297 c298 c299 c300 c301 c302 c303 c304 c305 c306 c307 c308 c309 c310 c311 c312 c313 c314 c315 c316
        c317 c318 c319 c320 c321 c322 c323 c324 c325 c326 c327 c328 c329 c330 c331 c332 c333 c334 c335 c336
        c337 c338 c339 c340 c341 c342 c343 c344 c345 c346 c347 c348 c349 c350 c351 c352 c353 c354 c355 c356
        c357 c358 c359 c360 c361 c362 c363 c364 c365 c366 c367 c368 c369 c370 c371 c372 c373 c374 c375 c376
        c377 c378 c379 c380 c381 c382 c383 c384 c385 c386 c387 c388 c389 c390 c391 c392 c393 c394 c395 c396
        c397 c398 c399 c400 c401 c402 c403 c404 c405 c406 c407 c408 c409 c410 c411 c412 c413 c414 c415 c416
        c417 c418 c419 c420 c421 c422 c423 c424 c425 c426 c427 c428 c429 c430 c431 c432 c433 c434 c435 c436
        c437 c438 c439 c440 c441 c442 c443 c444 c445 c446 c447 c448 c449 c450 c451 c452 c453 c454 c455 c456
        c457 c458 c459 c460 c461 c462 c463 c464 c465 c466 c467 c468 c469 c470 c471 c472 c473 c474 c475 c476
        c477 c478 c479 c480 c481 c482 c483 c484 c485 c486 c487 c488 c489 c490 c491 c492 c493 c494 c495 c496
        c497 c498 c499 c500 c501 c502 c503 c504 c505 c506 c507 c508 c509 c510 c511 c512 c513 c514 c515 c516
        c517 c518 c519 c520 c521 c522 c523 c524 c525 c526 c527 c528 c529 c530 c531 c532 c533 c534 c535 c536
        c537 c538 c539 c540 c541 c542 c543 c544 c545 c546 c547 c548 c549 c550 c551 c552 c553 c554 c555 c556
        c557 c558 c559 c560 c561 c562 c563 c564 c565 c566 c567 c568 c569 c570 c571 c572 c573 c574 c575 c576
        c577 c578 c579 c580 c581 c582 c583 c584 c585 c586 c587 c588 c589 c590 c591 c592 c593 c594 c595 c596
        c597 c598 c599 c600 c601 c602 c603 c604 c605 c606 c607 c608 c609 c610 c611 c612 c613 c614 c615 c616
        c617 c618 c619 c620 c621 c622 c623 c624 c625 c626 c627 c628 c629 c630 c631 c632 c633 c634 c635 c636
        c637 c638 c639 c640 c641 c642 c643 c644 c645 c646 c647 c648 c649 c650 c651 c652 c653 c654 c655 c656
        c657 c658 c659 c660 c661 c662 c663 c664 c665 c666 c667 c668 c669 c670 c671 c672 c673 c674 c675 c676
        c677 c678 c679 c680 c681 c682 c683 c684 c685 c686 c687 c688 c689 c690 c691 c692 c693 c694 c695 c696
        c697 c698 c699 c700 c701 c702 c703 c704 c705 c706 c707 c708 c709 c710 c711 c712 c713 c714 c715 c716
        c717 c718 c719 c720 c721 c722 c723 c724 c725 c726 c727 c728 c729 c730 c731 c732 c733 c734 c735 c736
        c737 c738 c739 c740 c741 c742 c743 c744 c745 c746 c747 c748 c749 c750 c751 c752 c753 c754 c755 c756
        c757 c758 c759 c760 c761 c762 c763 c764 c765 c766 c767 c768 c769 c770 c771 c772 c773 c774 c775 c776
        c777 c778 c779 c780 c781 c782 c783 c784 c785 c786 c787 c788 c789 c790 c791 c792 c793 c794 c795 c796
        c797 c798 c799 c800 c801 c802 c803 c804 c805 c806 c807 c808 c809 c810 c811 c812 c813 c814 c815 c816
        c817 c818 c819 c820 c821 c822 c823 c824 c825 c826 c827 c828 c829 c830 c831 c832 c833 c834 c835 c836
        c837 c838 c839 c840 c841 c842 c843 c844 c845 c846 c847 c848 c849 c850 c851 c852 c853 c854 c855 c856
        c857 c858 c859 c860 c861 c862 c863 c864 c865 c866 c867 c868 c869 c870 c871 c872 c873 c874 c875 c876
        c877 c878 c879 c880 c881 c882 c883 c884 c885 c886 c887 c888 c889 c890 c891 c892 c893 c894 c895 c896
        c897 c898 c899 c900 c901 c902 c903 c904 c905 c906 c907 c908 c909 c910 c911 c912 c913 c914 c915 c916
        c917 c918 c919 c920 c921 c922 c923 c924 c925 c926 c927 c928 c929 c930 c931 c932 c933 c934 c935 c936
        c937 c938 c939 c940 c941 c942 c943 c944 c945 c946 c947 c948 c949 c950 c951 c952 c953 c954 c955 c956
        c957 c958 c959 c960 c961 c962 c963 c964 c965 c966 c967 c968 c969 c970 c971 c972 c973 c974 c975 c976
        c977 c978 c979 c980 c981 c982 c983 c984 c985 c986 c987 c988 c989 c990 c991 c992 c993 c994 c995 c996
        c997 c998 c999;
}

/// Key types, each with the fields of the one before it and some of its own.
macro_rules! keys {
    (@ [$($before:ident)*]) => {};
    (@ [$($before:ident)*] $name:ident: $($own:ident)*; $($rest:tt)*) => {
        mod $name {
            use keyderive::RowKey;

            #[derive(RowKey, Debug, PartialEq)]
            #[salt(range = 4)]
            pub(super) struct Key {
                $($before: u8,)*
                $($own: u8,)*
            }

            #[test]
            fn is_encoded_decoded_and_planned() {
                let mut numbers = 0..;
                let mut next = || numbers.next().unwrap();
                let key = Key { $($before: next(),)* $($own: next(),)* };
                let encoded = key.encode().unwrap();
                assert_eq!(encoded.len(), 1 + 4 * usize::from(next()));
                assert_eq!(Key::decode(&encoded).unwrap(), key);
                let plan = Key::scan()$(.$before(key.$before))*$(.$own(key.$own))*.into_plan().unwrap();
                assert_eq!(plan.requests()[0].keys(), [encoded]);
            }
        }

        keys! { @ [$($before)* $($own)*] $($rest)* }
    };
}

#[allow(non_snake_case, reason = "each module is named as a type would be")]
mod keys {
    keys! {
        @ []
        Fields1: f00;
        Fields2: f01;
        Fields8: f02 f03 f04 f05 f06 f07;
        Fields12: f08 f09 f10 f11;
        Fields13: f12;
        Fields16: f13 f14 f15;
        Fields17: f16;
        Fields32:
            f17 f18 f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30 f31;
        Fields33: f32;
        Fields64:
            f33 f34 f35 f36 f37 f38 f39 f40 f41 f42 f43 f44 f45 f46 f47 f48 f49 f50 f51 f52 f53 f54 f55 f56 f57
            f58 f59 f60 f61 f62 f63;
    }
}

macro_rules! families {
    ($($family:ident)*) => {
        #[derive(Row, Debug, Default, PartialEq)]
        struct Families {
            $(#[row(family)] $family: BTreeMap<String, u32>,)*
        }

        impl Families {
            fn all(&mut self) -> impl Iterator<Item = &mut BTreeMap<String, u32>> {
                [$(&mut self.$family),*].into_iter()
            }
        }
    };
}

families! {
    m00 m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23 m24
    m25 m26 m27 m28 m29 m30 m31 m32 m33 m34 m35 m36 m37 m38 m39 m40 m41 m42 m43 m44 m45 m46 m47 m48 m49
    m50 m51 m52 m53 m54 m55 m56 m57 m58 m59 m60 m61 m62 m63 m64 m65 m66 m67 m68 m69 m70 m71 m72 m73 m74
    m75 m76 m77 m78 m79 m80 m81 m82 m83 m84 m85 m86 m87 m88 m89 m90 m91 m92 m93 m94 m95 m96 m97 m98 m99
}

macro_rules! enums {
    ($($variant:ident = $code:literal,)*) => {
        /// Stored as its codes, in keys and in columns.
        #[derive(Cell, KeyField, Clone, Copy, Debug, PartialEq)]
        #[row(code)]
        enum Code {
            $($variant = $code,)*
        }

        /// Stored as its names.
        #[derive(Cell, Clone, Copy, Debug, PartialEq)]
        enum Name {
            $($variant,)*
        }

        const VARIANTS: &[(Code, Name)] = &[$((Code::$variant, Name::$variant),)*];
    };
}

enums! {
    V000 = 0, V001 = 1, V002 = 2, V003 = 3, V004 = 4, V005 = 5, V006 = 6, V007 = 7, V008 = 8, V009 = 9,
    V010 = 10, V011 = 11, V012 = 12, V013 = 13, V014 = 14, V015 = 15, V016 = 16, V017 = 17, V018 = 18,
    V019 = 19, V020 = 20, V021 = 21, V022 = 22, V023 = 23, V024 = 24, V025 = 25, V026 = 26, V027 = 27,
    V028 = 28, V029 = 29, V030 = 30, V031 = 31, V032 = 32, V033 = 33, V034 = 34, V035 = 35, V036 = 36,
    V037 = 37, V038 = 38, V039 = 39, V040 = 40, V041 = 41, V042 = 42, V043 = 43, V044 = 44, V045 = 45,
    V046 = 46, V047 = 47, V048 = 48, V049 = 49, V050 = 50, V051 = 51, V052 = 52, V053 = 53, V054 = 54,
    V055 = 55, V056 = 56, V057 = 57, V058 = 58, V059 = 59, V060 = 60, V061 = 61, V062 = 62, V063 = 63,
    V064 = 64, V065 = 65, V066 = 66, V067 = 67, V068 = 68, V069 = 69, V070 = 70, V071 = 71, V072 = 72,
    V073 = 73, V074 = 74, V075 = 75, V076 = 76, V077 = 77, V078 = 78, V079 = 79, V080 = 80, V081 = 81,
    V082 = 82, V083 = 83, V084 = 84, V085 = 85, V086 = 86, V087 = 87, V088 = 88, V089 = 89, V090 = 90,
    V091 = 91, V092 = 92, V093 = 93, V094 = 94, V095 = 95, V096 = 96, V097 = 97, V098 = 98, V099 = 99,
    V100 = 100, V101 = 101, V102 = 102, V103 = 103, V104 = 104, V105 = 105, V106 = 106, V107 = 107,
    V108 = 108, V109 = 109, V110 = 110, V111 = 111, V112 = 112, V113 = 113, V114 = 114, V115 = 115,
    V116 = 116, V117 = 117, V118 = 118, V119 = 119, V120 = 120, V121 = 121, V122 = 122, V123 = 123,
    V124 = 124, V125 = 125, V126 = 126, V127 = 127, V128 = 128, V129 = 129, V130 = 130, V131 = 131,
    V132 = 132, V133 = 133, V134 = 134, V135 = 135, V136 = 136, V137 = 137, V138 = 138, V139 = 139,
    V140 = 140, V141 = 141, V142 = 142, V143 = 143, V144 = 144, V145 = 145, V146 = 146, V147 = 147,
    V148 = 148, V149 = 149, V150 = 150, V151 = 151, V152 = 152, V153 = 153, V154 = 154, V155 = 155,
    V156 = 156, V157 = 157, V158 = 158, V159 = 159, V160 = 160, V161 = 161, V162 = 162, V163 = 163,
    V164 = 164, V165 = 165, V166 = 166, V167 = 167, V168 = 168, V169 = 169, V170 = 170, V171 = 171,
    V172 = 172, V173 = 173, V174 = 174, V175 = 175, V176 = 176, V177 = 177, V178 = 178, V179 = 179,
    V180 = 180, V181 = 181, V182 = 182, V183 = 183, V184 = 184, V185 = 185, V186 = 186, V187 = 187,
    V188 = 188, V189 = 189, V190 = 190, V191 = 191, V192 = 192, V193 = 193, V194 = 194, V195 = 195,
    V196 = 196, V197 = 197, V198 = 198, V199 = 199, V200 = 200, V201 = 201, V202 = 202, V203 = 203,
    V204 = 204, V205 = 205, V206 = 206, V207 = 207, V208 = 208, V209 = 209, V210 = 210, V211 = 211,
    V212 = 212, V213 = 213, V214 = 214, V215 = 215, V216 = 216, V217 = 217, V218 = 218, V219 = 219,
    V220 = 220, V221 = 221, V222 = 222, V223 = 223, V224 = 224, V225 = 225, V226 = 226, V227 = 227,
    V228 = 228, V229 = 229, V230 = 230, V231 = 231, V232 = 232, V233 = 233, V234 = 234, V235 = 235,
    V236 = 236, V237 = 237, V238 = 238, V239 = 239, V240 = 240, V241 = 241, V242 = 242, V243 = 243,
    V244 = 244, V245 = 245, V246 = 246, V247 = 247, V248 = 248, V249 = 249, V250 = 250, V251 = 251,
    V252 = 252, V253 = 253, V254 = 254, V255 = 255, V256 = 256, V257 = 257, V258 = 258, V259 = 259,
    V260 = 260, V261 = 261, V262 = 262, V263 = 263, V264 = 264, V265 = 265, V266 = 266, V267 = 267,
    V268 = 268, V269 = 269, V270 = 270, V271 = 271, V272 = 272, V273 = 273, V274 = 274, V275 = 275,
    V276 = 276, V277 = 277, V278 = 278, V279 = 279, V280 = 280, V281 = 281, V282 = 282, V283 = 283,
    V284 = 284, V285 = 285, V286 = 286, V287 = 287, V288 = 288, V289 = 289, V290 = 290, V291 = 291,
    V292 = 292, V293 = 293, V294 = 294, V295 = 295, V296 = 296, V297 = 297, V298 = 298, V299 = 299,
}

#[derive(Row, Debug, PartialEq)]
struct Empty {}

#[derive(Row, Debug, PartialEq)]
struct Unit;

#[derive(RowKey, Clone, Debug, PartialEq)]
struct CodeKey {
    code: Code,
}

#[derive(Row, Debug, PartialEq)]
struct Enums {
    code: Code,
    name: Option<Name>,
}

async fn round_trip<R: Numbered>(client: &Client) {
    let rows = client.table::<PageKey, R>(&format!("columns-{}", R::COLUMNS));
    rows.create_if_absent().await.unwrap();
    rows.put(&key("/"), &R::from(7)).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap(), Some(R::from(7)));
    rows.put(&key("/"), &R::from(8)).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap(), Some(R::from(8)));
    assert_eq!(R::SCHEMA.columns().count(), R::COLUMNS);
}

async fn rows_of_many_columns_are_written_and_read(client: Client) {
    round_trip::<One>(&client).await;
    round_trip::<Columns32>(&client).await;
    round_trip::<Columns33>(&client).await;
    round_trip::<Columns64>(&client).await;
    round_trip::<Columns65>(&client).await;
    round_trip::<Columns128>(&client).await;
    round_trip::<Columns129>(&client).await;
    round_trip::<Columns257>(&client).await;
    round_trip::<Columns1000>(&client).await;

    let rows = client.table::<PageKey, Columns1000>("columns-1000");
    let changed = rows.update(&key("/")).set(Columns1000::C999, 1).only_if(Columns1000::C000.equals(8)).await;
    assert!(changed.unwrap());
    assert_eq!(rows.get(&key("/")).await.unwrap().unwrap().c999, 1);
    // A column that is missing among many is named.
    let narrow = client.table::<PageKey, Columns1000>("columns-257");
    fails(narrow.get(&key("/")).await, "cf:c257");
}

async fn a_row_without_columns_is_written_and_read(client: Client) {
    let rows = created::<PageKey, Empty>(&client, "empty").await;
    assert_eq!(rows.get(&key("/")).await.unwrap(), None);
    rows.put(&key("/"), &Empty {}).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap(), Some(Empty {}));
    assert_eq!(rows.scan(PageKey::scan()).collect().await.unwrap(), [(key("/"), Empty {})]);
    assert!(!rows.put_if_absent(&key("/"), &Empty {}).await.unwrap());
    assert!(rows.delete_if(&key("/"), Condition::row_exists()).await.unwrap());
    assert_eq!(rows.count(PageKey::scan()).await.unwrap(), 0);

    let rows = client.table::<PageKey, Unit>("empty");
    rows.put(&key("/"), &Unit).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap(), Some(Unit));
}

async fn a_row_of_a_hundred_families_is_written_and_read(client: Client) {
    let rows = created::<PageKey, Families>(&client, "families").await;
    let mut row = Families::default();
    for (map, number) in row.all().zip(0..) {
        map.insert("n".into(), number);
    }
    rows.put(&key("/"), &row).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap(), Some(row));
}

async fn columns_and_keys_hold_enums_of_many_variants(client: Client) {
    let rows = created::<CodeKey, Enums>(&client, "enums").await;
    for (code, name) in VARIANTS.iter().copied() {
        let row = Enums { code, name: Some(name) };
        rows.put(&CodeKey { code }, &row).await.unwrap();
    }
    let stored = rows.scan(CodeKey::scan()).collect().await.unwrap();
    let expected = VARIANTS
        .iter()
        .map(|(code, name)| (CodeKey { code: *code }, Enums { code: *code, name: Some(*name) }));
    assert_eq!(stored, expected.collect::<Vec<_>>());
    assert_eq!(rows.count(CodeKey::scan().code_range(Code::V250..=Code::V299)).await.unwrap(), 50);
}

async fn sixteen_columns_are_selected(client: Client) {
    round_trip::<Columns33>(&client).await;
    let rows = client.table::<PageKey, Columns33>("columns-33");
    let sixteen = (
        Columns33::C000,
        Columns33::C001,
        Columns33::C002,
        Columns33::C003,
        Columns33::C004,
        Columns33::C005,
        Columns33::C006,
        Columns33::C007,
        Columns33::C008,
        Columns33::C009,
        Columns33::C010,
        Columns33::C011,
        Columns33::C012,
        Columns33::C013,
        Columns33::C014,
        Columns33::C015,
    );
    let selected = rows.select(sixteen).get(&key("/")).await.unwrap().unwrap();
    assert_eq!((selected.0, selected.15), (8, 23));
    let nested = rows.select((sixteen, Columns33::C032)).get(&key("/")).await.unwrap().unwrap();
    assert_eq!((nested.0.15, nested.1), (23, 40));
}
