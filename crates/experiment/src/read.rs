//! From the text of an experiment file to a checked experiment.

use builtin::{BuiltinFile, LABS};
use topology::LabSpec;

use crate::FileError;
use crate::check;
use crate::file::{ExperimentSpec, LabChoice};

impl ExperimentSpec {
    /// Parses and checks an experiment file. `name` is its name in errors.
    ///
    /// For each level of each factor, the trial of one cell is filled in and checked;
    /// [`ExperimentSpec::setup`] checks those that are executed.
    ///
    /// # Errors
    /// The first defect, with its position in the YAML or its key.
    pub fn read(name: &str, yaml: &str) -> Result<Self, FileError> {
        let spec: ExperimentSpec = yaml::read_file(name, yaml)?;
        spec.check()?;
        Ok(spec)
    }

    /// Checks an experiment from a record.
    ///
    /// # Errors
    /// The first defect, with its key.
    pub fn check(&self) -> Result<(), FileError> {
        check::experiment(self)
    }

    /// The laboratory of its file, before a trial changes its hosts.
    ///
    /// # Errors
    /// No built-in laboratory has that name.
    pub fn lab(&self) -> Result<LabSpec, FileError> {
        self.lab.lab("lab")
    }
}

impl LabChoice {
    /// The laboratory. `place` is the key of the choice.
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
