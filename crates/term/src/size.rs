//! How large a terminal is.

/// Columns and rows of the terminal the bytes were meant for. Wrapping depends on the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    cols: u16,
    rows: u16,
}

impl Size {
    /// Kept between 1 and 1000 in both directions.
    pub fn new(cols: u16, rows: u16) -> Self {
        Self {
            cols: cols.clamp(1, 1000),
            rows: rows.clamp(1, 1000),
        }
    }

    pub fn cols(self) -> usize {
        self.cols.into()
    }

    pub fn rows(self) -> usize {
        self.rows.into()
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { cols: 80, rows: 24 }
    }
}
