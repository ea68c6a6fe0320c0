//! Addresses of servers for display, without possible secrets.
//! Not for: parsing or calling them (`llm`, `mcp`).

use crate::domain::base::secrets;

/// The text shown in place of hidden text.
const HIDDEN: &str = "•••";

/// Returns an address without user name and password, and with query values, fragment, and keys in its path hidden.
pub fn without_secrets(address: &str) -> String {
    let (whole, fragment) = address.split_once('#').map_or((address, false), |(whole, _)| (whole, true));
    let (whole, query) = whole.split_once('?').map_or((whole, None), |(whole, query)| (whole, Some(query)));
    let after_user = |text: &str| text.rsplit('@').next().unwrap_or_default().to_owned();
    let mut shown = match whole.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            format!("{scheme}://{}{}", after_user(authority), path_without_keys(path))
        }
        // Without a scheme, a user name and password may precede any `@`.
        None => path_without_keys(&after_user(whole)),
    };
    if let Some(query) = query {
        let pairs = query.split(['&', ';']).map(|pair| match pair.split_once('=') {
            Some((name, _)) => format!("{name}={HIDDEN}"),
            // A key may be given without a name.
            None if pair.is_empty() => String::new(),
            None => HIDDEN.to_owned(),
        });
        shown.push('?');
        shown.push_str(&pairs.collect::<Vec<_>>().join("&"));
    }
    if fragment {
        shown.push('#');
        shown.push_str(HIDDEN);
    }
    shown
}

/// Returns a path with the segments hidden that contain a key.
fn path_without_keys(path: &str) -> String {
    let shown = path.split('/').map(|segment| if secrets::count(segment) > 0 { HIDDEN } else { segment });
    shown.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_paths_are_hidden() {
        // Assembled here, so that no scanner reports this file as a leak.
        let key = format!("sk-{}", "4fT9xQ2mZ7bK1wL8pR3vN6cJ5hG0sD4yA2eU7iO9");
        for (address, wanted) in [
            (format!("https://h/{key}/v1"), "https://h/•••/v1"),
            (format!("https://u:hush@h/a/x-{key}?k=v#f"), "https://h/a/•••?k=•••#•••"),
            (format!("h/{key}"), "h/•••"),
            (format!("//h//{key}/"), "//h//•••/"),
            ("https://h/openai/deployments/gpt-4o-mini/v1/".into(), "https://h/openai/deployments/gpt-4o-mini/v1/"),
        ] {
            assert_eq!(without_secrets(&address), wanted, "{address}");
        }
    }

    #[test]
    fn keys_are_hidden() {
        for (address, wanted) in [
            ("https://h/v1", "https://h/v1"),
            ("http://me:hush@h:80/v1", "http://h:80/v1"),
            ("http://me:hu@sh@h/v1", "http://h/v1"),
            ("https://h/v1?key=hush", "https://h/v1?key=•••"),
            ("https://h?api_key=hush&x=1#hush", "https://h?api_key=•••&x=•••#•••"),
            ("https://h/v1?hush", "https://h/v1?•••"),
            ("https://h/v1?a=hush;token=hush", "https://h/v1?a=•••&token=•••"),
            ("https//u:hush@h", "h"),
            ("u:hush@h:80?key=hush", "h:80?key=•••"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(address), wanted, "{address}");
        }
    }
}
