//! What statements, blocks and conditions are for, as far as their form shows it.

use quote::ToTokens;
use syn::{Block, Expr, ExprIf, Stmt};

/// The change that skips a statement, if it can be skipped.
pub fn skipped(statement: &Stmt) -> Option<&'static str> {
    match statement {
        Stmt::Macro(used) => {
            let name = used.mac.path.segments.last()?.ident.to_string();
            name.contains("assert").then_some("a check is dropped")
        }
        Stmt::Expr(expression, Some(_)) => match expression {
            Expr::Assign(assign) if matches!(&*assign.left, Expr::Unary(to) if matches!(&*to.expr, Expr::Path(_))) => {
                // In a backward pass: `*sum_grad = sum_grad.add(&grad)?`.
                let is_gradient = text(&assign.left).ends_with("grad");
                Some(if is_gradient { "a gradient's term is dropped" } else { "a statement is dropped" })
            }
            Expr::Assign(_) | Expr::MethodCall(_) | Expr::Call(_) => Some("a statement is dropped"),
            Expr::Try(tried)
                if matches!(&*tried.expr, Expr::MethodCall(_) | Expr::Call(_)) && !refuses_with(expression) =>
            {
                Some("a statement is dropped")
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a block does nothing but end in an error.
pub fn refuses(block: &Block) -> bool {
    match block.stmts.last() {
        Some(Stmt::Macro(used)) => used.mac.path.segments.last().is_some_and(|last| last.ident == "bail"),
        Some(Stmt::Expr(expression, _)) => refuses_with(expression),
        _ => false,
    }
}

/// `Err(…)?`, `return Err(…)` or `bail!(…)`.
fn refuses_with(expression: &Expr) -> bool {
    let is_error = |expression: &Expr| text(expression).starts_with("Err (");
    match expression {
        Expr::Try(tried) => is_error(&tried.expr),
        Expr::Return(returned) => returned.expr.as_deref().is_some_and(is_error),
        Expr::Macro(used) => used.mac.path.segments.last().is_some_and(|last| last.ident == "bail"),
        _ => false,
    }
}

/// Whether a condition chooses the smaller or larger of two, `if a < b { a } else { b }` or `if a < b { a = b }`: it may do so
/// either way if they are the same.
pub fn chooses(conditional: &ExprIf) -> bool {
    let Expr::Binary(compared) = &*conditional.cond else { return false };
    let only = |block: &Block| match block.stmts.as_slice() {
        [Stmt::Expr(Expr::Assign(assign), _)] => Some((text(&assign.left), text(&assign.right))),
        [Stmt::Expr(expression, None)] => Some((text(expression), String::new())),
        _ => None,
    };
    let Some((then, assigned)) = only(&conditional.then_branch) else { return false };
    let other = match conditional.else_branch.as_ref().map(|(_, other)| &**other) {
        Some(Expr::Block(other)) => only(&other.block).map_or_else(String::new, |(other, _)| other),
        Some(_) => return false,
        None => assigned,
    };
    let sides = (text(&compared.left), text(&compared.right));
    sides == (then.clone(), other.clone()) || sides == (other, then)
}

/// Whether code only makes an error, or says how much memory to reserve: what it says there decides nothing.
pub fn decides_nothing(expression: &Expr) -> bool {
    let name = match expression {
        Expr::Struct(made) => text(&made.path),
        Expr::Call(call) => text(&call.func),
        Expr::MethodCall(call) => call.method.to_string(),
        _ => return false,
    };
    name.split(" :: ").any(|part| part == "Error") || name.ends_with("with_capacity") || name == "reserve"
}

/// Whether a condition binds names.
pub fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Code on one line.
pub fn text(code: &impl ToTokens) -> String {
    code.to_token_stream().to_string()
}
