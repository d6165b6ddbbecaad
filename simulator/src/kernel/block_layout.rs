//! Blocks in reverse post-order, loops before what follows them. The fragment of a warp that is furthest behind in this
//! order runs next, so that diverged lanes meet again as early as the graph allows.

use super::{Inst, Op};

/// What decoding produces before blocks are known.
pub enum Item {
    Label(u32),
    Inst(Inst),
}

/// A basic block and its successors.
#[derive(Debug)]
pub struct Block {
    /// Its instructions, the branch last.
    pub code: Vec<Inst>,
    /// Its successors: fall through, then the branch's target.
    pub next: Vec<usize>,
}

/// Splits at labels and after branches. Also gives the block of each label.
pub fn split(items: Vec<Item>, labels: usize) -> Result<(Vec<Block>, Vec<usize>), String> {
    let mut blocks = vec![Block { code: Vec::new(), next: Vec::new() }];
    let mut targets = vec![usize::MAX; labels];
    for item in items {
        let last = blocks.len() - 1;
        let ended = blocks[last]
            .code
            .last()
            .is_some_and(|inst| matches!(inst.op, Op::Goto(_) | Op::If { .. } | Op::Exit | Op::Return | Op::Trap(_)));
        if ended || matches!(item, Item::Label(_)) && !blocks[last].code.is_empty() {
            blocks.push(Block { code: Vec::new(), next: Vec::new() });
        }
        let last = blocks.len() - 1;
        match item {
            Item::Label(label) => targets[label as usize] = last,
            Item::Inst(inst) => blocks[last].code.push(inst),
        }
    }
    // A body may end without `ret`.
    blocks.push(Block { code: vec![Inst::new(Op::Exit)], next: Vec::new() });
    for (number, block) in blocks.iter_mut().enumerate() {
        let to = |label: u32| match targets[label as usize] {
            usize::MAX => Err("a branch to an undefined label".to_string()),
            target => Ok(target),
        };
        block.next = match block.code.last().map(|inst| inst.op) {
            Some(Op::Goto(label)) => vec![to(label)?],
            Some(Op::If { to: label, .. }) => vec![number + 1, to(label)?],
            Some(Op::Exit | Op::Return | Op::Trap(_)) => Vec::new(),
            _ => vec![number + 1],
        };
    }
    Ok((blocks, targets))
}

/// The blocks reachable from block `root`, in reverse post-order.
pub fn reverse_post_order(blocks: &[Block], root: usize) -> Vec<usize> {
    let loops = loops(blocks, root);
    let innermost = |block: usize| loops.iter().filter(|(_, body)| body[block]).min_by_key(|(size, _)| *size);
    let mut post = Vec::new();
    walk(blocks, root, &mut |block| post.push(block), |block| {
        let mut next: Vec<usize> = blocks[block].next.iter().rev().copied().collect();
        // What is visited first comes last, so that exits of the loop are visited first.
        if let Some((_, body)) = innermost(block) {
            next.sort_by_key(|&next| body[next]);
        }
        next
    });
    post.reverse();
    post
}

/// The natural loops: the number of their blocks, and which blocks.
fn loops(blocks: &[Block], root: usize) -> Vec<(usize, Vec<bool>)> {
    let mut before = vec![Vec::new(); blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        for &to in &block.next {
            before[to].push(from);
        }
    }
    let mut loops: Vec<(usize, Vec<bool>)> = Vec::new();
    let mut headers: Vec<usize> = Vec::new();
    for (from, to) in back_edges(blocks, root) {
        let index = headers.iter().position(|&header| header == to).unwrap_or_else(|| {
            headers.push(to);
            let mut body = vec![false; blocks.len()];
            body[to] = true;
            loops.push((1, body));
            loops.len() - 1
        });
        let (size, body) = &mut loops[index];
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            if !std::mem::replace(&mut body[block], true) {
                *size += 1;
                pending.extend(&before[block]);
            }
        }
    }
    loops
}

/// Edges to a block that is still being visited. In a reducible graph they close loops.
fn back_edges(blocks: &[Block], root: usize) -> Vec<(usize, usize)> {
    let mut open = vec![false; blocks.len()];
    let mut seen = vec![false; blocks.len()];
    let mut edges = Vec::new();
    let mut stack = vec![(root, 0)];
    (open[root], seen[root]) = (true, true);
    while let Some((block, place)) = stack.last_mut() {
        let from = *block;
        if let Some(&to) = blocks[from].next.get(*place) {
            *place += 1;
            if open[to] {
                edges.push((from, to));
            } else if !std::mem::replace(&mut seen[to], true) {
                open[to] = true;
                stack.push((to, 0));
            }
        } else {
            open[from] = false;
            stack.pop();
        }
    }
    edges
}

/// Visits blocks depth first and calls `post` for each after its successors.
fn walk(blocks: &[Block], root: usize, post: &mut impl FnMut(usize), next: impl Fn(usize) -> Vec<usize>) {
    let mut seen = vec![false; blocks.len()];
    seen[root] = true;
    let mut stack = vec![(root, next(root))];
    while let Some((block, pending)) = stack.last_mut() {
        match pending.first().copied() {
            Some(to) => {
                pending.remove(0);
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, next(to)));
                }
            }
            None => {
                post(*block);
                stack.pop();
            }
        }
    }
}

/// Lays `blocks` out in `order`: an `Enter` before each, branches to instructions, and a jump if a block is not followed by
/// the one that it falls through to. `target` gives the block of a label. Also gives the instruction at which each block begins.
pub fn lay_out(blocks: &[Block], order: &[usize], target: impl Fn(u32) -> usize) -> (Vec<Inst>, Vec<usize>) {
    let mut code: Vec<Inst> = Vec::new();
    let mut starts = vec![0; blocks.len()];
    let mut jumps = Vec::new();
    for (place, &number) in order.iter().enumerate() {
        let block = &blocks[number];
        let following = order.get(place + 1).copied();
        starts[number] = code.len();
        let first = block.code.first().copied().unwrap_or_else(|| Inst::new(Op::Exit));
        let length = block.code.len().max(1) as u32;
        code.push(Inst { source: first.source, ..Inst::new(Op::Enter { block: place as u32, length }) });
        for inst in &block.code {
            match inst.op {
                Op::Goto(label) if following == Some(target(label)) => {}
                Op::Goto(label) | Op::If { to: label, .. } => {
                    jumps.push((code.len(), target(label)));
                    code.push(*inst);
                }
                _ => code.push(*inst),
            }
        }
        let ends = block.code.last().is_some_and(|inst| matches!(inst.op, Op::Goto(_) | Op::Exit | Op::Return));
        let falls = block.next.first().copied().filter(|&next| !ends && following != Some(next));
        if let Some(next) = falls {
            jumps.push((code.len(), next));
            code.push(Inst::new(Op::Goto(0)));
        }
    }
    for (at, block) in jumps {
        match &mut code[at].op {
            Op::Goto(to) | Op::If { to, .. } => *to = starts[block] as u32,
            _ => {}
        }
    }
    (code, starts)
}
