//! SQLite's errors in our words.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use super::files;
use crate::StoreError;

/// An error while writing: whatever the disk refuses may work later, so it is one kind.
pub(super) fn writing(path: &Path, error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied,
        ) => StoreError::Full {
            reason: describe(&error),
        },
        _ => reading(path, error),
    }
}

/// An error while reading. Damage is marked on disk, so that the next open looks at everything.
pub(super) fn reading(path: &Path, error: Error) -> StoreError {
    if is_unreadable_value(&error) {
        files::mark_suspect(path);
        return StoreError::Corrupt {
            reason: describe(&error),
        };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked {
            path: path.to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            files::mark_suspect(path);
            StoreError::Corrupt {
                reason: describe(&error),
            }
        }
        _ => StoreError::Query {
            reason: describe(&error),
        },
    }
}

/// A value that we cannot have written: text that is no UTF-8, a number where a text belongs.
/// SQLite's own checks do not look inside values.
fn is_unreadable_value(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
            | Error::InvalidColumnType(..)
    )
}

/// The message with SQLite's extended code, which tells a failed write from a failed sync.
fn describe(error: &Error) -> String {
    match error.sqlite_error() {
        Some(code) => format!("{error} (SQLite code {})", code.extended_code),
        None => error.to_string(),
    }
}
