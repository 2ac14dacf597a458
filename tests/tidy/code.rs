//! What the checks ask of a Rust file, read with `syn`: the names it defines, the paths it uses, its functions.
//!
//! The inside of a macro call is not parsed: of its tokens only paths are taken.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Ident, ImplItem, Item, Signature, UseTree, Visibility};

#[derive(Default)]
pub struct Code {
    pub names: Vec<Named>,
    pub used: Vec<Used>,
    pub functions: Vec<Function>,
    pub modules: Vec<Declared>,
    /// Modules written out in the file, from the outermost to the one that is being read.
    within: Vec<String>,
    /// How many items around the one being read are compiled for tests only.
    tests: usize,
}

pub struct Named {
    pub name: String,
    pub line: usize,
}

/// A path as it is written. Groups are written out: `a::{b, c::d}` is `a::b` and `a::c::d`.
pub struct Used {
    pub segments: Vec<String>,
    pub line: usize,
    /// The modules inside the file that it stands in.
    pub within: Vec<String>,
    /// The name that a `use` gives to it.
    pub imported_as: Option<String>,
    pub in_tests: bool,
}

pub struct Function {
    pub name: String,
    pub line: usize,
    /// From its signature to its last brace.
    pub lines: usize,
}

/// `mod name;`
pub struct Declared {
    pub name: String,
    pub path: Option<String>,
    pub in_tests: bool,
}

impl Code {
    pub fn read(text: &str) -> syn::Result<Self> {
        let mut code = Code::default();
        code.visit_file(&syn::parse_file(text)?);
        Ok(code)
    }

    fn name(&mut self, ident: &Ident) {
        self.names.push(Named { name: ident.to_string(), line: line(ident.span()) });
    }

    fn path(&mut self, segments: Vec<String>, span: Span, imported_as: Option<String>) {
        let (within, in_tests) = (self.within.clone(), self.tests > 0);
        self.used.push(Used { segments, line: line(span), within, imported_as, in_tests });
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        let (first, last) = (line(signature.span()), block.brace_token.span.close().end().line);
        let name = signature.ident.to_string();
        self.functions.push(Function { name, line: first, lines: last + 1 - first });
    }

    fn follow(&mut self, tree: &UseTree, before: &[String]) {
        let and = |name: &Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        // `use a::{self as b}` is `use a as b`.
        let full = |name: &Ident| if name == "self" && !before.is_empty() { before.to_vec() } else { and(name) };
        match tree {
            UseTree::Path(path) => self.follow(&path.tree, &and(&path.ident)),
            UseTree::Name(name) => {
                let segments = full(&name.ident);
                let last = segments.last().cloned();
                self.path(segments, name.ident.span(), last);
            }
            UseTree::Rename(name) => self.path(full(&name.ident), name.span(), Some(name.rename.to_string())),
            UseTree::Glob(star) => self.path([before, &["*".to_owned()]].concat(), star.span(), None),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.follow(tree, before)),
        }
    }

    /// `a::b` among the tokens of a macro call or an attribute.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<Ident> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_of_path(&mut path);
                    }
                    path.push(ident);
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.end_of_path(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.end_of_path(&mut path);
    }

    fn end_of_path(&mut self, path: &mut Vec<Ident>) {
        if let [first, _, ..] = &path[..] {
            let span = first.span();
            self.path(path.iter().map(Ident::to_string).collect(), span, None);
        }
        path.clear();
    }

    fn within_tests(&mut self, attributes: &[Attribute], read: impl FnOnce(&mut Self)) {
        let tests = usize::from(attributes.iter().any(is_for_tests));
        self.tests += tests;
        read(self);
        self.tests -= tests;
    }
}

impl Visit<'_> for Code {
    fn visit_item(&mut self, item: &Item) {
        self.within_tests(attributes(item), |code| {
            match item {
                Item::Const(item) => code.name(&item.ident),
                Item::Enum(item) => code.name(&item.ident),
                Item::Fn(item) => {
                    code.name(&item.sig.ident);
                    code.function(&item.sig, &item.block);
                }
                Item::Static(item) => code.name(&item.ident),
                Item::Struct(item) => code.name(&item.ident),
                Item::Trait(item) => code.name(&item.ident),
                Item::Type(item) => code.name(&item.ident),
                Item::Union(item) => code.name(&item.ident),
                Item::ExternCrate(item) => {
                    code.path(vec![item.ident.to_string()], item.ident.span(), Some(item.ident.to_string()));
                }
                Item::Use(item) => code.follow(&item.tree, &[]),
                _ => {}
            }
            visit::visit_item(code, item);
        });
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        self.name(&item.ident);
        let name = item.ident.to_string();
        if item.content.is_none() {
            let path = item.attrs.iter().find_map(path_attribute);
            self.modules.push(Declared { name, path, in_tests: self.tests > 0 });
        } else {
            self.within.push(name);
            visit::visit_item_mod(self, item);
            self.within.pop();
        }
    }

    fn visit_impl_item(&mut self, item: &ImplItem) {
        let attributes = match item {
            ImplItem::Fn(item) => {
                self.name(&item.sig.ident);
                self.function(&item.sig, &item.block);
                &item.attrs[..]
            }
            ImplItem::Const(item) => &item.attrs[..],
            _ => &[],
        };
        self.within_tests(attributes, |code| visit::visit_impl_item(code, item));
    }

    fn visit_trait_item_fn(&mut self, item: &syn::TraitItemFn) {
        self.name(&item.sig.ident);
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        if path.segments.len() > 1 {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.path(segments, path.span(), None);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        visit::visit_attribute(self, attribute);
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }

    /// `pub(super)` is no use of the module above.
    fn visit_visibility(&mut self, _: &Visibility) {}
}

fn line(span: Span) -> usize {
    span.start().line
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Ident>().is_ok_and(|what| what == "test")
}

/// What stands in `#[path = "…"]`.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
    pair.path.is_ident("path").then(|| text.value())
}
