//! Finds the places of a source that can be changed without changing a type.

use std::ops::Range;

use proc_macro2::Span;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Pat, Signature, Stmt, Token};

use super::site::{Form, Site};
use super::{operators, purpose};

/// The places in `text`, those further out before those in them.
pub fn sites(text: &str) -> syn::Result<Vec<Site>> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { found: Vec::new(), path: Vec::new() };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder {
    found: Vec<Site>,
    /// The type and the function around.
    path: Vec<String>,
}

impl Finder {
    fn add(&mut self, change: &'static str, span: Span, form: Form) {
        self.at(change, span, span.byte_range(), form);
    }

    fn at(&mut self, change: &'static str, span: Span, range: Range<usize>, form: Form) {
        let function = self.path.join("::");
        self.found.push(Site { change, function, line: span.start().line, range, form });
    }

    /// Visits what is in the type or function `name`.
    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }

    /// Visits a function, unless it is a test or runs while compiling.
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        if signature.constness.is_some() || is_test(attributes) {
            return;
        }
        self.inside(signature.ident.to_string(), |finder| {
            if let Some(value) = operators::returned(signature).filter(|_| !body.stmts.is_empty()) {
                let place = body.brace_token.span.open().byte_range().end;
                finder.at("a body is replaced", signature.ident.span(), place..place, Form::Returned(value));
            }
            finder.visit_block(body);
        });
    }

    /// A condition: dropped if it only guards an error, otherwise inverted.
    fn condition(&mut self, condition: &Expr, then: &Block) {
        if purpose::has_let(condition) {
            return;
        }
        if purpose::refuses(then) {
            self.add("a check is dropped", condition.span(), Form::Never);
        } else {
            self.inverted(condition);
        }
    }

    /// A condition that is inverted, unless it is a comparison or a negation, which is inverted itself.
    fn inverted(&mut self, condition: &Expr) {
        if operators::changes(condition).iter().all(|(.., form)| *form != Form::Inverted) {
            self.add("a condition is inverted", condition.span(), Form::Inverted);
        }
    }
}

/// Whether code is only compiled for tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        attribute.path().is_ident("test") || text.contains("cfg (test)")
    })
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        self.inside(name.unwrap_or_default(), |finder| visit::visit_item_impl(finder, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.inside(item.ident.to_string(), |finder| visit::visit_item_trait(finder, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body);
        }
    }

    // These are evaluated while compiling, or are not expressions. They cannot hold a switch.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_path(&mut self, _: &'ast syn::Path) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_macro(&mut self, used: &'ast syn::Macro) {
        // Macros whose arguments are expressions.
        const LISTS: [&str; 3] = ["bin_op", "unary_op", "vec"];
        let Some(name) = used.path.get_ident().map(ToString::to_string).filter(|name| LISTS.contains(&name.as_str()))
        else {
            return;
        };
        let Ok(list) = used.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) else { return };
        let visit = |finder: &mut Self| list.iter().for_each(|argument| finder.visit_expr(argument));
        if self.path.is_empty() {
            let first = list.first().map(|first| first.to_token_stream().to_string()).unwrap_or_default();
            self.inside(format!("{name}!({first})"), visit);
        } else {
            visit(self);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Some(change) = purpose::skipped(statement) {
            self.add(change, statement.span(), Form::Skipped);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, conditional: &'ast syn::ExprIf) {
        self.condition(&conditional.cond, &conditional.then_branch);
        let first = self.found.len();
        visit::visit_expr_if(self, conditional);
        if purpose::chooses(conditional) {
            let mut index = 0;
            self.found.retain(|site| {
                index += 1;
                index <= first || site.change != "a bound is one off"
            });
        }
    }

    fn visit_expr_match(&mut self, matching: &'ast syn::ExprMatch) {
        let catches_all = matching.arms.iter().any(|arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_)));
        self.visit_expr(&matching.expr);
        for arm in &matching.arms {
            match &arm.guard {
                Some((_, guard)) if purpose::has_let(guard) => {}
                Some((_, guard)) => self.inverted(guard),
                None if catches_all && !matches!(arm.pat, Pat::Wild(_)) => {
                    self.add("an arm is skipped", arm.pat.span(), Form::Passed);
                }
                None => {}
            }
            self.visit_arm(arm);
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        if purpose::decides_nothing(expression) {
            return;
        }
        for (change, changed, form) in operators::changes(expression) {
            self.add(change, changed.span(), form);
        }
        visit::visit_expr(self, expression);
    }
}
