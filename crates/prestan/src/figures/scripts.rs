//! The figures of a page alone, for a paper: SVG, and PNG made from it.
//!
//! ```text
//! data of a page --> figures.js, answers.js, ECharts in QuickJS --> SVG --> resvg --> PNG
//! ```
//!
//! They come from the same definitions as those of the page, so that both show the same. ECharts
//! draws to a string without a browser (its server-side rendering), and QuickJS is a JavaScript
//! engine that takes a second to build, not an hour. PNG is drawn with a font of our own: a machine
//! in a rack has none. It has Latin, Greek and Cyrillic letters.
//!
//! Pure: what is drawn depends on the data alone.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Tree, fontdb};
use rquickjs::{CatchResultExt, Context, Ctx, Runtime};

use report::FileNames;

/// Noto Sans (SIL Open Font License 1.1), with the letters of Europe only.
const FONT: &[u8] = include_bytes!("../../../figures/font/NotoSans-Regular.ttf");
const FONT_NAME: &str = "Noto Sans";

/// Points of a PNG for each unit of its SVG.
const SCALE: f32 = 2.0;

/// What a browser has and ECharts asks for, though nothing here has to wait.
const BROWSER: &str = "globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => undefined;";

const DRAW: &str = include_str!("draw.js");

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// What it shows, as the name of a file without an ending: `bars-single-linear`.
    pub name: String,
    /// The figure, on white ground.
    pub svg: String,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The definitions and the data do not fit, or there is no memory.
    #[error("drawing a figure failed: {0}")]
    Script(String),
    /// An SVG cannot be drawn as PNG.
    #[error("drawing {name} as PNG failed: {why}")]
    Picture {
        /// Name of the figure.
        name: String,
        /// What came back.
        why: String,
    },
}

/// How figures are to look.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureStyle {
    /// Pixels of 1/96 inch; letters have 10 to 12 of them.
    pub width: u32,
    /// The same as it is written into the SVG: `760`, `85mm`.
    pub unit: String,
    /// Font of all letters, in place of the usual ones.
    pub font: Option<String>,
    /// Names of figures, or [what they begin with](is_called); all where there are none.
    pub only: Vec<String>,
}

/// Whether a figure is asked for: by its name, by some of its words (`bars-single` of `bars-single-log`), or by the
/// beginning of the first (`hist`).
pub fn is_called(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-') || !wanted.contains('-'))
}

impl Default for FigureStyle {
    fn default() -> FigureStyle {
        FigureStyle {
            width: 760,
            unit: "760".to_owned(),
            font: None,
            only: Vec::new(),
        }
    }
}

/// Draws the figures of these data ([`report::page::figure_data`]) that are wanted, one after the
/// other, and hands each to `take`. Returns the names of all there are.
///
/// # Errors
/// When one cannot be drawn, and what `take` returns.
pub fn draw<E: From<FigureError>>(
    data: &str,
    style: &FigureStyle,
    mut take: impl FnMut(Figure) -> Result<(), E>,
) -> Result<Vec<String>, E> {
    let only = &style.only;
    let style = serde_json::json!({"width": style.width, "unit": style.unit, "font": style.font});
    let style = style.to_string();
    let runtime = Runtime::new().map_err(script)?;
    let context = Context::full(&runtime).map_err(script)?;
    let mut names = FileNames::default();
    context.with(|engine| {
        for source in [BROWSER, report::page::CHARTS, report::page::FIGURES, DRAW] {
            run::<()>(&engine, source)?;
        }
        engine.globals().set("pageData", data).map_err(script)?;
        engine.globals().set("pageStyle", style).map_err(script)?;
        run::<()>(&engine, "begin(pageData, pageStyle)")?;
        let mut all = Vec::new();
        // Nothing after the last one.
        while let Some(id) = run::<Option<String>>(&engine, "next()")? {
            let name = names.of(&id);
            all.push(name.clone());
            if only.is_empty() || only.iter().any(|wanted| is_called(&name, wanted)) {
                let svg = visible(&run::<String>(&engine, "svg()")?);
                take(Figure { name, svg })?;
            }
        }
        Ok(all)
    })
}

/// The same with control characters made visible: names may have some, and XML must have none.
fn visible(svg: &str) -> String {
    let lines: Vec<String> = svg.split('\n').map(report::clean).collect();
    lines.join("\n")
}

fn run<'js, T: rquickjs::FromJs<'js>>(engine: &Ctx<'js>, source: &str) -> Result<T, FigureError> {
    let value = engine.eval(source).catch(engine);
    value.map_err(|error| FigureError::Script(error.to_string()))
}

fn script(error: rquickjs::Error) -> FigureError {
    FigureError::Script(error.to_string())
}

/// Draws PNGs.
pub struct Painter {
    options: usvg::Options<'static>,
}

impl Default for Painter {
    fn default() -> Painter {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family(FONT_NAME);
        Painter {
            options: usvg::Options {
                font_family: FONT_NAME.to_owned(),
                fontdb: Arc::new(fonts),
                // Whatever font the SVG asks for: there is one.
                font_resolver: usvg::FontResolver {
                    select_font: Box::new(|_, fonts| fonts.faces().next().map(|face| face.id)),
                    select_fallback: usvg::FontResolver::default_fallback_selector(),
                },
                ..usvg::Options::default()
            },
        }
    }
}

impl Painter {
    /// The figure as PNG.
    ///
    /// # Errors
    /// When it is no SVG, or too large for memory.
    pub fn png(&self, figure: &Figure) -> Result<Vec<u8>, FigureError> {
        let failed = |why: String| FigureError::Picture {
            name: figure.name.clone(),
            why,
        };
        let tree = Tree::from_str(&figure.svg, &self.options)
            .map_err(|error| failed(error.to_string()))?;
        let size = tree
            .size()
            .to_int_size()
            .scale_by(SCALE)
            .ok_or_else(|| failed("it has no size".to_owned()))?;
        let mut picture = Pixmap::new(size.width(), size.height())
            .ok_or_else(|| failed("it is too large".to_owned()))?;
        let transform = Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, transform, &mut picture.as_mut());
        picture
            .encode_png()
            .map_err(|error| failed(error.to_string()))
    }
}
