//! What a figure is: a value, without pixels.

use crate::axis::Axis;

/// A figure: panels one below the other, and what explains them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Letters, digits, `-` and `_`, and unique among the figures of a page: `bars-single-linear`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What a reader has to know to understand it, in sentences.
    pub note: String,
    /// Headings of the table of its marks: see [`FigureMark::row`].
    pub columns: Vec<String>,
    /// The legend; not drawn where there is one entry.
    pub keys: Vec<LegendKey>,
    /// Without one there is no figure.
    pub panels: Vec<Panel>,
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct LegendKey {
    /// What it stands for.
    pub name: String,
    /// How its marks look.
    pub look: MarkLook,
    /// What is drawn before the name.
    pub swatch: Swatch,
}

/// What stands for a series in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swatch {
    /// A filled box.
    Bar,
    /// An area below its line.
    Area,
    /// A line, with the symbol of its points where it has some.
    Line,
    /// A symbol.
    Point,
}

/// One drawing area with its axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Above it; empty for none.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top; categories from top to bottom.
    pub y: Axis,
    /// Of the drawing area, in pixels. Categories have their own: see [`Axis::categories`].
    pub height: f64,
    /// Letters that have room right of the drawing area.
    pub right: usize,
    /// In the order in which they are drawn.
    pub series: Vec<Series>,
}

impl Panel {
    /// A panel without a title and without series.
    pub fn new(x: Axis, y: Axis, height: f64) -> Panel {
        Panel {
            title: String::new(),
            x,
            y,
            height,
            right: 2,
            series: Vec::new(),
        }
    }
}

/// Marks that a reader takes as one thing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The place of its entry in [`Figure::keys`], which hides it on a page.
    pub key: Option<usize>,
    /// In the order in which they are drawn, and listed in the table.
    pub marks: Vec<FigureMark>,
}

/// What is drawn for one value, or for a line of them.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureMark {
    /// Where.
    pub shape: MarkShape,
    /// How.
    pub look: MarkLook,
    /// Its row of the table, which is its tooltip, too: a cell for each of [`Figure::columns`]. Empty where it
    /// belongs to another mark. Marks that are neighbours and look alike should all have a row, or none.
    pub row: Vec<String>,
}

impl FigureMark {
    /// A mark without a row.
    pub fn new(shape: MarkShape, look: MarkLook) -> FigureMark {
        FigureMark {
            shape,
            look,
            row: Vec::new(),
        }
    }

    /// The same with its row of the table.
    pub fn with_row(self, row: impl IntoIterator<Item = String>) -> FigureMark {
        FigureMark {
            row: row.into_iter().collect(),
            ..self
        }
    }
}

/// Which way something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// From left to right.
    X,
    /// From bottom to top.
    Y,
}

/// A shape, in values of the axes. The category with place `n` reaches from `n - 0.5` to `n + 0.5`. Infinity is the end of
/// an axis, and what is not a number is not drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum MarkShape {
    /// A bar, a cell, a band: from one corner to the other, as far as the panel reaches.
    Rect {
        /// From, to.
        x: (f64, f64),
        /// From, to.
        y: (f64, f64),
    },
    /// A symbol.
    Point(f64, f64),
    /// A line through points; one that is not a number interrupts it.
    Line(Vec<(f64, f64)>, LineStep),
    /// The area between two lines: `(x, low, high)`.
    Area(Vec<(f64, f64, f64)>, LineStep),
    /// An interval. Each end has a stroke across it (`strokes`), and an arrow where it lies beyond the axis.
    Interval {
        /// Which way it reaches.
        along: Along,
        /// Where it lies on the other axis.
        at: f64,
        /// From, to.
        ends: (f64, f64),
        /// Strokes across the ends.
        strokes: bool,
    },
    /// A line across the panel, with a text.
    Rule {
        /// Which way it reaches.
        along: Along,
        /// Where it lies on the other axis.
        at: f64,
        /// Empty for none. Above the panel for a rule along Y, inside at the left for one along X.
        text: String,
        /// How many lines of text above the panel the text stands.
        level: usize,
    },
    /// An arrow: a value that is at least this, or goes on.
    Arrow(f64, f64),
    /// Words.
    Text {
        /// Where they are.
        at: (f64, f64),
        /// Pixels to the right, and downwards.
        shift: (f64, f64),
        /// Which end of them is there.
        anchor: Anchor,
        /// What they say.
        text: String,
        /// The values of x between which they have to stay: they are shortened, and left out where there is room for less
        /// than three letters.
        within: Option<(f64, f64)>,
    },
}

