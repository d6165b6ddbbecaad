//! Handles: an index, and a generation that invalidates handles of earlier objects at the index.

/// Objects by their handles. Inserting and removing does not allocate once there is room.
pub struct Handles<T> {
    tag: u8,
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

const GENERATIONS: u32 = 1 << 24;

impl<T> Handles<T> {
    /// No objects yet. Their handles differ from those of others by `tag`, which is not 0, so that null is never a handle.
    pub const fn new(tag: u8) -> Self {
        Self { tag, slots: Vec::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, value: T) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.1 = Some(value);
        usize::from(self.tag) << 56 | (slot.0 as usize) << 32 | index as usize
    }

    pub fn get(&self, handle: usize) -> Option<&T> {
        self.slots.get(self.index(handle)?)?.1.as_ref()
    }

    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let index = self.index(handle)?;
        self.slots[index].1.as_mut()
    }

    /// The first object that satisfies this.
    pub fn find_mut(&mut self, is_it: impl Fn(&T) -> bool) -> Option<&mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.1.as_mut()).find(|value| is_it(value))
    }

    pub fn remove(&mut self, handle: usize) -> Option<T> {
        let index = self.index(handle)?;
        self.clear(index)
    }

    /// Drops what does not satisfy `keep`.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        for index in 0..self.slots.len() {
            if self.slots[index].1.as_ref().is_some_and(|value| !keep(value)) {
                self.clear(index);
            }
        }
    }

    fn clear(&mut self, index: usize) -> Option<T> {
        let slot = &mut self.slots[index];
        let value = slot.1.take()?;
        slot.0 = (slot.0 + 1) % GENERATIONS;
        self.free.push(index as u32);
        Some(value)
    }

    /// The index of a valid handle.
    fn index(&self, handle: usize) -> Option<usize> {
        let index = handle & 0xffff_ffff;
        let generation = self.slots.get(index)?.0 as usize;
        (handle >> 32 == usize::from(self.tag) << 24 | generation).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::Handles;

    #[test]
    fn handles_of_removed_objects_are_invalid() {
        let mut handles = Handles::new(7);
        let first = handles.insert("first");
        assert_eq!(handles.remove(first), Some("first"));
        let second = handles.insert("second");
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff, "the place is reused");
        assert_eq!(handles.get(first), None);
        assert_eq!(handles.remove(first), None);
        assert_eq!(handles.get(second), Some(&"second"));
    }

    #[test]
    fn handles_of_another_kind_are_invalid() {
        let (mut streams, mut events) = (Handles::new(1), Handles::new(2));
        let (stream, _) = (streams.insert(()), events.insert(()));
        assert!(events.get(stream).is_none() && events.get(0).is_none());
    }
}
