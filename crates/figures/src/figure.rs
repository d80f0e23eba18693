//! The contents of a figure: a value, without pixels.

use crate::axis::Axis;

/// A figure: panels one below the other, and their explanation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Letters, digits, `-` and `_`, and unique among the figures of a page: `bars-single-linear`.
    pub id: String,
    /// Subject of the figure.
    pub title: String,
    /// Explanation for readers, in sentences.
    pub note: String,
    /// Headings of the table of its marks: see [`FigureMark::row`].
    pub columns: Vec<String>,
    /// The legend; not drawn where there is one entry.
    pub keys: Vec<LegendKey>,
    /// Panels; a figure without any is not drawn.
    pub panels: Vec<Panel>,
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct LegendKey {
    /// Name of the series.
    pub name: String,
    /// Look of its marks.
    pub look: MarkLook,
    /// Symbol before the name.
    pub swatch: Swatch,
}

/// Symbol of a series in the legend.
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
    /// Title above it; empty for none.
    pub title: String,
    /// The horizontal axis, from left to right.
    pub x: Axis,
    /// The vertical axis, from bottom to top; categories from top to bottom.
    pub y: Axis,
    /// Height of the drawing area, in pixels. Categories have their own: see [`Axis::categories`].
    pub height: f64,
    /// Room right of the drawing area, in letters.
    pub right: usize,
    /// Series in the order of drawing.
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

/// Marks that belong together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The index of its entry in [`Figure::keys`], which hides it on a page.
    pub key: Option<usize>,
    /// Marks in the order of drawing, and of the table.
    pub marks: Vec<FigureMark>,
}

/// The drawing of one value, or of a line of them.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureMark {
    /// Its position.
    pub shape: MarkShape,
    /// Its look.
    pub look: MarkLook,
    /// Its row of the table, which is its tooltip, too: a cell for each of [`Figure::columns`].
    /// Empty where it belongs to another mark. Neighbouring marks of the same look should all have
    /// a row, or none.
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

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// From left to right.
    X,
    /// From bottom to top.
    Y,
}

/// A shape, in values of the axes. The category with index `n` reaches from `n - 0.5` to `n + 0.5`.
/// Infinity is the end of an axis, and values that are not a number are not drawn.
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
    /// An interval. Each end has a stroke across it (`strokes`), or an arrow beyond the axis.
    Interval {
        /// Its direction.
        along: Along,
        /// Its position on the other axis.
        at: f64,
        /// From, to.
        ends: (f64, f64),
        /// Strokes across the ends.
        strokes: bool,
    },
    /// A line across the panel, with a text.
    Rule {
        /// Its direction.
        along: Along,
        /// Its position on the other axis.
        at: f64,
        /// Empty for none. Above the panel for a rule along Y, inside at the left for one along X.
        text: String,
        /// Number of lines of text above the panel at which the text is drawn.
        level: usize,
    },
    /// An arrow: a value that is at least this, or continues.
    Arrow(f64, f64),
    /// Words.
    Text {
        /// Their position.
        at: (f64, f64),
        /// Pixels to the right, and downwards.
        shift: (f64, f64),
        /// The end of the text at that position.
        anchor: Anchor,
        /// The text.
        text: String,
        /// The values of x between which they have to stay: they are shortened, and left out where
        /// there is room for less than three letters.
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

/// The end of a text that is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// Shape of a line between two points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStep {
    /// Straight.
    None,
    /// At the height of the point before, up to the next.
    After,
    /// A change half way.
    Middle,
}

/// Look of marks: no two of a panel should differ by their colour only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkLook {
    /// Its colour.
    pub tone: MarkTone,
    /// Symbol of points.
    pub symbol: Symbol,
    /// Dash of lines; stripes of bars.
    pub dash: Dash,
    /// Filled or not.
    pub fill: MarkFill,
}

impl MarkLook {
    /// Look of the series with this index. Eight colours, seven symbols and five dashes: no two of
    /// 280 have all three alike, and no two of 35 differ by colour only.
    pub fn of(index: usize) -> MarkLook {
        MarkLook {
            tone: MarkTone::Series((index % MarkTone::SERIES) as u8),
            symbol: Symbol::ALL[index % Symbol::ALL.len()],
            dash: Dash::ALL[index % Dash::ALL.len()],
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
    /// One of [`MarkTone::SERIES`] that colour-blind people can distinguish.
    Series(u8),
    /// The colour of letters.
    Ink,
    /// The colour of small letters.
    Muted,
    /// The colour of the lines of a grid.
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
    /// Number of colours of series.
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
    /// The symbols of series.
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

/// Dash of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    Solid,
    /// By short gaps.
    Dashed,
    /// A row of dots.
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
    /// Half transparent.
    Soft,
    /// Nearly transparent: a ground behind marks.
    Faint,
    /// With the colour of the ground.
    Hollow,
    /// Invisible: its row is in the table, and its tooltip shows.
    None,
}

impl Figure {
    /// True if there is nothing to draw.
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
