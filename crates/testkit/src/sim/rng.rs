//! A small seeded source of numbers (splitmix64): the same seed gives the same schedule, everywhere.

#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        // neighbouring seeds must not give neighbouring schedules
        let mut rng = Self(seed ^ 0x5EED_0F5E_ED0F_5EED);
        rng.number();
        rng
    }
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// 0 .. n
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.number() % n }
    }
    /// lo ..= hi
    pub fn between(&mut self, lo: i64, hi: i64) -> i64 {
        let width = u64::try_from(hi - lo + 1).unwrap_or(1);
        lo + i64::try_from(self.below(width)).unwrap_or(0)
    }
    pub fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.below(1000) < u64::from(per_mille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_stays_in_range() {
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        for _ in 0..100 {
            assert_eq!(a.number(), b.number());
            let x = a.between(-3, 4);
            assert_eq!(x, b.between(-3, 4));
            assert!((-3..=4).contains(&x));
        }
        assert!(!a.chance(0));
        assert!(a.chance(1000));
    }
}
