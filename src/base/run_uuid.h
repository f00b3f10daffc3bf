// The ids of new runs.
#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace pawl {

// Version 7: time-ordered, so that runs started together lie together: 48 bits of milliseconds,
// then the given random bits.
Uuid make_run_uuid(std::int64_t now_ms, std::uint64_t high, std::uint64_t low);

}  // namespace pawl
