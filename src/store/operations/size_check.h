// Refuses what is too large before anything is written.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "store/movable_store.h"
#include "store/store.h"

namespace pawl::store {

// kLimitExceeded names the operation, the field and the sizes. Names and ids may have
// replay::kNameBytesMax bytes, everything else `payload_bytes_max`.
Result<void> check_sizes(std::span<const Op> ops, std::size_t payload_bytes_max);
Result<void> check_sizes(std::span<const CarryRun> runs, std::size_t payload_bytes_max);
Result<void> check_sizes(const CarryLog& log, std::size_t payload_bytes_max);
// Of one turn, e.g. when it was filled in late.
Result<void> check_sizes(const CommitTurn& turn, std::size_t payload_bytes_max);

}  // namespace pawl::store
