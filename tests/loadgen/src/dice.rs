//! Cheap random numbers: one multiplication each. Good enough for shares, jitter, masks and names.

#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// SplitMix64.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to just below 1.
    pub fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True for this share of the throws.
    pub fn falls(&mut self, share: f64) -> bool {
        share > 0.0 && self.share() < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dice_falls_with_the_given_probability() {
        let mut dice = Dice::new(7);
        let fell = (0..100_000).filter(|_| dice.falls(0.1)).count();
        assert!((9_500..10_500).contains(&fell), "{fell}");
        assert!(!dice.falls(0.0));
        assert!((0..1000).all(|_| dice.falls(1.0)));
    }
}
