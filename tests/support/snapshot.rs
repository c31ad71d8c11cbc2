//! Output for snapshots: ids, paths and addresses, which differ from run to run, get fixed names.

use std::fmt::Write;

use super::Reply;

impl Reply {
    /// Formats the status and the body in one line.
    pub fn line(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        redact(&format!("{} {body}", self.status.as_u16()))
    }

    /// Formats the status and the indented JSON body, with the keys in their original order.
    pub fn page(&self) -> String {
        let body = std::str::from_utf8(&self.body).unwrap();
        redact(&format!("{}\n{}", self.status.as_u16(), indent_json(body)))
    }
}

/// Indents JSON by two spaces and changes nothing else.
pub fn indent_json(json: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut is_text, mut is_escaped) = (0, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if is_text {
            out.push(character);
            is_text = is_escaped || character != '"';
            is_escaped = character == '\\' && !is_escaped;
            continue;
        }
        let line = |depth| format!("\n{}", "  ".repeat(depth));
        match character {
            '{' | '[' => {
                out.push(character);
                if characters
                    .next_if(|next| matches!(next, '}' | ']'))
                    .is_some()
                {
                    out.push(if character == '{' { '}' } else { ']' });
                } else {
                    depth += 1;
                    out += &line(depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                out += &line(depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                out += &line(depth);
            }
            ':' => out += ": ",
            '"' => {
                is_text = true;
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// Replaces the parts that differ from run to run. Ids are numbered in the order of their appearance.
pub fn redact(text: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let found = [
            match_temporary_folder(rest).map(|length| (length, "<tmp>")),
            match_address(rest).map(|length| (length, "http://<server>")),
            match_pid(rest).map(|length| (length, "(pid <n>)")),
            match_shape(rest, &"x".repeat(32)).map(|length| (length, "<trace>")),
        ]
        .into_iter()
        .flatten()
        .next();
        if let Some(length) = match_shape(rest, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
            let id = &rest[..length];
            let place = ids.iter().position(|known| *known == id);
            let place = place.unwrap_or_else(|| {
                ids.push(id);
                ids.len() - 1
            });
            write!(out, "<id {}>", place + 1).unwrap();
            rest = &rest[length..];
        } else if let Some((length, name)) = found {
            out += name;
            rest = &rest[length..];
        } else {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    out
}

/// Returns the length of the shape if the text starts with it. In a shape, `x` is a hexadecimal digit.
fn match_shape(text: &str, shape: &str) -> Option<usize> {
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'x' => byte.is_ascii_hexdigit(),
        other => byte == other,
    };
    (text.len() >= shape.len() && text.bytes().zip(shape.bytes()).all(fits)).then_some(shape.len())
}

fn match_temporary_folder(text: &str) -> Option<usize> {
    let root = std::env::temp_dir().canonicalize().unwrap();
    let folder = format!("{}/.tmp", root.display());
    let name = text.strip_prefix(&folder)?;
    let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    Some(folder.len() + length)
}

fn match_address(text: &str) -> Option<usize> {
    let prefix = "http://127.0.0.1:";
    let port = text.strip_prefix(prefix)?;
    Some(prefix.len() + port.bytes().take_while(u8::is_ascii_digit).count())
}

fn match_pid(text: &str) -> Option<usize> {
    let pid = text.strip_prefix("(pid ")?;
    let digits = pid.bytes().take_while(u8::is_ascii_digit).count();
    pid[digits..]
        .starts_with(')')
        .then_some("(pid ".len() + digits + 1)
}
