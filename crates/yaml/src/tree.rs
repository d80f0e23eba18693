//! A document as a tree.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use crate::error::YamlError;
use crate::place::Place;
use crate::reader::NodeReader;

/// Most nodes of a document. Those for which an alias stands count again.
const MOST_NODES: usize = 250_000;
/// Most collections in one another.
const DEEPEST: usize = 64;
/// The key of a mapping whose value gives it more keys (<https://yaml.org/type/merge.html>).
const MERGE: &str = "<<";

/// A document. Nodes for which aliases stand are there once.
pub(crate) struct Tree<'t> {
    nodes: Vec<TreeNode<'t>>,
    root: Child,
}

/// A node, and the place where it is used: that of an alias, where one stands for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Child {
    node: usize,
    pub(crate) place: Place,
}

struct TreeNode<'t> {
    value: NodeValue<'t>,
    /// Nodes that it consists of, itself included.
    weight: usize,
    /// Collections in one another, itself included.
    depth: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeValue<'t> {
    Scalar {
        text: Cow<'t, str>,
        /// Neither in quotes nor a block, so that it may be more than a text.
        is_plain: bool,
    },
    Sequence(Vec<Child>),
    Mapping(Vec<(Child, Child)>),
}

/// A collection whose end has not been reached.
struct OpenCollection {
    place: Place,
    anchor: usize,
    /// Of a mapping keys and values in turn.
    children: Vec<Child>,
}

impl<'t> Tree<'t> {
    /// Of a text that is one document.
    pub(crate) fn of(text: &'t str) -> Result<Self, YamlError> {
        let start = Place { line: 1, column: 1 };
        let root = Child {
            node: 0,
            place: start,
        };
        let nodes = Vec::new();
        let mut tree = Tree { nodes, root };
        let mut open: Vec<OpenCollection> = Vec::new();
        let mut anchors: HashMap<usize, usize> = HashMap::new();
        let mut is_whole = false;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| unreadable(&error))?;
            let place = place(&span.start);
            let (anchor, child) = match event {
                Event::DocumentStart(..) if is_whole => {
                    return Err(YamlError::new(
                        place,
                        "a second document begins, and only one is read",
                    ));
                }
                Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => {
                    check_tag(tag.as_deref(), place)?;
                    if open.len() == DEEPEST {
                        return Err(too_deep(place));
                    }
                    open.push(OpenCollection {
                        place,
                        anchor,
                        children: Vec::new(),
                    });
                    continue;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let is_text = check_tag(tag.as_deref(), place)?;
                    let is_plain = style == ScalarStyle::Plain && !is_text;
                    (
                        anchor,
                        tree.add(NodeValue::Scalar { text, is_plain }, place)?,
                    )
                }
                Event::Alias(anchor) => {
                    let Some(&node) = anchors.get(&anchor) else {
                        return Err(YamlError::new(
                            place,
                            "this alias stands for something that it is in",
                        ));
                    };
                    (0, Child { node, place })
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(own) = open.pop() else { continue };
                    let value = match event {
                        Event::SequenceEnd => NodeValue::Sequence(own.children),
                        _ => NodeValue::Mapping(tree.pairs(&own.children)?),
                    };
                    (own.anchor, tree.add(value, own.place)?)
                }
                _ => continue,
            };
            if anchor != 0 {
                anchors.insert(anchor, child.node);
            }
            match open.last_mut() {
                Some(outer) => outer.children.push(child),
                None => (tree.root, is_whole) = (child, true),
            }
        }
        if is_whole {
            Ok(tree)
        } else {
            Err(YamlError::new(start, "there is nothing to be read"))
        }
    }

    pub(crate) fn root(&self) -> NodeReader<'_> {
        NodeReader::new(self, self.root)
    }

    pub(crate) fn value(&self, child: Child) -> &NodeValue<'t> {
        &self.nodes[child.node].value
    }

    fn add(&mut self, value: NodeValue<'t>, place: Place) -> Result<Child, YamlError> {
        let (mut weight, mut depth) = (1_usize, 0);
        let mut count = |child: &Child| {
            let own = &self.nodes[child.node];
            weight = weight.saturating_add(own.weight);
            depth = depth.max(own.depth);
        };
        let is_collection = match &value {
            NodeValue::Scalar { .. } => false,
            NodeValue::Sequence(items) => {
                items.iter().for_each(&mut count);
                true
            }
            NodeValue::Mapping(pairs) => {
                pairs
                    .iter()
                    .for_each(|(key, value)| [key, value].into_iter().for_each(&mut count));
                true
            }
        };
        let depth = depth + usize::from(is_collection);
        if weight > MOST_NODES || self.nodes.len() == MOST_NODES {
            let message = format!(
                "there are more than {MOST_NODES} values, aliases counted as what they stand for"
            );
            return Err(YamlError::new(place, message));
        }
        if depth > DEEPEST {
            return Err(too_deep(place));
        }
        let node = self.nodes.len();
        self.nodes.push(TreeNode {
            value,
            weight,
            depth,
        });
        Ok(Child { node, place })
    }

    /// Keys and values, each key once.
    fn pairs(&self, children: &[Child]) -> Result<Vec<(Child, Child)>, YamlError> {
        let (mut pairs, mut merged) = (Vec::new(), Vec::new());
        let mut known: HashSet<&str> = HashSet::new();
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            match self.value(key) {
                NodeValue::Scalar { text, is_plain } => {
                    if !known.insert(text) {
                        return Err(YamlError::new(
                            key.place,
                            format!("`{text}` is here a second time"),
                        ));
                    }
                    if &**text == MERGE && *is_plain {
                        merged.push(value);
                    } else {
                        pairs.push((key, value));
                    }
                }
                _ => pairs.push((key, value)),
            }
        }
        for value in merged {
            let single = [value];
            let sources = match self.value(value) {
                NodeValue::Sequence(all) => all.as_slice(),
                _ => &single,
            };
            for source in sources {
                let NodeValue::Mapping(more) = self.value(*source) else {
                    let message = "what `<<` takes over is keys with values, or a list of these";
                    return Err(YamlError::new(source.place, message));
                };
                let is_new = |(key, _): &&(Child, Child)| match self.value(*key) {
                    NodeValue::Scalar { text, .. } => known.insert(text),
                    _ => true,
                };
                pairs.extend(more.iter().filter(is_new));
            }
        }
        Ok(pairs)
    }
}

/// Whether a tag makes a scalar a text. Other tags of the core schema say what the value says itself.
fn check_tag(tag: Option<&Tag>, place: Place) -> Result<bool, YamlError> {
    let Some(tag) = tag else { return Ok(false) };
    match tag.core_suffix() {
        Some(suffix) => Ok(suffix == "str"),
        None if tag.original() == "!" => Ok(true),
        None => Err(YamlError::new(
            place,
            format!("the tag `{}` has no meaning here", tag.original()),
        )),
    }
}

fn place(marker: &Marker) -> Place {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place {
        line: number(marker.line()),
        column: number(marker.col().saturating_add(1)),
    }
}

fn unreadable(error: &ScanError) -> YamlError {
    YamlError::new(place(error.marker()), error.info())
}

fn too_deep(place: Place) -> YamlError {
    YamlError::new(
        place,
        format!("there are more than {DEEPEST} lists and mappings in one another"),
    )
}
