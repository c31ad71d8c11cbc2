//! Repeatable randomness, and settings from the environment.

/// A random number generator (splitmix64). Prints its seed when a test fails.
pub struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// Takes the seed from `CHORUS_TEST_SEED`, or picks one.
    pub fn new() -> Self {
        let seed = std::env::var("CHORUS_TEST_SEED").map_or_else(
            |_| std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0),
            |seed| seed.parse().expect("CHORUS_TEST_SEED must be a number"),
        );
        Self { seed, state: seed }
    }

    /// Returns an independent generator that is the same for the same seed.
    pub fn fork(&mut self) -> Self {
        let state = self.number();
        Self {
            seed: self.seed,
            state,
        }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % limit as u64).unwrap()
    }

    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Returns true with a probability of one in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

impl Drop for Random {
    #[expect(
        clippy::print_stderr,
        reason = "the seed is needed to repeat the failure"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with CHORUS_TEST_SEED={}", self.seed);
        }
    }
}

/// Reads a number from an environment variable.
pub fn env_number(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number"))
    })
}
