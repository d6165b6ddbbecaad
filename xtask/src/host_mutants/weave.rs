//! Writes changes into a source, each behind its switch, and finds the changes that a compiler complains about.
//!
//! A change adds text within lines and adds no line, so that panics and errors keep their lines.

use std::ops::Range;

use super::site::Site;

/// A source with changes woven in.
#[derive(Debug)]
pub struct Woven {
    pub text: String,
    /// For each site.
    written: Vec<Written>,
}

/// What was written before the text of a site and behind it, as ranges of the whole text.
type Written = (Range<usize>, Range<usize>);

/// Weaves `sites`, in the order in which they were found, into `text`. The first gets the number `first`; `switched` is the path
/// of the function that asks whether a number is on.
pub fn weave(text: &str, sites: &[&Site], first: usize, switched: &str) -> Woven {
    let around: Vec<(String, String)> = sites
        .iter()
        .enumerate()
        .map(|(index, site)| site.form.around(&format!("{switched}({})", first + index)))
        .collect();
    // What ends at a place is closed before anything is opened there; the outer site was found first, so it opens first and
    // closes last.
    let opens = sites.iter().enumerate().map(|(index, site)| (site.range.start, true, index as isize, index));
    let last = |index: usize| if sites[index].range.is_empty() { index as isize } else { -(index as isize) };
    let closes =
        sites.iter().enumerate().map(|(index, site)| (site.range.end, site.range.is_empty(), last(index), index));
    let closes = closes.map(|(place, like_opening, order, index)| ((place, like_opening, order), index, false));
    let opens = opens.map(|(place, opening, order, index)| ((place, opening, order), index, true));
    let mut edits: Vec<_> = opens.chain(closes).collect();
    edits.sort_by_key(|&(order, ..)| order);
    let mut woven = Woven { text: String::new(), written: vec![(0..0, 0..0); sites.len()] };
    let mut copied = 0;
    for ((place, ..), index, opens) in edits {
        woven.text += &text[copied..place];
        copied = place;
        let start = woven.text.len();
        let (before, behind) = &around[index];
        woven.text += if opens { before } else { behind };
        let written = start..woven.text.len();
        let of_site = &mut woven.written[index];
        if opens { of_site.0 = written } else { of_site.1 = written }
    }
    woven.text += &text[copied..];
    woven
}

impl Woven {
    /// The site to blame for an error at `place` in the text: the one that wrote it, else the one whose text this is as a whole,
    /// else the innermost around it, else one in it.
    pub fn blamed(&self, place: &Range<usize>) -> Option<usize> {
        let holds = |written: &Range<usize>| written.start <= place.start && place.end <= written.end;
        let overlaps = |written: &Range<usize>| written.start < place.end && place.start < written.end;
        let wrote = |(before, behind): &Written| holds(before) || holds(behind);
        let whole = |(before, behind): &Written| (before.end..behind.start) == *place;
        let around = |(before, behind): &Written| before.start <= place.start && place.end <= behind.end;
        let within = |(before, behind): &Written| overlaps(before) || overlaps(behind);
        // The innermost was found last.
        let last = |test: &dyn Fn(&Written) -> bool| self.written.iter().rposition(test);
        last(&wrote).or_else(|| last(&whole)).or_else(|| last(&around)).or_else(|| last(&within))
    }
}
