// Copying all runs of a namespace into another store, a batch at a time. What is there already is
// left as it is, so that an interrupted copy goes on where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "store/movable_store.h"

namespace pawl::moving {

struct Copied {
  std::int64_t runs = 0;     // Those that were there before are counted, too.
  std::int64_t found = 0;    // Were there before.
  std::int64_t entries = 0;  // Copied now; what loops have moved away, too.
};

// Nobody writes to `from`. `to` is sealed with `seal` and has nothing but what an earlier copy of
// `from` has left. `tell` is called for each run. kInvalidState: the two do not fit, or somebody
// else fills `to`.
Result<Copied> copy_runs(store::MovableStore& from, store::MovableStore& to, std::string_view seal,
                         const std::function<void(const Copied&)>& tell);

}  // namespace pawl::moving
