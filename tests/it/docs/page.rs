//! A page: its text and its fenced blocks.

use std::path::Path;

pub struct Page {
    pub path: String,
    pub text: String,
    pub blocks: Vec<Block>,
}

/// A fenced block.
pub struct Block {
    /// The words behind the opening fence.
    pub language: String,
    /// The number of the first line between the fences, from 0.
    pub first_line: usize,
    pub text: String,
}

impl Block {
    fn is_example(&self) -> bool {
        self.language == "sh"
    }

    fn end_line(&self) -> usize {
        self.first_line + self.text.lines().count()
    }
}

impl Page {
    pub fn read(root: &Path, path: &str) -> Self {
        let text = std::fs::read_to_string(root.join(path)).unwrap();
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    open = Some(Block {
                        language: language.to_owned(),
                        first_line: number + 1,
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{path}: a fenced block is not closed");
        Self {
            path: path.to_owned(),
            text,
            blocks,
        }
    }

    /// Returns each block that runs, with the block that shows its output: the `text` block directly below it.
    pub fn examples(&self) -> impl Iterator<Item = (&Block, Option<&Block>)> {
        let followers = self.blocks.iter().skip(1).map(Some).chain([None]);
        let pairs = self.blocks.iter().zip(followers);
        pairs
            .filter(|(block, _)| block.is_example())
            .map(|(block, next)| {
                let is_below = |next: &&Block| {
                    let between = block.end_line() + 1..next.first_line - 1;
                    let mut lines = self.text.lines().skip(between.start).take(between.len());
                    next.language == "text" && lines.all(|line| line.trim().is_empty())
                };
                (block, next.filter(is_below))
            })
    }

    /// Returns the text with every line of a fenced block left empty.
    pub fn prose(&self) -> String {
        let is_code = |number: usize| {
            let lines = |block: &Block| block.first_line - 1..=block.end_line();
            self.blocks
                .iter()
                .any(|block| lines(block).contains(&number))
        };
        let lines = self.text.lines().enumerate();
        let prose = lines.map(|(number, line)| if is_code(number) { "" } else { line });
        prose.collect::<Vec<_>>().join("\n")
    }
}
