//! The changes: which expression, statement or body becomes which other one of the same type.

use syn::{BinOp, Expr, ExprBinary, ExprCall, ExprMethodCall, ExprPath, Lit, ReturnType, Signature, Type, UnOp};

use super::purpose::{has_let, text};
use super::site::Form;

/// Methods that take and return the same, and mean something else.
const OTHER_METHODS: [(&str, &str); 22] = [
    ("add", "sub"),
    ("sub", "add"),
    ("mul", "div"),
    ("div", "mul"),
    ("broadcast_add", "broadcast_sub"),
    ("broadcast_sub", "broadcast_add"),
    ("broadcast_mul", "broadcast_div"),
    ("broadcast_div", "broadcast_mul"),
    ("min", "max"),
    ("max", "min"),
    ("minimum", "maximum"),
    ("maximum", "minimum"),
    ("min_keepdim", "max_keepdim"),
    ("max_keepdim", "min_keepdim"),
    ("sum_keepdim", "mean_keepdim"),
    ("eq", "ne"),
    ("ne", "eq"),
    ("lt", "le"),
    ("le", "lt"),
    ("gt", "ge"),
    ("ge", "gt"),
    ("floor", "ceil"),
];

/// Methods whose result has the type of what they are called on.
const STEPS: [&str; 20] = [
    "neg",
    "sqr",
    "sqrt",
    "exp",
    "log",
    "ln",
    "recip",
    "abs",
    "sin",
    "cos",
    "tanh",
    "round",
    "contiguous",
    "detach",
    "t",
    "transpose",
    "to_dtype",
    "affine",
    "rev",
    "broadcast_as",
];

/// Names of dtypes and dimensions, each with another one.
const OTHER_NAMES: [(&str, &str, &str, &str); 11] = [
    ("DType", "F32", "F64", "a dtype is replaced"),
    ("DType", "F64", "F32", "a dtype is replaced"),
    ("DType", "F16", "BF16", "a dtype is replaced"),
    ("DType", "BF16", "F16", "a dtype is replaced"),
    ("DType", "U8", "U32", "a dtype is replaced"),
    ("DType", "U32", "I64", "a dtype is replaced"),
    ("DType", "I16", "I32", "a dtype is replaced"),
    ("DType", "I32", "I64", "a dtype is replaced"),
    ("DType", "I64", "U32", "a dtype is replaced"),
    ("D", "Minus1", "Minus2", "a dimension is replaced"),
    ("D", "Minus2", "Minus1", "a dimension is replaced"),
];

/// Functions that mean the same with their arguments in another order.
const COMMUTATIVE: [&str; 10] =
    ["add", "dot", "eq", "max", "maximum", "min", "minimum", "mul", "transpose", "vec_dot_f32"];

/// A change, the expression that it replaces, and what it becomes.
type Change<'a> = (&'static str, &'a Expr, Form);

/// The changes of an expression itself, not of those in it.
pub fn changes(expression: &Expr) -> Vec<Change<'_>> {
    let instead = |(change, text)| (change, expression, Form::Instead(text));
    let inverted = |change| vec![(change, expression, Form::Inverted)];
    match expression {
        Expr::Binary(binary) => binary_changes(expression, binary),
        Expr::Unary(unary) => match unary.op {
            UnOp::Not(_) => inverted("a negation is dropped"),
            UnOp::Neg(_) => vec![instead(("a sign is dropped", text(&unary.expr)))],
            _ => Vec::new(),
        },
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(_) => inverted("a flag is flipped"),
            number => other_number(number).map(instead).into_iter().collect(),
        },
        Expr::Path(path) => other_name(path).map(instead).into_iter().collect(),
        Expr::Range(range) => match (&range.end, range.limits) {
            (Some(end), syn::RangeLimits::HalfOpen(_)) if !matches!(**end, Expr::Lit(_)) => {
                vec![("a range ends one earlier", &**end, Form::Instead(format!("({}) - 1", text(end))))]
            }
            _ => Vec::new(),
        },
        Expr::Try(tried) => match &*tried.expr {
            Expr::MethodCall(call) if STEPS.contains(&call.method.to_string().as_str()) => {
                vec![instead(("a step is dropped", format!("({}).clone()", text(&call.receiver))))]
            }
            _ => Vec::new(),
        },
        Expr::MethodCall(call) => method_changes(call).into_iter().map(instead).collect(),
        Expr::Call(call) => swapped_arguments(call).map(instead).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// A change, and the text instead.
