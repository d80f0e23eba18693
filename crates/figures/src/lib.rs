//! Figures: values, and their drawing.
//!
//! ```text
//! Figure --+--> svg    an element for a page, which has light and dark ground, legends and tables of its own
//!          +--> file   a document for a paper: white ground, the legend above, a caption below
//!          '--> rows   the table of its numbers; a row is the tooltip of its mark, too
//! ```
//!
//! A [`Figure`] has panels with two axes each, and series of marks whose shapes are in values of
//! these axes. It describes the meaning of marks (a series, worse, muted) and not their look: that
//! is the [`style()`]. So one drawing serves light and dark ground. No two series differ by colour
//! alone: points have symbols, lines dashes, bars stripes.
//!
//! Pure: a drawing depends on the value and the width alone.

mod axis;
mod clean;
mod clip;
mod draw;
mod figure;
mod file;
mod format;
mod marks;
mod style;
mod svg;

pub use axis::{Axis, Range, Scale, extent};
pub use clean::{clean, is_harmful, letters};
pub use draw::{svg, swatch};
pub use figure::{
    Along, Anchor, Dash, Figure, FigureMark, LegendKey, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Series, Swatch, Symbol,
};
pub use file::{FileStyle, file};
pub use format::{Format, digits, plain};
pub use style::{FONT, Ground, style};
