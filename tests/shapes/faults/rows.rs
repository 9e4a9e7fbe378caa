VIS struct ROW«(VIS u8)»;
//---
VIS «enum» ROW {
    A,
}
//---
#[row(fingerprint = «"0123456789abcdef"»)]
VIS struct ROW<V> {
    VIS value: V,
}
//---
VIS struct ROW<V> {
    #[row(family)]
    VIS value: «V»,
}
//---
VIS struct ROW {
    #[row(family = "sums")]
    VIS sum: ::keyderive::row::Sum,
    #[row(family = "sums")]
    VIS «other»: u32,
}
//---
VIS struct ROW {
    #[row(family = "h", gc(never))]
    VIS one: u32,
    #[row(family = "h", «gc»(never))]
    VIS other: u32,
}
//---
VIS struct ROW {
    #[row(family)]
    VIS h: ::std::collections::BTreeMap<String, u8>,
    #[row(family = "h")]
    VIS «other»: u32,
}
//---
VIS struct ROW {
    VIS one: u32,
    #[row(alias = «"one"»)]
    VIS other: u32,
}
//---
#[row(ttl = "1d")]
VIS struct ROW {
    VIS one: u32,
    #[row(alias = «"h:one"»)]
    VIS other: u32,
}
//---
#[row(gc(max_versions = 1))]
VIS struct ROW {
    VIS one: «::keyderive::row::Versions<u8>»,
}
//---
#[row(ttl = "1d")]
VIS struct ROW {
    #[row(«counter»)]
    VIS one: i64,
}
