// What the options amount to, for readers.
#pragma once

#include <cstdio>

#include "programs/slices/options.h"

namespace wq::programs::slices {

// A line for each slice in the order of their taking: position, epoch and name, separated by tabs.
// Throws SetupError as SliceQueue does.
void explain(const Options& options, std::FILE* out);

}  // namespace wq::programs::slices
