VIS struct «KEY» {}
//---
VIS struct «KEY»;
//---
VIS struct KEY«(u8)»;
//---
VIS struct KEY«(VIS u8, VIS String)»;
//---
VIS «enum» KEY {
    A,
}
//---
VIS struct KEY<«V»> {
    VIS id: u32,
    VIS value: V,
}
//---
VIS struct KEY<const «LEN»: usize> {
    VIS id: [u8; LEN],
}
//---
#[row_key(layout = "ordered", delimiter = «'-'»)]
VIS struct KEY {
    VIS id: u32,
}
//---
#[row_key(layout = "ordered", «display»)]
VIS struct KEY {
    VIS id: u32,
}
//---
#[row_key(layout = "ordered")]
VIS struct KEY {
    «#[pad(4)]»
    VIS id: u32,
}
//---
#[row_key(layout = "ordered")]
VIS struct KEY {
    #[row_key(«escape»)]
    VIS id: String,
}
//---
#[row_key(layout = "ordered")]
VIS struct KEY {
    #[row_key(«bit_reverse»)]
    VIS id: u32,
}
//---
#[row_key(layout = "ordered")]
VIS struct KEY {
    #[row_key(uuid(«simple», v4))]
    VIS id: ::uuid::Uuid,
}
//---
#[row_key(layout = "ordered", allow(hotspot))]
VIS struct KEY {
    #[row_key(ts(format = «"datetime17"»))]
    VIS at: ::jiff::Timestamp,
}
//---
#[row_key(layout = "ordered")]
VIS struct KEY {
    VIS id: «u128»,
}
//---
#[row_key(layout = "ordered")]
#[salt(range = 4, sep = «"-"»)]
VIS struct KEY {
    VIS id: u32,
}
//---
#[row_key(layout = "ordered")]
#[salt(range = 4, position = «"front"»)]
VIS struct KEY {
    VIS id: u32,
}
//---
#[row_key(layout = "ordered")]
#[salt(range = 4, hash = «"java"»)]
VIS struct KEY {
    VIS id: u32,
}
//---
#[row_key(layout = "ordered")]
#[salt(range = 4, after = «"id"»)]
VIS struct KEY {
    VIS id: u32,
    VIS other: u32,
}
//---
#[row_key(«display»)]
VIS struct KEY {
    #[row_key(hash(md5))]
    VIS id: u32,
}
//---
VIS struct KEY {
    #[row_key(«hash»(md5))]
    VIS id: u32,
    VIS other: u32,
}
//---
#[salt(range = 4, «over»(flag))]
VIS struct KEY {
    VIS flag: bool,
    VIS other: u32,
}
//---
#[salt(range = «300»)]
VIS struct KEY {
    VIS id: u8,
}
//---
VIS struct KEY {
    #[pad(2500)]
    VIS a: String,
    «#[pad(2500)]»
    VIS b: String,
}
//---
VIS struct «KEY» {
    VIS a: [u8; 2500],
}
//---
#[row_key(delimiter = «'-'»)]
VIS struct KEY {
    #[row_key(escape)]
    VIS a: String,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = 5))]
#[salt(range = 8, sep = "!", over(id), since(at = «3»))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = 5))]
#[salt(range = 4, sep = "!", over(id), since(«at» = 9))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = 5))]
#[salt(range = 8, sep = «"-"», over(id), since(at = 9))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = 5))]
#[salt(range = 8, sep = "!", over(id), since(«id» = 9))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = «"2026-01-01"»))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = «0»))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = «7»))]
EPOCHS ::std::time::SystemTime,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = «"2026-01-01T00:00:00.0000001Z"»))]
EPOCHS ::std::time::SystemTime,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = 5 «, 6»))]
EPOCHS u64,
}
//---
#[salt(range = «4», over(id), since(at = 5))]
EPOCHS u64,
}
//---
#[salt(range = 4, over(id), sep = «"-"», since(at = 5))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", over(id), since(at = 5))]
EPOCHS u64,
    VIS «late»: String,
}
//---
#[salt(range = 4, sep = "!", over(id), since(«id» = 5))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", hash = «"java"», since(at = 5))]
EPOCHS u64,
}
//---
#[salt(range = 4, sep = "!", after = «"at"», since(at = 5))]
EPOCHS u64,
    VIS late: u8,
}
