//! A figure as a separate file, for a paper: on white, with its legend above and its caption below.

use std::fmt::Write as _;

use crate::draw::{body, legend};
use crate::figure::Figure;
use crate::style::{FONT, Ground, style};
use crate::svg::{Tenth, escaped, shortened, width};

/// Size of the letters of a caption, and room around them, in pixels.
const SIZE: f64 = 10.0;
const ROOM: f64 = 8.0;

/// Explanation of intervals for readers of a paper.
const INTERVAL: &str = " A 95 % confidence interval contains the true value in 95 of 100 repetitions of the measurement.";

/// Style of figures in files.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStyle {
    /// Pixels of 1/96 inch; letters have 10 to 12 of them.
    pub width: u32,
    /// The same as it is written into the SVG: `760`, `85mm`.
    pub unit: String,
    /// Font of all letters, in place of the usual ones.
    pub font: Option<String>,
}

impl Default for FileStyle {
    fn default() -> FileStyle {
        FileStyle {
            width: 760,
            unit: "760".to_owned(),
            font: None,
        }
    }
}

/// The figure as an SVG document. `subject` names the measurement.
pub fn file(figure: &Figure, file_style: &FileStyle, subject: &str) -> String {
    let pixels = f64::from(file_style.width);
    let legend = legend(&figure.keys, pixels - 2.0 * ROOM);
    let drawn = body(figure, pixels);
    let lines = wrapped(&caption(figure, subject), pixels - 2.0 * ROOM);
    let below = ROOM + legend.height + drawn.height + ROOM;
    let height = (below + lines.len() as f64 * (SIZE + 3.0) + ROOM).ceil();
    let font = file_style.font.as_deref().unwrap_or(FONT);
    let (number, unit) = split(&file_style.unit);
    let tall = crate::format::significant(number * height / pixels, 6);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" role=\"img\" aria-labelledby=\"t\" aria-describedby=\"d\" \
         width=\"{}\" height=\"{tall}{unit}\" viewBox=\"0 0 {pixels} {height}\">\n\
         <title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n\
         <style>svg.fig{{font-family:{}}}{}.caption{{font-size:{SIZE}px}}</style>\n\
         <rect width=\"{pixels}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <g transform=\"translate({ROOM} {ROOM})\">\n{}</g>\n\
         <g transform=\"translate(0 {})\">\n{}</g>\n",
        escaped(&file_style.unit),
        escaped(&figure.title),
        escaped(&figure.note),
        escaped(font),
        style(Ground::Paper),
        legend.marks,
        Tenth(ROOM + legend.height),
        drawn.marks
    );
    for (index, line) in lines.iter().enumerate() {
        let y = Tenth(below + (index as f64 + 0.8) * (SIZE + 3.0));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<text class=\"caption fi\" x=\"{ROOM}\" y=\"{y}\">{}</text>",
            escaped(line)
        );
    }
    out + "</svg>\n"
}

/// `85mm` as 85 and `mm`.
fn split(length: &str) -> (f64, &str) {
    let end = length.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = length.split_at(end.unwrap_or(length.len()));
    (number.parse().unwrap_or(0.0), unit)
}

/// The title, the measurement, and the meaning of intervals.
fn caption(figure: &Figure, subject: &str) -> String {
    let Figure { title, note, .. } = figure;
    let words = format!("{title} {note}").to_lowercase();
    let words = words
        .replace("without an interval", "")
        .replace("have no interval", "");
    let interval = if words.contains("interval") || words.contains("whisker") {
        INTERVAL
    } else {
        ""
    };
    format!("{title} ({subject}). {note}{interval}")
}

/// Lines of words that are no wider than this.
fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word = shortened(word, SIZE, most);
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && width(&format!("{line} {word}"), SIZE) > most {
            lines.push(word);
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines
}
