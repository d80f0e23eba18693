//! From words to a tree.
//!
//! ```text
//! whole      = or ("if" or ("else" whole)?)?
//! or         = and ("or" and)*
//! and        = not ("and" not)*
//! not        = "not" not | comparison
//! comparison = sum (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in") sum)?
//! sum        = joined (("+" | "-") joined)*
//! joined     = product ("~" product)*
//! product    = power (("*" | "/" | "//" | "%") power)*
//! power      = unary ("**" unary)*
//! unary      = operand ("|" call | "is" "not"? call)*
//! operand    = "-" operand | primary member*
//! ```

use crate::TemplateError;
use crate::lexer::{self, Delimiters, TemplateToken};
use crate::operators::TemplateOperator;
use crate::tree::{Argument, Call, ExpressionTree, TemplateNode};

/// Deepest nesting of statements and of parentheses: each level takes space on the stack.
const DEEPEST: usize = 60;
/// Most operators, members, filters and tests between two delimiters: each may add a level to the
/// tree.
const MOST_OPERATORS: usize = 200;

pub(crate) struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<TemplateToken>>,
    depth: usize,
    /// Number since the last delimiter.
    operators: usize,
    /// The body of a loop, as far as it is parsed, uses the name `loop`.
    names_loop: bool,
}

type Parsed<T> = Result<T, TemplateError>;

impl Parser {
    pub(crate) fn from_text(text: &str) -> Parsed<Parser> {
        Ok(Parser::new(lexer::text_tokens(text)?))
    }

    pub(crate) fn from_expression(text: &str) -> Parsed<Parser> {
        Ok(Parser::new(lexer::expression_tokens(text)?))
    }

    fn new(tokens: Vec<TemplateToken>) -> Parser {
        Parser {
            tokens: tokens.into_iter().peekable(),
            depth: 0,
            operators: 0,
            names_loop: false,
        }
    }

    pub(crate) fn template(mut self) -> Parsed<Vec<TemplateNode>> {
        match self.body(&[])? {
            (nodes, None) => Ok(nodes),
            (_, Some(end)) => Err(syntax(format!("`{end}` ends nothing"))),
        }
    }

    /// Parses an expression, and nothing after it.
    pub(crate) fn whole(mut self) -> Parsed<ExpressionTree> {
        let tree = self.expression()?;
        match self.tokens.next() {
            None => Ok(tree),
            Some(token) => Err(syntax(format!("{} is not expected", shown(&token)))),
        }
    }

