//! What kinds of figures there are.

/// A kind of figures: their names begin with its own, and a test, a parameter or a number follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// Background traffic over the time of a run.
    Background,
    /// Mean response times.
    Bars,
    /// The distribution function of response times.
    Ecdf,
    /// Ratios of a comparison with one server.
    Forest,
    /// Response times in ranges.
    Histogram,
    /// All ratios of a comparison.
    Matrix,
    /// Times of whole pages.
    Pages,
    /// Percentiles over the time of a load.
    Percentiles,
    /// Times and throughput by load.
    Search,
    /// How operations of a load ended.
    Status,
    /// Response times by a parameter.
    Sweep,
    /// Operations per second over the time of a load.
    Throughput,
    /// Response times in the order of time.
    TimeLine,
}

impl FigureKind {
    /// All of them.
    pub const ALL: [FigureKind; 13] = [
        FigureKind::Background,
        FigureKind::Bars,
        FigureKind::Ecdf,
        FigureKind::Forest,
        FigureKind::Histogram,
        FigureKind::Matrix,
        FigureKind::Pages,
        FigureKind::Percentiles,
        FigureKind::Search,
        FigureKind::Status,
        FigureKind::Sweep,
        FigureKind::Throughput,
        FigureKind::TimeLine,
    ];

    /// What names of its figures begin with.
    pub fn name(self) -> &'static str {
        match self {
            FigureKind::Background => "background",
            FigureKind::Bars => "bars",
            FigureKind::Ecdf => "ecdf",
            FigureKind::Forest => "forest",
            FigureKind::Histogram => "histogram",
            FigureKind::Matrix => "matrix",
            FigureKind::Pages => "pages",
            FigureKind::Percentiles => "percentiles",
            FigureKind::Search => "search",
            FigureKind::Status => "status",
            FigureKind::Sweep => "sweep",
            FigureKind::Throughput => "throughput",
            FigureKind::TimeLine => "timeline",
        }
    }
}
