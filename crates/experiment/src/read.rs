//! From the text of an experiment file to an experiment that is checked.

use builtin::{BuiltinFile, LABS};
use topology::LabSpec;

use crate::FileError;
use crate::check;
use crate::file::{ExperimentSpec, LabChoice};

impl ExperimentSpec {
    /// Reads and checks an experiment file. `name` is what errors call the file.
    ///
    /// For each level of each factor, the trial of one cell is filled in and checked; [`ExperimentSpec::setup`] checks those
    /// that are executed.
    ///
    /// # Errors
    /// The first defect, with its place in the YAML or the key that is wrong.
    pub fn read(name: &str, yaml: &str) -> Result<Self, FileError> {
        let spec: ExperimentSpec = yaml::read_file(name, yaml)?;
        spec.check()?;
        Ok(spec)
    }

    /// Checks an experiment that was not read by [`ExperimentSpec::read`], but from a record.
    ///
    /// # Errors
    /// The first defect, with the key that is wrong.
    pub fn check(&self) -> Result<(), FileError> {
        check::experiment(self)
    }

    /// The laboratory as its file describes it, before a trial changes its hosts.
    ///
    /// # Errors
    /// If no built-in laboratory has that name.
    pub fn lab(&self) -> Result<LabSpec, FileError> {
        self.lab.lab("lab")
    }
}

impl LabChoice {
    /// The laboratory. `place` is the key with the choice.
    pub(crate) fn lab(&self, place: &str) -> Result<LabSpec, FileError> {
        match self {
            LabChoice::Described(spec) => Ok((**spec).clone()),
            LabChoice::Named(name) => {
                let Some(lab) = BuiltinFile::find(LABS, name) else {
                    let known = LABS.iter().map(|lab| lab.name);
                    return Err(FileError::unknown(place, "laboratory", name, known));
                };
                Ok(LabSpec::read(lab.name, lab.text)?)
            }
        }
    }
}
