//! Import cycles: the strongly connected components of the files of a folder (Tarjan's algorithm).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::tree::{Import, Tree};

/// The imports of each file, by the file that they lead to.
type Graph<'a> = BTreeMap<usize, BTreeMap<usize, Import<'a>>>;

/// Describes the cycles of a folder, one paragraph each. A folder without files is reported as well.
pub fn describe_cycles(tree: &Tree, folder: &str) -> Vec<String> {
    let prefix = format!("{folder}/");
    if !tree.files.iter().any(|file| file.name.starts_with(&prefix)) {
        return vec![format!("src/{folder} has no Rust files to check")];
    }
    let graph = make_graph(tree.imports_within(&prefix));
    let show = |file: usize| tree.files[file].name.trim_start_matches(&prefix);
    find_components(&graph)
        .iter()
        .map(|component| {
            let names: Vec<_> = component.iter().map(|file| show(*file)).collect();
            let mut lines = vec![format!(
                "src/{folder}: a cycle of {} files: {}",
                names.len(),
                names.join(", ")
            )];
            for cycle in shortest_cycles(&graph, component) {
                let ends = cycle.iter().zip(cycle.iter().cycle().skip(1));
                let steps = ends.map(|(from, to)| {
                    let import = &graph[from][to];
                    let items: Vec<_> = import.items.iter().copied().collect();
                    format!("{}:{} ({}) → ", show(*from), import.line, items.join(", "))
                });
                lines.push(format!(
                    "    {}{}",
                    steps.collect::<String>(),
                    show(cycle[0])
                ));
            }
            lines.join("\n")
        })
        .collect()
}

fn make_graph(imports: Vec<Import>) -> Graph {
    let mut graph = Graph::new();
    for import in imports {
        graph.entry(import.to).or_default();
        let targets = graph.entry(import.from).or_default();
        targets.insert(import.to, import);
    }
    graph
}

/// Returns the components of more than one file.
fn find_components(graph: &Graph) -> Vec<BTreeSet<usize>> {
    let mut search = Search {
        graph,
        order: BTreeMap::new(),
        low: BTreeMap::new(),
        stack: Vec::new(),
        found: Vec::new(),
    };
    for file in graph.keys() {
        if !search.order.contains_key(file) {
            search.visit(*file);
        }
    }
    search.found.retain(|component| component.len() > 1);
    search.found.sort();
    search.found
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    order: BTreeMap<usize, usize>,
    low: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    found: Vec<BTreeSet<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, file: usize) {
        let number = self.order.len();
        self.order.insert(file, number);
        self.low.insert(file, number);
        self.stack.push(file);
        for next in self.graph[&file].keys() {
            let reached = if !self.order.contains_key(next) {
                self.visit(*next);
                self.low[next]
            } else if self.stack.contains(next) {
                self.order[next]
            } else {
                continue;
            };
            let low = self.low[&file].min(reached);
            self.low.insert(file, low);
        }
        if self.low[&file] == number {
            let start = self.stack.iter().position(|other| *other == file).unwrap();
            self.found.push(self.stack.drain(start..).collect());
        }
    }
}

/// Returns a shortest cycle through each file of a component, each cycle once, beginning with its first file.
fn shortest_cycles(graph: &Graph, component: &BTreeSet<usize>) -> BTreeSet<Vec<usize>> {
    let through = component
        .iter()
        .filter_map(|file| shortest_cycle(graph, component, *file));
    through
        .map(|mut cycle| {
            let first = (0..cycle.len())
                .min_by_key(|place| cycle[*place])
                .unwrap_or(0);
            cycle.rotate_left(first);
            cycle
        })
        .collect()
}

fn shortest_cycle(graph: &Graph, component: &BTreeSet<usize>, start: usize) -> Option<Vec<usize>> {
    let mut came_from = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for next in graph[&file].keys().filter(|next| component.contains(next)) {
            if *next == start {
                let back = std::iter::successors(Some(file), |file| came_from.get(file).copied());
                let mut cycle: Vec<_> = back.collect();
                cycle.reverse();
                return Some(cycle);
            }
            if !came_from.contains_key(next) {
                came_from.insert(*next, file);
                queue.push_back(*next);
            }
        }
    }
    None
}
