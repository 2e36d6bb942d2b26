//! Whether objective, state and next action are in a document: under a heading, or in words that
//! cannot be mistaken.
//!
//! Tolerant of form and language. A document whose headings it does not understand is not judged.

use super::{Findings, Level};

/// What a successor cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Objective,
    State,
    Next,
}

struct Words {
    part: Part,
    name: &'static str,
    /// In headings, lower case, with `|` between.
    heads: &'static str,
    /// In running text, lower case.
    wording: &'static str,
    todo: &'static str,
    cost: u32,
}

const PARTS: [Words; 3] = [
    Words {
        part: Part::Objective,
        name: "an objective",
        heads: "\
goal|objective|task|aim|purpose|mission|overview|background|context|request|assignment|\
what we|what this|problem|brief|summary|about|project|why|intent|scope|ziel|aufgabe|auftrag|\
zweck|worum|objectif|tâche|but|contexte|objetivo|tarea|contexto|tarefa|obiettivo|compito|\
doel|taak|opdracht|cel|zadanie|mål|uppgift|amaç|hedef|görev|цель|задача|目标|任务|目標|任務|目的|タスク|\
背景|목표|작업|과제",
        wording: "\
the goal|goal:|goal is|the task|task:|the objective|the aim|objective:|we are building|\
we are working|i am working on|i was working on|working on|you are |asked to|asked for|\
asked me|wants |want to|the user|the job is|in order to|the point of|we need to|has to be|\
is to |the ask|the issue|ticket|implement |migrate |das ziel|die aufgabe|soll |sollen |\
l'objectif|le but|il faut|el objetivo|hay que|o objetivo|l'obiettivo|het doel",
        todo: "say what the work is for, in the words it was asked in",
        cost: 20,
    },
    Words {
        part: Part::State,
        name: "the state of the work",
        heads: "\
state|status|progress|done|finished|complete|so far|stand|current|accomplish|what works|\
what was|what happened|what has|what i did|implemented|result|achieved|changes|changed|\
where we|where things|in flight|under way|work log|fortschritt|erledigt|zustand|ergebnis|\
fertig|état|avancement|fait|statut|estado|progreso|hecho|avance|progresso|feito|andamento|\
stato|avanzamento|fatto|voortgang|klaar|stan|postęp|läge|klart|durum|yapılan|состояние|\
статус|сделано|прогресс|готово|状态|状態|进度|進捗|現状|现状|完成|完了|상태|진행|완료",
        wording: "\
done|finished|implemented|fixed|works|working:|in progress|passes|passing|i have |i've |\
we have |[x]|currently|so far|already|complete|added |changed |wrote |merged|committed|\
not started|begun|failing|fails|state:|status:|half |blocked|fertig|erledigt|bereits|\
derzeit|terminé|déjà|fait|hecho|terminado|listo|ya |feito|pronto|fatto|klaar",
        todo: "say what is done and how that is known, what is half done, what is not begun",
        cost: 20,
    },
    Words {
        part: Part::Next,
        name: "a next action",
        heads: "\
next|todo|to do|to-do|remaining|left|follow-up|follow up|plan|pending|outstanding|action|\
continue|upcoming|open |first thing|what to do|how to go on|resume|steps|nächste|weiter|\
offen|prochain|suite|reste|à faire|próxim|proxim|siguiente|pendiente|falta|pendente|\
seguinte|a fazer|prossim|da fare|rimane|volgende|vervolg|nast|dalej|nästa|kvar|sonraki|\
kalan|дальше|следующ|осталось|下一步|待办|接下来|后续|次の|次に|残り|今後|다음|남은|할 일",
        wording: "\
next|then |continue|go on|remaining|remains|still to|still need|need to|needs to|must |[ ]|\
todo|to do:|step |start by|start with|begin with|pick up|resume|finish |first,|first:|\
left to|run |should |als nächstes|weiter mit|noch |ensuite|il reste|prochaine|reprendre|\
después|siguiente|sigue|falta|próximo|depois|poi |prossimo|daarna|volgende",
        todo: "say what to do first, so exactly that it can be done at once",
        cost: 25,
    },
];

/// One line with its place in the document.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// 1-based.
    pub number: usize,
    pub text: &'a str,
    /// The part its heading belongs to, as far as that is known.
    pub part: Option<Part>,
    pub code: bool,
}

#[derive(Debug)]
struct Heading {
    number: usize,
    parts: Vec<Part>,
    /// There is something under it, or behind it.
    filled: bool,
    title: bool,
}

/// A document by its headings.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    pub lines: Vec<Line<'a>>,
    headings: Vec<Heading>,
}

