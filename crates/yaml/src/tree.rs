//! A document as a tree.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use crate::error::{YamlError, quoted};
use crate::position::Position;
use crate::reader::NodeReader;
use crate::scalar::{PlainScalar, is_null, number};

/// Most nodes of a document by default. Aliases count as the nodes that they stand for, and so do
/// keys that `<<` adds or drops, and each [`TEXT_OF_ONE`] of a text: all of it takes memory or time
/// when it is read.
pub(crate) const MOST_NODES: usize = 250_000;
/// Bytes of a text that count as a node.
const TEXT_OF_ONE: usize = 1024;
/// Deepest nesting of collections.
const DEEPEST: usize = 64;
/// The key of a mapping whose value gives it more keys (<https://yaml.org/type/merge.html>).
const MERGE: &str = "<<";

/// A document. Nodes with aliases are stored once.
pub(crate) struct Tree<'t> {
    nodes: Vec<TreeNode<'t>>,
    root: Child,
    count: NodeCount,
}

/// Number of nodes of a document so far, and its limit.
struct NodeCount {
    nodes: usize,
    most: usize,
}

impl NodeCount {
    /// Counts nodes before they are made or read.
    fn add(&mut self, nodes: usize, position: Position) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes <= self.most {
            return Ok(());
        }
        let message = format!(
            "there are more than {} values, aliases and `<<` counted as what they stand for, and each KiB of \
             a text as one",
            self.most
        );
        Err(YamlError::new(position, message))
    }
}

/// A node, and its position, or that of the alias that stands for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Child {
    node: usize,
    pub(crate) position: Position,
}

struct TreeNode<'t> {
    value: NodeValue<'t>,
    /// Number of its nodes, including itself.
    weight: usize,
    /// Depth of nesting, including itself.
    depth: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeValue<'t> {
    Scalar {
        text: Cow<'t, str>,
        /// Neither quoted nor a block, so that it may be more than a text.
        is_plain: bool,
    },
    Sequence(Vec<Child>),
    Mapping(Vec<(Child, Child)>),
}

/// A collection whose end was not reached yet.
struct OpenCollection {
    position: Position,
    anchor: usize,
    /// Children; of a mapping, alternating keys and values.
    children: Vec<Child>,
}

