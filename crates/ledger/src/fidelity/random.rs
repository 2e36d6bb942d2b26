//! The random numbers of the reference scorer: MT19937, seeded and used as Python's `random` does it.
//!
//! Only so that everybody gets the same figures from the same transcripts; never for anything that must be hard to guess.

const SIZE: usize = 624;

pub(super) struct Random {
    state: [u32; SIZE],
    next: usize,
}

impl Random {
    /// `random.Random(seed)`.
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [0; SIZE];
        state[0] = 19_650_218_u32;
        for i in 1..SIZE {
            state[i] = mixed(state[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 1;
        for _ in 0..SIZE {
            state[i] = (state[i] ^ mixed(state[i - 1], 1_664_525)).wrapping_add(seed);
            i = Self::after(i, &mut state);
        }
        for _ in 1..SIZE {
            state[i] = (state[i] ^ mixed(state[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
            i = Self::after(i, &mut state);
        }
        state[0] = 0x8000_0000;
        Self { state, next: SIZE }
    }

    fn after(i: usize, state: &mut [u32; SIZE]) -> usize {
        if i + 1 < SIZE {
            return i + 1;
        }
        state[0] = state[SIZE - 1];
        1
    }

    fn number(&mut self) -> u32 {
        if self.next == SIZE {
            for i in 0..SIZE {
                let pair = self.state[i] & 0x8000_0000 | self.state[(i + 1) % SIZE] & 0x7fff_ffff;
                let twist = if pair & 1 == 0 { 0 } else { 0x9908_b0df };
                self.state[i] = self.state[(i + 397) % SIZE] ^ pair >> 1 ^ twist;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }

    /// `random()`: at least 0, below 1.
    fn fraction(&mut self) -> f64 {
        let (high, low) = (self.number() >> 5, self.number() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// One place of a list of that length, as `choices` takes it.
    pub(super) fn place(&mut self, length: usize) -> usize {
        (self.fraction() * length as f64) as usize
    }

    /// `shuffle(list)`.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            let bits = usize::BITS - (i + 1).leading_zeros();
            let other = loop {
                let number = (self.number() >> (32 - bits.clamp(1, 32))) as usize;
                if number <= i {
                    break number;
                }
            };
            list.swap(i, other);
        }
    }
}

fn mixed(before: u32, factor: u32) -> u32 {
    (before ^ before >> 30).wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_python() {
        // [random.Random(7).getrandbits(32) …]
        let mut random = Random::new(7);
        let numbers: Vec<u32> = (0..3).map(|_| random.number()).collect();
        assert_eq!(numbers, [1390851128, 4071050724, 647892279]);
        // g = random.Random(3); l = list(range(10)); g.shuffle(l)
        let mut list: Vec<u32> = (0..10).collect();
        Random::new(3).shuffle(&mut list);
        assert_eq!(list, [1, 5, 6, 0, 9, 4, 7, 2, 8, 3]);
        // random.Random(7).choices(range(100), k=8)
        let mut random = Random::new(7);
        let places: Vec<usize> = (0..8).map(|_| random.place(100)).collect();
        assert_eq!(places, [32, 15, 65, 7, 53, 36, 5, 50]);
        // the state is used up and made anew
        let mut random = Random::new(1);
        assert_eq!((0..2000).map(|_| random.number()).last(), Some(1058062369));
    }
}
