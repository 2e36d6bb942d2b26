//! The page's files: in the program, so that a page and its daemon are always of one version.
//!
//! Nothing here knows who asks, and nothing of a session is in these files: they are given to
//! whoever may reach the daemon at all. Only what lay in `web/dist` can be asked for.

/// One file of the page, as it was built.
pub struct File {
    /// Below `web/dist`.
    pub path: &'static str,
    /// A hash of its content, quoted.
    pub tag: &'static str,
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// How a file is sent.
pub struct Sent {
    pub file: &'static File,
    pub kind: &'static str,
    /// `bytes` are gzip.
    pub gzip: bool,
    /// Its name changes with its content.
    pub immutable: bool,
}

/// The file for a path of a request; `gzip`: who asks can read that.
pub fn find(path: &str, gzip: bool) -> Option<Sent> {
    let name = match path {
        "/" => "index.html",
        other => other.strip_prefix('/')?,
    };
    let kind = kind(name)?;
    let exactly = |name: &str| FILES.iter().find(|file| file.path == name);
    let plain = exactly(name)?;
    let packed = gzip.then(|| exactly(&format!("{name}.gz"))).flatten();
    Some(Sent {
        file: packed.unwrap_or(plain),
        kind,
        gzip: packed.is_some(),
        immutable: name.starts_with("assets/"),
    })
}

/// Whether `path` is one of the page's, there or not: those are for everyone.
pub fn is_ours(path: &str) -> bool {
    path == "/" || path == "/favicon.ico" || path.starts_with("/assets/")
}

/// None: not for a browser (a packed file is given in the place of what it holds).
fn kind(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    Some(match end {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "ico" => "image/x-icon",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" | "webmanifest" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_there_and_only_what_was_built() {
        let index = find("/", false).unwrap();
        assert!(index.file.bytes.starts_with(b"<!doctype html>"));
        assert_eq!(index.kind, "text/html; charset=utf-8");
        assert!(!index.immutable && !index.gzip);
        for path in [
            "",
            "//",
            "/assets/",
            "/assets/../index.html",
            "/../Cargo.toml",
            "/etc/passwd",
            "/index.html.gz",
            "/assets/none.js",
        ] {
            assert!(find(path, true).is_none(), "{path}");
        }
    }

    #[test]
    fn what_is_packed_is_the_same_file_packed() {
        for file in FILES {
            let Some(plain) = file.path.strip_suffix(".gz") else {
                continue;
            };
            let sent = find(&format!("/{plain}"), true);
            assert!(sent.is_some_and(|sent| sent.gzip), "{plain}");
            assert!(file.bytes.starts_with(&[0x1f, 0x8b]), "{plain}");
        }
    }

    #[test]
    fn no_script_stands_in_the_page_itself() {
        for file in FILES.iter().filter(|file| file.path.ends_with(".html")) {
            let text = String::from_utf8_lossy(file.bytes).to_lowercase();
            for part in text.split("<script").skip(1) {
                let head = part.split('>').next().unwrap_or_default();
                assert!(head.contains("src="), "{}: {head}", file.path);
            }
            for part in ["style=\"", "<style", " onclick", " onload", "javascript:"] {
                assert!(!text.contains(part), "{}: {part}", file.path);
            }
        }
    }
}
