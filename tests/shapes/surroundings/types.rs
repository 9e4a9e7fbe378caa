/// Mine.
#[derive(Debug)]
pub struct Fixed;
/// Mine.
#[derive(Debug)]
pub struct Draft;
/// Mine.
#[derive(Debug)]
pub struct Text;
