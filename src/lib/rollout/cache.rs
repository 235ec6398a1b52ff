pub struct Cache;
impl Cache {
  pub fn new(_d: std::path::PathBuf)->Self{Self}
  pub fn of_run(_d: &std::path::Path)->Self{Self}
  pub fn load(&self, _f: &super::StepFiles, _c: &[crate::row::Column]) -> Option<Vec<Vec<crate::row::Cell<'static>>>> { None }
  pub fn store<'a>(&self, _f: &super::StepFiles, _c: &[crate::row::Column], _r: impl Iterator<Item = Vec<crate::row::Cell<'a>>>) -> Result<(), std::io::Error> { Ok(()) }
}