    /// Parses nodes until one of these statements, whose word is consumed, or until the end.
    fn body(&mut self, ends: &[&'static str]) -> Parsed<(Vec<TemplateNode>, Option<&'static str>)> {
        let mut nodes = Vec::new();
        while let Some(token) = self.tokens.next() {
            self.operators = 0;
            match token {
                TemplateToken::Outside(text) => nodes.push(TemplateNode::Text(text)),
                TemplateToken::Begin(Delimiters::Value) => {
                    nodes.push(TemplateNode::Value(self.expression()?));
                    self.ends(Delimiters::Value)?;
                }
                TemplateToken::Begin(Delimiters::Statement) => {
                    let word = self.word("a statement")?;
                    if let Some(end) = ends.iter().find(|end| **end == word) {
                        return Ok((nodes, Some(end)));
                    }
                    nodes.push(self.nested(|parser| parser.statement(&word))?);
                }
                token => return Err(syntax(format!("{} is not expected", shown(&token)))),
            }
        }
        match ends.last() {
            None => Ok((nodes, None)),
            Some(end) => Err(syntax(format!("`{{% {end} %}}` is missing"))),
        }
    }

    /// The same until exactly this statement.
    fn body_until(&mut self, end: &'static str) -> Parsed<Vec<TemplateNode>> {
        let (nodes, _) = self.body(&[end])?;
        self.ends(Delimiters::Statement)?;
        Ok(nodes)
    }

    fn statement(&mut self, word: &str) -> Parsed<TemplateNode> {
        match word {
            "for" => self.for_statement(),
            "if" => self.if_statement(),
            "set" => self.set_statement(),
            "else" | "elif" | "endfor" | "endif" | "endset" | "endraw" => {
                Err(syntax(format!("`{{% {word} %}}` ends nothing")))
            }
            _ => Err(syntax(format!(
                "`{word}` is no statement; there are for, if, set and raw"
            ))),
        }
    }

    fn for_statement(&mut self) -> Parsed<TemplateNode> {
        let mut names = vec![self.name()?];
        while self.takes(",") {
            names.push(self.name()?);
        }
        if !self.takes_word("in") {
            return Err(syntax("`in` is missing in `for`".to_owned()));
        }
        // The condition of the loop is not part of the list.
        let items = self.or()?;
        let condition = self
            .takes_word("if")
            .then(|| self.expression())
            .transpose()?;
        self.ends(Delimiters::Statement)?;
        let is_named_around = std::mem::take(&mut self.names_loop);
        let (body, end) = self.body(&["else", "endfor"])?;
        let names_loop = self.names_loop;
        self.names_loop |= is_named_around;
        self.ends(Delimiters::Statement)?;
        let otherwise = match end {
            Some("else") => self.body_until("endfor")?,
            _ => Vec::new(),
        };
        Ok(TemplateNode::For {
            names,
            items,
            condition,
            body,
            names_loop,
            otherwise,
        })
    }

    fn if_statement(&mut self) -> Parsed<TemplateNode> {
        let mut cases = Vec::new();
        loop {
            let condition = self.expression()?;
            self.ends(Delimiters::Statement)?;
            let (body, end) = self.body(&["elif", "else", "endif"])?;
            cases.push((condition, body));
            let otherwise = match end {
                Some("elif") => continue,
                Some("else") => {
                    self.ends(Delimiters::Statement)?;
                    self.body_until("endif")?
                }
                _ => {
                    self.ends(Delimiters::Statement)?;
                    Vec::new()
                }
            };
            return Ok(TemplateNode::If { cases, otherwise });
        }
    }

    fn set_statement(&mut self) -> Parsed<TemplateNode> {
        let name = self.name()?;
        if self.takes("=") {
            let value = self.expression()?;
            self.ends(Delimiters::Statement)?;
            return Ok(TemplateNode::Set { name, value });
        }
        self.ends(Delimiters::Statement)?;
        let body = self.body_until("endset")?;
        Ok(TemplateNode::SetText { name, body })
    }

    fn expression(&mut self) -> Parsed<ExpressionTree> {
        self.nested(|parser| {
            let then = parser.or()?;
            if !parser.takes_word("if") {
                return Ok(then);
            }
            let condition = parser.or()?;
            let otherwise = parser.takes_word("else").then(|| parser.expression());
            Ok(ExpressionTree::If(Box::new((
                then,
                condition,
                otherwise.transpose()?,
            ))))
        })
    }

    fn or(&mut self) -> Parsed<ExpressionTree> {
        let mut tree = self.and()?;
        while self.takes_word("or") {
            self.counts()?;
            tree = ExpressionTree::Or(Box::new(tree), Box::new(self.and()?));
        }
        Ok(tree)
    }

    fn and(&mut self) -> Parsed<ExpressionTree> {
        let mut tree = self.not()?;
        while self.takes_word("and") {
            self.counts()?;
            tree = ExpressionTree::And(Box::new(tree), Box::new(self.not()?));
        }
        Ok(tree)
    }

    fn not(&mut self) -> Parsed<ExpressionTree> {
        if !self.takes_word("not") {
            return self.comparison();
        }
        let operand = self.nested(Parser::not)?;
        Ok(ExpressionTree::Not(Box::new(operand)))
    }

    fn comparison(&mut self) -> Parsed<ExpressionTree> {
        use TemplateOperator::{AtLeast, AtMost, Equal, Greater, In, Less, Unequal};
        let left = self.sum()?;
        let operators = [Equal, Unequal, AtMost, AtLeast, Less, Greater];
        let tree = if let Some(operator) = self.takes_any(&operators) {
            operation(operator, left, self.sum()?)
        } else if self.takes_word("in") {
            operation(In, left, self.sum()?)
        } else if self.takes_word("not") {
            if !self.takes_word("in") {
                return Err(syntax("`in` is missing behind `not`".to_owned()));
            }
            ExpressionTree::Not(Box::new(operation(In, left, self.sum()?)))
        } else {
            return Ok(left);
        };
        let is_chained =
            self.takes_any(&operators).is_some() || self.takes_word("in") || self.takes_word("not");
        if is_chained {
            let message = "two comparisons in a row: join them with `and`, or write parentheses";
            return Err(syntax(message.to_owned()));
        }
        self.counts()?;
        Ok(tree)
    }

    fn sum(&mut self) -> Parsed<ExpressionTree> {
        self.chain(
            &[TemplateOperator::Add, TemplateOperator::Subtract],
            Parser::joined,
        )
    }

    fn joined(&mut self) -> Parsed<ExpressionTree> {
        self.chain(&[TemplateOperator::Join], Parser::product)
    }

    fn product(&mut self) -> Parsed<ExpressionTree> {
        use TemplateOperator::{Divide, Multiply, Quotient, Remainder};
        self.chain(&[Multiply, Divide, Quotient, Remainder], Parser::power)
    }

    fn power(&mut self) -> Parsed<ExpressionTree> {
        self.chain(&[TemplateOperator::Power], Parser::unary)
    }

    /// Parses operands with these operators between them, from the left.
    fn chain(
        &mut self,
        operators: &[TemplateOperator],
        operand: fn(&mut Parser) -> Parsed<ExpressionTree>,
    ) -> Parsed<ExpressionTree> {
        let mut tree = operand(self)?;
        while let Some(operator) = self.takes_any(operators) {
            self.counts()?;
            tree = operation(operator, tree, operand(self)?);
        }
        Ok(tree)
    }

    fn unary(&mut self) -> Parsed<ExpressionTree> {
        let mut tree = self.operand()?;
        loop {
            if self.takes("|") {
                let call = self.call()?;
                tree = ExpressionTree::Filter(Box::new(tree), call);
            } else if self.takes_word("is") {
                let is_negated = self.takes_word("not");
                let test = ExpressionTree::Test(Box::new(tree), self.call()?);
                tree = if is_negated {
                    ExpressionTree::Not(Box::new(test))
                } else {
                    test
                };
            } else {
                return Ok(tree);
            }
            self.counts()?;
        }
    }

    fn operand(&mut self) -> Parsed<ExpressionTree> {
        if self.takes("-") {
            let inner = self.nested(Parser::operand)?;
            return Ok(ExpressionTree::Negative(Box::new(inner)));
        }
        let mut tree = self.primary()?;
        loop {
            if self.takes(".") {
                let name = match self.tokens.next() {
                    Some(TemplateToken::Word(name)) => ExpressionTree::Text(name),
                    Some(TemplateToken::Integer(index)) => ExpressionTree::Integer(index),
                    _ => return Err(syntax("the name of a member is missing".to_owned())),
                };
                tree = ExpressionTree::Member(Box::new(tree), Box::new(name));
            } else if self.takes("[") {
                tree = self.member(tree)?;
            } else {
                return Ok(tree);
            }
            self.counts()?;
        }
    }

    /// Parses a member after `[`.
    fn member(&mut self, tree: ExpressionTree) -> Parsed<ExpressionTree> {
        let end = |parser: &mut Parser, closing: &[&str]| -> Parsed<Option<Box<ExpressionTree>>> {
            let is_left_out = closing.iter().any(|sign| parser.is_next(sign));
            let bound = (!is_left_out).then(|| parser.expression()).transpose()?;
            Ok(bound.map(Box::new))
        };
        let first = end(self, &[":"])?;
        if self.takes(":") {
            let last = end(self, &["]"])?;
            self.expects("]")?;
            return Ok(ExpressionTree::Range(Box::new(tree), first, last));
        }
        self.expects("]")?;
        let name = first.ok_or_else(|| syntax("the name of a member is missing".to_owned()))?;
        Ok(ExpressionTree::Member(Box::new(tree), name))
    }

    fn primary(&mut self) -> Parsed<ExpressionTree> {
        let token = self.tokens.next();
        Ok(match token {
            Some(TemplateToken::Integer(number)) => ExpressionTree::Integer(number),
            Some(TemplateToken::Real(number)) => ExpressionTree::Real(number),
            Some(TemplateToken::Quoted(text)) => ExpressionTree::Text(text),
            Some(TemplateToken::Sign("(")) => {
                let tree = self.expression()?;
                self.expects(")")?;
                tree
            }
            Some(TemplateToken::Sign("[")) => {
                ExpressionTree::List(self.listed("]", |parser| parser.expression())?)
            }
            Some(TemplateToken::Sign("{")) => ExpressionTree::Map(self.listed("}", |parser| {
                let name = parser.expression()?;
                parser.expects(":")?;
                Ok((name, parser.expression()?))
            })?),
            Some(TemplateToken::Word(word)) => match &*word {
                "true" | "True" => ExpressionTree::Flag(true),
                "false" | "False" => ExpressionTree::Flag(false),
                "none" | "None" => ExpressionTree::None,
                _ if self.is_next("(") => ExpressionTree::Call(self.call_of(word)?),
                _ => {
                    self.names_loop |= word == "loop";
                    ExpressionTree::Name(word)
                }
            },
            Some(token) => {
                return Err(syntax(format!(
                    "{} stands in the place of a value",
                    shown(&token)
                )));
            }
            None => return Err(syntax("a value is missing".to_owned())),
        })
    }

    /// Parses a name with its arguments, if it has any.
    fn call(&mut self) -> Parsed<Call> {
        let name = self.word("a name")?;
        self.call_of(name)
    }

    fn call_of(&mut self, name: String) -> Parsed<Call> {
        let arguments = if self.takes("(") {
            self.listed(")", Parser::argument)?
        } else {
            Vec::new()
        };
        Ok(Call { name, arguments })
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let value = self.expression()?;
        if !self.takes("=") {
            return Ok(Argument { name: None, value });
        }
        match value {
            ExpressionTree::Name(name) => Ok(Argument {
                name: Some(name),
                value: self.expression()?,
            }),
            _ => Err(syntax(
                "`=` stands behind something that is no name".to_owned(),
            )),
        }
    }

    /// Parses items separated by `,` until the closing sign.
    fn listed<T>(
        &mut self,
        closing: &'static str,
        mut thing: impl FnMut(&mut Parser) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut things = Vec::new();
        while !self.takes(closing) {
            things.push(thing(self)?);
            if !self.takes(",") && !self.is_next(closing) {
                return Err(syntax(format!("`{closing}` is missing")));
            }
        }
        Ok(things)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(syntax(format!(
                "it is nested more than {DEEPEST} levels deep"
            )));
        }
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn counts(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(syntax(format!(
                "there are more than {MOST_OPERATORS} operators in it"
            )));
        }
        Ok(())
    }

