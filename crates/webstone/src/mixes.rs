//! Built-in mixes.

use crate::filelist::FileList;

/// A built-in mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// Name.
    pub name: &'static str,
    /// Title in one line.
    pub title: &'static str,
    /// Its file list.
    pub text: &'static str,
}

macro_rules! mix {
    ($name:literal, $title:literal) => {
        Mix {
            name: $name,
            title: $title,
            text: include_str!(concat!("../mixes/", $name, ".filelist")),
        }
    };
}

/// The four mixes of the paper (section 5), and the list that it prints (section 7).
pub const MIXES: [Mix; 5] = [
    mix!("general-modem", "small pages, for users with modems"),
    mix!("general", "pages of files of 1 to 100k bytes"),
    mix!("media-rich", "films, sounds and large pictures"),
    mix!("general-and-media-rich", "small pages and large media"),
    mix!("webstone-1995", "the list that the paper of 1995 prints"),
];

impl Mix {
    /// The mix of that name.
    pub fn find(name: &str) -> Option<&'static Mix> {
        MIXES.iter().find(|mix| mix.name == name)
    }

    /// Its pages.
    pub fn list(&self) -> FileList {
        let list = FileList::parse(self.name, self.text);
        list.unwrap_or_else(|error| unreachable!("a test reads all mixes: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1024;

    fn sizes(name: &str) -> Vec<Vec<u64>> {
        let list = Mix::find(name).unwrap().list();
        let of_page =
            |page: &crate::Page| page.files.iter().map(|file| file.size.unwrap()).collect();
        list.pages.iter().map(of_page).collect()
    }

    #[test]
    fn all_can_be_read_and_weigh_a_hundred() {
        for mix in MIXES {
            let list = FileList::parse(mix.name, mix.text).unwrap();
            let weights: f64 = list.pages.iter().map(|page| page.weight).sum();
            assert_eq!(weights, 100.0, "{}", mix.name);
        }
    }

    #[test]
    fn they_keep_what_the_paper_says_of_sizes() {
        for page in sizes("general-modem") {
            assert!(page.iter().sum::<u64>() < 20 * K, "{page:?}");
        }
        let general: Vec<u64> = sizes("general").concat();
        assert_eq!(general.iter().min(), Some(&K));
        assert_eq!(general.iter().max(), Some(&(100 * K)));
        assert_eq!(sizes("media-rich").concat().iter().min(), Some(&(20 * K)));
    }

    /// Section 7 gives the sizes of the pages it measured.
    #[test]
    fn the_printed_list_has_the_printed_sizes() {
        let pages: Vec<u64> = sizes("webstone-1995")
            .iter()
            .map(|page| page.iter().sum())
            .collect();
        assert_eq!(
            pages,
            [12_288, 48_128, 6_291_456, 218_112, 3_167_232, 525_312]
        );
        let mixed = Mix::find("general-and-media-rich").unwrap().list();
        assert_eq!(
            mixed.pages,
            Mix::find("webstone-1995").unwrap().list().pages
        );
    }
}
