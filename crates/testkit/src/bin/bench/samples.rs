//! Measured times in milliseconds.

use std::time::Duration;

/// Times of the same thing, again and again.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1e3);
    }

    pub fn add_ms(&mut self, time: f64) {
        self.0.push(time);
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    pub fn min(&self) -> f64 {
        self.quantile(0.0)
    }

    pub fn p50(&self) -> f64 {
        self.quantile(0.5)
    }

    pub fn p95(&self) -> f64 {
        self.quantile(0.95)
    }

    pub fn p99(&self) -> f64 {
        self.quantile(0.99)
    }

    fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = (last as f64 * part).round() as usize;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// A time as people read it.
pub fn ms(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2} ms")
    } else if value < 100.0 {
        format!("{value:.1} ms")
    } else {
        format!("{value:.0} ms")
    }
}

/// min / p50 / p95.
pub fn spread(samples: &Samples) -> String {
    let bare = |value: f64| ms(value).trim_end_matches(" ms").to_owned();
    format!(
        "{} / {} / {}",
        bare(samples.min()),
        bare(samples.p50()),
        ms(samples.p95())
    )
}