    fn is_next(&mut self, sign: &str) -> bool {
        matches!(self.tokens.peek(), Some(TemplateToken::Sign(next)) if *next == sign)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.is_next(sign);
        if is_next {
            self.tokens.next();
        }
        is_next
    }

    fn takes_any(&mut self, operators: &[TemplateOperator]) -> Option<TemplateOperator> {
        let mut operators = operators.iter().copied();
        operators.find(|operator| self.takes(operator.sign()))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.tokens.peek(), Some(TemplateToken::Word(next)) if next == word);
        if is_next {
            self.tokens.next();
        }
        is_next
    }

    fn expects(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(syntax(format!("`{sign}` is missing")))
    }

    fn word(&mut self, what: &str) -> Parsed<String> {
        match self.tokens.next() {
            Some(TemplateToken::Word(word)) => Ok(word),
            _ => Err(syntax(format!("{what} is missing"))),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        let name = self.word("a name")?;
        match &*name {
            "true" | "false" | "none" | "loop" | "in" | "if" | "else" | "not" | "and" | "or"
            | "is" => Err(syntax(format!("`{name}` cannot be a name"))),
            _ => Ok(name),
        }
    }

    fn ends(&mut self, part: Delimiters) -> Parsed<()> {
        match self.tokens.next() {
            Some(TemplateToken::End(next)) if next == part => Ok(()),
            Some(token) => Err(syntax(format!("{} is not expected", shown(&token)))),
            None => Err(syntax("the end is missing".to_owned())),
        }
    }
}

fn operation(
    operator: TemplateOperator,
    left: ExpressionTree,
    right: ExpressionTree,
) -> ExpressionTree {
    ExpressionTree::Operation(operator, Box::new(left), Box::new(right))
}

fn syntax(message: String) -> TemplateError {
    TemplateError::Syntax(message)
}

/// A token in messages.
fn shown(token: &TemplateToken) -> String {
    match token {
        TemplateToken::Outside(_) => "a text".to_owned(),
        TemplateToken::Begin(Delimiters::Value) => "`{{`".to_owned(),
        TemplateToken::Begin(Delimiters::Statement) => "`{%`".to_owned(),
        TemplateToken::End(Delimiters::Value) => "`}}`".to_owned(),
        TemplateToken::End(Delimiters::Statement) => "`%}`".to_owned(),
        TemplateToken::Word(word) => format!("`{word}`"),
        TemplateToken::Integer(number) => format!("`{number}`"),
        TemplateToken::Real(number) => format!("`{number:?}`"),
        TemplateToken::Quoted(_) => "a text in quotes".to_owned(),
        TemplateToken::Sign(sign) => format!("`{sign}`"),
    }
}
