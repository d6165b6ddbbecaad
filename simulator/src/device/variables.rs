//! The variables of modules: where they are, and what they hold at first.

use std::collections::HashMap;

use super::Device;

impl Device {
    /// Allocates the module's variables on first use.
    pub(super) fn variables(&mut self, number: usize) -> Result<(), String> {
        let loaded = self.modules.get_mut(number).and_then(Option::as_mut).ok_or("its module was unloaded")?;
        if loaded.variables.is_some() {
            return Ok(());
        }
        let (module, mut addresses) = (&loaded.module, HashMap::new());
        for (name, variable) in module.variables.iter().filter(|(_, variable)| variable.space != ".shared") {
            let address =
                self.memory.allocate(u64::from(variable.bytes)).ok_or("out of memory for the module's variables")?;
            addresses.insert(name.clone(), address);
        }
        for (name, &address) in &addresses {
            let mut data = module.variables[name].data.clone();
            for (at, target, added) in &module.variables[name].pointers {
                let found = addresses.get(target).copied().or_else(|| module.address_of(target));
                let (Some(found), Some(place)) = (found, data.get_mut(*at..at + 8)) else {
                    return Err(format!("`{name}` cannot hold the address of `{target}`"));
                };
                place.copy_from_slice(&found.wrapping_add(*added).to_le_bytes());
            }
            self.memory.bytes_mut(address, data.len() as u64).expect("just allocated").copy_from_slice(&data);
        }
        loaded.variables = Some(addresses);
        Ok(())
    }
}
