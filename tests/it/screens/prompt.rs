//! The line in which a name or another short text is typed.
//! Not for: longer texts (`text_editor`).

use super::fixture;

/// The line of a search or a prompt shows the end of a long text, measured in columns.
#[test]
fn long_lines_of_wide_characters_show_their_end() {
    let wide = format!("start{}end", "日本語".repeat(40));
    for keys in ["ctrl-r", "tab /", "ctrl-b n"] {
        let mut stage = fixture::opened();
        stage.press(keys).type_text(&wide);
        let screen = stage.screen(80, 24);
        let line = screen.lines().find(|line| line.contains("end_"));
        let line = line.unwrap_or_else(|| panic!("{keys} hides the end:\n{screen}"));
        assert!(line.contains(&"日本語".repeat(7)) && !line.contains("start"), "{keys}: {line}");
    }
}
