#[derive(::keyderive::Cell)]
VIS enum «OWN» {}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    /// One.
    A«(u8)»,
    /// One.
    B,
}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    /// One.
    A,
    /// One.
    #[row(name = «"A"»)]
    B,
}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    /// One.
    #[row(name = "B")]
    A,
    /// One.
    «B»,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
«VIS enum OWN» {
    /// One.
    A = 1,
    /// One.
    B = 1,
}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    /// One.
    #[row(«nmae» = "A")]
    A,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
VIS enum OWN {
    /// One.
    «A»,
    /// One.
    B = 2,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
VIS enum OWN {
    /// One.
    «#[row(name = "a")]»
    A = 1,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
#[repr(u64)]
VIS enum OWN {
    /// One.
    «A» = 9223372036854775808,
}
//---
#[derive(::keyderive::Cell)]
#[row(«code»)]
VIS struct OWN(VIS u32);
//---
#[derive(::keyderive::Cell)]
#[row(«family» = "f")]
VIS struct OWN(VIS u32);
//---
#[derive(::keyderive::Cell)]
VIS struct «OWN»(VIS u32, VIS u32);
//---
#[derive(::keyderive::Cell)]
VIS struct «OWN» {
    /// A field.
    VIS a: u32,
}
//---
#[derive(::keyderive::Cell)]
VIS struct OWN(VIS &«'static» str);
//---
#[derive(::keyderive::Cell)]
VIS struct OWN(«#[row(json)]» VIS u32);
//---
#[derive(::keyderive::Cell)]
VIS struct OWN(VIS «crate::support::Id»);