impl<'a> Outline<'a> {
    pub(super) fn of(document: &'a str) -> Self {
        let mut outline = Self {
            lines: Vec::new(),
            headings: Vec::new(),
        };
        let all: Vec<&str> = document.lines().collect();
        let mut code = false;
        let mut part = None;
        let mut part_depth = 0;
        for (at, raw) in all.iter().enumerate() {
            let text = raw.trim();
            let number = at + 1;
            if text.starts_with("```") || text.starts_with("~~~") {
                code = !code;
                outline.lines.push(Line {
                    number,
                    text: raw,
                    part,
                    code: true,
                });
                continue;
            }
            let underline = all.get(at + 1).map_or("", |next| next.trim());
            let head = if code { None } else { heading(text, underline) };
            if let Some(head) = head {
                let depth = head.depth;
                let parts = parts_of(head.name);
                // a heading below one that is known belongs to it
                if !(depth > part_depth && part.is_some() && parts.is_empty()) {
                    part = parts.first().copied();
                    part_depth = depth;
                }
                if let Some(last) = outline.headings.last_mut()
                    && !last.filled
                    && depth > 0
                    && last.number < number
                    && outline.depth_of(&all) < depth
                {
                    // its own headings are what is under it
                    if let Some(last) = outline.headings.last_mut() {
                        last.filled = true;
                    }
                }
                outline.headings.push(Heading {
                    number,
                    parts,
                    filled: !head.rest.trim().is_empty(),
                    title: head.depth == 1 && outline.headings.is_empty(),
                });
            } else if !text.is_empty()
                && !text.chars().all(|c| matches!(c, '-' | '=' | '*' | '_'))
                && let Some(last) = outline.headings.last_mut()
            {
                last.filled = true;
            }
            outline.lines.push(Line {
                number,
                text: raw,
                part,
                code,
            });
        }
        outline
    }

    /// How deep the last heading is.
    fn depth_of(&self, all: &[&str]) -> usize {
        let Some(last) = self.headings.last() else {
            return 0;
        };
        let text = all.get(last.number - 1).map_or("", |line| line.trim());
        let under = all.get(last.number).map_or("", |line| line.trim());
        heading(text, under).map_or(0, |head| head.depth)
    }
}

struct Head<'a> {
    name: &'a str,
    /// What stands behind it in the same line.
    rest: &'a str,
    depth: usize,
}

/// `## Name`, `**Name**`, `Name:`, `1. Name:`, a line that is underlined.
fn heading<'a>(text: &'a str, under: &str) -> Option<Head<'a>> {
    let hashes = text.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&hashes) {
        let name = text.get(hashes..)?.trim().trim_end_matches('#').trim();
        return (!name.is_empty()).then_some(Head {
            name,
            rest: "",
            depth: hashes,
        });
    }
    if under.len() >= 3
        && !text.is_empty()
        && (under.bytes().all(|b| b == b'=') || under.bytes().all(|b| b == b'-'))
    {
        return Some(Head {
            name: text,
            rest: "",
            depth: 2,
        });
    }
    let plain = text
        .trim_start_matches(['-', '*', ' ', '•'])
        .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')'))
        .trim_start();
    let plain = plain.trim_start_matches("**").trim_start_matches("__");
    let (name, rest) = match plain.split_once([':', '：']) {
        Some(split) => split,
        None if text.starts_with("**") && text.ends_with("**") => (plain, ""),
        None => return None,
    };
    let name = name.trim_matches(['*', '_', ' ']);
    let rest = rest.trim_start_matches(['*', '_', ' ']);
    // a label is short, and is no address or path
    let words = name.split_whitespace().count();
    let label = !name.is_empty()
        && words <= 5
        && !name.contains(['/', '`', '(', '.'])
        && !rest.starts_with("//");
    label.then_some(Head {
        name,
        rest,
        depth: 7,
    })
}

fn parts_of(name: &str) -> Vec<Part> {
    let name = name.to_lowercase();
    PARTS
        .iter()
        .filter(|words| words.heads.split('|').any(|head| begins_in(&name, head)))
        .map(|words| words.part)
        .collect()
}

/// Whether a word of the text begins like this. Scripts without blanks between words: anywhere.
fn begins_in(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !word.is_ascii()
            && !word
                .chars()
                .all(|c| c.is_alphabetic() && (c as u32) < 0x2000)
            || text.get(..at).is_some_and(|before| {
                before
                    .chars()
                    .next_back()
                    .is_none_or(|c| !c.is_alphanumeric())
            })
    })
}

pub(super) fn check(outline: &Outline<'_>, found: &mut Findings) {
    let headings: Vec<&Heading> = outline.headings.iter().filter(|h| !h.title).collect();
    let prose: String = outline
        .lines
        .iter()
        .filter(|line| !line.code)
        .map(|line| format!("{}\n", line.text.to_lowercase()))
        .collect();
    let understood = |words: &Words| {
        outline
            .headings
            .iter()
            .any(|h| h.parts.contains(&words.part))
            || words
                .wording
                .split('|')
                .any(|wording| begins_in(&prose, wording))
    };
    let none = PARTS.iter().all(|words| !understood(words));
    let foreign = prose
        .chars()
        .filter(|c| c.is_alphabetic() && !c.is_ascii())
        .count()
        * 5
        > prose.chars().filter(|c| c.is_alphabetic()).count();
    if none && (foreign || headings.len() >= 3) {
        return; // another language, or another way of saying it
    }
    for words in &PARTS {
        let heads: Vec<&Heading> = outline
            .headings
            .iter()
            .filter(|h| h.parts.contains(&words.part))
            .collect();
        if heads.iter().any(|head| head.filled) {
            continue;
        }
        if let Some(head) = heads.iter().find(|head| !head.title) {
            found.add(
                Some(head.number),
                Level::Error,
                words.cost,
                format!("nothing stands under the heading for {}", words.name),
                words.todo,
            );
        } else if !words
            .wording
            .split('|')
            .any(|wording| begins_in(&prose, wording))
        {
            found.add(
                None,
                Level::Error,
                words.cost,
                format!("the document does not give {}", words.name),
                words.todo,
            );
        }
    }
}
