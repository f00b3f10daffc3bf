// What a recorded TaskScheduled puts on a queue.
#pragma once

#include "replay/entry.h"
#include "store/rows.h"

namespace pawl::engine {

// Its time limits count from the entry's time.
store::NewTask make_task(const replay::Entry& scheduled);

}  // namespace pawl::engine