impl<'t> Tree<'t> {
    /// Parses a text that is one document of at most `most` nodes.
    pub(crate) fn of(source: &'t str, most: usize) -> Result<Self, YamlError> {
        let start = Position { line: 1, column: 1 };
        let root = Child {
            node: 0,
            position: start,
        };
        let nodes = Vec::new();
        let mut tree = Tree {
            nodes,
            root,
            count: NodeCount { nodes: 0, most },
        };
        let mut open: Vec<OpenCollection> = Vec::new();
        let mut anchors: HashMap<usize, usize> = HashMap::new();
        let mut is_whole = false;
        for event in Parser::new_from_str(source) {
            let (event, span) = event.map_err(|error| unreadable(&error))?;
            let position = position(&span.start);
            let (anchor, child) = match event {
                Event::DocumentStart(..) if is_whole => {
                    return Err(YamlError::new(
                        position,
                        "a second document begins, and only one is read",
                    ));
                }
                Event::SequenceStart(_, anchor, ref tag)
                | Event::MappingStart(_, anchor, ref tag) => {
                    let kind = match event {
                        Event::SequenceStart(..) => "seq",
                        _ => "map",
                    };
                    check_tag(tag.as_deref(), |core| core == kind, position)?;
                    if open.len() == DEEPEST {
                        return Err(too_deep(position));
                    }
                    open.push(OpenCollection {
                        position,
                        anchor,
                        children: Vec::new(),
                    });
                    continue;
                }
                Event::Scalar(mut text, style, anchor, tag) => {
                    // The parser inserts `~` where nothing is written.
                    if text == "~" && style == ScalarStyle::Plain && span.slice(source) != Some("~")
                    {
                        text = Cow::Borrowed("");
                    }
                    let tag = check_tag(tag.as_deref(), |core| is_tagged(core, &text), position)?;
                    let is_plain = match tag {
                        Some(core) => core != "str",
                        None => style == ScalarStyle::Plain,
                    };
                    (
                        anchor,
                        tree.add(NodeValue::Scalar { text, is_plain }, position)?,
                    )
                }
                Event::Alias(anchor) => {
                    let Some(&node) = anchors.get(&anchor) else {
                        return Err(YamlError::new(
                            position,
                            "this alias stands for something that it is in",
                        ));
                    };
                    tree.count.add(tree.nodes[node].weight, position)?;
                    (0, Child { node, position })
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(collection) = open.pop() else {
                        continue;
                    };
                    let value = match event {
                        Event::SequenceEnd => NodeValue::Sequence(collection.children),
                        _ => NodeValue::Mapping(tree.pairs(&collection.children)?),
                    };
                    (collection.anchor, tree.add(value, collection.position)?)
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

    fn add(&mut self, value: NodeValue<'t>, position: Position) -> Result<Child, YamlError> {
        let size = match &value {
            NodeValue::Scalar { text, .. } => 1 + text.len() / TEXT_OF_ONE,
            _ => 1,
        };
        self.count.add(size, position)?;
        let (mut weight, mut depth) = (size, 0);
        let mut count = |child: &Child| {
            let size = &self.nodes[child.node];
            weight = weight.saturating_add(size.weight);
            depth = depth.max(size.depth);
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
        if depth > DEEPEST {
            return Err(too_deep(position));
        }
        let node = self.nodes.len();
        self.nodes.push(TreeNode {
            value,
            weight,
            depth,
        });
        Ok(Child { node, position })
    }

    /// Keys and values, without duplicate keys.
    fn pairs(&mut self, children: &[Child]) -> Result<Vec<(Child, Child)>, YamlError> {
        let Tree { nodes, count, .. } = self;
        let value_of = |child: Child| &nodes[child.node].value;
        let (mut pairs, mut merged) = (Vec::new(), None);
        let mut known: HashSet<&str> = HashSet::new();
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            match value_of(key) {
                NodeValue::Scalar { text, is_plain } => {
                    if !known.insert(text) {
                        return Err(YamlError::new(
                            key.position,
                            format!("{} is here a second time", quoted(text)),
                        ));
                    }
                    if &**text == MERGE && *is_plain {
                        merged = Some(value);
                    } else {
                        pairs.push((key, value));
                    }
                }
                _ => pairs.push((key, value)),
            }
        }
        let sources = match &merged {
            None => &[],
            Some(value) => match value_of(*value) {
                NodeValue::Sequence(all) => all.as_slice(),
                _ => std::slice::from_ref(value),
            },
        };
        for source in sources {
            let NodeValue::Mapping(more) = value_of(*source) else {
                let message = "what `<<` takes over is keys with values, or a list of these";
                return Err(YamlError::new(source.position, message));
            };
            count.add(more.len(), source.position)?;
            let is_new = |(key, _): &&(Child, Child)| match value_of(*key) {
                NodeValue::Scalar { text, .. } => known.insert(text),
                _ => true,
            };
            pairs.extend(more.iter().filter(is_new));
        }
        Ok(pairs)
    }
}

/// Name of a tag of the core schema that fits its value; `!` makes a text of it, like `!!str`.
fn check_tag(
    tag: Option<&Tag>,
    fits: impl FnOnce(&str) -> bool,
    position: Position,
) -> Result<Option<&str>, YamlError> {
    let Some(tag) = tag else { return Ok(None) };
    let what = match tag.core_suffix() {
        Some(core) if fits(core) => return Ok(Some(core)),
        None if tag.original() == "!" => return Ok(Some("str")),
        Some(_) => "does not fit this value",
        None => "has no meaning here",
    };
    let message = format!("the tag `{}` {what}", tag.original());
    Err(YamlError::new(position, message))
}

/// True if a scalar fits that tag of the core schema.
fn is_tagged(core: &str, text: &str) -> bool {
    match core {
        "str" => true,
        "null" => is_null(text),
        "bool" => matches!(PlainScalar::of(text), PlainScalar::Truth(_)),
        "int" => matches!(
            number(text),
            Some(PlainScalar::Natural(_) | PlainScalar::Negative(_))
        ),
        "float" => number(text).is_some(),
        _ => false,
    }
}

fn position(marker: &Marker) -> Position {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position {
        line: number(marker.line()),
        column: number(marker.col().saturating_add(1)),
    }
}

fn unreadable(error: &ScanError) -> YamlError {
    let position = position(error.marker());
    let message = match error.kind() {
        // The scanner is ahead of the tree, and has a limit of its own.
        ErrorKind::RecursionLimitExceeded => return too_deep(position),
        ErrorKind::UnknownAnchor | ErrorKind::MissingAnchorOrAliasName => {
            "nothing above has the `&name` for which this `*name` stands; a text that begins with `*` or `&` needs quotes"
        }
        ErrorKind::ExpectedNodeContent => {
            "a value is expected here; a text that begins with a sign of YAML needs quotes"
        }
        ErrorKind::ExpectedBlockMappingKey => {
            "another key of the mapping above is expected here; look at quotes and indentation"
        }
        ErrorKind::ExpectedBlockSequenceEntry => {
            "another `-` of the list above is expected here; look at the indentation"
        }
        ErrorKind::ExpectedFlowMappingSeparator => "`,` or `}` is expected here",
        ErrorKind::ExpectedFlowSequenceSeparator => "`,` or `]` is expected here",
        ErrorKind::UnexpectedEof
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::UnexpectedEofBlockMapping => "the text ends within a list or a mapping",
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "`:` and a value are expected behind this key"
        }
        ErrorKind::MappingValueNotAllowed => {
            "`:` is not expected here; a text with a colon and a blank in it needs quotes"
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation => "a tab does not indent in YAML; use blanks",
        _ => {
            // The state of the scanner is of no use to a user.
            let message = error.info();
            let inner = message.strip_prefix("while ");
            let inner = inner.and_then(|inner| inner.split_once(", "));
            return YamlError::new(position, inner.map_or(&*message, |(_, inner)| inner));
        }
    };
    YamlError::new(position, message)
}

fn too_deep(position: Position) -> YamlError {
    YamlError::new(
        position,
        format!("there are more than {DEEPEST} lists and mappings in one another"),
    )
}
