//! The shape of an input as a definition writes it, such as `batch.. heads*width tokens 3`.

use std::collections::BTreeMap;

use crate::tensor::product;

/// A shape whose sizes have names.
#[derive(Debug, Clone)]
pub struct Shape(Vec<Dim>);

#[derive(Debug, Clone)]
enum Dim {
    /// One dimension: the product of its factors.
    One(Vec<Factor>),
    /// Any number of dimensions, under one name.
    Any(String),
}

#[derive(Debug, Clone)]
enum Factor {
    Named(String),
    Number(usize),
}

/// The sizes of one call, by name.
#[derive(Debug, Default)]
pub struct Sizes {
    pub one: BTreeMap<String, usize>,
    pub any: BTreeMap<String, Vec<usize>>,
}

impl Shape {
    /// Reads dimensions with blanks between them: each a number, a name, a product such as `heads*width`, or `name..` for any number of
    /// dimensions.
    pub fn parse(text: &str) -> Self {
        let dim = |word: &str| match word.strip_suffix("..") {
            Some(name) => Dim::Any(name.to_string()),
            None => Dim::One(word.split('*').map(Factor::parse).collect()),
        };
        Self(text.split_whitespace().map(dim).collect())
    }

    /// The names of single sizes, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let factors = self.0.iter().flat_map(|dim| if let Dim::One(factors) = dim { factors.as_slice() } else { &[] });
        factors.filter_map(|factor| if let Factor::Named(name) = factor { Some(name.as_str()) } else { None })
    }

    /// The names of dimensions whose number is open, in order.
    pub fn open_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|dim| if let Dim::Any(name) = dim { Some(name.as_str()) } else { None })
    }

    /// True if the shape has no dimension.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The dimension, of a tensor with this many, whose size is `name`, or begins with it.
    pub fn dim_of(&self, name: &str, rank: usize) -> Option<usize> {
        let place = self.0.iter().position(|dim| dim.begins_with(name))?;
        let open_before = self.0[..place].iter().any(|dim| matches!(dim, Dim::Any(_)));
        if open_before { rank.checked_sub(self.0.len() - place) } else { Some(place) }
    }

    /// True if the size `name` can count the entries of a dimension: it stands nowhere, or once, first in its product.
    pub fn counts(&self, name: &str) -> bool {
        match self.names().filter(|size| *size == name).count() {
            0 => true,
            1 => self.0.iter().any(|dim| dim.begins_with(name)),
            _ => false,
        }
    }

    /// The shape for these sizes; `None` where one is missing, or a product overflows.
    pub fn of(&self, sizes: &Sizes) -> Option<Vec<usize>> {
        let mut shape = Vec::new();
        for dim in &self.0 {
            match dim {
                Dim::Any(name) => shape.extend(sizes.any.get(name)?),
                Dim::One(factors) => {
                    let factors = factors.iter().map(|factor| factor.of(sizes)).collect::<Option<Vec<_>>>()?;
                    shape.push(product(&factors)?);
                }
            }
        }
        Some(shape)
    }

    /// Adds the sizes that `shape` tells: those that are a dimension by themselves or the only unknown factor of one.
    pub fn learn(&self, shape: &[usize], sizes: &mut Sizes) {
        let singles = self.0.iter().filter(|dim| matches!(dim, Dim::One(_))).count();
        let open = shape.len().saturating_sub(singles);
        let mut rest = shape;
        for dim in &self.0 {
            match dim {
                Dim::Any(name) => {
                    let (own, after) = rest.split_at(open.min(rest.len()));
                    rest = after;
                    sizes.any.entry(name.clone()).or_insert_with(|| own.to_vec());
                }
                Dim::One(factors) => {
                    let Some((&size, after)) = rest.split_first() else { return };
                    rest = after;
                    let unknown: Vec<&Factor> = factors.iter().filter(|factor| factor.of(sizes).is_none()).collect();
                    let known: Vec<usize> = factors.iter().filter_map(|factor| factor.of(sizes)).collect();
                    let known = product(&known).filter(|known| size.checked_rem(*known) == Some(0));
                    if let ([Factor::Named(name)], Some(known)) = (unknown.as_slice(), known) {
                        sizes.one.insert(name.clone(), size / known);
                    }
                }
            }
        }
    }
}

impl Dim {
    fn begins_with(&self, name: &str) -> bool {
        matches!(self, Self::One(factors) if matches!(factors.first(), Some(Factor::Named(first)) if first == name))
    }
}

impl Factor {
    fn parse(word: &str) -> Self {
        word.parse().map_or_else(|_| Self::Named(word.to_string()), Self::Number)
    }

    fn of(&self, sizes: &Sizes) -> Option<usize> {
        match self {
            Self::Named(name) => sizes.one.get(name).copied(),
            Self::Number(number) => Some(*number),
        }
    }
}