type Instead = (&'static str, String);

fn other_number(literal: &Lit) -> Option<Instead> {
    match literal {
        Lit::Int(number) => {
            let value = number.base10_parse::<u64>().ok()?;
            Some(("an integer is one more", format!("{}{}", value.saturating_add(1), number.suffix())))
        }
        Lit::Float(number) => {
            let is_zero = number.base10_parse::<f64>().is_ok_and(|value| value == 0.0);
            let other = if is_zero { format!("1.0{}", number.suffix()) } else { format!("2.0 * {number}") };
            Some(("a number is doubled", other))
        }
        _ => None,
    }
}

fn other_name(path: &ExprPath) -> Option<Instead> {
    let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let [.., of, name] = names.as_slice() else { return None };
    let (_, from, to, change) = OTHER_NAMES.iter().find(|(known, from, ..)| known == of && from == name)?;
    Some((change, format!("{}{to}", text(path).strip_suffix(from)?)))
}

fn method_changes(call: &ExprMethodCall) -> Vec<Instead> {
    let mut changes = Vec::new();
    let name = call.method.to_string();
    if let Some((_, to)) = OTHER_METHODS.iter().find(|(from, _)| *from == name) {
        let mut other = call.clone();
        other.method = syn::Ident::new(to, call.method.span());
        changes.push(("a method is replaced", text(&other)));
    }
    if STEPS.contains(&name.as_str()) && call.args.is_empty() {
        changes.push(("a step is dropped", text(&call.receiver)));
    }
    let mut swapped = call.clone();
    if !COMMUTATIVE.contains(&name.as_str()) && swap(&mut swapped.args) {
        changes.push(("arguments are swapped", text(&swapped)));
    }
    changes
}

fn swapped_arguments(call: &ExprCall) -> Option<Instead> {
    let mut swapped = call.clone();
    let name = text(&call.func);
    let is_commutative = COMMUTATIVE.iter().any(|known| name.rsplit(' ').next() == Some(known));
    (!is_commutative && swap(&mut swapped.args)).then(|| ("arguments are swapped", text(&swapped)))
}

fn binary_changes<'a>(expression: &'a Expr, binary: &ExprBinary) -> Vec<Change<'a>> {
    let (change, operator) = match binary.op {
        BinOp::Add(_) => ("an operator is replaced", "-"),
        BinOp::Sub(_) => ("an operator is replaced", "+"),
        BinOp::Mul(_) => ("an operator is replaced", "/"),
        BinOp::Div(_) => ("an operator is replaced", "*"),
        BinOp::Rem(_) => ("an operator is replaced", "/"),
        BinOp::AddAssign(_) => ("an operator is replaced", "-="),
        BinOp::SubAssign(_) => ("an operator is replaced", "+="),
        BinOp::MulAssign(_) => ("an operator is replaced", "/="),
        BinOp::DivAssign(_) => ("an operator is replaced", "*="),
        BinOp::Lt(_) => ("a bound is one off", "<="),
        BinOp::Le(_) => ("a bound is one off", "<"),
        BinOp::Gt(_) => ("a bound is one off", ">="),
        BinOp::Ge(_) => ("a bound is one off", ">"),
        BinOp::Eq(_) => ("a comparison is inverted", "!="),
        BinOp::Ne(_) => ("a comparison is inverted", "=="),
        BinOp::And(_) => ("and becomes or", "||"),
        BinOp::Or(_) => ("or becomes and", "&&"),
        _ => return Vec::new(),
    };
    if has_let(expression) {
        return Vec::new();
    }
    let (left, right) = (text(&binary.left), text(&binary.right));
    let other = format!("({left}) {operator} ({right})");
    let form = match binary.op {
        BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
            Form::OneOff { same: format!("({left}) == ({right})"), other }
        }
        BinOp::Eq(_) | BinOp::Ne(_) => Form::Inverted,
        BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::MulAssign(_) | BinOp::DivAssign(_) => {
            Form::Instead(format!("{left} {operator} {right}"))
        }
        _ => Form::Instead(other),
    };
    vec![(change, expression, form)]
}

/// Swaps the first two neighbours that may have the same type and are not the same.
fn swap(arguments: &mut syn::punctuated::Punctuated<Expr, syn::Token![,]>) -> bool {
    let is_plain = |argument: &Expr| match argument {
        Expr::Path(_) | Expr::Field(_) | Expr::Lit(_) | Expr::Index(_) => true,
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)),
        Expr::Reference(_) => true,
        _ => false,
    };
    let kind = |argument: &Expr| std::mem::discriminant(argument);
    let first = (1..arguments.len()).find(|&second| {
        let (one, other) = (&arguments[second - 1], &arguments[second]);
        is_plain(one) && is_plain(other) && kind(one) == kind(other) && text(one) != text(other)
    });
    if let Some(second) = first {
        let one = arguments[second - 1].clone();
        arguments[second - 1] = std::mem::replace(&mut arguments[second], one);
    }
    first.is_some()
}

/// What a function can return at once, by its type.
pub fn returned(signature: &Signature) -> Option<String> {
    let ReturnType::Type(_, returned) = &signature.output else { return Some(String::new()) };
    // The first argument, if it can stand for a result.
    let argument = || match signature.inputs.first()? {
        syn::FnArg::Receiver(_) => Some("self".to_string()),
        syn::FnArg::Typed(typed) => (text(&typed.ty) == "& Tensor").then(|| text(&typed.pat)),
    };
    match text(returned).as_str() {
        "bool" => Some("true".to_string()),
        "usize" => Some("1".to_string()),
        "Result < () >" => Some("Ok(())".to_string()),
        "Result < Self >" | "Result < Tensor >" => Some(format!("Ok({}.clone())", argument()?)),
        "Self" | "Tensor" => Some(format!("{}.clone()", argument()?)),
        text if matches!(**returned, Type::Path(_)) && text.starts_with("Option <") => Some("None".to_string()),
        _ => None,
    }
}
