//! Links to files and headings.

use std::path::Path;

use super::page::Page;

/// Describes the links of a page that lead nowhere.
pub fn problems(root: &Path, page: &Page) -> Vec<String> {
    let prose = page.prose();
    let targets = prose.split("](").skip(1);
    let targets = targets
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target);
    targets
        .filter(|target| !target.contains("://"))
        .filter_map(|target| problem(root, page, target))
        .collect()
}

fn problem(root: &Path, page: &Page, target: &str) -> Option<String> {
    let (file, heading) = target
        .split_once('#')
        .map_or((target, None), |(file, heading)| (file, Some(heading)));
    let folder = Path::new(&page.path).parent().unwrap();
    let path = if file.is_empty() {
        page.path.clone()
    } else {
        folder.join(file).to_str().unwrap().to_owned()
    };
    if !root.join(&path).exists() {
        return Some(format!("link to {target}: there is no file {path}"));
    }
    let heading = heading?;
    let anchors = anchors(&Page::read(root, &path));
    (!anchors.iter().any(|anchor| anchor == heading)).then(|| {
        format!(
            "link to {target}: {path} has no such heading; it has {}",
            anchors.join(", ")
        )
    })
}

/// Returns the anchors that GitHub gives to the headings of a page.
fn anchors(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |character: &char| character.is_alphanumeric() || " -_".contains(*character);
            heading
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}
