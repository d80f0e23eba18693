//! Progress bar on standard error, if that is a terminal whose lines can be redrawn.

use std::borrow::Cow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::screen::Screen;

/// Columns of a bar beside its text.
const WIDE: usize = 90;

/// Columns of a terminal of unknown width.
const USUAL: usize = 80;

/// Kind of a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarOf {
    /// A suite, with the current test and the progress.
    Suite,
    /// A load, with the progress and figures of the last seconds.
    Load,
    /// A trial of unknown duration.
    Trial,
}

impl BarOf {
    /// Texts are above each other if there is no space for them beside the bar.
    fn template(self, is_wide: bool) -> &'static str {
        match (self, is_wide) {
            (BarOf::Suite, true) => "{msg:20} {wide_bar} {percent:>3} %  {prefix}",
            (BarOf::Suite, false) => "{percent:>3} %  {msg}\n{prefix}",
            (BarOf::Load, true) => "{bar:20} {prefix}\n{msg}",
            (BarOf::Load, false) => "{prefix}\n{msg}",
            (BarOf::Trial, _) => "{spinner} {msg}",
        }
    }

    /// Columns before the text of its first line.
    fn before(self, is_wide: bool) -> usize {
        match (self, is_wide) {
            (BarOf::Suite, true) | (BarOf::Load, false) => 0,
            (BarOf::Suite, false) => 7,
            (BarOf::Load, true) => 21,
            (BarOf::Trial, _) => 2,
        }
    }
}

/// A bar. Copies refer to the same one.
#[derive(Debug, Clone)]
pub struct TerminalBar {
    bar: ProgressBar,
    room: usize,
}

impl TerminalBar {
    /// `None` if bars cannot be drawn.
    pub fn begin(of: BarOf) -> Option<TerminalBar> {
        if !Screen::Messages.has_bars() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
        let columns = Screen::Messages.columns().unwrap_or(USUAL);
        let is_wide = columns >= WIDE;
        if let Ok(style) = ProgressStyle::with_template(of.template(is_wide)) {
            bar.set_style(if Screen::Messages.is_ascii() {
                style.progress_chars("#>-").tick_chars("|/-\\ ")
            } else {
                style
            });
        }
        let room = columns.saturating_sub(of.before(is_wide));
        Some(TerminalBar { bar, room })
    }

    /// Sets the text before its figures, cut to fit.
    pub fn set_prefix(&self, words: &str) {
        self.bar.set_prefix(self.fitted(words));
    }

    /// Sets the current activity, cut to fit.
    pub fn set_message(&self, words: &str) {
        self.bar.set_message(self.fitted(words));
    }

    fn fitted(&self, words: &str) -> Cow<'static, str> {
        let words = Screen::Messages.in_its_signs(words);
        Cow::Owned(report::fold(self.room, &words))
    }

    /// Sets the share that is done.
    pub fn set_position(&self, share: f64) {
        self.bar.set_position((share * 1000.0) as u64);
    }

    /// Draws it.
    pub fn tick(&self) {
        self.bar.tick();
    }

    /// Hides it while `write` writes.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }
}
