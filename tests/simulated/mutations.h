// Bugs below the tile language, which it does not let an author write, as changes of the recorded module.
#pragma once
#include <string>

#include "ir/kernel_ir.h"

namespace gemmsmith::test {

// Makes the change of that name ("no fence.proxy.async"). False: the kernel has nothing to change, or there is no such
// change. A name that begins with "legal: " is a change that is no bug.
bool mutate(KernelIr&, const std::string& name);

}  // namespace gemmsmith::test
