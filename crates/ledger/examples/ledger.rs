//! The document of a transcript: `ledger FILE [LAST LINE] [BUDGET]`.

use sm_ledger::{Dialect, Frame, Ledger, Reader, detect, document};
use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_default();
    let number = |arg: Option<String>| arg.and_then(|arg| arg.parse::<u64>().ok());
    let until = number(args.next()).unwrap_or(u64::MAX);
    let budget = number(args.next()).unwrap_or(9_500) as usize;
    let mut input = std::fs::File::open(&file)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut ledger = Ledger::default();
    let mut reader: Option<Reader> = None;
    loop {
        let count = input.read(&mut buffer)?;
        // a last line that lacks its end is taken as it is
        let bytes = if count == 0 {
            &b"\n"[..]
        } else {
            &buffer[..count]
        };
        let reader =
            reader.get_or_insert_with(|| Reader::new(detect(bytes).unwrap_or(Dialect::Claude)));
        reader.feed(bytes, &mut |at, record| {
            if at.line <= until {
                ledger.add(at, &record);
            }
        });
        if count == 0 {
            break;
        }
    }
    if budget == 0 {
        return Ok(());
    }
    let frame = Frame {
        rest: Some(file),
        ..Frame::default()
    };
    print!("{}", document(&ledger, &frame, budget));
    Ok(())
}
