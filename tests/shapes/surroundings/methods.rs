/// Mine.
pub trait Mine: Sized {
    /// Mine.
    fn arg(&self) {}
    /// Mine.
    fn take(self) {}
    /// Mine.
    fn or(self) {}
    /// Mine.
    fn of(self) {}
    /// Mine.
    fn runs(self) {}
    /// Mine.
    fn all(self) {}
    /// Mine.
    fn write_value(self) {}
    /// Mine.
    fn family(self) {}
    /// Mine.
    fn slot(self) {}
    /// Mine.
    fn cells(self) {}
    /// Mine.
    fn qualifiers(self) {}
    /// Mine.
    fn write(self) {}
}
impl<T> Mine for T {}
