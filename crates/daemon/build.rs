//! Lists the files of the page (`web/dist`) for `src/page.rs`, which has them in the program.
//! Does nothing else: the page is built by `web/` and committed.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let page = here.join("../../web/dist").canonicalize()?;
    println!("cargo::rerun-if-changed={}", page.display());
    let mut files = Vec::new();
    walk(&page, &mut files)?;
    files.sort();
    let mut list = String::from("pub static FILES: &[File] = &[\n");
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&page).unwrap_or(file);
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(file)?);
        let _ = writeln!(
            list,
            "    File {{ path: {:?}, tag: \"\\\"{:016x}\\\"\", bytes: include_bytes!({:?}) }},",
            name.to_string_lossy(),
            hasher.finish(),
            file.to_string_lossy(),
        );
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page_files.rs"), list)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
