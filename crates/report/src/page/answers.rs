//! Comparison, sweep and search on a page.

use maud::{Markup, html};

use super::ReportPage;
use super::names::shortened;
use crate::document::html_of;
use crate::{compare, search, sweep};

/// In short, before the figures.
pub(super) fn in_short(page: &ReportPage<'_>) -> Markup {
    html! {
        @if let Some(compared) = page.comparison { (compare::document::in_short(compared, shortened)) }
        @if let Some(sweep) = page.sweep { (sweep::document::in_short(sweep)) }
        @if let Some(found) = page.search { p { (search::answer_in_words(found)) } }
    }
}

/// Warnings, and how a sweep was made.
pub(super) fn warnings(page: &ReportPage<'_>) -> Markup {
    html! {
        @if let Some(compared) = page.comparison { (html_of(&compare::document::all_warnings(compared))) }
        @if let Some(sweep) = page.sweep { (html_of(&sweep::document::overview(sweep))) }
        @if let Some(found) = page.search { (search::document::warnings(found)) }
    }
}

/// Every point of a sweep, and every load of a search.
pub(super) fn tables(page: &ReportPage<'_>) -> Markup {
    html! {
        @if let Some(sweep) = page.sweep { (sweep::document::section(sweep)) }
        @if let Some(found) = page.search { (search::document::section(found)) }
    }
}
