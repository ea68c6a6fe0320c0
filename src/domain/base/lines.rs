//! Two texts compared line by line.
//! Not for: two plans (`diff`).

/// Lines that are compared pair by pair at the most, once the common beginning and end are off; longer texts are told apart
/// as wholes.
const MOST: usize = 2_000;

/// A line of two texts laid over each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// It is in both.
    Same(&'a str),
    /// It is only in the first.
    Gone(&'a str),
    /// It is only in the second.
    New(&'a str),
}

/// What became of a text, in order: as few lines as can be are gone and new.
#[must_use]
pub fn compare<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut out: Vec<Line<'a>> = old[..first].iter().map(|line| Line::Same(line)).collect();
    middle(&old[first..old.len() - last], &new[first..new.len() - last], &mut out);
    out.extend(old[old.len() - last..].iter().map(|line| Line::Same(line)));
    out
}

/// The longest lines in common, by a table of lengths.
fn middle<'a>(old: &[&'a str], new: &[&'a str], out: &mut Vec<Line<'a>>) {
    if old.len() > MOST || new.len() > MOST || old.is_empty() || new.is_empty() {
        out.extend(old.iter().map(|line| Line::Gone(line)));
        out.extend(new.iter().map(|line| Line::New(line)));
        return;
    }
    let wide = new.len() + 1;
    let mut common = vec![0_u16; (old.len() + 1) * wide];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * wide + j] = if old[i] == new[j] {
                common[(i + 1) * wide + j + 1] + 1
            } else {
                common[(i + 1) * wide + j].max(common[i * wide + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            out.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * wide + j] >= common[i * wide + j + 1] {
            out.push(Line::Gone(old[i]));
            i += 1;
        } else {
            out.push(Line::New(new[j]));
            j += 1;
        }
    }
    out.extend(old[i..].iter().map(|line| Line::Gone(line)));
    out.extend(new[j..].iter().map(|line| Line::New(line)));
}

/// Lines that are gone and new.
#[must_use]
pub fn count(lines: &[Line<'_>]) -> (usize, usize) {
    let gone = lines.iter().filter(|line| matches!(line, Line::Gone(_))).count();
    (gone, lines.iter().filter(|line| matches!(line, Line::New(_))).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(before: &str, after: &str) -> String {
        let one = |line: Line<'_>| match line {
            Line::Same(text) => format!(" {text}"),
            Line::Gone(text) => format!("-{text}"),
            Line::New(text) => format!("+{text}"),
        };
        compare(before, after).into_iter().map(one).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn few_lines_change() {
        assert_eq!(shown("", ""), "");
        assert_eq!(shown("a\nb", "a\nb"), " a| b");
        assert_eq!(shown("a\nb\nc", "a\nx\nc"), " a|-b|+x| c");
        assert_eq!(shown("a\nb\nc\nd", "b\nc\ne\nd"), "-a| b| c|+e| d");
        assert_eq!(shown("a\na", "a\na\na"), " a| a|+a");
        assert_eq!(count(&compare("a\nb", "c")), (2, 1));
        let long = "x\n".repeat(MOST + 5);
        assert_eq!(count(&compare(&long, &"y\n".repeat(3))), (MOST + 5, 3), "long ones are told apart as wholes");
    }

    /// Lines in common, row by row.
    fn longest(old: &[&str], new: &[&str]) -> usize {
        let mut above = vec![0; new.len() + 1];
        for line in old {
            let mut row = vec![0];
            for (at, other) in new.iter().enumerate() {
                row.push(if line == other { above[at] + 1 } else { above[at + 1].max(row[at]) });
            }
            above = row;
        }
        above[new.len()]
    }

    proptest! {
        #[test]
        fn both_texts_can_be_read_off(a in "[abc\n]{0,40}", b in "[abc\n]{0,40}") {
            let lines = compare(&a, &b);
            let side = |new: bool| -> Vec<&str> {
                lines.iter().filter_map(|line| match line {
                    Line::Same(text) => Some(*text),
                    Line::Gone(text) => (!new).then_some(*text),
                    Line::New(text) => new.then_some(*text),
                }).collect()
            };
            prop_assert_eq!(side(false), a.lines().collect::<Vec<_>>());
            prop_assert_eq!(side(true), b.lines().collect::<Vec<_>>());
            let kept = lines.iter().filter(|line| matches!(line, Line::Same(_))).count();
            let (old, new): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
            prop_assert_eq!(kept, longest(&old, &new), "as few as can be");
            prop_assert_eq!(count(&lines), (old.len() - kept, new.len() - kept));
        }
    }
}