impl MarkShape {
    /// Words with their left end at a point.
    pub fn text(at: (f64, f64), text: impl Into<String>) -> MarkShape {
        MarkShape::Text {
            at,
            shift: (0.0, 0.0),
            anchor: Anchor::Start,
            text: text.into(),
            within: None,
        }
    }
}

/// Which end of a text is where it was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How a line gets from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStep {
    /// Straight.
    None,
    /// On the height of the point before, up to the next.
    After,
    /// It changes half way.
    Middle,
}

/// How marks look: no two of a panel should differ by their colour only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkLook {
    /// Its colour.
    pub tone: MarkTone,
    /// Of points.
    pub symbol: Symbol,
    /// Of lines; of bars, their stripes.
    pub dash: Dash,
    /// Filled or not.
    pub fill: MarkFill,
}

impl MarkLook {
    /// How the series of this place looks. Eight colours, seven symbols and five dashes: no two of 280 have all three
    /// alike, and no two of 35 differ by colour only.
    pub fn of(place: usize) -> MarkLook {
        MarkLook {
            tone: MarkTone::Series((place % MarkTone::SERIES) as u8),
            symbol: Symbol::ALL[place % Symbol::ALL.len()],
            dash: Dash::ALL[place % Dash::ALL.len()],
            fill: MarkFill::Full,
        }
    }

    /// Solid lines and dots of this colour.
    pub fn toned(tone: MarkTone) -> MarkLook {
        MarkLook {
            tone,
            ..MarkLook::of(0)
        }
    }

    /// The same in another way.
    pub fn filled(self, fill: MarkFill) -> MarkLook {
        MarkLook { fill, ..self }
    }

    /// The same with other lines.
    pub fn dashed(self, dash: Dash) -> MarkLook {
        MarkLook { dash, ..self }
    }
}

/// A colour by its meaning; each has one for light and one for dark ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkTone {
    /// One of [`MarkTone::SERIES`] that colour-blind people tell apart.
    Series(u8),
    /// As letters.
    Ink,
    /// As small letters.
    Muted,
    /// As the lines of a grid.
    Grid,
    /// Worse, or failed.
    Bad,
    /// Better.
    Good,
    /// Alike.
    Same,
    /// From -3, blue, by grey to 3, orange: a ground for letters.
    Heat(i8),
}

impl MarkTone {
    /// How many colours series have.
    pub const SERIES: usize = 8;
}

/// A symbol of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ▼
    Down,
    /// ▶
    Right,
    /// ✚
    Plus,
    /// ✕, of failures.
    Cross,
}

impl Symbol {
    /// Those of series.
    pub const ALL: [Symbol; 7] = [
        Symbol::Circle,
        Symbol::Square,
        Symbol::Triangle,
        Symbol::Diamond,
        Symbol::Down,
        Symbol::Right,
        Symbol::Plus,
    ];
}

/// How a line is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    Solid,
    /// By short gaps.
    Dashed,
    /// It is a row of dots.
    Dotted,
    /// Both.
    DashDot,
    /// By gaps far apart.
    Long,
}

impl Dash {
    /// All of them.
    pub const ALL: [Dash; 5] = [
        Dash::Solid,
        Dash::Dashed,
        Dash::Dotted,
        Dash::DashDot,
        Dash::Long,
    ];
}

/// How a mark is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkFill {
    /// With its colour. A rectangle is striped by its [`Dash`].
    Full,
    /// So that what is below is seen.
    Soft,
    /// So that it is hardly seen itself: a ground behind marks.
    Faint,
    /// With the colour of the ground.
    Hollow,
    /// It is not seen: its row is in the table, and its tooltip shows.
    None,
}

impl Figure {
    /// There is nothing to draw.
    pub fn is_empty(&self) -> bool {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        series.map(|series| series.marks.len()).sum::<usize>() == 0
    }

    /// The numbers of the figure: the rows of its marks in the order of panels and series.
    pub fn rows(&self) -> impl Iterator<Item = &[String]> {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        let marks = series.flat_map(|series| &series.marks);
        let rows = marks.map(|mark| &mark.row[..]);
        rows.filter(|row| !row.is_empty())
    }
}
